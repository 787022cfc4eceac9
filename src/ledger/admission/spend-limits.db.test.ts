import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { type CrashPlan, makeUser, metering, random, usageRecord } from '../../../test/support/ledger-process.ts';
import { until } from '../../../test/support/wait.ts';
import { ApiError, type LimitedKey, type Limits, type Nanos } from '../../core/index.ts';
import { connect, type Db } from '../../platform/db/index.ts';
import type { Metering } from '../metering.ts';
import { limitsReport } from '../reports/usage-report.ts';
import { checkLedger } from '../wallets/check.ts';
import type { Reservation } from './wallet-state.ts';

let fixture: LedgerFixture;
let db: Db;
let dataDir: string;

before(async () => {
  fixture = await openLedgerFixture(10);
  ({ db, dir: dataDir } = fixture);
});
after(() => checkLedger(db).finally(() => fixture.close()));

const PROGRAM = fileURLToPath(new URL('../../../test/support/ledger-process.ts', import.meta.url));
const RICH = 10n ** 12n;
const NOON = Date.UTC(2026, 10, 15, 12);
const keyOf = (id: string, userId: string, limits?: Limits, userLimits?: Limits): LimitedKey => ({
  id,
  userId,
  limits,
  userLimits,
});
const start = (clock = new FakeClock(NOON)): Promise<Metering> => metering({ db, dataDir, clock });

/** Returns the reservation or the error. */
async function tryAdmit(at: Metering, key: LimitedKey, maxCost: Nanos): Promise<Reservation | ApiError> {
  try {
    return await at.admit(key.userId, maxCost, key);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
async function spend(at: Metering, key: LimitedKey, nanos: Nanos, clock: FakeClock): Promise<boolean> {
  const admitted = await tryAdmit(at, key, nanos);
  if (admitted instanceof ApiError) return false;
  admitted.settle(usageRecord(key.userId, nanos, { keyId: key.id, at: clock.now() }));
  return true;
}
const codeOf = (result: Reservation | ApiError): string => (result instanceof ApiError ? result.code : 'admitted');

test('SpendLimits admit exactly 37 of 200 parallel calls when the limit covers 37, and report when to retry', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const key = keyOf('key_rush', await makeUser(db, 'rush', RICH), { spendDay: 370n });
  const results = await Promise.all(Array.from({ length: 200 }, () => tryAdmit(at, key, 10n)));
  const admitted = results.filter((result): result is Reservation => !(result instanceof ApiError));
  assert.equal(admitted.length, 37);
  assert.equal(codeOf(results[199] ?? assert.fail()), 'rate_limit_exceeded', 'calls in flight may still free some');
  for (const reservation of admitted) reservation.settle(usageRecord('rush', 10n, { keyId: key.id, at: clock.now() }));
  const rejection = await tryAdmit(at, key, 1n);
  assert.ok(rejection instanceof ApiError);
  assert.equal(rejection.code, 'spend_limit_reached');
  assert.equal(rejection.details.retryAfter, 12 * 3600);
  assert.match(rejection.message, /this key may spend 0\.00000037 USD per day .* begins at 2026-11-16T00:00:00Z/);
  await at.drain();
  assert.equal(codeOf(await tryAdmit(at, key, 1n)), 'spend_limit_reached', 'recording changes nothing');
  await at.close();
});

test('SpendLimits count the actual cost when a call ends below or above its maximum', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const key = keyOf('key_back', await makeUser(db, 'back', RICH), { spendMonth: 100n });
  const first = (await tryAdmit(at, key, 80n)) as Reservation;
  assert.equal(codeOf(await tryAdmit(at, key, 30n)), 'rate_limit_exceeded');
  first.settle(usageRecord('back', 10n, { keyId: key.id, at: clock.now() }));
  const second = (await tryAdmit(at, key, 90n)) as Reservation;
  assert.equal(codeOf(await tryAdmit(at, key, 90n)), 'rate_limit_exceeded', 'fits once the second call has ended');
  second.release();
  const third = (await tryAdmit(at, key, 90n)) as Reservation;
  third.settle(usageRecord('back', 95n, { keyId: key.id, at: clock.now() }));
  assert.equal(codeOf(await tryAdmit(at, key, 1n)), 'spend_limit_reached');
  // A free call fits under any limit.
  const free = (await tryAdmit(at, key, 0n)) as Reservation;
  free.release();
  await at.close();
});

