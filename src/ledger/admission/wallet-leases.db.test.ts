import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { inParallel, makeUser, metering, random, usageRecord } from '../../../test/support/ledger-process.ts';
import {
  delayStatements,
  holdResponse,
  type LossyStatement,
  loseResponses,
  refuseStatements,
} from '../../../test/support/lost-responses.ts';
import { until } from '../../../test/support/wait.ts';
import { ApiError, type Nanos } from '../../core/index.ts';
import { connect, type Db, openDatabase } from '../../platform/db/index.ts';
import { CRASH_POINT_CHANNEL } from '../crash-points.ts';
import type { Metering } from '../metering.ts';
import { removeReplica, staleReplicas } from '../records/replica.ts';
import { checkLedger } from '../wallets/check.ts';
import { readStatement } from '../wallets/statement.ts';
import { credit, readBalance } from '../wallets/wallets.ts';
import type { Reservation } from './wallet-state.ts';

let fixture: LedgerFixture;
let db: Db;
let dataDir: string;

before(async () => {
  fixture = await openLedgerFixture(20);
  ({ db, dir: dataDir } = fixture);
});
after(() => fixture.close());

const start = (clock?: FakeClock): Promise<Metering> => metering({ db, dataDir, ...(clock && { clock }) });
const isOverloaded = (error: unknown): boolean => error instanceof ApiError && error.code === 'server_is_overloaded';
const isShort = (error: unknown): boolean => error instanceof ApiError && error.code === 'insufficient_balance';
/** Undefined when the balance is too low. */
const tryAdmit = async (at: Metering, userId: string, maxCost: Nanos): Promise<Reservation | undefined> => {
  try {
    return await at.admit(userId, maxCost);
  } catch (error) {
    if (isShort(error)) return undefined;
    throw error;
  }
};
const leased = async (userId: string): Promise<Nanos> => {
  const { rows } = await sql<{ n: bigint }>`
    select coalesce(sum(nanos), 0)::bigint as n from leases where user_id = ${userId}`.execute(db);
  return rows[0]?.n ?? 0n;
};
/** Advances the clock and lets due tasks run. */
const pass = async (clock: FakeClock, ms: number): Promise<void> => {
  clock.advance(ms);
  await new Promise((resolve) => setTimeout(resolve, 20));
};

/** Advances the clock again and again until `work` has ended. */
const passUntil = async <T>(clock: FakeClock, work: Promise<T>, ms = 125): Promise<T> => {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  while (!isOver) await pass(clock, ms);
  return work;
};

test('admit() returns synchronously within the lease, and the charge reaches the ledger', async () => {
  const userId = await makeUser(db, 'ann', 1_000_000n);
  const at = await start();
  const first = await at.admit(userId, 100n);
  const second = at.admit(userId, 100n);
  assert.ok(!(second instanceof Promise), 'the second call needs no statement');
  first.settle(usageRecord(userId, 30n));
  second.release();
  assert.throws(() => second.release(), /has ended already/);
  await at.whenWrittenOrFailed();
  await at.drain();
  assert.equal((await readStatement(db, userId))[0]?.kind, 'usage');
  await checkLedger(db);
  await at.close();
  assert.deepEqual(await readBalance(db, userId), { available: 999_970n, held: 0n });
});

test('admit() accepts exactly 37 of 200 parallel calls when the balance covers 37', async () => {
  for (const maxCost of [1n, 1_000n, 999_999_937n]) {
    const userId = await makeUser(db, `one${maxCost}`, maxCost * 37n + maxCost / 2n);
    const at = await start();
    const all = await Promise.all(Array.from({ length: 200 }, () => tryAdmit(at, userId, maxCost)));
    const admitted = all.filter((reservation) => reservation !== undefined);
    assert.equal(admitted.length, 37);
    for (const reservation of admitted) reservation.settle(usageRecord(userId, maxCost));
    await at.close();
    assert.deepEqual(await readBalance(db, userId), { available: maxCost / 2n, held: 0n });
  }
});

test('admit() reuses what earlier calls did not use', async () => {
  const userId = await makeUser(db, 'seq', 370n);
  const at = await start();
  let admitted = 0;
  for (let n = 0; n < 200; n += 1) {
    const reservation = await tryAdmit(at, userId, 10n);
    reservation?.settle(usageRecord(userId, 5n));
    if (reservation) admitted += 1;
  }
  // Each reserves 10 and costs 5: the last one leaves 5, which does not cover another call.
  assert.equal(admitted, 73);
  await at.close();
  assert.deepEqual(await readBalance(db, userId), { available: 5n, held: 0n });
});

