import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type LedgerBed, openLedgerBed } from '../../../test/support/ledger.ts';
import { type CrashPlan, makeUser, metering, random, usageRecord } from '../../../test/support/ledger-process.ts';
import { until } from '../../../test/support/wait.ts';
import { ApiError, FakeClock, type LimitedKey, type Limits, type Nanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import type { Metering } from '../metering.ts';
import { limitsReport } from '../reports/usage-report.ts';
import { checkLedger } from '../wallets/wallets.ts';
import type { Reservation } from './wallet-leases.ts';

let bed: LedgerBed;
let db: Db;
let dataDir: string;

before(async () => {
  bed = await openLedgerBed(10);
  ({ db, dir: dataDir } = bed);
});
after(() => checkLedger(db).finally(() => bed.close()));

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

/** A reservation, or why there is none. */
async function ask(at: Metering, key: LimitedKey, bound: Nanos): Promise<Reservation | ApiError> {
  try {
    return await at.admit(key.userId, bound, key);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
async function spend(at: Metering, key: LimitedKey, nanos: Nanos, clock: FakeClock): Promise<boolean> {
  const admitted = await ask(at, key, nanos);
  if (admitted instanceof ApiError) return false;
  admitted.settle(usageRecord(key.userId, nanos, { keyId: key.id, at: clock.now() }));
  return true;
}
const codeOf = (answer: Reservation | ApiError): string => (answer instanceof ApiError ? answer.code : 'admitted');

test('a limit for exactly 37 calls admits 37 of 200 at once, and says why and for how long', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const key = keyOf('key_rush', await makeUser(db, 'rush', RICH), { spendDay: 370n });
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask(at, key, 10n)));
  const admitted = answers.filter((answer): answer is Reservation => !(answer instanceof ApiError));
  assert.equal(admitted.length, 37);
  assert.equal(codeOf(answers[199] ?? assert.fail()), 'rate_limit_exceeded', 'calls in flight may give some back');
  for (const reservation of admitted) reservation.settle(usageRecord('rush', 10n, { keyId: key.id, at: clock.now() }));
  const refusal = await ask(at, key, 1n);
  assert.ok(refusal instanceof ApiError);
  assert.equal(refusal.code, 'spend_limit_reached');
  assert.equal(refusal.details.retryAfter, 12 * 3600);
  assert.match(refusal.message, /This key may spend 0\.00000037 USD a day .* begins at 2026-11-16T00:00:00Z/);
  await at.drain();
  assert.equal(codeOf(await ask(at, key, 1n)), 'spend_limit_reached', 'recording changes nothing');
  await at.close();
});

test('what a call does not use of its bound is free again, and what it uses beyond it counts', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const key = keyOf('key_back', await makeUser(db, 'back', RICH), { spendMonth: 100n });
  const first = (await ask(at, key, 80n)) as Reservation;
  assert.equal(codeOf(await ask(at, key, 30n)), 'rate_limit_exceeded');
  first.settle(usageRecord('back', 10n, { keyId: key.id, at: clock.now() }));
  const second = (await ask(at, key, 90n)) as Reservation;
  second.release();
  const third = (await ask(at, key, 90n)) as Reservation;
  third.settle(usageRecord('back', 95n, { keyId: key.id, at: clock.now() }));
  assert.equal(codeOf(await ask(at, key, 1n)), 'spend_limit_reached');
  // What costs nothing needs no limit.
  const free = (await ask(at, key, 0n)) as Reservation;
  free.release();
  await at.close();
});

test('the limit of a user is shared by its keys; the keys of others have nothing to do with it', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const userId = await makeUser(db, 'two', RICH);
  const a = keyOf('key_a', userId, { spendDay: 1_000n }, { spendDay: 100n });
  const b = keyOf('key_b', userId, undefined, { spendDay: 100n });
  assert.ok(await spend(at, a, 60n, clock));
  assert.ok(!(await spend(at, b, 60n, clock)));
  assert.ok(await spend(at, b, 40n, clock));
  const refusal = await ask(at, a, 1n);
  assert.match(refusal instanceof ApiError ? refusal.message : '', /^This user may spend/);
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

test('a wallet that cannot pay sets nothing aside under the limit', async () => {
  const clock = new FakeClock(NOON);
  const at = await start(clock);
  const key = keyOf('key_poor', await makeUser(db, 'poor', 50n), { spendDay: 100n });
  for (let n = 0; n < 5; n++) assert.equal(codeOf(await ask(at, key, 90n)), 'insufficient_balance');
  assert.ok(await spend(at, key, 50n, clock));
  await at.close();
});

test('a day and a month end at midnight UTC, with calls in flight counted where they end', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 28, 23, 59, 59));
  const at = await start(clock);
  const key = keyOf('key_night', await makeUser(db, 'night', RICH), { spendDay: 100n, spendMonth: 250n });
  assert.ok(await spend(at, key, 70n, clock));
  const late = (await ask(at, key, 30n)) as Reservation;
  assert.equal(codeOf(await ask(at, key, 1n)), 'rate_limit_exceeded');
  clock.advance(2_000);
  assert.ok(await spend(at, key, 70n, clock), 'a new day, with 30 set aside');
  late.settle(usageRecord('night', 30n, { keyId: key.id, at: clock.now() }));
  assert.equal(codeOf(await ask(at, key, 1n)), 'spend_limit_reached');
  await at.drain();
  const refusal = await ask(at, key, 90n);
  assert.ok(refusal instanceof ApiError);
  assert.match(refusal.message, /a month .* begins at 2026-12-01T00:00:00Z/, 'the longer of two reasons');
  clock.advance(48 * 3_600_000);
  assert.ok(await spend(at, key, 100n, clock), 'a new month');
  await at.drain();
  assert.deepEqual(
    [await spend(at, key, 1n, clock), (await limitsReport(db, key, clock.now())).spent_month],
    [false, '0.0000001'],
  );
  await at.close();
});