test('SpendLimits share the limit of a user among its keys only', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const userId = await makeUser(db, 'two', RICH);
  const a = keyOf('key_a', userId, { spendDay: 1_000n }, { spendDay: 100n });
  const b = keyOf('key_b', userId, undefined, { spendDay: 100n });
  assert.ok(await spend(at, a, 60n, clock));
  assert.ok(!(await spend(at, b, 60n, clock)));
  assert.ok(await spend(at, b, 40n, clock));
  const rejection = await tryAdmit(at, a, 1n);
  assert.match(rejection instanceof ApiError ? rejection.message : '', /this user may spend/);
  const other = keyOf('key_c', await makeUser(db, 'third', RICH), undefined, { spendDay: 100n });
  assert.ok(await spend(at, other, 100n, clock));
  await at.drain();
  assert.deepEqual(await limitsReport(db, a, clock.now()), {
    spend_day: '0.000001',
    spent_day: '0.00000006',
    user: { spend_day: '0.0000001', spent_day: '0.0000001' },
  });
  await at.close();
});

test('Metering records calls that other replicas wait for after 0.2 s: of limited keys and of low wallets', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const recordOf = async (userId: string, keyId: string, nanos: Nanos, limits?: Limits): Promise<void> => {
    assert.ok(await spend(at, keyOf(keyId, userId, limits), nanos, clock));
    clock.advance(200);
    await until(`the call of ${userId} to be recorded`, () => at.state.pending === 0);
  };
  await recordOf(await makeUser(db, 'capped', RICH), 'key_capped', 10n, { spendDay: 1_000n });
  await recordOf(await makeUser(db, 'nearly', 100n), 'key_nearly', 90n);
  await at.close();
});

test('SpendLimits reserve nothing for a call that the wallet rejects', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const key = keyOf('key_poor', await makeUser(db, 'poor', 50n), { spendDay: 100n });
  for (let n = 0; n < 5; n++) assert.equal(codeOf(await tryAdmit(at, key, 90n)), 'insufficient_balance');
  assert.ok(await spend(at, key, 50n, clock));
  await at.close();
});

test('SpendLimits start a new day and month at midnight UTC and count a call where it ends', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 28, 23, 59, 59));
  const at = await start(clock);
  const key = keyOf('key_night', await makeUser(db, 'night', RICH), { spendDay: 100n, spendMonth: 250n });
  assert.ok(await spend(at, key, 70n, clock));
  const late = (await tryAdmit(at, key, 30n)) as Reservation;
  assert.equal(codeOf(await tryAdmit(at, key, 1n)), 'rate_limit_exceeded');
  clock.advance(1_000);
  assert.ok(await spend(at, key, 70n, clock), 'a new day from its first millisecond, with 30 reserved');
  late.settle(usageRecord('night', 30n, { keyId: key.id, at: clock.now() }));
  assert.equal(codeOf(await tryAdmit(at, key, 1n)), 'spend_limit_reached');
  await at.drain();
  const rejection = await tryAdmit(at, key, 90n);
  assert.ok(rejection instanceof ApiError);
  assert.match(rejection.message, /per month .* begins at 2026-12-01T00:00:00Z/, 'the longer of two reasons');
  clock.advance(48 * 3_600_000);
  assert.ok(await spend(at, key, 100n, clock), 'a new month');
  await at.drain();
  assert.deepEqual(
    [await spend(at, key, 1n, clock), (await limitsReport(db, key, clock.now())).spent_month],
    [false, '0.0000001'],
  );
  await at.close();
});

test('SpendLimits do not count yesterday for today when midnight passes while the totals are read', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 20, 23, 59, 55));
  const at = await start(clock);
  const key = keyOf('key_read', await makeUser(db, 'reader', RICH), { spendDay: 100n });
  assert.ok(await spend(at, key, 100n, clock));
  await at.drain();
  const isFree = async (): Promise<boolean> => {
    const result = await tryAdmit(at, key, 100n);
    if (result instanceof ApiError) return false;
    result.release();
    return true;
  };
  const blocker = await connect(fixture.url);
  try {
    await blocker.query('begin; lock table usage_daily in access exclusive mode');
    clock.advance(2_000);
    await until('the read to wait', async () => {
      const { rowCount } = await blocker.query(
        `select from pg_locks where relation = 'usage_daily'::regclass and not granted`,
      );
      return rowCount === 1;
    });
    clock.advance(3_000);
    assert.ok(await isFree(), 'a new day');
  } finally {
    await blocker.end();
  }
  await at.drain();
  assert.ok(await isFree(), 'also after the read');
  await at.close();
});

