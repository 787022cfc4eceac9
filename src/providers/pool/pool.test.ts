import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { CIRCUIT } from '../../rules/index.ts';
import { type AccountLease, Pool, type PooledAccount } from './pool.ts';

const account = (id: string, given: Partial<PooledAccount> = {}): PooledAccount => ({
  id,
  groupId: 'g',
  weight: 1,
  priority: 0,
  maxConcurrency: 2,
  ...given,
});
const leased = (result: ReturnType<Pool['lease']>): AccountLease<PooledAccount> =>
  'account' in result ? result : assert.fail(`no account: ${result.reason}`);

test('the pool chooses accounts in proportion to their weights', () => {
  let n = 0;
  const pool = new Pool(new FakeClock(), { random: () => (n++ % 100) / 100 });
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

test('an account of several groups has one limit and one health, and its slot is free for all of them', () => {
  const pool = new Pool(new FakeClock());
  const inGroup = (groupId: string) => [account('a', { groupId, groups: ['g', 'h'], maxConcurrency: 1 })];
  const freed: string[] = [];
  pool.onFree((groupId) => freed.push(groupId));
  const lease = leased(pool.lease(inGroup('g')));
  assert.deepEqual(pool.lease(inGroup('h')), { retryMs: 1_000, reason: 'full' });
  lease.release({ kind: 'rate_limited', cooldownMs: 12_000 });
  assert.deepEqual(freed, ['g', 'h']);
  assert.deepEqual(pool.lease(inGroup('h')), { retryMs: 12_000, reason: 'rate_limited' });
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

test('a call comes back soon when an account is only full, whatever others wait for', () => {
  const pool = new Pool(new FakeClock());
  const [cooling, full] = [account('cooling'), account('full', { maxConcurrency: 1 })];
  leased(pool.lease([cooling])).release({ kind: 'rate_limited', cooldownMs: 60_000 });
  leased(pool.lease([full]));
  assert.deepEqual(pool.lease([cooling, full]), { retryMs: 1_000, reason: 'full' });
});

test('the pool tries the account with the earliest cooldown end when all accounts failed', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a'), account('b')];
  const [first, second] = [
    leased(pool.lease([accounts[0] ?? assert.fail()])),
    leased(pool.lease([accounts[1] ?? assert.fail()])),
  ];
  first.release({ kind: 'failed', cooldownMs: 2_000 });
  clock.advance(100);
  second.release({ kind: 'failed', cooldownMs: 2_000 });
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

const CHAT = { model: 'm1', operation: 'reply' } as const;

test('a fault of one model leaves the account open for other models and kinds of operation', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a')];
  leased(pool.lease(accounts, {}, CHAT)).release({ kind: 'rate_limited', cooldownMs: 12_000 });
  assert.deepEqual(pool.lease(accounts, {}, CHAT), { retryMs: 12_000, reason: 'rate_limited' });
  leased(pool.lease(accounts, {}, { ...CHAT, model: 'm2' }));
  leased(pool.lease(accounts, {}, { ...CHAT, operation: 'image' })).release();
});

test('a credential that is rejected twice closes the account for every model', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a')];
  for (let n = 0; n < 2; n += 1) leased(pool.lease(accounts, {}, CHAT)).release({ kind: 'credential' });
  assert.deepEqual(pool.lease(accounts, {}, { ...CHAT, model: 'm2' }), { retryMs: 300_000, reason: 'credential' });
});

test('a credential that is rejected once is used after all others, until it is accepted or rejected again', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a', { maxConcurrency: 9 }), account('b', { maxConcurrency: 9 })];
  const useA = () => leased(pool.lease(accounts.slice(0, 1), {}, CHAT));
  // In flight together: a provider that fails for a second rejects them all.
  const together = [useA(), useA(), useA()];
  for (const lease of together) lease.release({ kind: 'credential' });
  assert.deepEqual(pool.parked(), []);
  assert.deepEqual(
    Array.from({ length: 4 }, () => leased(pool.lease(accounts, {}, CHAT)).account.id),
    ['b', 'b', 'b', 'b'],
  );
  useA().release();
  useA().release({ kind: 'credential' });
  assert.deepEqual(pool.parked(), [], 'it was accepted in between');
  useA().release({ kind: 'credential' });
  assert.deepEqual(
    pool.parked().map(({ account: id, cause }) => [id, cause]),
    [['a', 'credential']],
  );
});

test('a forbidden request and its retry-after start no cooldown', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a')];
  for (const kind of ['forbidden', 'request', 'opaque_rejected'] as const)
    leased(pool.lease(accounts, {}, CHAT)).release({ kind, cooldownMs: 60_000 });
  leased(pool.lease(accounts, {}, CHAT));
  assert.deepEqual(pool.cooling(), []);
});

test('a shorter cooldown never replaces a longer one', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a', { maxConcurrency: 9 })];
  const leases = [1, 2, 3, 4].map(() => leased(pool.lease(accounts, {}, CHAT)));
  leases[0]?.release({ kind: 'quota_exhausted', providerCode: 'insufficient_quota' });
  leases[1]?.release({ kind: 'unreachable' });
  leases[2]?.release({ kind: 'rate_limited', cooldownMs: 60_000, providerCode: 'too many "calls"' });
  leases[3]?.release({ kind: 'rate_limited', cooldownMs: 1_000 });
  assert.deepEqual(pool.lease(accounts, {}, CHAT), { retryMs: 300_000, reason: 'quota_exhausted' });
  const [whole] = pool.cooling().filter(({ use }) => use === undefined);
  assert.deepEqual([whole?.kind, whole?.providerCode, whole?.faults], ['quota_exhausted', 'insufficient_quota', 2]);
  const [ofModel] = pool.cooling().filter(({ use }) => use !== undefined);
  assert.equal((ofModel?.until ?? 0) - clock.now(), 60_000);
  assert.equal(ofModel?.providerCode, undefined, 'text that is no code may hold a part of the request');
});

