/** For tests only: a plain request, frozen as the pipeline's are, the recorded transcripts, and a decoder run to its end. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { DecodeContext, ReplyContext, StreamDecoder } from '../../../src/dialects/codec.ts';
import type { HubEvent, HubItem, HubReply, HubRequest } from '../../../src/dialects/hub/types.ts';
import type { Dialect } from '../../../src/rules/index.ts';

export const hubRequest = (changes: Partial<HubRequest> = {}): HubRequest =>
  deepFreeze({
    dialect: 'messages',
    model: 'asked-for',
    stream: false,
    system: [],
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
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
    clientOptions: {},
    ...changes,
  });

export const answerContext = (changes: Partial<ReplyContext> = {}): ReplyContext => ({
  request: hubRequest(),
  model: 'asked-for',
  requestId: 'req_1',
  issuer: 'messages',
  created: 1_700_000_000,
  ...changes,
});

/** Encoders may not touch what they are given. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

export interface WireEvent {
  readonly event?: string;
  readonly data: unknown;
}

/** A recorded answer of an upstream, and what it must be read as. */
export interface Vector {
  readonly name: string;
  readonly about: string;
  readonly upstream: Dialect;
  readonly events: readonly WireEvent[];
  readonly unary?: unknown;
  readonly reply?: HubReply;
  readonly error?: { readonly code: string };
}

const FOLDER = new URL('../../vectors/replies/', import.meta.url);

export const readVectors = (dialect: Dialect): readonly Vector[] =>
  readdirSync(FOLDER)
    .filter((name) => name.startsWith(`${dialect}-`) && name.endsWith('.json'))
    .map((name) => ({ name, ...(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Omit<Vector, 'name'>) }));

export const CONTEXT: DecodeContext = { requestId: 'req_1' };

/** The text of one event of a vector. */
export const dataOf = (data: unknown): string => (typeof data === 'string' ? data : JSON.stringify(data));

/** All events that a decoder makes of these, the end included. */
export const decodeAll = (decoder: StreamDecoder, events: readonly WireEvent[]): HubEvent[] => [
  ...events.flatMap(({ data, event }) => decoder.push(dataOf(data), event)),
  ...decoder.end(),
];

/** What `hub.ts` promises above HubEvent. */
export function checkPromises(events: readonly HubEvent[]): void {
  const open = new Map<number, { readonly kind: HubItem['kind']; text: string }>();
  let items = 0;
  for (const [at, event] of events.entries()) {
    const isEnd = event.kind === 'finish' || event.kind === 'error';
    assert.equal(isEnd, at === events.length - 1, 'one end, and nothing after it');
    if (event.kind !== 'error') assert.equal(event.kind === 'start', at === 0, 'start comes first and once');
    if (event.kind === 'item') {
      assert.equal(event.index, items++, 'indices are dense and in order');
      open.set(event.index, { kind: event.item.kind, text: '' });
      continue;
    }
    if (event.kind === 'finish') assert.equal(open.size, 0, 'finish comes after the end of every item');
    if (!('index' in event)) continue;
    const begun = open.get(event.index);
    assert.ok(begun, `${event.kind} belongs to an open item`);
    if ('text' in event) {
      assert.notEqual(event.text, '', 'a delta says something');
      begun.text += event.text;
    }
    if (event.kind !== 'item_end') continue;
    assert.equal(event.item.kind, begun.kind, 'an item stays what it was');
    assert.equal(contentOf(event.item), begun.text, 'an item equals its deltas');
    open.delete(event.index);
  }
}

function contentOf(item: HubItem): string {
  if (item.kind === 'tool_call') return item.args;
  if (item.kind === 'reasoning') return item.summary.join('');
  return item.kind === 'message' ? item.parts.map((part) => ('text' in part ? part.text : '')).join('') : '';
}