test('admit() accepts exactly 37 of 200 parallel calls on three replicas when the balance covers 37', async () => {
  const replicas = [await start(), await start(), await start()];
  for (let round = 0; round < 8; round += 1) {
    const maxCost = BigInt(round * 997 + 10);
    const userId = await makeUser(db, `three${round}`, maxCost * 37n);
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, n) => tryAdmit(replicas[n % 3] as Metering, userId, maxCost)),
    );
    const admitted = all.filter((reservation) => reservation !== undefined);
    assert.equal(admitted.length, 37);
    for (const reservation of admitted) reservation.settle(usageRecord(userId, maxCost));
  }
  for (const at of replicas) await at.close();
  for (let round = 0; round < 8; round += 1)
    assert.deepEqual(await readBalance(db, `three${round}`), { available: 0n, held: 0n });
});

test('admit() never overdraws a wallet with random costs on three replicas', async () => {
  const replicas = [await start(), await start(), await start()];
  const userId = await makeUser(db, 'mix', 50_000n);
  let total = 0n;
  await inParallel(30, 3_000, async (n) => {
    const below = random(n * 104_729 + 1);
    const maxCost = BigInt(below(400) + 1);
    const reservation = await tryAdmit(replicas[n % 3] as Metering, userId, maxCost);
    if (!reservation) return;
    if (below(4) === 0) await new Promise(setImmediate);
    if (below(5) === 0) return reservation.release();
    const cost = BigInt(below(Number(maxCost) + 1));
    total += cost;
    reservation.settle(usageRecord(userId, cost));
  });
  for (const at of replicas) await at.close();
  assert.deepEqual(await readBalance(db, userId), { available: 50_000n - total, held: 0n });
  assert.ok(total > 45_000n && total <= 50_000n, `${total} spent`);
  assert.ok((await readStatement(db, userId)).every(({ kind }) => kind !== 'overdraft'));
});

const LOSSY: readonly LossyStatement[] = [
  { name: 'take', pattern: /insert into leases/, oneIn: 4 },
  { name: 'return', pattern: /update leases l set nanos = l\.nanos - \$/, oneIn: 2 },
  { name: 'record', pattern: /insert into usage_daily/, oneIn: 4 },
  { name: 'commit', pattern: /^commit$/, oneIn: 4 },
];

test('WalletLeases charge exactly when responses of the database are lost', async (t) => {
  const below = random(99);
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const replicas: Metering[] = [];
  for (let n = 0; n < 3; n += 1) replicas.push(await metering({ db, dataDir, clock }));
  const userId = await makeUser(db, 'lossy', 60_000n);
  const lost = loseResponses(LOSSY, below);
  let total = 0n;
  for (let round = 0; round < 60; round += 1) {
    let isOver = false;
    const calls = inParallel(20, 60, async (n) => {
      const maxCost = BigInt(below(90) + 1);
      const reservation = await tryAdmit(replicas[n % 3] as Metering, userId, maxCost).catch((error: ApiError) => {
        assert.equal(error.code, 'server_is_overloaded');
      });
      if (!reservation) return;
      if (below(6) === 0) return reservation.release();
      const cost = BigInt(below(Number(maxCost) + 1));
      total += cost;
      reservation.settle(usageRecord(userId, cost));
    }).finally(() => {
      isOver = true;
    });
    // Calls near the end of the balance wait for the other replicas.
    while (!isOver) await pass(clock, 100);
    await calls;
    await pass(clock, 1_500);
    for (const at of replicas) await at.drain().catch(() => {});
    // Sometimes long enough that idle leases are returned.
    for (let n = 0; n < 3 && round % 3 === 0; n += 1) await pass(clock, 6_000);
    await checkLedger(db);
  }
  for (const at of replicas)
    await until('all to be recorded', () =>
      at.drain().then(
        () => true,
        () => false,
      ),
    );
  for (const at of replicas) await at.close();
  lost.restore();
  // The next process would finish what close() could not. All replicas are this process, so the test does it.
  for (const { id } of await db.selectFrom('replicas').select('id').execute()) await removeReplica(db, id);
  rmSync(join(dataDir, 'journal'), { recursive: true, force: true });
  assert.deepEqual(await readBalance(db, userId), { available: 60_000n - total, held: 0n });
  assert.ok(total > 30_000n, `${total} spent`);
  assert.ok((await readStatement(db, userId, { limit: 10_000 })).every(({ kind }) => kind !== 'overdraft'));
  assert.equal(Object.keys(lost.counts).length, LOSSY.length, JSON.stringify(lost.counts));
  t.diagnostic(`${total} spent; lost: ${JSON.stringify(lost.counts)}`);
});