test('a changed credential or address ends the cooldowns at once, and late faults of the old one count for nothing', () => {
  const events: string[] = [];
  const pool = new Pool(new FakeClock(), {
    onHealthEvent: (event) =>
      events.push([event.type, event.account, 'because' in event ? event.because : ''].join(' ').trim()),
  });
  const accounts = [account('a', { maxConcurrency: 9 })];
  const identity = { id: 'a', groupId: 'g', baseUrl: 'https://a.test', credential: 'wrong' };
  pool.reload([identity]);
  const late = leased(pool.lease(accounts));
  for (let n = 0; n < 2; n += 1) leased(pool.lease(accounts)).release({ kind: 'credential' });
  pool.reload([identity]);
  assert.equal(pool.parked().length, 1);
  pool.reload([{ ...identity, credential: 'right' }]);
  late.release({ kind: 'credential' });
  leased(pool.lease(accounts)).release({ kind: 'quota_exhausted' });
  pool.reload([{ ...identity, credential: 'right', baseUrl: 'https://b.test' }]);
  leased(pool.lease(accounts)).release({ kind: 'quota_exhausted' });
  pool.reload([{ ...identity, credential: 'right', baseUrl: 'https://b.test', proxy: 'http://p.test' }]);
  leased(pool.lease(accounts)).release();
  assert.deepEqual(events, [
    'cooling a',
    'parked a',
    'recovered a changed',
    'resumed a changed',
    'cooling a',
    'recovered a changed',
    'cooling a',
    'recovered a changed',
  ]);
});

