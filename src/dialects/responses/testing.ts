/** For tests only: vectors, requests and answers in short form, and a reader of what the encoder writes. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Dialect } from '../../rules/index.ts';
import { capabilitiesOf } from '../../rules/index.ts';
import type { AnswerContext, StreamEncoder, Target, UpstreamContext } from '../codec.ts';
import type { HubEvent, HubReply, HubRequest, JsonObject } from '../hub.ts';

export interface Vector {
  readonly about: string;
  readonly upstream: Dialect;
  readonly events: readonly { readonly event?: string; readonly data: unknown }[];
  readonly unary?: unknown;
  readonly reply?: HubReply;
  readonly error?: { readonly code: string };
}

const FOLDER = new URL('../vectors/', import.meta.url);

export const vectors = (dialect = ''): (Vector & { readonly name: string })[] =>
  readdirSync(FOLDER)
    .filter((name) => name.startsWith(dialect) && name.endsWith('.json'))
    .map((name) => ({ name, ...(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Vector) }));

export const CONTEXT: UpstreamContext = { requestId: 'req_vector' };

/** The text of one SSE event of a vector. */
export const dataOf = (data: unknown): string => (typeof data === 'string' ? data : JSON.stringify(data));

export const aRequest = (over: Partial<HubRequest> = {}): HubRequest => ({
  dialect: 'messages',
  model: 'demo',
  stream: true,
  system: [],
  items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }],
  tools: [],
  toolChoice: { kind: 'auto' },
  reasoning: {},
  output: { format: { kind: 'text' } },
  limits: {},
  sampling: {},
  cache: {},
  state: {},
  meta: {},
  unknown: [],
  wants: {},
  ...over,
});

export const aTarget = (over: Partial<Target> = {}, flags = {}): Target => ({
  model: 'gpt-6',
  capabilities: capabilitiesOf('responses', 'gpt-5', flags),
  ...over,
});

export const anAnswer = (over: Partial<AnswerContext> = {}): AnswerContext => ({
  request: aRequest({ dialect: 'responses' }),
  model: 'asked-for',
  requestId: 'req_1',
  home: 'messages',
  created: 1_700_000_000,
  ...over,
});

/** The events that an encoder wrote, comments left out. */
export function written(encoder: StreamEncoder, events: readonly HubEvent[]): JsonObject[] {
  const text = events.map((event) => encoder.push(event)).join('');
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 'data: '.length)) as JsonObject);
}
