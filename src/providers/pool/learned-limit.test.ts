import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { LEARNED_LIMIT } from '../../rules/index.ts';
import { LearnedLimit } from './learned-limit.ts';
import { type AccountLease, Pool, type PooledAccount } from './pool.ts';

const ACCOUNT: PooledAccount = { id: 'a', groupId: 'g', weight: 1, priority: 0 };

function openPool() {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  /** Leases until the account takes no more, at most so often. */
  const lease = (most: number): AccountLease<PooledAccount>[] => {
    const leases: AccountLease<PooledAccount>[] = [];
    while (leases.length < most) {
      const next = pool.lease([ACCOUNT]);
      if (!('account' in next)) break;
      leases.push(next);
    }
    return leases;
  };
  return { clock, pool, lease };
}

test('an account without a limit takes every call, until its provider refuses some', () => {
  const { clock, pool, lease } = openPool();
  const all = lease(1_500);
  assert.equal(all.length, 1_500);
  for (const one of all.slice(0, 500)) one.release({ kind: 'rate_limited', cooldownMs: 1 });
  clock.advance(1);
  assert.equal(pool.learnedLimit('a'), 750, 'the refusals of one burst are one lesson');
  assert.deepEqual(pool.lease([ACCOUNT]), { retryMs: 1_000, reason: 'full' });
  assert.equal(pool.obstacle(ACCOUNT, {})?.state, 'full');
  for (const one of all.slice(500)) one.release();
  const more = lease(2_000);
  const grown = 750 + 1_000 * LEARNED_LIMIT.growth;
  assert.equal(more.length, grown, 'each success lets it grow');
  more[0]?.release({ kind: 'overloaded' });
  assert.equal(pool.learnedLimit('a'), Math.floor(grown / 2));
});

test('what an operator has set is not changed by refusals', () => {
  const { clock, pool } = openPool();
  const account = { ...ACCOUNT, maxConcurrency: 8 };
  const first = pool.lease([account]);
  assert.ok('account' in first);
  first.release({ kind: 'rate_limited', cooldownMs: 1 });
  clock.advance(1);
  for (let n = 0; n < 8; n += 1) assert.ok('account' in pool.lease([account]));
  assert.ok('reason' in pool.lease([account]));
});

test('a learned limit is forgotten after enough successes, after a time, and when the account changes', () => {
  const clock = new FakeClock();
  const limit = new LearnedLimit(clock);
  const refuse = (): void => limit.begin()('rate_limited', 40);
  refuse();
  assert.equal(limit.calls, 20);
  let successes = 0;
  while (limit.calls !== undefined) {
    limit.begin()(undefined, 1);
    successes += 1;
  }
  assert.equal(successes, (40 * LEARNED_LIMIT.forgottenAt - 20) / LEARNED_LIMIT.growth);
  refuse();
  clock.advance(LEARNED_LIMIT.forgetMs - 1);
  assert.equal(limit.calls, 20);
  clock.advance(1);
  assert.equal(limit.calls, undefined);

  const { pool } = openPool();
  const reached = { ...ACCOUNT, baseUrl: 'https://x.test', credential: 'one' };
  pool.reload([reached]);
  const leases = Array.from({ length: 40 }, () => pool.lease([reached]));
  const [lease] = leases;
  if (lease && 'account' in lease) lease.release({ kind: 'overloaded' });
  assert.equal(pool.learnedLimit('a'), 20);
  pool.reload([{ ...reached, credential: 'two' }]);
  assert.equal(pool.learnedLimit('a'), undefined);
});

test('faults of another kind teach no limit', () => {
  const limit = new LearnedLimit(new FakeClock());
  limit.begin()('failed', 100);
  limit.begin()('timeout', 100);
  assert.equal(limit.calls, undefined);
});

test('a refusal of few calls at once teaches no limit', () => {
  const limit = new LearnedLimit(new FakeClock());
  limit.begin()('overloaded', LEARNED_LIMIT.fewCalls - 1);
  assert.equal(limit.calls, undefined);
});
