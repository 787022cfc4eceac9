import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { runs } from '../../../test/support/properties.ts';
import { Link } from '../../platform/cluster/index.ts';
import { AccountBook, type BorrowNotice, type PermitNotice } from './account-book.ts';
import { ACCOUNT_SERVICES, AccountShares } from './account-shares.ts';
import type { AccountLimits } from './account-usage.ts';
import { type AccountLease, Pool, type PooledAccount } from './pool.ts';

const WORKERS = 2;

interface TestWorker {
  readonly account: PooledAccount;
  readonly page: ReturnType<AccountBook['openPage']>;
  readonly pool: Pool;
  /** Requests in flight. */
  readonly open: AccountLease<PooledAccount>[];
}

/** Workers of one machine whose messages arrive at once. */
function machine(max: number, limits?: AccountLimits) {
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
    const pool = new Pool(clock);
    const shares = new AccountShares({
      primary: link,
      share: { worker, workers: WORKERS },
      clock,
      pool,
    });
    const self: TestWorker = {
      account: shares.divided({ id: 'a', groupId: 'g', weight: 1, priority: 0, maxConcurrency: max, limits }),
      page,
      pool,
      open: [],
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
    const lease = worker.pool.lease([worker.account]);
    if ('account' in lease) worker.open.push(lease);
    settle();
    return 'account' in lease;
  };
  return { start, settle, begin, clock };
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
    if (random % 3 === 0 && worker.open.length > 0) worker.open.pop()?.release();
    else begin(worker);
    settle(random % 50);
    assert.ok(workers.reduce((sum, { open }) => sum + open.length, 0) <= 5);
  }
});

test('permits move to the worker that needs them once the other has ended its requests', () => {
  const { start, settle, begin } = machine(4);
  const [one, two] = [start(1), start(2)];
  assert.deepEqual([begin(one), begin(one), begin(one), begin(two)], [true, true, true, true]);
  assert.equal(begin(two), false);
  for (const lease of one.open) lease.release();
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
  const { start, settle, begin } = machine(8);
  const [one, two] = [start(1), start(2)];
  for (let n = 0; n < 3; n += 1) begin(one);
  const fresh = start(1);
  settle(100);
  const slotsOf = (worker: typeof fresh): number => worker.account.maxConcurrency ?? Number.POSITIVE_INFINITY;
  assert.ok(slotsOf(fresh) >= 1, 'it takes idle permits while its predecessor still runs');
  one.page.close();
  settle();
  assert.ok(slotsOf(fresh) + slotsOf(two) <= 8);
});

test('one worker gets all requests per minute of an account while the other is idle', () => {
  const { start, settle, begin } = machine(100, { rpm: 5 });
  const [one, two] = [start(1), start(2)];
  let admitted = 0;
  for (let n = 0; n < 20; n += 1) {
    if (begin(one)) admitted += 1;
    settle(100);
  }
  assert.equal(admitted, 5);
  assert.equal(begin(two), false);
  settle(60_000);
  assert.equal(begin(two), false, 'it asks for permits, and a call waits for them meanwhile');
  settle(100);
  assert.equal(begin(two), true);
});

test('the workers of a machine together never send more than the rates of an account in any 60 s, also when one ends', () => {
  const step = fc.record({
    worker: fc.nat({ max: 1 }),
    ms: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 20_000 })),
    does: fc.constantFrom('begin', 'begin', 'begin', 'end', 'restart'),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.option(fc.integer({ min: 10, max: 40 }), { nil: undefined }),
      fc.array(step, { minLength: 100, maxLength: 300 }),
      (rpm, requests, steps) => {
        const { start, settle, begin, clock } = machine(100, { rpm, ...(requests && { tpm: 10 * requests }) });
        const workers = [start(1), start(2)];
        const sent: number[] = [];
        const used: number[] = [];
        for (const { worker: n, ms, does } of steps) {
          settle(ms);
          const worker = workers[n] ?? assert.fail();
          if (does === 'begin' && begin(worker)) sent.push(clock.elapsed());
          if (does === 'end' && worker.open.length > 0) {
            worker.open.shift()?.release();
            worker.pool.usage.count('a', 10);
            used.push(clock.elapsed());
          }
          if (does !== 'restart') continue;
          worker.page.close();
          workers[n] = start(n + 1);
        }
        const most = (events: readonly number[]): number =>
          Math.max(0, ...events.map((at) => events.filter((one) => one > at - 60_000 && one <= at).length));
        assert.ok(most(sent) <= rpm, `${most(sent)} requests of ${rpm}`);
        if (requests !== undefined) assert.ok(most(used) <= requests, `${most(used)} of ${requests}`);
      },
    ),
    { numRuns: runs(200) },
  );
});
