/** Measures one cell: the load, and the CPU time of the target. */
import { type StartedProcess, sendOrder } from './child.ts';
import type { LoadReport } from './load.ts';
import { cpuSeconds, usageNow, WATCHED_CORES } from './machine.ts';
import { eventsOf, type Line, requestOf, type Scenario } from './scenarios.ts';
import type { Target } from './targets.ts';

export interface Measurement {
  readonly requests: number;
  readonly failures: number;
  readonly perSecond: number;
  /** Undefined for the bare upstream. */
  readonly cpuUsPerRequest: number | undefined;
  readonly cpuUsPerEvent: number | undefined;
  readonly p50: number;
  readonly p99: number;
  /** Fraction of the cores' time that other processes used. */
  readonly otherLoad: number;
}

export interface Cell {
  readonly line: Line;
  readonly scenario: Scenario;
  readonly target: Target;
  readonly results: Measurement[];
}

/** Above this fraction a result is disturbed by other processes. */
export const MAX_OTHER_LOAD = 0.1;
/** Load before every measurement, not counted: opens the connections and warms up an idle runtime. */
const RAMP_UP_MS = 1_000;

/** Measures again while other processes disturb the result; returns the least disturbed one. */
export async function measureQuietly(
  cell: Cell,
  load: StartedProcess,
  ms: number,
  retries: number,
): Promise<Measurement> {
  let best = await measure(cell, load, ms);
  for (let n = 0; n < retries && best.otherLoad > MAX_OTHER_LOAD; n += 1) {
    const again = await measure(cell, load, ms);
    if (again.otherLoad < best.otherLoad) best = again;
  }
  return best;
}

export async function measure(
  { line, scenario, target }: Cell,
  load: StartedProcess,
  ms: number,
): Promise<Measurement> {
  const request = requestOf(target, line.route, scenario.model, scenario.stream);
  const order = { port: target.port, request, connections: scenario.connections };
  await sendOrder<LoadReport>(load, { ...order, ms: RAMP_UP_MS, isLead: true });
  const cpuBefore = target.pid === undefined ? undefined : cpuSeconds(target.pid);
  const before = usageNow();
  const report = await sendOrder<LoadReport>(load, { ...order, ms, isLead: false });
  const after = usageNow();
  if (report.requests === 0)
    throw new Error(`${line.label}, ${scenario.about}: no response (${report.failure ?? 'unknown reason'}).`);
  const cpu = target.pid === undefined || cpuBefore === undefined ? undefined : cpuSeconds(target.pid) - cpuBefore;
  const cpuUsPerRequest = cpu === undefined ? undefined : (cpu * 1e6) / report.requests;
  const otherLoad = (after.busy - before.busy - (after.own - before.own)) / (report.seconds * WATCHED_CORES);
  return {
    requests: report.requests,
    failures: report.failures,
    perSecond: report.requests / report.seconds,
    cpuUsPerRequest,
    cpuUsPerEvent:
      cpuUsPerRequest === undefined || !scenario.stream ? undefined : cpuUsPerRequest / eventsOf(line.route),
    p50: report.p50,
    p99: report.p99,
    otherLoad: Math.max(0, otherLoad),
  };
}
