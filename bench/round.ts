/** Measures one cell: the load, and the CPU time of the target. */
import { type StartedProcess, sendOrder } from './child.ts';
import { cpuOfTree, usageNow, WATCHED_CORES } from './machine.ts';
import { OPEN_LOOP_RATE, requestOf, type Scenario, unitsOf } from './scenarios.ts';
import type { LoadReport } from './tally.ts';
import type { Target } from './target.ts';
import type { Line } from './targets.ts';

export interface Measurement {
  readonly failures: number;
  readonly perSecond: number;
  /**
   * CPU us of the target for a call, or for an event of a stream: without and with PostgreSQL. NaN for the bare
   * upstream.
   */
  readonly micros: number;
  readonly allMicros: number;
  /** Ms; in the open loop, what the target adds to calls of the same seconds to the upstream itself. */
  readonly p50: number;
  readonly p99: number;
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

/** Load before every measurement, not counted: opens the connections and warms up an idle runtime. */
const RAMP_UP_MS = 1_000;
/** The open loop runs longer by this factor: it sends few requests, and its 99th percentile needs a thousand. */
const OPEN_LOOP_FACTOR = 5;

/** With `maxRequests` it ends after so many requests, and its ramp-up after a quarter of them. */
export async function measure(
  cell: Cell,
  load: StartedProcess,
  ms: number,
  maxRequests?: number,
): Promise<Measurement> {
  const { line, scenario, target } = cell;
  const isOpen = scenario.name === 'open';
  const order = isOpen ? openOrder(cell) : loadOrder(cell);
  const lead = isOpen ? {} : { isLead: true, maxRequests: maxRequests && maxRequests / 4 };
  await sendOrder(load, { ...order, ...lead, ms: RAMP_UP_MS });
  const cpuBefore = cpuOf(target);
  const before = usageNow();
  const measured = { ...order, ms: isOpen ? ms * OPEN_LOOP_FACTOR : ms, maxRequests };
  const reply = await sendOrder<LoadReport | [LoadReport, LoadReport]>(load, measured);
  const after = usageNow();
  const [report, direct] = Array.isArray(reply) ? reply : [reply, undefined];
  const { requests, seconds, failure = 'unknown reason' } = report;
  if (requests === 0) throw new NoResponse(`${line.label}, ${scenario.about}: no response (${failure}).`);
  const cpu = cpuOf(target);
  const own = ((cpu.own - cpuBefore.own) * 1e6) / requests / unitsOf(scenario, line.route);
  const database = ((cpu.database - cpuBefore.database) * 1e6) / requests / unitsOf(scenario, line.route);
  const otherLoad = (after.busy - before.busy - (after.own - before.own)) / (seconds * WATCHED_CORES);
  const isBare = target.pid === undefined;
  return {
    failures: report.failures + report.lost,
    perSecond: requests / seconds,
    micros: own,
    allMicros: own + database,
    p50: report.p50 - (isBare ? 0 : (direct?.p50 ?? 0)),
    p99: report.p99 - (isBare ? 0 : (direct?.p99 ?? 0)),
    otherLoad: Math.max(0, otherLoad),
  };
}

const cpuOf = ({ pid }: Target) => (pid === undefined ? { own: Number.NaN, database: 0 } : cpuOfTree(pid));

const loadOrder = ({ line, scenario, target }: Cell): object => ({
  port: target.port,
  request: requestOf(target, line.route, scenario),
  connections: scenario.connections,
});

function openOrder({ line, scenario, target, upstream }: Cell): object {
  const { to } = line.route;
  const destinations = [
    { port: target.port, request: requestOf(target, line.route, scenario) },
    { port: upstream.port, request: requestOf(upstream, { from: to, to }, scenario) },
  ];
  return { rate: OPEN_LOOP_RATE, connections: scenario.connections, destinations };
}
