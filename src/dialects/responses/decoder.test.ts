import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../core/index.ts';
import { fold } from '../fold.ts';
import type { HubEvent, HubItem } from '../hub.ts';
import { openDecoder } from './decoder.ts';
import { decodeReply } from './reply.ts';
import { CONTEXT, dataOf, type Vector, vectors } from './testing.ts';

const STORIES = vectors('responses-');

function decode(events: Vector['events'], context = CONTEXT): HubEvent[] {
  const decoder = openDecoder(context);
  return [...events.flatMap(({ data, event }) => decoder.push(dataOf(data), event)), ...decoder.end()];
}

describe('the responses decoder, story by story', () => {
  for (const story of STORIES) {
    it(`folds into the expected answer: ${story.about}`, () => {
      const folded = fold(decode(story.events));
      if ('error' in folded) assert.equal(folded.error.code, story.error?.code, folded.error.message);
      else assert.deepEqual(folded.reply, story.reply);
    });
    it(`reads the same answer from a whole body: ${story.about}`, () => {
      if (story.unary === undefined) return;
      if (story.reply) assert.deepEqual(decodeReply(story.unary, CONTEXT), story.reply);
      else
        assert.throws(
          () => decodeReply(story.unary, CONTEXT),
          (error) => error instanceof ApiError && error.code === story.error?.code,
        );
    });
    it(`keeps its promises about order: ${story.about}`, () => checkOrder(decode(story.events)));
    it(`never finishes when cut short, and gives the same twice: ${story.about}`, () => {
      for (let length = 0; length < story.events.length; length++) {
        const events = decode(story.events.slice(0, length));
        checkOrder(events);
        assert.equal(events.at(-1)?.kind, 'error');
      }
      assert.deepEqual(decode(story.events), decode(story.events));
    });
  }
});

function checkOrder(events: readonly HubEvent[]): void {
  const open = new Map<number, string>();
  let items = 0;
  for (const [at, event] of events.entries()) {
    if (event.kind === 'start') assert.equal(at, 0);
    if (event.kind === 'item') {
      assert.equal(event.index, items++);
      open.set(event.index, '');
    }
    if ('index' in event && event.kind !== 'item')
      assert.ok(open.has(event.index), 'nothing of an item that is not open');
    if ('index' in event && 'text' in event) open.set(event.index, open.get(event.index) + event.text);
    if (event.kind === 'item_end') {
      assert.equal(textOf(event.item), open.get(event.index));
      open.delete(event.index);
    }
    if (event.kind === 'finish') assert.equal(open.size, 0);
    assert.equal(event.kind === 'finish' || event.kind === 'error', at === events.length - 1);
  }
}

function textOf(item: HubItem): string {
  if (item.kind === 'message') return item.parts.map((part) => ('text' in part ? part.text : '')).join('');
  if (item.kind === 'reasoning') return item.summary.join('');
  return item.kind === 'tool_call' ? item.args : '';
}

describe('the responses decoder, whatever comes', () => {
  it('keeps its promises about order for any mixture of events', () => {
    const all = STORIES.flatMap((story) => story.events);
    fc.assert(
      fc.property(fc.array(fc.nat(all.length - 1), { maxLength: 40 }), (picks) => {
        const events = decode(picks.flatMap((pick) => all[pick] ?? []));
        assert.ok(events.length > 0);
        checkOrder(events);
      }),
      { numRuns: 300 },
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
        checkOrder(decode(list.map(([type, fields]) => ({ data: { ...fields, type } }))));
      }),
      { numRuns: 300 },
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
