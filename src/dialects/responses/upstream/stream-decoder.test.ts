import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { checkPromises } from '../../../../test/support/dialects/codecs.ts';
import { CONTEXT, decode, STORIES } from '../../../../test/support/dialects/responses.ts';
import { runs } from '../../../../test/support/properties.ts';
import { fold } from '../../hub/fold.ts';
import { NO_USAGE } from '../../hub/types.ts';
import { decodeReply } from './decode-reply.ts';
import { openDecoder } from './stream-decoder.ts';

describe('the responses decoder, whatever comes', () => {
  it('keeps its promises about order for any mixture of events', () => {
    const all = STORIES.flatMap((story) => story.events);
    fc.assert(
      fc.property(fc.array(fc.nat(all.length - 1), { maxLength: 40 }), (picks) => {
        const events = decode(picks.flatMap((pick) => all[pick] ?? []));
        assert.ok(events.length > 0);
        checkPromises(events);
      }),
      { numRuns: runs(300) },
    );
  });
  it('never throws on events whose fields are of any kind', () => {
    const types = [...new Set(STORIES.flatMap((story) => story.events.map(({ event }) => event ?? '')))];
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
        checkPromises(decode(list.map(([type, fields]) => ({ data: { ...fields, type } }))));
      }),
      { numRuns: runs(300) },
    );
  });
  it('says nothing after the end', () => {
    const decoder = openDecoder(CONTEXT);
    assert.equal(decoder.push('not json').at(-1)?.kind, 'error');
    assert.deepEqual(decoder.push('{"type":"response.created","response":{}}'), []);
    assert.deepEqual(decoder.end(), []);
  });
  it('tells a failure that comes first as nothing but a failure, so that another account may be tried', () => {
    const response = { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] };
    const events = decode([{ data: { type: 'response.failed', response } }]);
    assert.deepEqual(
      events.map((event) => event.kind),
      ['error'],
    );
  });
  it('marks opaque values with the account they came from', () => {
    const story = STORIES.find(({ name }) => name === 'responses-reasoning.json');
    const folded = fold(decode(story?.events ?? [], { ...CONTEXT, account: 'acct' }));
    const [first] = 'reply' in folded ? folded.reply.items : [];
    assert.equal(first?.kind === 'reasoning' && first.opaque?.account, 'acct');
  });
  it('finds the item of a delta by its id where the place is left out', () => {
    const events = decode([
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
  it('refuses a whole answer that is not finished, and one that is no response', () => {
    assert.throws(() => decodeReply({ id: 'r', status: 'queued', output: [] }, CONTEXT), { code: 'upstream_error' });
    assert.throws(() => decodeReply('<html>', CONTEXT), { code: 'upstream_error' });
    assert.throws(() => decodeReply({ error: { code: 'server_is_overloaded', message: 'busy' } }, CONTEXT), {
      code: 'server_is_overloaded',
    });
  });
});

test('a tier above the usual one is known from the first event', () => {
  const startOf = (service_tier: string) => {
    const decoder = openDecoder(CONTEXT);
    return decoder.push(
      JSON.stringify({ type: 'response.created', response: { id: 'resp_1', model: 'm', service_tier } }),
    );
  };
  assert.deepEqual(startOf('priority'), [
    { kind: 'start', id: 'resp_1', model: 'm', usage: { ...NO_USAGE, tier: 'priority' } },
  ]);
  for (const word of ['auto', 'default'])
    assert.deepEqual(startOf(word), [{ kind: 'start', id: 'resp_1', model: 'm' }]);
});