test('a call whose grant was lost with its connection is admitted from the lease, which is returned once its user is idle', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const userId = await makeUser(db, 'grantless', 1_000n);
  const at = await start(clock);
  const lost = loseResponses([{ name: 'take', pattern: /insert into leases/, oneIn: 1 }], () => 0);
  (await at.admit(userId, 10n)).release();
  lost.restore();
  assert.deepEqual(lost.counts, { take: 1 });
  assert.ok((await leased(userId)) > 0n, 'the database has leased');
  await until('the return', async () => {
    clock.advance(5_000);
    return (await leased(userId)) === 0n;
  });
  await at.close();
});

test('a lease that arrives after a later charge admits nothing beyond the wallet', async () => {
  const userId = await makeUser(db, 'overtaken', 100n);
  const at = await start(new FakeClock(Date.UTC(2026, 10, 15)));
  (await at.admit(userId, 60n)).settle(usageRecord(userId, 50n));
  const held = holdResponse(/insert into leases/);
  const second = at.admit(userId, 50n);
  await held.executed;
  await at.drain();
  held.release();
  const admitted = await second;
  assert.equal(await tryAdmit(at, userId, 1n), undefined);
  admitted.settle(usageRecord(userId, 50n));
  await at.close();
  assert.deepEqual(await readBalance(db, userId), { available: 0n, held: 0n });
});

test('settle() charges a call in full when it costs more than its reservation', async () => {
  const userId = await makeUser(db, 'over', 100n);
  const at = await start();
  const reservation = await at.admit(userId, 60n);
  reservation.settle(usageRecord(userId, 90n));
  assert.equal(await tryAdmit(at, userId, 60n), undefined);
  await at.drain();
  assert.deepEqual((await readStatement(db, userId)).map(({ kind, nanos }) => [kind, nanos]).slice(0, 2), [
    ['overdraft', -30n],
    ['usage', -60n],
  ]);
  await at.close();
  assert.deepEqual(await readBalance(db, userId), { available: 10n, held: 0n });
});

test('admit() accepts free calls without a balance, and paid calls soon after a credit', async () => {
  const userId = await makeUser(db, 'poor');
  const clock = new FakeClock();
  const at = await start(clock);
  const free = await at.admit(userId, 0n);
  free.settle(usageRecord(userId, 0n));
  assert.equal(await tryAdmit(at, userId, 5n), undefined);
  await credit(db, { userId, nanos: 5n, reference: 'gift:poor', reason: 'test' });
  clock.advance(250);
  const paid = await tryAdmit(at, userId, 5n);
  assert.ok(paid);
  paid.release();
  await at.close();
});

test('WalletLeases send one statement for many waiting calls, and few for a user without money', async () => {
  const userId = await makeUser(db, 'busy', 10n ** 9n);
  let statements = 0;
  const count = (point: unknown): void => {
    if (point === 'lease.taken') statements += 1;
  };
  subscribe(CRASH_POINT_CHANNEL, count);
  // Its time does not pass, so that a slow machine does not forget the rejection.
  const at = await start(new FakeClock());
  const reservations = await Promise.all(Array.from({ length: 500 }, () => at.admit(userId, 10n)));
  assert.ok(statements <= 10, `${statements} statements for 500 calls`);
  for (const reservation of reservations) reservation.release();
  const poor = await makeUser(db, 'broke');
  statements = 0;
  for (let n = 0; n < 300; n += 1) assert.equal(await tryAdmit(at, poor, 10n), undefined);
  assert.ok(statements <= 30, `${statements} statements for 300 rejections`);
  unsubscribe(CRASH_POINT_CHANNEL, count);
  await at.close();
});