test('the pool reports when an account cools down and when an attempt succeeds again', () => {
  const events: unknown[] = [];
  const clock = new FakeClock();
  const pool = new Pool(clock, {
    onHealthEvent: (event) => {
      if (!('cooldown' in event)) return;
      const { kind, use, faults } = event.cooldown;
      events.push([event.type, kind, use?.model, faults]);
    },
  });
  const accounts = [account('a')];
  const both = [leased(pool.lease(accounts, {}, CHAT)), leased(pool.lease(accounts, {}, CHAT))];
  for (const lease of both) lease.release({ kind: 'rate_limited' });
  clock.advance(5_000);
  leased(pool.lease(accounts, {}, CHAT)).release();
  assert.deepEqual(events, [
    ['cooling', 'rate_limited', 'm1', 1],
    ['recovered', 'rate_limited', 'm1', 2],
  ]);
  assert.deepEqual(pool.faults(), [{ account: 'a', kind: 'rate_limited', count: 2 }]);
});

test('the pool bounds the cooldowns that it keeps for model names of callers', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a')];
  leased(pool.lease(accounts)).release({ kind: 'quota_exhausted' });
  pool.reload([]);
  for (let n = 0; n < 500; n++)
    leased(pool.lease(accounts, {}, { ...CHAT, model: `m${n}` })).release({ kind: 'rate_limited' });
  assert.equal(pool.cooling().length, 100);
});

test('the pool gives a request to the account with the fewest in flight by weight', () => {
  const pool = new Pool(new FakeClock(), { random: () => 0 });
  const accounts = [account('a', { weight: 2, maxConcurrency: 99 }), account('b', { maxConcurrency: 99 })];
  const ids = Array.from({ length: 9 }, () => leased(pool.lease(accounts)).account.id);
  assert.deepEqual([ids.filter((id) => id === 'a').length, ids.filter((id) => id === 'b').length], [6, 3]);
});

test('an account that fails fast does not attract requests', () => {
  const pool = new Pool(new FakeClock(), { random: () => 0 });
  const accounts = [account('a', { maxConcurrency: 99 }), account('b', { maxConcurrency: 99 })];
  const first = leased(pool.lease(accounts, {}, CHAT));
  first.release({ kind: 'failed' });
  assert.deepEqual([first.account.id, leased(pool.lease(accounts, {}, CHAT)).account.id], ['a', 'b']);
});

test('an account without the model comes after all others, also of a worse priority, until it serves the model', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a'), account('spare', { priority: 1 })];
  leased(pool.lease(accounts, {}, CHAT)).release({ kind: 'model' });
  assert.equal(leased(pool.lease(accounts, {}, CHAT)).account.id, 'spare');
  assert.equal(leased(pool.lease(accounts, {}, { ...CHAT, model: 'm2' })).account.id, 'a');
  leased(pool.lease([accounts[0] ?? assert.fail()], {}, CHAT)).release();
  assert.equal(leased(pool.lease(accounts, {}, CHAT)).account.id, 'a');
});

const sessions = Array.from({ length: 1_000 }, (_, n) => (n + 0.5) / 1_000);
const homes = (pool: Pool, accounts: readonly PooledAccount[]): string[] =>
  sessions.map((hash) => {
    const lease = leased(pool.lease(accounts, { hash }));
    lease.release();
    return lease.account.id;
  });

test('sessions stay with their account, in proportion to weights, and a new account moves its own share only', () => {
  const pool = new Pool(new FakeClock());
  const three = ['a', 'b', 'c'].map((id) => account(id));
  const before = homes(pool, three);
  assert.deepEqual(homes(pool, three.toReversed()), before);
  for (const { id } of three) {
    const share = before.filter((home) => home === id).length;
    assert.ok(share > 270 && share < 400, `${id}: ${share}`);
  }
  const after = homes(pool, [...three, account('d', { weight: 2 })]);
  const moved = after.filter((home, n) => home !== before[n]);
  assert.ok(moved.every((home) => home === 'd'));
  assert.ok(moved.length > 330 && moved.length < 470, `${moved.length} of 1000`);
});

