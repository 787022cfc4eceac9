/**
 * Short measurements of several targets in turns. A slice takes a tenth of a second, so that a slow moment of the
 * machine falls on a few of many slices, and those that are compared are of the same seconds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type StartedProcess, sendOrder } from './child.ts';
import type { ProbeReport } from './load.ts';
import { cpuSeconds } from './machine.ts';
import { quantile } from './quantile.ts';
import { NATIVE, type Route, requestOf, unitsOf } from './scenarios.ts';
import type { LoadReport } from './tally.ts';
import type { Target } from './target.ts';

export interface Kind {
  readonly name: string;
  /** The kind of the peers that it compares with. */
  readonly like: string;
  readonly isConverted?: boolean;
  readonly stream?: boolean;
  readonly isLong?: boolean;
  readonly connections: number;
  /** Of a slice. */
  readonly requests: number;
  /** Until compilers have finished with a gateway, which takes half a minute of calls. */
  readonly warmUp: number;
}

const CONVERTED: Route = { from: 'chat', to: 'messages' };

/** Peers have no conversion: a converted call compares with their native one. */
const NATIVE_CALL: Kind = { name: 'native call', like: 'native call', connections: 64, requests: 800, warmUp: 30_000 };
const NATIVE_EVENT: Kind = {
  name: 'native event',
  like: 'native event',
  stream: true,
  connections: 32,
  requests: 64,
  warmUp: 2_500,
};
const NATIVE_LONG: Kind = {
  name: 'native call of 400 KB',
  like: 'native call of 400 KB',
  isLong: true,
  connections: 8,
  requests: 24,
  warmUp: 400,
};

export const KINDS: readonly Kind[] = [
  NATIVE_CALL,
  { ...NATIVE_CALL, name: 'converted call', isConverted: true, requests: 500, warmUp: 20_000 },
  NATIVE_EVENT,
  { ...NATIVE_EVENT, name: 'converted event', isConverted: true },
  NATIVE_LONG,
  { ...NATIVE_LONG, name: 'converted call of 400 KB', isConverted: true, requests: 16, warmUp: 250 },
];

/** What one target does of one kind. */
export interface Cell {
  readonly kind: Kind;
  readonly name: string;
  readonly target: Target;
  readonly request: string;
  readonly route: Route;
  /** CPU us of a call or an event, of each slice, without PostgreSQL. */
  readonly micros: number[];
  failures: number;
}

export function cellOf(kind: Kind, name: string, target: Target): Cell {
  const route = kind.isConverted ? CONVERTED : NATIVE;
  const { stream = false, isLong = false } = kind;
  const request = requestOf(target, route, { model: 'bench-burst', stream, isLong });
  return { kind, name, target, request, route, micros: [], failures: 0 };
}

const READY_MS = 60_000;

/** Waits until the target serves: the port of a gateway opens before its configuration is applied. */
export async function whenServing(load: StartedProcess, { target: { port }, request, name }: Cell): Promise<void> {
  for (const until = performance.now() + READY_MS; ; await pause(100)) {
    const { status, text } = await sendOrder<ProbeReport>(load, { probe: true, port, request });
    if (status === 200) return;
    if (performance.now() > until) throw new Error(`${name} does not serve: ${status} ${text.slice(0, 200)}`);
  }
}

/** Bounds a slice on a busy machine: a slice of fewer requests counts, too. */
const SLICE_MS = 3_000;

export async function warmUp(load: StartedProcess, cell: Cell, ms: number): Promise<void> {
  await send(load, cell, { maxRequests: cell.kind.warmUp, ms });
}

/** Adds a measurement to the cell. Returns the number of requests, with those that open the connections. */
export async function takeSlice(load: StartedProcess, cell: Cell): Promise<number> {
  const { kind, target, micros } = cell;
  // Opens the connections, which stay open for the slice.
  const lead = await send(load, cell, { maxRequests: kind.connections, ms: SLICE_MS, isLead: true });
  const before = cpuSeconds(target.pid ?? 0);
  const { requests, failures } = await send(load, cell, { maxRequests: kind.requests, ms: SLICE_MS });
  const used = (cpuSeconds(target.pid ?? 0) - before) * 1e6;
  cell.failures += failures;
  if (requests > 0) micros.push(used / requests / unitsIn(cell));
  return lead.requests + requests;
}

/** Calls, or events of streams, in a request. */
export const unitsIn = ({ kind: { stream = false, isLong = false }, route }: Cell): number =>
  unitsOf({ stream, isLong }, route);

function send(load: StartedProcess, { kind, target, request }: Cell, order: object): Promise<LoadReport> {
  return sendOrder<LoadReport>(load, { port: target.port, request, connections: kind.connections, ...order });
}

/** What the disturbed half of the slices does not change: their lower quartile. */
export const costOf = ({ micros }: Cell): number =>
  quantile(
    micros.toSorted((a, b) => a - b),
    0.25,
  );
