import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  CONTEXT,
  checkPromises,
  dataOf,
  decodeAll,
  readVectors,
  type WireEvent,
} from '../../../../test/support/dialects/codecs.ts';
import { runs } from '../../../../test/support/properties.ts';
import { ApiError } from '../../../core/index.ts';
import type { DecodeContext } from '../../codec.ts';
import { fold } from '../../hub/fold.ts';
import type { HubEvent } from '../../hub/types.ts';
import { decodeReply } from './decode-reply.ts';
import { openDecoder } from './stream-decoder.ts';

const VECTORS = readVectors('messages');

const decode = (events: readonly WireEvent[], context: DecodeContext = CONTEXT): HubEvent[] =>
  decodeAll(openDecoder(context), events);

describe('a messages stream', () => {
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
    const pool = VECTORS.flatMap((vector) => vector.events.map(({ data }) => dataOf(data)));
    const junk = fc.oneof(fc.constantFrom(...pool), fc.json(), fc.string());
    fc.assert(
      fc.property(fc.array(junk, { maxLength: 12 }), (blocks) => {
        const decoder = openDecoder(CONTEXT);
        checkPromises([...blocks.flatMap((data) => [...decoder.push(data)]), ...decoder.end()]);
      }),
      { numRuns: runs(300) },
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
        { kind: 'opaque', issuer: 'messages', raw: {} },
        { kind: 'opaque', issuer: 'messages', raw: {} },
      ],
      stop: 'end',
      usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, estimated: true },
    });
  });
});