test('a restart keeps the count: what was recorded, and what only the journal held', async () => {
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

test('a process that is killed in between leaves the count to the next', async () => {
  const clock = new FakeClock(NOON);
  const userId = await makeUser(db, 'killed', RICH);
  const plan: CrashPlan = {
    url: bed.url,
    dataDir,
    userId,
    step: 'flush.begun',
    nth: 2,
    calls: 12,
    bound: '50',
    cost: '7',
  };
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(plan)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const safe = (await text(child.stdout)).match(/^safe /gm) ?? [];
  assert.ok(safe.length > 5, 'some are recorded and some are not');
  const spent = 7n * BigInt(safe.length);
  const at = await start(clock);
  const key = keyOf('key_1', userId, { spendDay: spent + 20n });
  assert.ok(!(await spend(at, key, 21n, clock)));
  assert.ok(await spend(at, key, 20n, clock));
  await at.close();
});

test('a limit that comes later counts what was spent before it, recorded or not', async () => {
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

test('what another replica has spent is seen within seconds', async () => {
  const clock = new FakeClock(NOON);
  const [one, two] = [await start(clock), await start(clock)];
  const key = keyOf('key_both', await makeUser(db, 'both', RICH), { spendDay: 100n });
  assert.ok(await spend(one, key, 10n, clock));
  assert.ok(await spend(two, key, 80n, clock));
  await two.drain();
  clock.advance(2_000);
  await until('one to see it', async () => {
    const answer = await ask(one, key, 11n);
    if (answer instanceof ApiError) return answer.code === 'spend_limit_reached';
    answer.release();
    return false;
  });
  assert.ok(await spend(one, key, 10n, clock));
  await one.close();
  await two.close();
});

test('whatever order calls, records and reads come in, no limit is passed and nothing that fits is refused', async () => {
  const clock = new FakeClock(Date.UTC(2026, 8, 29, 20));
  const at = await start(clock);
  const userId = await makeUser(db, 'any', RICH);
  const dice = random(7);
  const keys = ['x', 'y'].map((id) =>
    keyOf(`key_${id}`, userId, { spendDay: 400n }, { spendDay: 600n, spendMonth: 1_500n }),
  );
  const open: { reservation: Reservation; key: LimitedKey; bound: Nanos }[] = [];
  const spent = new Map<string, Nanos>();
  const dayOf = (): string => new Date(clock.now()).toISOString().slice(0, 10);
  const get = (name: string): Nanos => spent.get(name) ?? 0n;
  let refusals = 0;
  for (let n = 0; n < 1_500; n++) {
    const what = dice(10);
    if (what < 5) {
      const key = keys[dice(2)] ?? assert.fail();
      const bound = BigInt(1 + dice(60));
      const held = (of: (one: (typeof open)[number]) => boolean): Nanos =>
        open.filter(of).reduce((sum, one) => sum + one.bound, 0n);
      const isFit =
        get(`${key.id} ${dayOf()}`) + held((one) => one.key === key) + bound <= 400n &&
        get(dayOf()) + held(() => true) + bound <= 600n &&
        get(dayOf().slice(0, 7)) + held(() => true) + bound <= 1_500n;
      const answer = await ask(at, key, bound);
      assert.equal(!(answer instanceof ApiError), isFit, `step ${n}: ${answer instanceof ApiError && answer.message}`);
      if (answer instanceof ApiError) refusals += 1;
      else open.push({ reservation: answer, key, bound });
    } else if (what < 8) {
      const [one] = open.splice(dice(Math.max(1, open.length)), 1);
      if (!one) continue;
      if (dice(4) === 0) {
        one.reservation.release();
        continue;
      }
      const nanos = (one.bound * BigInt(dice(5))) / 4n;
      one.reservation.settle(usageRecord(userId, nanos, { keyId: one.key.id, at: clock.now() }));
      for (const name of [`${one.key.id} ${dayOf()}`, dayOf(), dayOf().slice(0, 7)]) spent.set(name, get(name) + nanos);
    } else if (what === 8) await at.drain();
    else clock.advance(dice(20) === 0 ? dice(20) * 3_600_000 : dice(3_000));
  }
  for (const { reservation } of open) reservation.release();
  assert.ok(refusals > 50, `${refusals} refusals`);
  await at.close();
});

test('what is recorded late for an earlier day of the month is seen within a minute', async () => {
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
  await until('it to be seen', async () => {
    clock.advance(2_000);
    const answer = await ask(at, key, 11n);
    if (answer instanceof ApiError) return answer.code === 'spend_limit_reached';
    answer.release();
    return false;
  });
  assert.ok(await spend(at, key, 10n, clock));
  await at.close();
  await other.close();
});
