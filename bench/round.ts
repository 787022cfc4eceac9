/** One measurement of one cell: load for a while, and what it cost the target. */
import { ask, type Started } from './child.ts';
import type { LoadReport } from './load.ts';
import { cpuSeconds, usageNow, WATCHED_CORES } from './machine.ts';
import { eventsOf, type Line, requestOf, type Scene } from './scenes.ts';
import type { Target } from './targets.ts';

export interface Measured {
  readonly requests: number;
  readonly failures: number;
  readonly perSecond: number;
  /** Undefined where nothing stands in between. */
  readonly cpuUsPerRequest: number | undefined;
  readonly cpuUsPerEvent: number | undefined;
  readonly p50: number;
  readonly p99: number;
  /** Share of the cores' time that other processes took. */
  readonly foreign: number;
}

export interface Cell {
  readonly line: Line;
  readonly scene: Scene;
  readonly target: Target;
  readonly results: Measured[];
}

/** Above this share a result says more about the neighbours than about the target. */
export const NOISY = 0.1;
/** Before every measurement, uncounted: connections are made, and a runtime that was idle finds its pace again. */
const LEAD_MS = 1_000;

/** Again, a few times, while others use the machine; the quietest one counts. */
export async function measureQuietly(cell: Cell, load: Started, ms: number, retries: number): Promise<Measured> {
  let best = await measure(cell, load, ms);
  for (let n = 0; n < retries && best.foreign > NOISY; n += 1) {
    const again = await measure(cell, load, ms);
    if (again.foreign < best.foreign) best = again;
  }
  return best;
}

export async function measure({ line, scene, target }: Cell, load: Started, ms: number): Promise<Measured> {
  const request = requestOf(target, line.route, scene.model, scene.stream);
  const order = { port: target.port, request, connections: scene.connections };
  await ask<LoadReport>(load, { ...order, ms: LEAD_MS, isLead: true });
  const cpuBefore = target.pid === undefined ? undefined : cpuSeconds(target.pid);
  const before = usageNow();
  const report = await ask<LoadReport>(load, { ...order, ms, isLead: false });
  const after = usageNow();
  if (report.requests === 0)
    throw new Error(`${line.label}, ${scene.about}: nothing was answered (${report.failure ?? 'no reason given'}).`);
  const cpu = target.pid === undefined || cpuBefore === undefined ? undefined : cpuSeconds(target.pid) - cpuBefore;
  const cpuUsPerRequest = cpu === undefined ? undefined : (cpu * 1e6) / report.requests;
  const foreign = (after.busy - before.busy - (after.own - before.own)) / (report.seconds * WATCHED_CORES);
  return {
    requests: report.requests,
    failures: report.failures,
    perSecond: report.requests / report.seconds,
    cpuUsPerRequest,
    cpuUsPerEvent: cpuUsPerRequest === undefined || !scene.stream ? undefined : cpuUsPerRequest / eventsOf(line.route),
    p50: report.p50,
    p99: report.p99,
    foreign: Math.max(0, foreign),
  };
}
