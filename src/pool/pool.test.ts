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
const leased = (result: ReturnType<Pool['lease']>): AccountLease<PooledAccount> =>
  'account' in result ? result : assert.fail(`no account: ${result.reason}`);

test('the pool chooses accounts in proportion to their weights', () => {
  let n = 0;
  const pool = new Pool(new FakeClock(), () => (n++ % 100) / 100);
  const accounts = [account('a', { weight: 3 }), account('b', { weight: 1 })];
  const counts = { a: 0, b: 0 };
  for (let i = 0; i < 100; i++) {
    const lease = leased(pool.lease(accounts));
    counts[lease.account.id as 'a' | 'b'] += 1;
    lease.release();
  }
  assert.deepEqual(counts, { a: 75, b: 25 });
});

test('the pool uses the next priority only when all accounts of the best one are full', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('spare', { priority: 1 }), account('first', { maxConcurrency: 1 })];
  assert.equal(leased(pool.lease(accounts)).account.id, 'first');
  assert.equal(leased(pool.lease(accounts)).account.id, 'spare');
});

test('the pool never exceeds maxConcurrency, and a released slot is free again', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a', { maxConcurrency: 1 })];
  const lease = leased(pool.lease(accounts));
  assert.deepEqual(pool.lease(accounts), { retryMs: 1_000, reason: 'full' });
  lease.release();
  lease.release();
  assert.equal(pool.inFlight('a'), 0);
  leased(pool.lease(accounts));
});

test('the pool does not use a rate-limited account during the cooldown that the provider requested', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a')];
  leased(pool.lease(accounts)).release({ kind: 'rate_limited', cooldownMs: 12_000 });
  assert.deepEqual(pool.lease(accounts), { retryMs: 12_000, reason: 'rate_limited' });
  assert.equal(leased(pool.lease([...accounts, account('b')])).account.id, 'b');
  clock.advance(12_000);
  leased(pool.lease(accounts));
});

test('the pool tries the account with the earliest cooldown end when all accounts failed', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a'), account('b')];
  const [first, second] = [
    leased(pool.lease([accounts[0] ?? assert.fail()])),
    leased(pool.lease([accounts[1] ?? assert.fail()])),
  ];
  first.release({ kind: 'failed' });
  clock.advance(100);
  second.release({ kind: 'failed' });
  assert.equal(leased(pool.lease(accounts)).account.id, 'a');
});

test('a fault of the request starts no cooldown', () => {
  const pool = new Pool(new FakeClock());
  leased(pool.lease([account('a')])).release({ kind: 'request' });
  leased(pool.lease([account('a')]));
});

test('a success does not end a cooldown that began while the request was in flight', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a')];
  const [slow, limited] = [leased(pool.lease(accounts)), leased(pool.lease(accounts))];
  limited.release({ kind: 'rate_limited', cooldownMs: 12_000 });
  clock.advance(1_000);
  slow.release();
  assert.deepEqual(pool.lease(accounts), { retryMs: 11_000, reason: 'rate_limited' });
});

test('a success during a cooldown ends it when the request began after the cooldown', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const [a, b] = [account('a'), account('b')];
  leased(pool.lease([a])).release({ kind: 'failed', cooldownMs: 10_000 });
  // The only account, so the pool tries it in spite of the cooldown.
  leased(pool.lease([a])).release();
  assert.equal(leased(pool.lease([a, b], { accountId: 'a' })).account.id, 'a');
});

test('the pool caps a cooldown at one hour', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a')];
  leased(pool.lease(accounts)).release({ kind: 'rate_limited', cooldownMs: 86_400_000 });
  assert.deepEqual(pool.lease(accounts), { retryMs: 3_600_000, reason: 'rate_limited' });
  clock.advance(3_600_000);
  leased(pool.lease(accounts));
});
