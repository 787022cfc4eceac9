import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { CIRCUIT } from '../../rules/index.ts';
import { type AccountLease, type NoAccount, Pool, type PooledAccount } from './pool.ts';

const CHAT = { model: 'm1', operation: 'reply' } as const;

const accountsOf = (count: number): PooledAccount[] =>
  Array.from({ length: count }, (_, n) => ({ id: `a${n}`, groupId: 'g', weight: 1, priority: 0, maxConcurrency: 999 }));

function openPool(count: number, random = () => 0.5) {
  const clock = new FakeClock();
  const pool = new Pool(clock, { random });
  const accounts = accountsOf(count);
  pool.reload(accounts.map(({ id }) => ({ id, groupId: 'g', baseUrl: 'https://a.test', credential: id })));
  /** A lease of exactly this account, whatever its state. */
  const on = (n: number): AccountLease<PooledAccount> => pool.leaseForTest(accounts[n] ?? assert.fail(), CHAT);
  const fail = (n: number, times = 1): void => {
    for (let k = 0; k < times; k++) on(n).release({ kind: 'failed' });
  };
  const lease = (): AccountLease<PooledAccount> | NoAccount => pool.lease(accounts, {}, CHAT);
  const ejected = (): string[] =>
    pool.cooling().flatMap(({ account, isKept, ejections }) => (ejections > 0 && !isKept ? [account] : []));
  return { clock, pool, accounts, on, fail, lease, ejected };
}

const leased = (result: AccountLease<PooledAccount> | NoAccount): AccountLease<PooledAccount> =>
  'account' in result ? result : assert.fail(`no account: ${result.reason}`);

test('a single failure does not eject an account, and five in a row do', () => {
  const { fail, ejected } = openPool(2);
  fail(0, CIRCUIT.failuresInRow - 1);
  assert.deepEqual(ejected(), []);
  fail(0);
  assert.deepEqual(ejected(), ['a0']);
});

test('half of twenty attempts within the window eject an account, and older ones do not count', () => {
  const { clock, fail, on, ejected } = openPool(2);
  const alternate = (times: number): void => {
    for (let n = 0; n < times; n++) {
      on(0).release();
      fail(0);
    }
  };
  alternate(9);
  clock.advance(CIRCUIT.windowMs);
  alternate(9);
  assert.deepEqual(ejected(), []);
  alternate(1);
  assert.deepEqual(ejected(), ['a0']);
});

test('an ejected account gets one probe at a time after its ejection, and a failed probe makes the next ejection longer', () => {
  const { clock, fail, pool, accounts } = openPool(2);
  const [first] = accounts;
  const both = () => pool.lease(accounts, { accountId: 'a0' }, CHAT);
  for (let n = 1; n <= 3; n++) {
    if (n === 1) fail(0, CIRCUIT.failuresInRow);
    assert.equal(leased(both()).account.id, 'a1', `ejected for the ${n}. time`);
    clock.advance(CIRCUIT.ejectionMs * n - 1);
    assert.equal(leased(both()).account.id, 'a1');
    clock.advance(1);
    const probe = leased(both());
    assert.equal(probe.account, first, 'the probe');
    assert.equal(leased(both()).account.id, 'a1', 'no second probe');
    probe.release({ kind: 'failed' });
  }
  const [cooldown] = pool.cooling();
  assert.equal((cooldown?.until ?? 0) - clock.now(), 4 * CIRCUIT.ejectionMs);
});

test('a probe that its request spoils is repeated, and one that succeeds takes the account back', () => {
  const { clock, fail, pool, accounts } = openPool(2);
  const lease = () => leased(pool.lease(accounts, { accountId: 'a0' }, CHAT));
  fail(0, CIRCUIT.failuresInRow);
  clock.advance(CIRCUIT.ejectionMs);
  lease().release({ kind: 'request' });
  const probe = lease();
  assert.equal(probe.account.id, 'a0');
  probe.release();
  assert.deepEqual([lease().account.id, lease().account.id], ['a0', 'a0']);
  fail(0, CIRCUIT.failuresInRow - 1);
  assert.equal(lease().account.id, 'a0', 'the count begins anew');
});

