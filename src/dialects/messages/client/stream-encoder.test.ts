import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  accumulate,
  call,
  clientContext,
  encodeStream,
  hubReply,
  message,
  USAGE,
} from '../../../../test/support/dialects/messages.ts';
import { runs } from '../../../../test/support/properties.ts';
import { readSse } from '../../../core/index.ts';
import { unfold } from '../../hub/fold.ts';
import type { HubEvent, JsonObject, Opaque } from '../../hub/types.ts';
import { decodeMessages } from './decode-content.ts';
import { openEncoder } from './stream-encoder.ts';

function blocksOf(wire: string): { event: string | undefined; data: JsonObject }[] {
  const blocks: { event: string | undefined; data: JsonObject }[] = [];
  const reader = readSse((data, event) => blocks.push({ event, data: JSON.parse(data) as JsonObject }));
  reader.feed(Buffer.from(wire));
  return blocks;
}

describe('messages stream encoder', () => {
  const start: HubEvent = { kind: 'start', id: 'x', model: 'u' };
  const item = (index: number): HubEvent => ({ kind: 'item', index, item: call(`c${index}`, '') });
  const args = (index: number, text: string): HubEvent => ({ kind: 'args', index, text });
  const end = (index: number, text: string): HubEvent => ({ kind: 'item_end', index, item: call(`c${index}`, text) });
  const finish: HubEvent = { kind: 'finish', stop: 'tool', usage: USAGE };

  it('writes interleaved items one after the other, in the order they began', async () => {
    const wire = encodeStream([
      ...[start, item(0), item(1), item(2), args(1, '{"b"'), args(0, '{"a"'), args(2, '{}'), end(2, '{}')],
      ...[args(1, ':2}'), args(0, ':1}'), end(1, '{"b":2}'), end(0, '{"a":1}'), finish],
    ]);
    const indices = blocksOf(wire).flatMap(({ data }) => (typeof data.index === 'number' ? [data.index] : []));
    assert.deepEqual(
      indices,
      [...indices].sort((a, b) => a - b),
    );
    const { content } = await accumulate(wire);
    assert.deepEqual(
      (content as JsonObject[]).map((block) => block.input),
      [{ a: 1 }, { b: 2 }, {}],
    );
  });

  it('writes the same blocks for every interleaving', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 8, maxLength: 40 }), (turns) => {
        const queues = [0, 1, 2, 3].map((index) => [
          args(index, '{"n":'),
          args(index, `${index}}`),
          end(index, `{"n":${index}}`),
        ]);
        const mixed = turns.flatMap((n) => queues[n]?.shift() ?? []);
        const events = [start, ...[0, 1, 2, 3].map(item), ...mixed, ...queues.flat(), finish];
        const written = blocksOf(encodeStream(events));
        const json = [0, 1, 2, 3].map((index) =>
          written
            .filter(({ data }) => data.index === index && data.type === 'content_block_delta')
            .map(({ data }) => (data.delta as JsonObject).partial_json)
            .join(''),
        );
        assert.deepEqual(json, ['{"n":0}', '{"n":1}', '{"n":2}', '{"n":3}']);
      }),
      { numRuns: runs(100) },
    );
  });

  it('ends with an error when the buffered output exceeds the limit', () => {
    const encoder = openEncoder(clientContext());
    for (const event of [start, item(0), item(1)]) encoder.push(event);
    const piece = 'x'.repeat(2 ** 20);
    const written = Array.from({ length: 9 }, () => encoder.push(args(1, piece)));
    assert.deepEqual(written.slice(0, 8), Array(8).fill(''));
    assert.match(written[8] ?? '', /^event: error\n/);
    assert.equal(encoder.push(finish), '');
  });

  it('writes 20,000 buffered items without a stack overflow', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => index + 1);
    const wire = encodeStream([
      start,
      item(0),
      ...many.flatMap((index) => [item(index), end(index, '')]),
      end(0, ''),
      finish,
    ]);
    assert.equal(wire.match(/event: content_block_stop/g)?.length, 20_001);
  });

  it('sets the event line of each event and starts with message_start and ping', () => {
    const written = blocksOf(encodeStream(unfold(hubReply([message('assistant', 'Hi')]))));
    assert.deepEqual(
      written.map(({ event }) => event),
      [
        'message_start',
        'ping',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    );
    assert.ok(written.every(({ event, data }) => event === data.type));
    const head = written[0]?.data.message as JsonObject;
    assert.equal(head.stop_reason, null);
    assert.equal((head.usage as JsonObject).output_tokens, 1);
  });

  it('writes a call of a generateContent upstream as one delta', () => {
    const written = blocksOf(
      encodeStream(unfold(hubReply([call('c1', '{"q":1}')], { stop: 'tool' })), 'generate-content'),
    );
    const deltas = written.filter(({ event }) => event === 'content_block_delta').map(({ data }) => data.delta);
    assert.deepEqual(deltas, [{ type: 'input_json_delta', partial_json: '{"q":1}' }]);
  });

  it('writes a signature that arrives after its call so that the decoder can attach it', async () => {
    const signature: Opaque = { issuer: 'generate-content', kind: 'thought', data: 'late' };
    const wire = encodeStream([
      start,
      item(0),
      args(0, '{}'),
      { kind: 'item_end', index: 0, item: call('c0', '{}', { signature }) },
      finish,
    ]);
    const { content } = await accumulate(wire);
    const [back] = decodeMessages([{ role: 'assistant', content }]);
    assert.equal(back?.kind === 'tool_call' && back.signature?.data, 'late');
  });

  it('writes an error event and nothing after it', () => {
    const encoder = openEncoder(clientContext());
    encoder.push(start);
    const wire = encoder.push({ kind: 'error', error: { code: 'server_is_overloaded', message: 'Busy.' } });
    assert.deepEqual(blocksOf(wire)[0]?.data, {
      type: 'error',
      error: { type: 'overloaded_error', message: 'Busy.', code: 'server_is_overloaded' },
      request_id: 'req_9',
    });
    assert.equal(encoder.push(finish), '');
    assert.equal(encoder.heartbeat(), '');
  });

  it('ends with an error event on a malformed call', () => {
    assert.match(encodeStream([start, { kind: 'finish', stop: 'malformed_call', usage: USAGE }]), /event: error\n/);
  });

  it('sends a ping as heartbeat', () => {
    assert.equal(openEncoder(clientContext()).heartbeat(), 'event: ping\ndata: {"type":"ping"}\n\n');
  });
});
