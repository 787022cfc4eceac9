/** Scenarios and the requests that they send. Each combination with a line of a target is one cell of the result. */
import { type Dialect, EVENTS, type Model, REQUESTS, STREAM_END } from './bodies.ts';
import type { Target } from './target.ts';

export type ScenarioName = 'unary-1' | 'unary-64' | 'open' | 'burst' | 'paced';

/** Requests per second of the open loop. */
export const OPEN_LOOP_RATE = 200;

export interface Scenario {
  readonly name: ScenarioName;
  /** 0 for the open loop, which opens as many as it needs. */
  readonly connections: number;
  readonly model: Model;
  readonly stream: boolean;
  readonly about: string;
  /** Another scenario runs the same code and warms it up. */
  readonly isWarm: boolean;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'unary-64',
    connections: 64,
    model: 'bench-burst',
    stream: false,
    isWarm: false,
    about: 'unary, 64 connections',
  },
  { name: 'unary-1', connections: 1, model: 'bench-burst', stream: false, isWarm: true, about: 'unary, 1 connection' },
  {
    name: 'open',
    connections: 0,
    model: 'bench-burst',
    stream: false,
    isWarm: true,
    about: `unary, ${OPEN_LOOP_RATE} requests a second`,
  },
  {
    name: 'burst',
    connections: 64,
    model: 'bench-burst',
    stream: true,
    isWarm: false,
    about: 'streams at full speed, 64 connections',
  },
  {
    name: 'paced',
    connections: 32,
    model: 'bench-paced',
    stream: true,
    isWarm: true,
    about: 'streams of one event per 4 ms, 32 connections',
  },
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

export const eventsOf = ({ to }: Route): number => EVENTS[to].length;

/** Head and body of the request. */
export function requestOf(target: Target, { from, to }: Route, model: Model, stream: boolean): string {
  const { path, body } = REQUESTS[from](model, stream);
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
  if (status === 501) return 'not implemented';
  if (status !== 200) return `returned ${status}: ${bodyOf(text).slice(0, 200)}`;
  if (stream && !text.includes(STREAM_END[from])) return `the stream ended without ${STREAM_END[from]}`;
  if (stream && (text.match(/flows on/g)?.length ?? 0) < 200) return 'the stream lost text';
  return undefined;
}

const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n')).trim() || text.trim();
