/** Measures one cell: the load, and the CPU time of the target. */
import { type StartedProcess, sendOrder } from './child.ts';
import type { LoadReport } from './load.ts';
import { cpuOfTree, type TreeCpu, usageNow, WATCHED_CORES } from './machine.ts';
import type { OpenLoopReport } from './open-loop.ts';
import { eventsOf, OPEN_LOOP_RATE, requestOf, type Scenario } from './scenarios.ts';
import type { Target } from './target.ts';
import type { Line } from './targets.ts';

export interface Measurement {
  readonly requests: number;
  readonly failures: number;
  readonly perSecond: number;
  /** Undefined for the bare upstream. */
  readonly cpuUsPerRequest: number | undefined;
  readonly cpuUsPerEvent: number | undefined;
  /** Fraction of one core that the target used. */
  readonly share: number | undefined;
  /** Including PostgreSQL; undefined for targets without a database. */
  readonly shareWithDatabase: number | undefined;
  readonly p50: number;
  readonly p99: number;
  /** What the target adds to calls of the same seconds to the upstream itself; only for the open loop. */
  readonly added: { readonly p50: number; readonly p99: number } | undefined;
  /** Fraction of the cores' time that other processes used. */
  readonly otherLoad: number;
}

export interface Cell {
  readonly line: Line;
  readonly scenario: Scenario;
  readonly target: Target;
  /** The bare upstream. */
  readonly upstream: Target;
  readonly results: Measurement[];
}

/** A target did not complete a single response during a measurement. */
export class NoResponse extends Error {}

/** Above this fraction a result is disturbed by other processes. */
export const MAX_OTHER_LOAD = 0.1;
/** Load before every measurement, not counted: opens the connections and warms up an idle runtime. */
const RAMP_UP_MS = 1_000;
/** The open loop runs longer by this factor: it sends few requests, and its 99th percentile needs a thousand. */
const OPEN_LOOP_FACTOR = 5;

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

/** With `maxRequests` it ends after so many requests, and its ramp-up after a quarter of them. */
export async function measure(
  cell: Cell,
  load: StartedProcess,
  ms: number,
  maxRequests?: number,
): Promise<Measurement> {
  const { line, scenario, target } = cell;
  const orders = ordersOf(cell, ms, maxRequests);
  await sendOrder(load, orders.rampUp);
  const cpuBefore = target.pid === undefined ? undefined : cpuOfTree(target.pid);
  const before = usageNow();
  const report = await sendOrder<LoadReport | OpenLoopReport>(load, orders.measured);
  const after = usageNow();
  if (report.requests === 0)
    throw new NoResponse(`${line.label}, ${scenario.about}: no response (${report.failure ?? 'unknown reason'}).`);
  const cpu = target.pid === undefined || !cpuBefore ? undefined : difference(cpuBefore, cpuOfTree(target.pid));
  const cpuUsPerRequest = cpu && (cpu.own * 1e6) / report.requests;
  const otherLoad = (after.busy - before.busy - (after.own - before.own)) / (report.seconds * WATCHED_CORES);
  return {
    requests: report.requests,
    failures: report.failures,
    perSecond: report.requests / report.seconds,
    cpuUsPerRequest,
    cpuUsPerEvent:
      cpuUsPerRequest === undefined || !scenario.stream ? undefined : cpuUsPerRequest / eventsOf(line.route),
    share: cpu && cpu.own / report.seconds,
    shareWithDatabase: cpu && cpuBefore?.database ? (cpu.own + cpu.database) / report.seconds : undefined,
    p50: report.p50,
    p99: report.p99,
    added:
      'upstreamP50' in report
        ? { p50: report.p50 - report.upstreamP50, p99: report.p99 - report.upstreamP99 }
        : undefined,
    otherLoad: Math.max(0, otherLoad),
  };
}

function ordersOf(
  { line, scenario, target, upstream }: Cell,
  ms: number,
  maxRequests: number | undefined,
): { rampUp: object; measured: object } {
  const { model, stream, connections, name } = scenario;
  const request = requestOf(target, line.route, model, stream);
  if (name !== 'open') {
    const order = { port: target.port, request, connections };
    return {
      rampUp: { ...order, ms: RAMP_UP_MS, maxRequests: maxRequests && maxRequests / 4, isLead: true },
      measured: { ...order, ms, maxRequests, isLead: false },
    };
  }
  const { to } = line.route;
  const order = {
    rate: OPEN_LOOP_RATE,
    target: { port: target.port, request },
    upstream: { port: upstream.port, request: requestOf(upstream, { from: to, to }, model, stream) },
  };
  return { rampUp: { ...order, ms: RAMP_UP_MS }, measured: { ...order, ms: ms * OPEN_LOOP_FACTOR } };
}

const difference = (before: TreeCpu, after: TreeCpu): TreeCpu => ({
  own: after.own - before.own,
  database: after.database - before.database,
});