test('returnIdle() returns unused money soon when the wallet is low, later when it is not', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const at = await start(clock);
  const rich = await makeUser(db, 'rich', 10n ** 9n);
  const low = await makeUser(db, 'low', 100n);
  (await at.admit(rich, 10n)).release();
  const open = await at.admit(low, 80n);
  open.settle(usageRecord(low, 5n));
  assert.ok((await leased(rich)) >= 320n);
  assert.equal(await leased(low), 80n);
  // Nothing is returned while the charge is not recorded.
  for (let n = 0; n < 2; n += 1) await at.whenWrittenOrFailed();
  await at.drain();
  await pass(clock, 1_000);
  await pass(clock, 1_000);
  await until('the lease of the low wallet to be returned', async () => (await leased(low)) === 0n);
  assert.deepEqual(await readBalance(db, low), { available: 95n, held: 0n });
  assert.ok((await leased(rich)) > 0n);
  for (let n = 0; n < 16; n += 1) await pass(clock, 1_000);
  await until('the lease of the rich wallet to be returned', async () => (await leased(rich)) === 0n);
  await at.close();
});

test('returnIdle() returns nothing while a record is not in the database', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const other = openDatabase(fixture.url, 2);
  const at = await metering({ db: other.db, dataDir, clock });
  const userId = await makeUser(db, 'wait', 100n);
  // The flusher waits for the wallet lock, so the record stays in the journal.
  const locked = db.transaction().execute(async (tx) => {
    const reservation = await at.admit(userId, 50n);
    await sql`select from wallets where user_id = ${userId} for update`.execute(tx);
    reservation.settle(usageRecord(userId, 20n));
    for (let n = 0; n < 5; n += 1) await pass(clock, 1_000);
    assert.equal(await leased(userId), 50n);
  });
  await locked;
  await at.drain();
  await until('the lease to be returned', async () => {
    await pass(clock, 1_000);
    return (await leased(userId)) === 0n;
  });
  assert.deepEqual(await readBalance(db, userId), { available: 80n, held: 0n });
  await at.close();
  await other.close();
});

test('Metering continues under a new id and loses no record when its replica is fenced', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const at = await start(clock);
  const userId = await makeUser(db, 'lost', 1_000n);
  const before = at.replicaId;
  const reservation = await at.admit(userId, 100n);
  // As a process on another host does.
  await sql`update replicas set seen_at = now() - interval '2 minutes' where id = ${before}`.execute(db);
  assert.deepEqual(
    (await staleReplicas(db)).map(({ id }) => id),
    [before],
  );
  await sql`update replicas set fenced = true where id = ${before}`.execute(db);
  reservation.settle(usageRecord(userId, 40n));
  clock.advance(40_000);
  const next = await at.admit(userId, 100n);
  assert.notEqual(at.replicaId, before);
  next.settle(usageRecord(userId, 60n));
  await at.close();
  assert.equal((await readBalance(db, userId)).available + (await leased(userId)), 900n);
  // The folder and the leases of the old id belong to the process that fenced it.
  assert.ok(readdirSync(join(dataDir, 'journal')).includes(before));
  const other = await start();
  await sql`update replicas set fenced = true where id = ${before}`.execute(db);
  rmSync(join(dataDir, 'journal', before, 'owner.json'));
  assert.deepEqual(await other.recover(), [before]);
  assert.deepEqual(await readBalance(db, userId), { available: 900n, held: 0n });
  await other.close();
});

test('WalletLeases ignore the leases of a flush that began before the replica was fenced', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const at = await start(clock);
  const userId = await makeUser(db, 'late', 10_000n);
  const before = at.replicaId;
  (await at.admit(userId, 100n)).settle(usageRecord(userId, 40n));
  const locker = await connect(fixture.url);
  await locker.query('begin');
  await locker.query('select from wallets where user_id = $1 for update', [userId]);
  const flushing = at.drain();
  await until('the flush to wait for the wallet', async () => {
    const { rows } = await locker.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return rows.length > 0;
  });
  await sql`update replicas set fenced = true where id = ${before}`.execute(db);
  clock.advance(10_000);
  await until('the new id', async () => at.replicaId !== before);
  await locker.query('commit');
  await locker.end();
  await flushing;
  const next = await at.admit(userId, 100n);
  const { rows } = await sql<{ nanos: bigint }>`
    select nanos from leases where user_id = ${userId} and replica_id = ${at.replicaId}`.execute(db);
  assert.ok((rows[0]?.nanos ?? 0n) >= 100n, 'the call is admitted on a lease of the new id');
  next.release();
  await at.close();
  await removeReplica(db, before);
  rmSync(join(dataDir, 'journal', before), { recursive: true });
  assert.deepEqual(await readBalance(db, userId), { available: 9_960n, held: 0n });
});

