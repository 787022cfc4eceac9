import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  CONTEXT,
  checkEventOrder,
  dataOf,
  decodeAll,
  readVectors,
  type WireEvent,
} from '../../../../test/support/dialects/codecs.ts';
import { runs } from '../../../../test/support/properties.ts';
import type { DecodeContext } from '../../codec.ts';
import { fold } from '../../hub/fold.ts';
import type { HubEvent } from '../../hub/types.ts';
import { decodeReply, openDecoder } from './stream-decoder.ts';

const VECTORS = readVectors('messages');

const decode = (events: readonly WireEvent[], context: DecodeContext = CONTEXT): HubEvent[] =>
  decodeAll(openDecoder(context), events);

describe('messages stream decoder', () => {
  it('adds the account to signatures', () => {
    const thinking = VECTORS.find((vector) => vector.about.startsWith('thinking with its signature'));
    const folded = fold(decode(thinking?.events ?? [], { requestId: 'req_1', account: 'acc1' }));
    const item = 'reply' in folded ? folded.reply.items[0] : undefined;
    assert.equal(item?.kind === 'reasoning' && item.opaque?.account, 'acc1');
  });

  it('derives a missing call id from the request id and the position of the call', () => {
    const body = { content: [{ type: 'tool_use', name: 'a', input: {} }], stop_reason: 'tool_use', usage: {} };
    const [first, second] = [decodeReply(body, CONTEXT), decodeReply(body, CONTEXT)];
    assert.deepEqual(first, second);
    const call = first.items[0];
    assert.match(call?.kind === 'tool_call' ? call.callId : '', /^call_gw[\w-]{20}$/);
  });

  it('ends every stream properly, with events in any order and damaged events', () => {
    const pool = VECTORS.flatMap((vector) => vector.events.map(({ data }) => dataOf(data)));
    const junk = fc.oneof(fc.constantFrom(...pool), fc.json(), fc.string());
    fc.assert(
      fc.property(fc.array(junk, { maxLength: 12 }), (blocks) => {
        const decoder = openDecoder(CONTEXT);
        checkEventOrder([...blocks.flatMap((data) => [...decoder.push(data)]), ...decoder.end()]);
      }),
      { numRuns: runs(300) },
    );
  });

  it('treats names of Object.prototype members as unknown types', () => {
    const content = [{ type: 'constructor' }, { type: 'server_tool_use', id: 's', name: 'toString' }];
    const { items, stop } = decodeReply({ content, stop_reason: 'valueOf', usage: { output_tokens: 1 } }, CONTEXT);
    assert.deepEqual(
      [items[0]?.kind, items[1]?.kind === 'server_call' && items[1].tool, stop],
      ['opaque', 'other', 'end'],
    );
  });

  it('reads the type from the event line when the data has none', () => {
    const decoder = openDecoder(CONTEXT);
    assert.equal(decoder.push('{"message":{"id":"msg_1","model":"m"}}', 'message_start')[0]?.kind, 'start');
  });
});