test('a probe whose long response began well opens the account to others, and its failure closes it again', () => {
  const { clock, fail, pool, accounts, ejected } = openPool(2);
  const lease = () => leased(pool.lease(accounts, { accountId: 'a0' }, CHAT));
  fail(0, CIRCUIT.failuresInRow);
  clock.advance(CIRCUIT.ejectionMs);
  const probe = lease();
  probe.answered();
  assert.equal(lease().account.id, 'a0');
  probe.release({ kind: 'truncated' });
  assert.deepEqual(ejected(), ['a0']);
});

test('an ejection is forgotten after a long time without another', () => {
  const { clock, fail, pool, on } = openPool(2);
  fail(0, CIRCUIT.failuresInRow);
  clock.advance(CIRCUIT.ejectionMs);
  on(0).release();
  clock.advance(CIRCUIT.forgetMs + 1);
  fail(0, CIRCUIT.failuresInRow);
  assert.equal((pool.cooling()[0]?.until ?? 0) - clock.now(), CIRCUIT.ejectionMs);
});

test('ejections grow to a maximum, with jitter', () => {
  for (const random of [0, 0.999_999]) {
    const { clock, fail, pool, accounts } = openPool(2, () => random);
    fail(0, CIRCUIT.failuresInRow);
    for (let n = 0; n < 40; n++) {
      const { until = 0 } = pool.cooling()[0] ?? {};
      assert.ok(until - clock.now() <= CIRCUIT.maxEjectionMs);
      clock.advance(until - clock.now());
      leased(pool.lease(accounts, { accountId: 'a0' }, CHAT)).release({ kind: 'timeout' });
    }
    assert.equal((pool.cooling()[0]?.until ?? 0) - clock.now(), CIRCUIT.maxEjectionMs);
  }
});

test('a group keeps half of its accounts, and an only account is never ejected but reported', () => {
  const { fail, ejected, pool, lease } = openPool(1);
  fail(0, 20);
  assert.deepEqual(ejected(), []);
  assert.deepEqual(
    pool.cooling().map(({ isKept, kind }) => [isKept, kind]),
    [[true, 'failed']],
  );
  leased(lease());
  const three = openPool(3);
  for (const n of [0, 1, 2]) three.fail(n, 20);
  assert.deepEqual(three.ejected(), ['a0']);
});

test('law: whatever fails, at most half of the usable accounts are ejected for a use, and one probe runs at a time', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('fail' as const), n: fc.nat(5), kind: fc.constantFrom('failed', 'unreachable') }),
    fc.record({ do: fc.constant('succeed' as const), n: fc.nat(5) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 60_000 }) }),
    fc.record({ do: fc.constant('begin' as const) }),
    fc.record({ do: fc.constant('end' as const), isOk: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 120 }), (count, steps) => {
      const { clock, pool, accounts, on, ejected } = openPool(count);
      const open: AccountLease<PooledAccount>[] = [];
      for (const one of steps) {
        if (one.do === 'wait') clock.advance(one.ms);
        if (one.do === 'fail') for (let k = 0; k < 3; k++) on(one.n % count).release({ kind: one.kind as 'failed' });
        if (one.do === 'succeed') leased(pool.lease([accounts[one.n % count] ?? assert.fail()], {}, CHAT)).release();
        if (one.do === 'begin') open.push(leased(pool.lease(accounts, {}, CHAT)));
        if (one.do === 'end') open.pop()?.release(one.isOk ? undefined : { kind: 'failed' });
        assert.ok(new Set(ejected()).size <= Math.floor(count / 2), `${ejected()} of ${count}`);
        // Some account always takes the next request.
        leased(pool.lease(accounts, {}, CHAT)).release({ kind: 'request' });
      }
    }),
  );
});
