import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ItemEvent, ItemSerializer } from './serialize-items.ts';
import type { HubItem } from './types.ts';

const MESSAGE: HubItem = { kind: 'message', role: 'assistant', parts: [] };
const open = (index: number): ItemEvent => ({ kind: 'item', index, item: MESSAGE });
const text = (index: number, value: string): ItemEvent => ({ kind: 'text', index, part: 0, text: value });
const end = (index: number): ItemEvent => ({ kind: 'item_end', index, item: MESSAGE });

const serialize = (...events: ItemEvent[]): ItemEvent[] => {
  const serializer = new ItemSerializer();
  return events.flatMap((event) => serializer.push(event));
};

test('ItemSerializer passes events of the current item on at once', () => {
  const serializer = new ItemSerializer();
  for (const event of [open(0), text(0, 'a'), end(0), open(1)]) assert.deepEqual(serializer.push(event), [event]);
});

test('ItemSerializer holds a later item back until the current one ends', () => {
  const serializer = new ItemSerializer();
  serializer.push(open(0));
  assert.deepEqual(serializer.push(open(1)), []);
  assert.deepEqual(serializer.push(text(1, 'b')), []);
  assert.deepEqual(serializer.push(text(0, 'a')), [text(0, 'a')]);
  assert.deepEqual(serializer.push(end(0)), [end(0), open(1), text(1, 'b')]);
  assert.deepEqual(serializer.push(text(1, 'c')), [text(1, 'c')]);
});

test('ItemSerializer releases several complete items in the order in which they opened', () => {
  assert.deepEqual(serialize(open(0), open(1), open(2), end(2), end(1), open(3), end(0)), [
    ...[open(0), end(0), open(1), end(1), open(2), end(2), open(3)],
  ]);
});

test('ItemSerializer keeps items behind the first incomplete one', () => {
  assert.deepEqual(serialize(open(0), open(1), open(2), end(2), end(0)), [open(0), end(0), open(1)]);
});

test('ItemSerializer is overfull above 8 Mi held-back characters until they are released', () => {
  const serializer = new ItemSerializer();
  for (const event of [open(0), open(1), text(1, 'x'.repeat(8 * 2 ** 20))]) serializer.push(event);
  assert.equal(serializer.isOverfull, false);
  serializer.push(text(1, 'x'));
  assert.equal(serializer.isOverfull, true);
  serializer.push(end(0));
  assert.equal(serializer.isOverfull, false);
});

test('ItemSerializer emits arbitrary interleavings item by item without loss', () => {
  const order = fc.array(fc.nat(3), { minLength: 4, maxLength: 40 });
  fc.assert(
    fc.property(order, (picks) => {
      const opened = new Set<number>();
      const events = picks.flatMap((index): ItemEvent[] => {
        if (opened.has(index)) return [text(index, `${index}`)];
        opened.add(index);
        return [open(index)];
      });
      const all = [...events, ...[...opened].map(end)];
      const expected = [...opened].flatMap((index) => all.filter((event) => event.index === index));
      assert.deepEqual(serialize(...all), expected);
    }),
  );
});
