import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../core/index.ts';
import { type AccountLease, Pool, type PooledAccount } from './pool.ts';

const account = (id: string, given: Partial<PooledAccount> = {}): PooledAccount => ({
  id,
  weight: 1,
  priority: 0,
  maxConcurrency: 2,
  ...given,
});
const taken = (got: ReturnType<Pool['lease']>): AccountLease<PooledAccount> =>
  'account' in got ? got : assert.fail(`refused: ${got.reason}`);

test('accounts are used in proportion to their weights', () => {
  let n = 0;
  const pool = new Pool(new FakeClock(), () => (n++ % 100) / 100);
  const accounts = [account('a', { weight: 3 }), account('b', { weight: 1 })];
  const counts = { a: 0, b: 0 };
  for (let i = 0; i < 100; i++) {
    const lease = taken(pool.lease(accounts));
    counts[lease.account.id as 'a' | 'b'] += 1;
    lease.release();
  }
  assert.deepEqual(counts, { a: 75, b: 25 });
});

test('a lower priority number is used first, the next one when those are full', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('spare', { priority: 1 }), account('first', { maxConcurrency: 1 })];
  assert.equal(taken(pool.lease(accounts)).account.id, 'first');
  assert.equal(taken(pool.lease(accounts)).account.id, 'spare');
});

test('no account takes more calls at once than it may, and a place that is given back is free again', () => {
  const pool = new Pool(new FakeClock());
  const one = [account('a', { maxConcurrency: 1 })];
  const lease = taken(pool.lease(one));
  assert.deepEqual(pool.lease(one), { retryMs: 1_000, reason: 'full' });
  lease.release();
  lease.release();
  assert.equal(pool.inFlight('a'), 0);
  taken(pool.lease(one));
});

test('a limited account rests as long as the upstream said, and nobody is sent to it meanwhile', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const one = [account('a')];
  taken(pool.lease(one)).release({ kind: 'rate_limited', restMs: 12_000 });
  assert.deepEqual(pool.lease(one), { retryMs: 12_000, reason: 'rate_limited' });
  assert.equal(taken(pool.lease([...one, account('b')])).account.id, 'b');
  clock.advance(12_000);
  taken(pool.lease(one));
});

test('when every account is broken the least bad one is still tried', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a'), account('b')];
  const [first, second] = [
    taken(pool.lease([accounts[0] ?? assert.fail()])),
    taken(pool.lease([accounts[1] ?? assert.fail()])),
  ];
  first.release({ kind: 'failed' });
  clock.advance(100);
  second.release({ kind: 'failed' });
  assert.equal(taken(pool.lease(accounts)).account.id, 'a');
});

test('a fault of the request leaves the account in use', () => {
  const pool = new Pool(new FakeClock());
  taken(pool.lease([account('a')])).release({ kind: 'request' });
  taken(pool.lease([account('a')]));
});
