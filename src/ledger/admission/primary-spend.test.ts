import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../core/index.ts';
import { SpendBook } from './primary-spend.ts';
import { periodAt } from './spend-counter.ts';
import type { SpendQuestion } from './spend-counts.ts';

const DAY_MS = 86_400_000;
let nextId = 0;

const question = (clock: FakeClock, maxCost: number, over: Partial<SpendQuestion['scopes'][0]> = {}): SpendQuestion => {
  const { day, month } = periodAt(clock.now());
  nextId += 1;
  const scope = { name: 'key:k', limitDay: '10', limitMonth: undefined, day: '0', month: '0', ...over };
  return { id: String(nextId), maxCost: String(maxCost), day, month, scopes: [scope] };
};

test('calls of two workers together never exceed a spend limit, and their costs replace their holds', () => {
  const clock = new FakeClock();
  const book = new SpendBook(clock);
  const [one, two] = [book.openPage(), book.openPage()];
  const held = question(clock, 6);
  assert.equal(one.reserve(held).isAdmitted, true);
  assert.equal(two.reserve(question(clock, 5)).isAdmitted, false);
  assert.equal(two.reserve(question(clock, 4)).isAdmitted, true);
  one.end({ id: held.id, cost: '1' });
  one.end({ id: held.id, cost: '1' });
  assert.deepEqual(two.reserve(question(clock, 6)), {
    isAdmitted: false,
    amounts: [{ day: '1', month: '1', reserved: '4' }],
  });
  assert.equal(two.reserve(question(clock, 5)).isAdmitted, true);
});

test('a counter is never lower than what the database says, and starts again with the day', () => {
  const clock = new FakeClock();
  const page = new SpendBook(clock).openPage();
  assert.equal(page.reserve(question(clock, 1, { day: '10' })).isAdmitted, false);
  assert.equal(page.reserve(question(clock, 1)).isAdmitted, false, 'the worker has read old totals');
  clock.advance(DAY_MS);
  assert.equal(page.reserve(question(clock, 10)).isAdmitted, true);
});

test('the holds of a worker that has ended stay until its journal is recovered', () => {
  const clock = new FakeClock();
  const book = new SpendBook(clock);
  const [one, two] = [book.openPage(), book.openPage()];
  assert.equal(one.reserve(question(clock, 10)).isAdmitted, true);
  one.close();
  assert.equal(two.reserve(question(clock, 1)).isAdmitted, false);
  clock.advance(60_000);
  assert.equal(two.reserve(question(clock, 10)).isAdmitted, true);
});
