import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeStream } from '../../../../test/support/dialects/responses.ts';
import { runs } from '../../../../test/support/properties.ts';
import { fold } from '../../hub/fold.ts';
import type { HubItem } from '../../hub/types.ts';

type Event = Readonly<Record<string, unknown>>;

function itemsOf(events: readonly Event[]): readonly HubItem[] {
  const folded = fold(decodeStream(events.map((data) => ({ data }))));
  assert.ok('reply' in folded, JSON.stringify(folded));
  return folded.reply.items;
}

const textsOf = (items: readonly HubItem[]): string[] =>
  items.flatMap((item) => (item.kind === 'message' ? item.parts : [])).map((part) => ('text' in part ? part.text : ''));

/** As Bedrock streams gpt-oss: the number counts the reasoning, which is an item of its own. */
test('responses stream decoder emits a text once whose deltas have another number than the finished part', () => {
  const place = { output_index: 1, item_id: 'msg_1', content_index: 1 };
  const part = { type: 'output_text', text: 'Tides follow the moon.', annotations: [] };
  const reasoning = {
    type: 'reasoning',
    id: 'rs_1',
    content: [{ type: 'reasoning_text', text: 'Moon?' }],
    summary: [],
  };
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };
  const items = itemsOf([
    { type: 'response.created', response: { id: 'resp_1', model: 'openai.gpt-oss-20b' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, content: [] } },
    { type: 'response.reasoning_text.delta', output_index: 0, item_id: 'rs_1', content_index: 2, delta: 'Moon?' },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
    { type: 'response.output_text.delta', ...place, delta: 'Tides follow ' },
    { type: 'response.output_text.delta', ...place, delta: 'the moon.' },
    { type: 'response.output_text.done', ...place, text: 'Tides follow the moon.' },
    { type: 'response.output_item.done', output_index: 1, item: message },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [reasoning, message] } },
  ]);
  assert.deepEqual(textsOf(items), ['Tides follow the moon.']);
  assert.deepEqual(items[0], { kind: 'reasoning', summary: ['Moon?'] });
});

/** Relays that send events in two tasks swap them. */
test('responses stream decoder emits a text once whose last deltas come after its end', () => {
  const place = { output_index: 0, item_id: 'msg_1', content_index: 0 };
  const part = { type: 'output_text', text: 'Tides follow the moon.', annotations: [] };
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };
  const delta = (text: string) => ({ type: 'response.output_text.delta', ...place, delta: text });
  const items = itemsOf([
    { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
    delta('Tides '),
    { type: 'response.output_text.done', ...place, text: part.text },
    delta('follow '),
    delta('the moon.'),
    { type: 'response.output_item.done', output_index: 0, item: message },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [message] } },
  ]);
  assert.deepEqual(textsOf(items), ['Tides follow the moon.']);
});

const numberOf = fc.oneof(fc.constant(undefined), fc.nat(3), fc.constantFrom<unknown>(null, -1, 1.5, '1', 1e300));
const chunks = fc.array(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });
const streamedPart = fc.record({
  kind: fc.constantFrom('output_text', 'refusal'),
  chunks,
  /** How much arrives as deltas. */
  sent: fc.constantFrom('none', 'first', 'all'),
  deltaNumber: numberOf,
  doneNumber: numberOf,
});
type Drawn = typeof streamedPart extends fc.Arbitrary<infer Value> ? Value : never;
/** `isDone`: an event of its own has its complete text. */
interface StreamedPart extends Drawn {
  readonly isDone: boolean;
}

const fieldOf = ({ kind }: StreamedPart) => (kind === 'refusal' ? 'refusal' : 'text');
const textOf = (part: StreamedPart) => part.chunks.join('');

function eventsOf(part: StreamedPart): Event[] {
  const count = { none: 0, first: 1, all: part.chunks.length }[part.sent];
  const event = (type: string, number: unknown, more: Event) => ({
    type: `response.${part.kind}.${type}`,
    output_index: 0,
    content_index: number,
    ...more,
  });
  return [
    ...part.chunks.slice(0, count).map((delta) => event('delta', part.deltaNumber, { delta })),
    ...(part.isDone ? [event('done', part.doneNumber, { [fieldOf(part)]: textOf(part) })] : []),
  ];
}

test('responses stream decoder emits every text once, whatever numbers its parts have', () => {
  fc.assert(
    fc.property(
      fc.array(streamedPart, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.boolean(),
      (drawn, isDone, isInItem) => {
        const parts = drawn.map((part, index) => ({
          ...part,
          // Equal texts under one number could be told apart by the item alone.
          chunks: [`${index}`, ...part.chunks],
          // Without an end of its own, a part before others could only be completed behind them.
          sent: isDone || index === drawn.length - 1 ? part.sent : ('all' as const),
          isDone,
        }));
        const content = parts.map((part) => ({ type: part.kind, [fieldOf(part)]: textOf(part) }));
        const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
        const ending = isInItem ? [{ type: 'response.output_item.done', output_index: 0, item }] : [];
        const items = itemsOf([
          { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
          { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
          ...parts.flatMap(eventsOf),
          ...ending,
          { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [item] } },
        ]);
        for (const kind of ['output_text', 'refusal']) {
          const expected = parts.filter((part) => part.kind === kind).map(textOf);
          const received = items
            .flatMap((one) => (one.kind === 'message' ? one.parts : []))
            .flatMap((part) =>
              part.kind === (kind === 'refusal' ? 'refusal' : 'text') && 'text' in part ? part.text : [],
            );
          assert.equal(received.join(''), expected.join(''));
        }
      },
    ),
    { numRuns: runs(2_000) },
  );
});