test('a session moves when its account is out of use, and returns', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a'), account('b')];
  const home = () => leased(pool.lease(accounts, { hash: 0.3 }, CHAT));
  const first = home();
  first.release({ kind: 'rate_limited', cooldownMs: 1_000 });
  const other = home();
  assert.notEqual(other.account.id, first.account.id);
  clock.advance(1_000);
  assert.equal(home().account.id, first.account.id);
});

test('one session cannot keep the other accounts idle', () => {
  const pool = new Pool(new FakeClock());
  const accounts = ['a', 'b'].map((id) => account(id, { maxConcurrency: 500 }));
  const ids = Array.from({ length: 100 }, () => leased(pool.lease(accounts, { hash: 0.3 })).account.id);
  const counts = ['a', 'b'].map((id) => ids.filter((one) => one === id).length);
  assert.ok(Math.min(...counts) >= 8, `${counts}`);
  assert.equal(new Set(ids.slice(0, 8)).size, 1, 'a few requests stay together');
});

test('a parked account takes no calls, and a draining one only those that name it', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a')];
  const park = { account: 'a', identity: null, cause: 'operator', since: 0 } as const;
  leased(pool.lease(accounts)).release();
  const identity = { id: 'a', groupId: 'g', baseUrl: 'https://a.test', credential: 'old' };
  pool.reload([identity]);
  pool.adopt({ cooldowns: [], parks: [{ ...park, state: 'parked' }] });
  assert.deepEqual(pool.lease(accounts, { accountId: 'a' }), { retryMs: 300_000, reason: 'parked' });
  pool.reload([{ ...identity, credential: 'new' }]);
  assert.ok(pool.isParked('a'), 'what an operator parked, an operator resumes');
  pool.adopt({ cooldowns: [], parks: [{ ...park, state: 'draining' }] });
  assert.deepEqual(pool.lease(accounts), { retryMs: 300_000, reason: 'parked' });
  assert.equal(leased(pool.lease(accounts, { accountId: 'a' })).account.id, 'a');
  pool.adopt({ cooldowns: [], parks: [] });
  leased(pool.lease(accounts));
});

test('replicas share cooldowns, and a success on one ends them on the other', () => {
  const clock = new FakeClock();
  const [one, two] = [new Pool(clock), new Pool(clock)];
  const accounts = [account('a'), account('b')];
  for (const pool of [one, two])
    pool.reload(accounts.map(({ id }) => ({ id, groupId: 'g', baseUrl: 'https://a.test', credential: id })));
  const [a] = accounts;
  const use = (pool: Pool) => leased(pool.lease([a ?? assert.fail()], {}, CHAT));
  use(one).release({ kind: 'overloaded', cooldownMs: 5_000 });
  const [change] = one.takeChanges();
  const row = { account: 'a', identity: change?.identity ?? null, ...(change?.cooldown ?? assert.fail()) };
  const running = use(two);
  two.adopt({ cooldowns: [row], parks: [] });
  running.release();
  assert.deepEqual(two.takeChanges(), [], 'a success of an earlier request does not end it');
  assert.equal(leased(two.lease(accounts, { accountId: 'a' }, CHAT)).account.id, 'b');
  use(one).release();
  assert.deepEqual(
    one.takeChanges().map(({ cooldown, endedUntil }) => [cooldown, endedUntil]),
    [[undefined, row.until]],
  );
  two.adopt({ cooldowns: [], parks: [] });
  assert.equal(leased(two.lease(accounts, { accountId: 'a' }, CHAT)).account.id, 'a');
  two.adopt({ cooldowns: [{ ...row, identity: 'of another credential' }], parks: [] });
  assert.equal(leased(two.lease(accounts, { accountId: 'a' }, CHAT)).account.id, 'a');
});

