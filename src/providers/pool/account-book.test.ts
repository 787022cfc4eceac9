import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { Link } from '../../platform/cluster/index.ts';
import { AccountBook, type AccountPage, type BorrowNotice, type PermitNotice } from './account-book.ts';
import { ACCOUNT_SERVICES, AccountShares } from './account-shares.ts';
import type { PooledAccount } from './pool.ts';

const WORKERS = 2;

interface TestWorker {
  readonly account: PooledAccount;
  readonly page: AccountPage;
  /** Requests in flight. */
  open: number;
}

/** Workers of one machine whose messages arrive at once. */
function machine(max: number) {
  const clock = new FakeClock();
  const book = new AccountBook(clock);
  const turns: (() => void)[] = [];
  const start = (worker: number): TestWorker => {
    const page = book.openPage({
      grant: (notice) => toWorker(ACCOUNT_SERVICES.grant, notice),
      recall: (id) => toWorker(ACCOUNT_SERVICES.recall, id),
    });
    const services = new Map<string, (input: unknown) => unknown>();
    const toWorker = (name: string, input: unknown): void => void turns.push(() => services.get(name)?.(input));
    const link = new Link({ clock, services: {}, send: () => {} });
    link.provide = (name, service) => void services.set(name, service);
    link.post = (name, input) =>
      void turns.push(() =>
        name === ACCOUNT_SERVICES.borrow ? page.borrow(input as BorrowNotice) : page.giveBack(input as PermitNotice),
      );
    const shares = new AccountShares({
      primary: link,
      share: { worker, workers: WORKERS },
      clock,
      inFlight: () => self.open,
      onGrant: () => {},
    });
    const self: TestWorker = {
      account: shares.divided({ id: 'a', groupId: 'g', weight: 1, priority: 0, maxConcurrency: max }),
      page,
      open: 0,
    };
    settle();
    return self;
  };
  const settle = (ms = 0): void => {
    clock.advance(ms);
    for (let turn = turns.shift(); turn; turn = turns.shift()) turn();
  };
  /** Starts a request if the worker may. */
  const begin = (worker: TestWorker): boolean => {
    const isFree = worker.open < worker.account.maxConcurrency;
    if (isFree) worker.open += 1;
    settle();
    return isFree;
  };
  return { start, settle, begin };
}

test('workers start with equal parts, and one that needs more gets the idle permits of the other', () => {
  const { start, settle, begin } = machine(8);
  const [one, two] = [start(1), start(2)];
  assert.deepEqual([one.account.maxConcurrency, two.account.maxConcurrency], [4, 4]);
  for (let n = 0; n < 7; n += 1) {
    assert.equal(begin(one), true, `request ${n + 1}`);
    // The last permits of the other worker are recalled after a moment.
    settle(100);
  }
  assert.equal(begin(one), false);
  assert.equal(begin(two), true, 'a worker keeps one permit');
  assert.equal(begin(two), false);
});

test('the permits of all workers together never exceed the limit of the account', () => {
  const { start, settle, begin } = machine(5);
  const workers = [start(1), start(2)];
  let random = 7;
  for (let n = 0; n < 500; n += 1) {
    random = (random * 48_271) % 2_147_483_647;
    const worker = workers[random % 2] ?? assert.fail();
    if (random % 3 === 0 && worker.open > 0) worker.open -= 1;
    else begin(worker);
    settle(random % 50);
    assert.ok(workers.reduce((sum, { open }) => sum + open, 0) <= 5);
  }
});

test('permits move to the worker that needs them once the other has ended its requests', () => {
  const { start, settle, begin } = machine(4);
  const [one, two] = [start(1), start(2)];
  assert.deepEqual([begin(one), begin(one), begin(one), begin(two)], [true, true, true, true]);
  assert.equal(begin(two), false);
  one.open = 0;
  settle(100);
  settle(100);
  assert.equal(begin(two), true);
});

test('every worker may send one request to an account with a lower limit than there are workers', () => {
  const { start, begin } = machine(1);
  const [one, two] = [start(1), start(2)];
  assert.deepEqual([begin(one), begin(two), begin(one), begin(two)], [true, true, false, false]);
});

test('the permits of a worker that has ended are free, and its replacement gets its part', () => {
  const { start, settle } = machine(8);
  const [one, two] = [start(1), start(2)];
  one.open = 3;
  const fresh = start(1);
  settle(100);
  assert.ok(fresh.account.maxConcurrency >= 1, 'it takes idle permits while its predecessor still runs');
  one.page.close();
  settle();
  assert.ok(fresh.account.maxConcurrency + two.account.maxConcurrency <= 8);
});
