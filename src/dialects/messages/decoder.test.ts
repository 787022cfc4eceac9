import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../core/index.ts';
import { fold } from '../fold.ts';
import type { HubEvent, HubItem } from '../hub.ts';
import { openDecoder } from './decoder.ts';
import { decodeReply } from './reply.ts';

interface Vector {
  readonly about: string;
  readonly events: readonly { readonly event?: string; readonly data: unknown }[];
  readonly unary?: unknown;
  readonly reply?: unknown;
  readonly error?: { readonly code: string };
}

const FOLDER = new URL('../vectors/', import.meta.url);
const VECTORS = readdirSync(FOLDER)
  .filter((name) => name.startsWith('messages-'))
  .map((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Vector);
const CONTEXT = { requestId: 'req_1' };

const textOf = (data: unknown): string => (typeof data === 'string' ? data : JSON.stringify(data));

function decode(events: Vector['events'], context: { requestId: string; account?: string } = CONTEXT): HubEvent[] {
  const decoder = openDecoder(context);
  const told = events.flatMap(({ data, event }) => [...decoder.push(textOf(data), event)]);
  return [...told, ...decoder.end()];
}

/** The promises above HubEvent in hub.ts. */
function assertInvariants(events: readonly HubEvent[]): void {
  const told: string[] = [];
  const items: (HubItem | undefined)[] = [];
  const ended = new Set<number>();
  const deltas = new Map<number, string>();
  for (const [n, event] of events.entries()) {
    if (event.kind === 'start') assert.equal(n, 0, 'start comes first');
    if (event.kind === 'item') {
      assert.equal(event.index, items.length, 'items are dense');
      items.push(event.item);
    } else if ('index' in event) {
      assert.ok(event.index < items.length && !ended.has(event.index), 'events belong to an open item');
    }
    if ('text' in event) {
      assert.notEqual(event.text, '', 'deltas are not empty');
      deltas.set(event.index, (deltas.get(event.index) ?? '') + event.text);
    }
    if (event.kind === 'item_end') {
      ended.add(event.index);
      assert.equal(contentOf(event.item), deltas.get(event.index) ?? '', 'an item equals its deltas');
      assert.equal(event.item.kind, items[event.index]?.kind);
    }
    told.push(event.kind);
  }
  const ends = told.filter((kind) => kind === 'finish' || kind === 'error');
  assert.equal(ends.length, 1, 'one end');
  assert.equal(told.at(-1), ends[0], 'nothing after the end');
  if (ends[0] === 'finish') assert.equal(ended.size, items.length, 'finish after every item');
}

function contentOf(item: HubItem): string {
  if (item.kind === 'tool_call') return item.args;
  if (item.kind === 'reasoning') return item.summary.join('');
  return item.kind === 'message' ? item.parts.map((part) => ('text' in part ? part.text : '')).join('') : '';
}

describe('a messages stream', () => {
  for (const vector of VECTORS) {
    it(`is read: ${vector.about}`, () => {
      const events = decode(vector.events);
      assertInvariants(events);
      const folded = fold(events);
      if (vector.reply) assert.deepEqual(folded, { reply: vector.reply });
      else assert.equal('error' in folded && folded.error.code, vector.error?.code);
      assert.deepEqual(decode(vector.events), events, 'twice the same');
    });
    if (vector.unary !== undefined) {
      it(`equals its unary form: ${vector.about}`, () => {
        assert.deepEqual(decodeReply(vector.unary, CONTEXT), vector.reply);
      });
    }
  }

  it('never finishes when it is cut before its stop reason', () => {
    for (const vector of VECTORS) {
      const reason = vector.events.findIndex(({ data }) => /"stop_reason":"/.test(textOf(data)));
      for (let length = 0; length < vector.events.length; length += 1) {
        const events = decode(vector.events.slice(0, length));
        assertInvariants(events);
        if (reason < 0 || length <= reason)
          assert.equal(events.at(-1)?.kind, 'error', `${vector.about} after ${length}`);
      }
    }
  });

  it('names the account on what it signed', () => {
    const thinking = VECTORS.find((vector) => vector.about.startsWith('thinking with its signature'));
    const folded = fold(decode(thinking?.events ?? [], { requestId: 'req_1', account: 'acc1' }));
    const item = 'reply' in folded ? folded.reply.items[0] : undefined;
    assert.equal(item?.kind === 'reasoning' && item.opaque?.account, 'acc1');
  });

  it('gives a call without id one that depends on the request and its place only', () => {
    const body = { content: [{ type: 'tool_use', name: 'a', input: {} }], stop_reason: 'tool_use', usage: {} };
    const [first, second] = [decodeReply(body, CONTEXT), decodeReply(body, CONTEXT)];
    assert.deepEqual(first, second);
    const call = first.items[0];
    assert.match(call?.kind === 'tool_call' ? call.callId : '', /^call_gw[a-z2-7]{20}$/);
  });

  it('survives any order and any damage without throwing or hanging', () => {
    const pool = VECTORS.flatMap((vector) => vector.events.map(({ data }) => textOf(data)));
    const junk = fc.oneof(fc.constantFrom(...pool), fc.json(), fc.string());
    fc.assert(
      fc.property(fc.array(junk, { maxLength: 12 }), (blocks) => {
        const decoder = openDecoder(CONTEXT);
        assertInvariants([...blocks.flatMap((data) => [...decoder.push(data)]), ...decoder.end()]);
      }),
      { numRuns: 300 },
    );
  });

  it('is not led astray by words that every object knows', () => {
    const content = [{ type: 'constructor' }, { type: 'server_tool_use', id: 's', name: 'toString' }];
    const { items, stop } = decodeReply({ content, stop_reason: 'valueOf', usage: { output_tokens: 1 } }, CONTEXT);
    assert.deepEqual(
      [items[0]?.kind, items[1]?.kind === 'server_call' && items[1].tool, stop],
      ['opaque', 'other', 'end'],
    );
  });

  it('takes the type from the event line where the data lacks it', () => {
    const decoder = openDecoder(CONTEXT);
    assert.equal(decoder.push('{"message":{"id":"msg_1","model":"m"}}', 'message_start')[0]?.kind, 'start');
  });
});

describe('a unary answer', () => {
  it('that is no answer is an upstream error', () => {
    for (const body of [null, 'hello', [], {}, { content: 'x' }]) {
      assert.throws(
        () => decodeReply(body, CONTEXT),
        (error) => error instanceof ApiError && error.code === 'upstream_error',
      );
    }
  });

  it('that is an error under a 200 keeps what the error means', () => {
    const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    assert.throws(
      () => decodeReply(body, CONTEXT),
      (error) => error instanceof ApiError && error.code === 'server_is_overloaded',
    );
  });

  it('may lack almost everything', () => {
    assert.deepEqual(decodeReply({ content: [{}, null, { type: 'text' }] }, CONTEXT), {
      id: 'req_1',
      model: '',
      items: [
        { kind: 'opaque', home: 'messages', raw: {} },
        { kind: 'opaque', home: 'messages', raw: {} },
      ],
      stop: 'end',
      usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, estimated: true },
    });
  });
});