test('an account of weight 0 is used only when there is no other', () => {
  const pool = new Pool(new FakeClock());
  const accounts = [account('a', { weight: 0, maxConcurrency: 1 }), account('b', { maxConcurrency: 4 })];
  const ids = Array.from(
    { length: 5 },
    (_, n) => leased(pool.lease(accounts, n % 2 === 0 ? { hash: 0.5 } : {})).account.id,
  );
  assert.deepEqual(ids, ['b', 'b', 'b', 'b', 'a']);
});

test('failures of calls with a fallback eject the only account, which then gets nothing of them but probes', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a')];
  const leaseReady = () => pool.lease(accounts, {}, {}, true);
  for (let n = 0; n < CIRCUIT.failuresInRow; n++) leased(leaseReady()).release({ kind: 'failed', hasFallback: true });
  assert.equal('reason' in leaseReady(), true);
  leased(pool.lease(accounts)).release({ kind: 'request' });
  clock.advance(CIRCUIT.ejectionMs * (1 + CIRCUIT.jitter));
  const probe = leased(leaseReady());
  assert.equal('reason' in leaseReady(), true, 'one probe at a time');
  probe.release();
  leased(leaseReady());
});

test('the pool skips an account at its own limit, and names the limit and the time at which it is free', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const accounts = [account('a', { maxConcurrency: 9, limits: { rpm: 2 } }), account('b', { priority: 1 })];
  for (const id of ['a', 'a', 'b', 'b']) {
    assert.equal(leased(pool.lease(accounts)).account.id, id);
    clock.advance(10_000);
  }
  assert.deepEqual(pool.lease(accounts.slice(0, 1)), { retryMs: 20_000, reason: 'limit' });
  assert.deepEqual(pool.lease(accounts), { retryMs: 1_000, reason: 'full' }, 'a slot may be free sooner');
  assert.equal(pool.cooldownMs(accounts.slice(0, 1)), 20_000);
  assert.deepEqual(pool.reachedLimit(account('a', { limits: { rpm: 2 } })), {
    limit: 'rpm',
    until: clock.now() + 20_000,
  });
  const obstacle = { state: 'limited', reason: 'rpm', until: clock.now() + 20_000 };
  assert.deepEqual(pool.obstacle(accounts[0] ?? assert.fail(), {}), obstacle);
  clock.advance(20_000);
  assert.equal(leased(pool.lease(accounts)).account.id, 'a');
});

test('tokens of an account count when they are known, and with the mean before', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const limited = [account('a', { maxConcurrency: 99, limits: { tpm: 1_000 } })];
  leased(pool.lease(limited)).release();
  pool.usage.count('a', 400);
  const second = leased(pool.lease(limited));
  assert.deepEqual(pool.lease(limited), { retryMs: 60_000, reason: 'limit' });
  second.release();
  leased(pool.lease(limited));
});

test('what other replicas have used of a limit counts, until they have used none', () => {
  const pool = new Pool(new FakeClock());
  const limited = [account('a', { maxConcurrency: 99, limits: { rpm: 3 } })];
  leased(pool.lease(limited));
  pool.usage.adopt(new Map([['a', { requests: 2, tokens: 0 }]]));
  assert.equal('account' in pool.lease(limited), false);
  pool.usage.adopt(new Map());
  leased(pool.lease(limited));
});

test('an account whose cost has reached its limit is out until the period ends', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const limited = [account('a', { maxConcurrency: 99, limits: { costDay: 10n, costMonth: 100n } })];
  const costs = { day: 9n, month: 99n, dayEnds: clock.now() + 5_000, monthEnds: clock.now() + 9_000 };
  pool.usage.costsOf = (_, open) => ({ ...costs, day: costs.day + BigInt(open) });
  leased(pool.lease(limited));
  assert.deepEqual(pool.lease(limited), { retryMs: 5_000, reason: 'limit' }, 'the call in flight uses the rest');
  pool.usage.costsOf = () => ({ ...costs, month: 100n });
  assert.deepEqual(pool.reachedLimit(limited[0] ?? assert.fail()), { limit: 'cost_month', until: clock.now() + 9_000 });
});
