import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { checkEventOrder } from '../../../../test/support/dialects/codecs.ts';
import { CONTEXT, decodeStream, VECTORS } from '../../../../test/support/dialects/responses.ts';
import { runs } from '../../../../test/support/properties.ts';
import { fold } from '../../hub/fold.ts';
import { NO_USAGE } from '../../hub/types.ts';
import { decodeReply } from './decode-reply.ts';
import { openDecoder } from './stream-decoder.ts';

describe('responses stream decoder', () => {
  it('emits hub events in the promised order for any mixture of wire events', () => {
    const all = VECTORS.flatMap((vector) => vector.events);
    fc.assert(
      fc.property(fc.array(fc.nat(all.length - 1), { maxLength: 40 }), (picks) => {
        const events = decodeStream(picks.flatMap((pick) => all[pick] ?? []));
        assert.ok(events.length > 0);
        checkEventOrder(events);
      }),
      { numRuns: runs(300) },
    );
  });
  it('never throws on fields of any type', () => {
    const types = [...new Set(VECTORS.flatMap((vector) => vector.events.map(({ event }) => event ?? '')))];
    const field = fc.constantFrom(
      'item',
      'response',
      'delta',
      'output_index',
      'content_index',
      'item_id',
      'part',
      'text',
      'error',
      'arguments',
    );
    const event = fc.tuple(fc.constantFrom(...types), fc.dictionary(field, fc.jsonValue()));
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (list) => {
        checkEventOrder(decodeStream(list.map(([type, fields]) => ({ data: { ...fields, type } }))));
      }),
      { numRuns: runs(300) },
    );
  });
  it('emits nothing after the end', () => {
    const decoder = openDecoder(CONTEXT);
    assert.equal(decoder.push('not json').at(-1)?.kind, 'error');
    assert.deepEqual(decoder.push('{"type":"response.created","response":{}}'), []);
    assert.deepEqual(decoder.end(), []);
  });
  it('emits only an error for a failure that comes first, so that failover can try another account', () => {
    const response = { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] };
    const events = decodeStream([{ data: { type: 'response.failed', response } }]);
    assert.deepEqual(
      events.map((event) => event.kind),
      ['error'],
    );
  });
  it('tags opaque values with their account', () => {
    const vector = VECTORS.find(({ name }) => name === 'responses-reasoning.json');
    const folded = fold(decodeStream(vector?.events ?? [], { ...CONTEXT, account: 'acct' }));
    const [first] = 'reply' in folded ? folded.reply.items : [];
    assert.equal(first?.kind === 'reasoning' && first.opaque?.account, 'acct');
  });
  it('finds the item of a delta by its id when output_index is missing', () => {
    const events = decodeStream([
      { data: { type: 'response.created', response: { id: 'r', model: 'm' } } },
      {
        data: {
          type: 'response.output_item.added',
          output_index: 0,
          item: { type: 'function_call', id: 'a', call_id: 'c1', name: 'f' },
        },
      },
      {
        data: {
          type: 'response.output_item.added',
          output_index: 1,
          item: { type: 'function_call', id: 'b', call_id: 'c2', name: 'g' },
        },
      },
      { data: { type: 'response.function_call_arguments.delta', item_id: 'a', delta: '{}' } },
      { data: { type: 'response.done', response: { id: 'r', output: [] } } },
    ]);
    const folded = fold(events);
    assert.deepEqual('reply' in folded && folded.reply.items.map((item) => item.kind === 'tool_call' && item.args), [
      '{}',
      '{}',
    ]);
  });
  it('rejects an unfinished unary response and a body that is not a response', () => {
    assert.throws(() => decodeReply({ id: 'r', status: 'queued', output: [] }, CONTEXT), { code: 'upstream_error' });
    assert.throws(() => decodeReply('<html>', CONTEXT), { code: 'upstream_error' });
    assert.throws(() => decodeReply({ error: { code: 'server_is_overloaded', message: 'busy' } }, CONTEXT), {
      code: 'server_is_overloaded',
    });
  });
});

test('responses stream decoder reports a tier above standard in the start event', () => {
  const startOf = (service_tier: string) => {
    const decoder = openDecoder(CONTEXT);
    return decoder.push(
      JSON.stringify({ type: 'response.created', response: { id: 'resp_1', model: 'm', service_tier } }),
    );
  };
  assert.deepEqual(startOf('priority'), [
    { kind: 'start', id: 'resp_1', model: 'm', usage: { ...NO_USAGE, tier: 'priority' } },
  ]);
  for (const tier of ['auto', 'default'])
    assert.deepEqual(startOf(tier), [{ kind: 'start', id: 'resp_1', model: 'm' }]);
});