test('SpendLimits count recorded and unrecorded spending after a restart', async () => {
  const clock = new FakeClock(NOON);
  const key = keyOf('key_again', await makeUser(db, 'again', RICH), { spendDay: 100n });
  const first = await start(clock);
  assert.ok(await spend(first, key, 30n, clock));
  await first.drain();
  assert.ok(await spend(first, key, 30n, clock));
  await first.close();
  const second = await start(clock);
  assert.ok(!(await spend(second, key, 50n, clock)));
  assert.ok(await spend(second, key, 40n, clock));
  await second.close();
});

test('SpendLimits count the spending of a process that was killed', async () => {
  const clock = new FakeClock(NOON);
  const userId = await makeUser(db, 'killed', RICH);
  const plan: CrashPlan = {
    url: fixture.url,
    dataDir,
    userId,
    point: 'flush.begun',
    nth: 2,
    calls: 12,
    maxCost: '50',
    cost: '7',
  };
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(plan)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const written = (await text(child.stdout)).match(/^written /gm) ?? [];
  assert.ok(written.length > 5, 'some records are in the database and some only in the journal');
  const spent = 7n * BigInt(written.length);
  const at = await start(clock);
  const key = keyOf('key_1', userId, { spendDay: spent + 20n });
  assert.ok(!(await spend(at, key, 21n, clock)));
  assert.ok(await spend(at, key, 20n, clock));
  await at.close();
});

test('SpendLimits count a call in flight, however long it takes and however little else happens', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const key = keyOf('key_slow', await makeUser(db, 'slow', RICH), { spendDay: 100n });
  const slow = (await tryAdmit(at, key, 80n)) as Reservation;
  for (let second = 0; second < 120; second += 2) {
    clock.advance(2_000);
    await at.drain();
  }
  assert.equal(codeOf(await tryAdmit(at, key, 30n)), 'rate_limit_exceeded');
  slow.release();
  await at.close();
});

test('SpendLimits count earlier spending when a limit is added', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const userId = await makeUser(db, 'later', RICH);
  const free = keyOf('key_later', userId);
  assert.ok(await spend(at, free, 30n, clock));
  await at.drain();
  assert.ok(await spend(at, free, 30n, clock));
  const key = keyOf('key_later', userId, { spendDay: 100n });
  assert.ok(!(await spend(at, key, 41n, clock)));
  assert.ok(await spend(at, key, 40n, clock));
  await at.close();
});

test('SpendLimits count a limit for life over months, restarts and late flushes', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 30, 23, 59));
  let at = await start(clock);
  const key = keyOf('key_life', await makeUser(db, 'life', RICH), { spendTotal: 100n });
  assert.ok(await spend(at, key, 30n, clock));
  assert.ok(await spend(at, key, 20n, clock));
  clock.advance(120_000);
  assert.ok(!(await spend(at, key, 51n, clock)), 'December counts what November has spent, recorded or not');
  await at.drain();
  const rejection = await tryAdmit(at, key, 51n);
  assert.ok(rejection instanceof ApiError);
  assert.deepEqual([rejection.code, rejection.details.retryAfter], ['spend_limit_reached', undefined]);
  assert.match(rejection.message, /may spend 0\.0000001 USD in all and has spent 0\.00000005;/);
  await at.close();
  at = await start(clock);
  assert.ok(!(await spend(at, key, 51n, clock)), 'a new process reads it');
  assert.ok(await spend(at, key, 50n, clock));
  clock.advance(700_000);
  await at.drain();
  assert.equal(codeOf(await tryAdmit(at, key, 1n)), 'spend_limit_reached', 'after it was read again');
  assert.deepEqual(await limitsReport(db, key, clock.now()), { spend_total: '0.0000001', spent_total: '0.0000001' });
  // A limit that is set later counts what was spent before.
  const other = keyOf('key_later', await makeUser(db, 'life_later', RICH), { spendDay: 1_000n });
  assert.ok(await spend(at, other, 60n, clock));
  assert.ok(!(await spend(at, { ...other, limits: { spendTotal: 100n } }, 41n, clock)));
  assert.ok(await spend(at, { ...other, limits: { spendTotal: 100n } }, 40n, clock));
  await at.close();
});

