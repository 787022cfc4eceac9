import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { Link } from '../../platform/cluster/index.ts';
import { PrimarySpend, SPEND_SERVICES, SpendBook, type SpendEndNotice } from './primary-spend.ts';
import { LocalSpend, periodAt, SpendCounter, type SpendQuestion } from './spend-counts.ts';

const DAY_MS = 86_400_000;
let nextId = 0;

interface Known {
  readonly name?: string;
  readonly day?: string;
  readonly total?: string;
  readonly limitTotal?: string;
}

const question = (clock: FakeClock, maxCost: number, known: Known = {}): SpendQuestion => {
  const { name = 'key:k', day: ofDay = '0', total = '0', limitTotal } = known;
  const { day, month } = periodAt(clock.now());
  nextId += 1;
  const limits = { day: limitTotal === undefined ? '10' : undefined, month: undefined, total: limitTotal };
  const scope = { name, limits, amounts: { day: ofDay, month: '0', total } };
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
    amounts: [{ day: '1', month: '1', total: '1', reserved: '4' }],
  });
  assert.equal(two.reserve(question(clock, 5)).isAdmitted, true);
});

test('a counter is never lower than what the database says, and starts again with the day', () => {
  const clock = new FakeClock();
  const page = new SpendBook(clock).openPage();
  assert.equal(page.reserve(question(clock, 1, { day: '10' })).isAdmitted, false);
  assert.equal(page.reserve(question(clock, 1)).isAdmitted, false, 'the worker has read old totals');
  const late = question(clock, 10, { day: '10' });
  clock.advance(DAY_MS);
  assert.equal(page.reserve(late).isAdmitted, true, 'its totals are those of yesterday');
});

test('a counter lasts until the workers know its costs from the database, and as long as a call is in flight', () => {
  const clock = new FakeClock();
  const page = new SpendBook(clock).openPage();
  const [ended, open] = [question(clock, 10), question(clock, 10, { name: 'key:open' })];
  for (const one of [ended, open]) assert.equal(page.reserve(one).isAdmitted, true);
  page.end({ id: ended.id, cost: '10' });
  clock.advance(119_999);
  assert.equal(page.reserve(question(clock, 1)).isAdmitted, false);
  clock.advance(600_000);
  assert.equal(page.reserve(question(clock, 1, { name: 'key:open' })).isAdmitted, false);
});

test('a question that the primary reads too late leaves no hold', async () => {
  const clock = new FakeClock();
  const sent: unknown[] = [];
  const spend = new PrimarySpend(
    new Link({ send: (message) => sent.push(message), services: {}, clock }),
    new LocalSpend(clock),
  );
  const counter = new SpendCounter('key', { id: 'k', userId: 'ann', now: clock.now() });
  const asked = assert.rejects(spend.reserve([{ counter, limits: { spendDay: 10n } }], 10n), /no reply/);
  await new Promise(setImmediate);
  clock.advance(1_000);
  await asked;
  await new Promise(setImmediate);
  const page = new SpendBook(clock).openPage();
  const services = {
    [SPEND_SERVICES.reserve]: (asked: unknown) => page.reserve(asked as SpendQuestion),
    [SPEND_SERVICES.end]: (notice: unknown) => page.end(notice as SpendEndNotice),
  };
  const primary = new Link({ send: () => {}, services, clock });
  for (const message of sent) primary.receive(message);
  assert.equal(page.reserve(question(clock, 10)).isAdmitted, true);
});

test('the holds of a worker that has ended stay until its journal is recovered', () => {
  const clock = new FakeClock();
  const book = new SpendBook(clock);
  const [one, two] = [book.openPage(), book.openPage()];
  assert.equal(one.reserve(question(clock, 10)).isAdmitted, true);
  one.close();
  assert.equal(two.reserve(question(clock, 1)).isAdmitted, false);
  clock.advance(59_999);
  assert.equal(two.reserve(question(clock, 1)).isAdmitted, false);
  clock.advance(1);
  assert.equal(two.reserve(question(clock, 10)).isAdmitted, true);
});

test('a limit for life counts what the worker knows of earlier months, and what others spend in this one', () => {
  const clock = new FakeClock();
  const book = new SpendBook(clock);
  const [one, two] = [book.openPage(), book.openPage()];
  const known = { total: '90', limitTotal: '100' };
  const first = question(clock, 6, known);
  assert.equal(one.reserve(first).isAdmitted, true);
  assert.equal(two.reserve(question(clock, 5, known)).isAdmitted, false, 'the first is in flight');
  one.end({ id: first.id, cost: '6' });
  assert.equal(two.reserve(question(clock, 5, known)).isAdmitted, false, 'the worker has not read it yet');
  assert.equal(two.reserve(question(clock, 4, known)).isAdmitted, true);
});