test('recover() leaves the journal of another database alone', async () => {
  const other = join(dataDir, 'journal', 'rep_other');
  mkdirSync(other, { recursive: true });
  writeFileSync(join(other, 'owner.json'), JSON.stringify({ host: 'h', pid: 1, start: '1', ledger: 'another' }));
  const at = await start();
  assert.ok(readdirSync(join(dataDir, 'journal')).includes('rep_other'));
  rmSync(other, { recursive: true });
  await at.close();
  assert.throws(() => at.admit('ann', 1n), { code: 'shutting_down' });
});

test('close() leaves no folder, no replica and no lease', async () => {
  const at = await start();
  const userId = await makeUser(db, 'end', 10n ** 6n);
  (await at.admit(userId, 10n)).settle(usageRecord(userId, 10n));
  await at.close();
  assert.deepEqual(readdirSync(join(dataDir, 'journal')), []);
  assert.deepEqual(await db.selectFrom('replicas').selectAll().execute(), []);
  assert.deepEqual(await readBalance(db, userId), { available: 10n ** 6n - 10n, held: 0n });
});

test('admit() rejects new calls while the journal cannot be written, and no record is lost', async () => {
  const userId = await makeUser(db, 'zoe', 1_000_000n);
  const clock = new FakeClock();
  // So small that every write opens a new segment, which fails while the folder is renamed.
  const at = await metering({ db, dataDir, clock, segmentBytes: 1 });
  const [first, second] = [await at.admit(userId, 100n), await at.admit(userId, 100n)];
  const journal = join(dataDir, 'journal', at.replicaId);
  first.settle(usageRecord(userId, 30n));
  await at.whenWrittenOrFailed();
  renameSync(journal, `${journal}.gone`);
  second.settle(usageRecord(userId, 12n));
  await at.whenWrittenOrFailed();
  assert.throws(() => at.admit(userId, 100n), isOverloaded);
  renameSync(`${journal}.gone`, journal);
  await pass(clock, 1_000);
  await at.whenWrittenOrFailed();
  (await at.admit(userId, 100n)).release();
  await at.drain();
  await at.close();
  await checkLedger(db);
  assert.deepEqual(await readBalance(db, userId), { available: 999_958n, held: 0n });
});

test('a call is admitted from money that idles in the leases of other replicas', async () => {
  const userId = await makeUser(db, 'stranded', 800n);
  const [one, other] = [await start(), await start()];
  for (const at of [one, other]) (await at.admit(userId, 300n)).release();
  assert.equal(await leased(userId), 600n);
  const big = await tryAdmit(one, userId, 700n);
  assert.ok(big, 'the other replica returns what it does not use');
  assert.equal(await tryAdmit(other, userId, 300n), undefined, 'the money is spent once');
  big.settle(usageRecord(userId, 700n));
  await one.drain();
  assert.ok(await tryAdmit(other, userId, 100n).then((reservation) => reservation?.release() ?? 'admitted'));
  await one.close();
  await other.close();
  assert.deepEqual(await readBalance(db, userId), { available: 100n, held: 0n });
});

for (const ms of [0, 400])
  test(`two replicas that need the leases of each other admit one call when a statement takes ${ms} ms more`, async () => {
    const userId = await makeUser(db, `both${ms}`, 800n);
    const replicas = [await start(), await start()] as const;
    for (const at of replicas) (await at.admit(userId, 300n)).release();
    const slow = delayStatements(ms);
    const admitted = (await Promise.all(replicas.map((at) => tryAdmit(at, userId, 700n)))).filter(Boolean);
    slow.restore();
    assert.equal(admitted.length, 1);
    admitted[0]?.release();
    for (const at of replicas) await at.close();
    assert.deepEqual(await readBalance(db, userId), { available: 800n, held: 0n });
    assert.deepEqual(await db.selectFrom('wishes').selectAll().where('user_id', '=', userId).execute(), []);
  });