for (const limit of ['spendDay', 'spendMonth', 'spendTotal'] as const)
  test(`SpendLimits see the spending of another replica within seconds (${limit})`, async () => {
    const clock = new FakeClock(NOON);
    const [one, two] = [await start(clock), await start(clock)];
    const key = keyOf(`key_${limit}`, await makeUser(db, limit, RICH), { [limit]: 100n });
    assert.ok(await spend(one, key, 10n, clock));
    assert.ok(await spend(two, key, 80n, clock));
    await two.drain();
    clock.advance(2_000);
    await until('the first replica to see it', async () => {
      const result = await tryAdmit(one, key, 11n);
      if (result instanceof ApiError) return result.code === 'spend_limit_reached';
      result.release();
      return false;
    });
    assert.ok(await spend(one, key, 10n, clock));
    await one.close();
    await two.close();
  });

test('SpendLimits match the model for random sequences of calls, flushes and reads', async () => {
  const clock = new FakeClock(Date.UTC(2026, 8, 29, 20));
  const at = await start(clock);
  const userId = await makeUser(db, 'any', RICH);
  const dice = random(7);
  const keys = ['x', 'y'].map((id) =>
    keyOf(`key_${id}`, userId, { spendDay: 400n }, { spendDay: 600n, spendMonth: 1_500n }),
  );
  const open: { reservation: Reservation; key: LimitedKey; maxCost: Nanos }[] = [];
  const spent = new Map<string, Nanos>();
  const dayOf = (): string => new Date(clock.now()).toISOString().slice(0, 10);
  const get = (name: string): Nanos => spent.get(name) ?? 0n;
  let rejections = 0;
  for (let n = 0; n < 1_500; n++) {
    const action = dice(10);
    if (action < 5) {
      const key = keys[dice(2)] ?? assert.fail();
      const maxCost = BigInt(1 + dice(60));
      const held = (counts: (one: (typeof open)[number]) => boolean): Nanos =>
        open.filter(counts).reduce((sum, one) => sum + one.maxCost, 0n);
      const fits =
        get(`${key.id} ${dayOf()}`) + held((one) => one.key === key) + maxCost <= 400n &&
        get(dayOf()) + held(() => true) + maxCost <= 600n &&
        get(dayOf().slice(0, 7)) + held(() => true) + maxCost <= 1_500n;
      const result = await tryAdmit(at, key, maxCost);
      assert.equal(!(result instanceof ApiError), fits, `step ${n}: ${result instanceof ApiError && result.message}`);
      if (result instanceof ApiError) rejections += 1;
      else open.push({ reservation: result, key, maxCost });
    } else if (action < 8) {
      const [one] = open.splice(dice(Math.max(1, open.length)), 1);
      if (!one) continue;
      if (dice(4) === 0) {
        one.reservation.release();
        continue;
      }
      const nanos = (one.maxCost * BigInt(dice(5))) / 4n;
      one.reservation.settle(usageRecord(userId, nanos, { keyId: one.key.id, at: clock.now() }));
      for (const name of [`${one.key.id} ${dayOf()}`, dayOf(), dayOf().slice(0, 7)]) spent.set(name, get(name) + nanos);
    } else if (action === 8) await at.drain();
    else clock.advance(dice(20) === 0 ? dice(20) * 3_600_000 : dice(3_000));
  }
  for (const { reservation } of open) reservation.release();
  assert.ok(rejections > 50, `${rejections} rejections`);
  await at.close();
});

test('SpendLimits see a late record of an earlier day of the month within a minute', async () => {
  const clock = new FakeClock(NOON);
  const [at, other] = [await start(clock), await start(clock)];
  const key = keyOf('key_late', await makeUser(db, 'late', RICH), { spendMonth: 100n });
  assert.ok(await spend(at, key, 10n, clock));
  const late = await other.admit('late', 80n);
  late.settle(usageRecord('late', 80n, { keyId: key.id, at: clock.now() - 24 * 3_600_000 }));
  await other.drain();
  for (let second = 0; second < 64; second += 2) {
    clock.advance(2_000);
    await at.drain();
  }
  await until('the late record to be seen', async () => {
    clock.advance(2_000);
    const result = await tryAdmit(at, key, 11n);
    if (result instanceof ApiError) return result.code === 'spend_limit_reached';
    result.release();
    return false;
  });
  assert.ok(await spend(at, key, 10n, clock));
  await at.close();
  await other.close();
});
