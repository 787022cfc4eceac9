/** Scenarios and the requests that they send. Each combination with a line of a target is one cell of the result. */
import { type BenchRequest, benchRequest, DELTAS, type Dialect, EVENTS, type MODELS, STREAM_END } from './bodies.ts';
import type { Target } from './target.ts';

type Model = (typeof MODELS)[number];
export type ScenarioName = 'unary-1' | 'unary-64' | 'open' | 'burst' | 'paced' | 'long' | 'long-stream';

/** Requests per second of the open loop. */
export const OPEN_LOOP_RATE = 200;
/** A target that is slower than the rate: further requests fail at once instead of piling up. */
export const OPEN_LOOP_CONNECTIONS = 512;

export interface Scenario {
  readonly name: ScenarioName;
  readonly connections: number;
  readonly model: Model;
  readonly stream: boolean;
  readonly about: string;
  /** Another scenario runs the same code and warms it up. */
  readonly isWarm: boolean;
  /** The request of an agent, of 400 KB. Its figures are those of a whole call. */
  readonly isLong?: boolean;
}

const unary = { model: 'bench-burst', stream: false } as const;
export const SCENARIOS: readonly Scenario[] = [
  { ...unary, name: 'unary-64', connections: 64, isWarm: false, about: 'unary, 64 connections' },
  { ...unary, name: 'unary-1', connections: 1, isWarm: true, about: 'unary, 1 connection' },
  {
    ...unary,
    name: 'open',
    connections: OPEN_LOOP_CONNECTIONS,
    isWarm: true,
    about: `unary, ${OPEN_LOOP_RATE} requests a second`,
  },
  { ...unary, name: 'burst', connections: 64, stream: true, isWarm: false, about: 'streams at full speed' },
  { ...unary, name: 'long', connections: 8, isLong: true, isWarm: false, about: 'unary, 400 KB' },
  {
    ...unary,
    name: 'long-stream',
    connections: 8,
    stream: true,
    isLong: true,
    isWarm: true,
    about: 'streams, 400 KB',
  },
  { name: 'paced', connections: 32, model: 'bench-paced', stream: true, isWarm: true, about: 'an event every 4 ms' },
];

/** Client dialect -> dialect of the group. */
export interface Route {
  readonly from: Dialect;
  readonly to: Dialect;
}

export const NATIVE: Route = { from: 'messages', to: 'messages' };
export const CONVERTED: readonly Route[] = [
  { from: 'messages', to: 'responses' },
  { from: 'chat', to: 'messages' },
  { from: 'responses', to: 'messages' },
  { from: 'chat', to: 'generate' },
];

/** What a figure of the scenario is about: one call, or one of the events that the upstream sends. */
export const unitsOf = ({ stream, isLong }: Pick<Scenario, 'stream' | 'isLong'>, { to }: Route): number =>
  stream && !isLong ? EVENTS[to] : 1;

type Sent = Pick<Scenario, 'model' | 'stream' | 'isLong'>;

/** Head and body of the request. */
export const requestOf = (target: Target, route: Route, { model, stream, isLong }: Sent): string =>
  rawRequest(target, route, benchRequest(route.from, model, stream, isLong));

export function rawRequest(target: Target, { from, to }: Route, { path, body }: BenchRequest): string {
  const headers = {
    host: `127.0.0.1:${target.port}`,
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'bench/1.0',
    ...(from === 'messages' && { 'anthropic-version': '2023-06-01' }),
    ...target.headers(to),
    'content-length': Buffer.byteLength(body),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Why a response is wrong; undefined if it is correct. */
export function failureOf({ from }: Route, stream: boolean, status: number, text: string): string | undefined {
  if (status !== 200) return `returned ${status}: ${text.split('\r\n\r\n').at(-1)?.slice(0, 200)}`;
  if (stream && !text.includes(STREAM_END[from])) return `the stream ended without ${STREAM_END[from]}`;
  if (stream && (text.match(/word/g)?.length ?? 0) < DELTAS) return 'the stream lost text';
  return undefined;
}