test('a call that no replica can pay for is rejected without waiting, and takes nothing from the others', async () => {
  const userId = await makeUser(db, 'unpaid', 800n);
  // Its time does not pass, so that whoever waits is never admitted nor rejected.
  const [one, other] = [await start(new FakeClock()), await start()];
  (await other.admit(userId, 300n)).release();
  assert.equal(await tryAdmit(one, userId, 900n), undefined);
  const kept = other.admit(userId, 300n);
  assert.ok(!(kept instanceof Promise), 'the lease of the other replica stays');
  kept.release();
  await one.close();
  await other.close();
});

test('money in use on another replica is not returned: a call is rejected when that replica has said so, a later one asks again', async () => {
  const userId = await makeUser(db, 'inuse', 800n);
  const [clock, otherClock] = [new FakeClock(), new FakeClock()];
  const [one, other] = [await start(clock), await start(otherClock)];
  const open = await other.admit(userId, 300n);
  const first = tryAdmit(one, userId, 700n);
  const isAsked = async (): Promise<boolean> => {
    const rows = await db.selectFrom('leases').select('is_wanted').where('user_id', '=', userId).execute();
    return rows.some(({ is_wanted }) => is_wanted);
  };
  const isAnswered = async (): Promise<boolean> => !(await isAsked());
  await until('the other replica to be asked', isAsked);
  // One turn of it, which must not see what the second call asks for.
  otherClock.advance(250);
  await until('the answer', isAnswered);
  open.release();
  clock.advance(1);
  const second = tryAdmit(one, userId, 700n);
  assert.equal(await passUntil(clock, first), undefined);
  assert.equal(await leased(userId), 300n);
  await until('the other replica to be asked again', isAsked);
  await until('the second answer', () => {
    otherClock.advance(250);
    return isAnswered();
  });
  const admitted = await passUntil(clock, second);
  assert.ok(admitted, 'what was in use before is free now');
  admitted.release();
  await one.close();
  await other.close();
});

test('a call is not rejected for money that its own replica could not return', async () => {
  const userId = await makeUser(db, 'unreturned', 1_000n);
  const clock = new FakeClock();
  const at = await start(clock);
  (await at.admit(userId, 300n)).release();
  const refused = refuseStatements(/update leases l set nanos = l\.nanos - \$/);
  await until('a return that fails', async () => {
    await pass(clock, 1_000);
    return refused.count() > 0;
  });
  await assert.rejects(Promise.resolve(at.admit(userId, 900n)), isOverloaded);
  refused.restore();
  assert.equal(await leased(userId), 300n);
  const admitted = await tryAdmit(at, userId, 900n);
  assert.ok(admitted, 'its lease has 300, the wallet 700');
  admitted.release();
  await at.close();
});

test('a call that waits for a replica which never answers is rejected as unavailable, not as too expensive', async () => {
  const userId = await makeUser(db, 'silent', 800n);
  const clock = new FakeClock();
  const [one, other] = [await start(clock), await start(new FakeClock())];
  (await other.admit(userId, 300n)).release();
  await assert.rejects(passUntil(clock, Promise.resolve(one.admit(userId, 700n)), 5_000), isOverloaded);
  assert.deepEqual(await db.selectFrom('wishes').selectAll().where('user_id', '=', userId).execute(), []);
  await one.close();
  await other.close();
});

test('rejected calls do not keep a lease', async () => {
  const clock = new FakeClock();
  const userId = await makeUser(db, 'retries', 800n);
  const at = await start(clock);
  (await at.admit(userId, 300n)).release();
  assert.equal(await leased(userId), 300n);
  for (let n = 0; n < 6; n += 1) {
    assert.equal(await tryAdmit(at, userId, 900n), undefined);
    for (let m = 0; m < 2; m += 1) await pass(clock, 250);
  }
  await until('the lease to be returned', async () => (await leased(userId)) === 0n);
  await at.close();
});

test('a clock that is set back does not prolong a rejection', async () => {
  const clock = new FakeClock();
  const userId = await makeUser(db, 'setback', 100n);
  const at = await start(clock);
  assert.equal(await tryAdmit(at, userId, 300n), undefined);
  clock.set(clock.now() - 3_600_000);
  await credit(db, { userId, nanos: 1_000n, reference: 'setback:top-up', reason: 'test' });
  await pass(clock, 250);
  assert.ok(
    await tryAdmit(at, userId, 300n).then((reservation) => reservation?.release() ?? reservation !== undefined),
  );
  await at.close();
});
