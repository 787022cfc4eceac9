/**
 * Fixtures for codec tests: a frozen hub request, provider replies made by hand, complete runs of a decoder or a
 * conversion.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { DecodeContext, EncodedRequest, ReplyContext, StreamDecoder } from '../../../src/dialects/codec.ts';
import { type Pair, readReply } from '../../../src/dialects/convert.ts';
import type { HubEvent, HubItem, HubReply, HubRequest } from '../../../src/dialects/hub/types.ts';
import type { UpstreamDialect } from '../../../src/rules/index.ts';
import '../response-shapes.ts';

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

export const replyContext = (changes: Partial<ReplyContext> = {}): ReplyContext => ({
  request: hubRequest(),
  model: 'asked-for',
  requestId: 'req_1',
  issuer: 'messages',
  created: 1_700_000_000,
  ...changes,
});

/** Freezes the value and its members, so that an encoder that modifies its input throws. */
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

/** A provider reply, written by hand in the form of the provider, and its expected decoding. */
export interface Vector {
  readonly name: string;
  readonly about: string;
  readonly upstream: UpstreamDialect;
  readonly events: readonly WireEvent[];
  readonly unary?: unknown;
  readonly reply?: HubReply;
  readonly error?: { readonly code: string };
}

const FOLDER = new URL('../../vectors/replies/', import.meta.url);

export const readVectors = (dialect: UpstreamDialect): readonly Vector[] =>
  readdirSync(FOLDER)
    .filter((name) => name.startsWith(`${dialect}-`) && name.endsWith('.json'))
    .map((name) => ({ name, ...(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Omit<Vector, 'name'>) }));

export const CONTEXT: DecodeContext = { requestId: 'req_1' };

/** The text of one event of a vector. */
export const dataOf = (data: unknown): string => (typeof data === 'string' ? data : JSON.stringify(data));

/** Returns all hub events of a stream, its end included. */
export const decodeAll = (decoder: StreamDecoder, events: readonly WireEvent[]): HubEvent[] => [
  ...events.flatMap(({ data, event }) => decoder.push(dataOf(data), event)),
  ...decoder.end(),
];

/** Converts a unary reply to the client's body. */
export const convertReply = (
  { client, upstream }: Pair,
  encoded: EncodedRequest,
  body: unknown,
  context: ReplyContext,
): unknown => client.encodeReply(readReply(upstream, encoded, body, { requestId: context.requestId }), context);

/** Asserts the invariants documented at `HubEvent`. */
export function checkEventOrder(events: readonly HubEvent[]): void {
  const open = new Map<number, { readonly kind: HubItem['kind']; text: string }>();
  let items = 0;
  for (const [at, event] of events.entries()) {
    const isEnd = event.kind === 'finish' || event.kind === 'error';
    assert.equal(isEnd, at === events.length - 1, 'the only terminal event is the last one');
    if (event.kind !== 'error') assert.equal(event.kind === 'start', at === 0, 'start comes first and once');
    if (event.kind === 'item') {
      assert.equal(event.index, items++, 'indices are dense and in order');
      open.set(event.index, { kind: event.item.kind, text: '' });
      continue;
    }
    if (event.kind === 'finish') assert.equal(open.size, 0, 'finish comes after the end of every item');
    if (!('index' in event)) continue;
    const item = open.get(event.index);
    assert.ok(item, `${event.kind} belongs to an open item`);
    if ('text' in event) {
      assert.notEqual(event.text, '', 'a delta is not empty');
      item.text += event.text;
    }
    if (event.kind !== 'item_end') continue;
    assert.equal(event.item.kind, item.kind, 'an item keeps its kind');
    assert.equal(contentOf(event.item), item.text, 'an item equals its deltas');
    open.delete(event.index);
  }
}

function contentOf(item: HubItem): string {
  if (item.kind === 'tool_call') return item.args;
  if (item.kind === 'reasoning') return item.summary.join('');
  return item.kind === 'message' ? item.parts.map((part) => ('text' in part ? part.text : '')).join('') : '';
}
