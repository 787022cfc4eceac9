import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type LedgerBed, openLedgerBed } from '../../../test/support/ledger.ts';
import { inParallel, makeUser, metering, random, usageRecord } from '../../../test/support/ledger-process.ts';
import { until } from '../../../test/support/wait.ts';
import { ApiError, FakeClock, type Nanos } from '../../core/index.ts';
import { connect, type Db, openDatabase } from '../../db/index.ts';
import type { CrashPoint } from '../crash-points.ts';
import type { Metering } from '../metering.ts';
import { removeReplica, staleReplicas } from '../records/replica.ts';
import { available, checkLedger, credit, statement } from '../wallets/wallets.ts';
import type { Reservation } from './wallet-leases.ts';

let bed: LedgerBed;
let db: Db;
let dataDir: string;

before(async () => {
  bed = await openLedgerBed(20);
  ({ db, dir: dataDir } = bed);
});
after(() => bed.close());

const start = (clock?: FakeClock): Promise<Metering> => metering({ db, dataDir, ...(clock && { clock }) });
const isOverloaded = (error: unknown): boolean => error instanceof ApiError && error.code === 'server_is_overloaded';
const isShort = (error: unknown): boolean => error instanceof ApiError && error.code === 'insufficient_balance';
/** Undefined for a refusal. */
const tryAdmit = async (at: Metering, userId: string, bound: Nanos): Promise<Reservation | undefined> => {
  try {
    return await at.admit(userId, bound);
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
/** Moves a fake clock on and lets what fell due run. */
const pass = async (clock: FakeClock, ms: number): Promise<void> => {
  clock.advance(ms);
  await new Promise((resolve) => setTimeout(resolve, 20));
};

test('a call is admitted within its lease at once, and its cost reaches the ledger', async () => {
  const userId = await makeUser(db, 'ann', 1_000_000n);
  const at = await start();
  const first = await at.admit(userId, 100n);
  const second = at.admit(userId, 100n);
  assert.ok(!(second instanceof Promise), 'the second needs no database');
  first.settle(usageRecord(userId, 30n));
  second.release();
  assert.throws(() => second.release(), /ends once/);
  await at.flushed();
  await at.drain();
  assert.equal((await statement(db, userId))[0]?.kind, 'usage');
  await checkLedger(db);
  await at.close();
  assert.deepEqual(await available(db, userId), { available: 999_970n, held: 0n });
});

test('200 parallel calls on a balance for exactly 37: exactly 37 on one replica', async () => {
  for (const bound of [1n, 1_000n, 999_999_937n]) {
    const userId = await makeUser(db, `one${bound}`, bound * 37n + bound / 2n);
    const at = await start();
    const all = await Promise.all(Array.from({ length: 200 }, () => tryAdmit(at, userId, bound)));
    const admitted = all.filter((reservation) => reservation !== undefined);
    assert.equal(admitted.length, 37);
    for (const reservation of admitted) reservation.settle(usageRecord(userId, bound));
    await at.close();
    assert.deepEqual(await available(db, userId), { available: bound / 2n, held: 0n });
  }
});

test('one after the other as well, and what calls did not use serves more of them', async () => {
  const userId = await makeUser(db, 'seq', 370n);
  const at = await start();
  let admitted = 0;
  for (let n = 0; n < 200; n += 1) {
    const reservation = await tryAdmit(at, userId, 10n);
    reservation?.settle(usageRecord(userId, 5n));
    if (reservation) admitted += 1;
  }
  // Each holds 10 and costs 5: the last one leaves 5, which is too little for another.
  assert.equal(admitted, 73);
  await at.close();
  assert.deepEqual(await available(db, userId), { available: 5n, held: 0n });
});

test('200 parallel calls over three replicas: never more than 37, twenty times', async (t) => {
  const replicas = [await start(), await start(), await start()];
  const counts: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const bound = BigInt(round * 997 + 10);
    const userId = await makeUser(db, `three${round}`, bound * 37n);
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, n) => tryAdmit(replicas[n % 3] as Metering, userId, bound)),
    );
    const admitted = all.filter((reservation) => reservation !== undefined);
    counts.push(admitted.length);
    assert.ok(admitted.length <= 37, `${admitted.length} admitted`);
    for (const reservation of admitted) reservation.settle(usageRecord(userId, bound));
  }
  for (const at of replicas) await at.close();
  for (const [round, count] of counts.entries()) {
    const bound = BigInt(round * 997 + 10);
    assert.deepEqual(await available(db, `three${round}`), { available: bound * BigInt(37 - count), held: 0n });
  }
  assert.ok(
    counts.every((count) => count >= 35),
    `money was stranded: ${counts}`,
  );
  t.diagnostic(`admitted: ${counts.join(' ')}`);
});

test('random bounds and costs over three replicas never take a wallet below zero', async () => {
  const replicas = [await start(), await start(), await start()];
  const userId = await makeUser(db, 'mix', 50_000n);
  let total = 0n;
  await inParallel(30, 3_000, async (n) => {
    const below = random(n * 104_729 + 1);
    const bound = BigInt(below(400) + 1);
    const reservation = await tryAdmit(replicas[n % 3] as Metering, userId, bound);
    if (!reservation) return;
    if (below(4) === 0) await new Promise(setImmediate);
    if (below(5) === 0) return reservation.release();
    const cost = BigInt(below(Number(bound) + 1));
    total += cost;
    reservation.settle(usageRecord(userId, cost));
  });
  for (const at of replicas) await at.close();
  assert.deepEqual(await available(db, userId), { available: 50_000n - total, held: 0n });
  assert.ok(total > 45_000n && total <= 50_000n, `${total} spent`);
  assert.ok((await statement(db, userId)).every(({ kind }) => kind !== 'overdraft'));
});

test('answers of the database that get lost cost nobody anything', async (t) => {
  const below = random(99);
  const lostAt: Record<string, number> = {};
  const lossy = (step: CrashPoint): void => {
    const oneIn = { 'lease.taken': 4, 'lease.returned': 2, 'flush.committed': 4, 'flush.recorded': 4 }[step as string];
    if (oneIn === undefined || below(oneIn) > 0) return;
    lostAt[step] = (lostAt[step] ?? 0) + 1;
    throw new Error('the answer was lost');
  };
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const replicas: Metering[] = [];
  for (let n = 0; n < 3; n += 1) replicas.push(await metering({ db, dataDir, clock, onStep: lossy }));
  const userId = await makeUser(db, 'lossy', 60_000n);
  let total = 0n;
  for (let round = 0; round < 60; round += 1) {
    await inParallel(20, 60, async (n) => {
      const bound = BigInt(below(90) + 1);
      const reservation = await tryAdmit(replicas[n % 3] as Metering, userId, bound).catch((error: ApiError) => {
        assert.equal(error.code, 'server_is_overloaded');
      });
      if (!reservation) return;
      if (below(6) === 0) return reservation.release();
      const cost = BigInt(below(Number(bound) + 1));
      total += cost;
      reservation.settle(usageRecord(userId, cost));
    });
    await pass(clock, 1_500);
    for (const at of replicas) await at.drain().catch(() => {});
    // Now and then long enough that what is not used goes back.
    for (let n = 0; n < 3 && round % 3 === 0; n += 1) await pass(clock, 6_000);
    await checkLedger(db);
  }
  for (const at of replicas)
    await until(
      'all to be recorded',
      () =>
        at.drain().then(
          () => true,
          () => false,
        ),
      20_000,
    );
  for (const at of replicas) await at.close();
  // What a close could not finish is finished by the next process; here all of them are one, so by hand.
  for (const { id } of await db.selectFrom('replicas').select('id').execute()) await removeReplica(db, id);
  rmSync(join(dataDir, 'journal'), { recursive: true, force: true });
  assert.deepEqual(await available(db, userId), { available: 60_000n - total, held: 0n });
  assert.ok(total > 30_000n, `${total} spent`);
  assert.ok((await statement(db, userId, { limit: 10_000 })).every(({ kind }) => kind !== 'overdraft'));
  assert.equal(Object.keys(lostAt).length, 4, JSON.stringify(lostAt));
  t.diagnostic(`${total} spent; lost: ${JSON.stringify(lostAt)}`);
});

test('a call above its bound is charged in full, and what it took too much is missing to the next', async () => {
  const userId = await makeUser(db, 'over', 100n);
  const at = await start();
  const reservation = await at.admit(userId, 60n);
  reservation.settle(usageRecord(userId, 90n));
  assert.equal(await tryAdmit(at, userId, 60n), undefined);
  await at.drain();
  assert.deepEqual((await statement(db, userId)).map(({ kind, nanos }) => [kind, nanos]).slice(0, 2), [
    ['overdraft', -30n],
    ['usage', -60n],
  ]);
  await at.close();
  assert.deepEqual(await available(db, userId), { available: 10n, held: 0n });
});

test('calls that cost nothing need no money, and money that comes in is found within a moment', async () => {
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

test('one statement speaks for all who wait, and a caller without money costs few', async () => {
  const userId = await makeUser(db, 'busy', 10n ** 9n);
  let statements = 0;
  const at = await metering({
    db,
    dataDir,
    onStep: (step) => {
      if (step === 'lease.taken') statements += 1;
    },
  });
  const reservations = await Promise.all(Array.from({ length: 500 }, () => at.admit(userId, 10n)));
  assert.ok(statements <= 10, `${statements} statements for 500 calls`);
  for (const reservation of reservations) reservation.release();
  const poor = await makeUser(db, 'beggar');
  statements = 0;
  for (let n = 0; n < 300; n += 1) assert.equal(await tryAdmit(at, poor, 10n), undefined);
  assert.ok(statements <= 30, `${statements} statements for 300 refusals`);
  await at.close();
});

test('what is not used goes back: soon when the wallet is scarce, later when it is not', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const at = await start(clock);
  const rich = await makeUser(db, 'rich', 10n ** 9n);
  const scarce = await makeUser(db, 'scarce', 100n);
  (await at.admit(rich, 10n)).release();
  const open = await at.admit(scarce, 80n);
  open.settle(usageRecord(scarce, 5n));
  assert.ok((await leased(rich)) >= 320n);
  assert.equal(await leased(scarce), 80n);
  // Spent but not recorded: it stays.
  for (let n = 0; n < 2; n += 1) await at.flushed();
  await at.drain();
  await pass(clock, 1_000);
  await pass(clock, 1_000);
  await until('the scarce wallet to be given back', async () => (await leased(scarce)) === 0n);
  assert.deepEqual(await available(db, scarce), { available: 95n, held: 0n });
  assert.ok((await leased(rich)) > 0n);
  for (let n = 0; n < 16; n += 1) await pass(clock, 1_000);
  await until('the rich wallet to be given back', async () => (await leased(rich)) === 0n);
  await at.close();
});

test('nothing goes back while a record waits for the database', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const other = openDatabase(bed.url, 2);
  const at = await metering({ db: other.db, dataDir, clock });
  const userId = await makeUser(db, 'wait', 100n);
  // The flusher cannot lock the wallet, so the record stays in the journal.
  const locked = db.transaction().execute(async (tx) => {
    const reservation = await at.admit(userId, 50n);
    await sql`select from wallets where user_id = ${userId} for update`.execute(tx);
    reservation.settle(usageRecord(userId, 20n));
    for (let n = 0; n < 5; n += 1) await pass(clock, 1_000);
    assert.equal(await leased(userId), 50n);
  });
  await locked;
  await at.drain();
  await until('it to be given back', async () => {
    await pass(clock, 1_000);
    return (await leased(userId)) === 0n;
  });
  assert.deepEqual(await available(db, userId), { available: 80n, held: 0n });
  await at.close();
  await other.close();
});

test('a replica that is taken for dead goes on under a new id and loses nothing', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const at = await start(clock);
  const userId = await makeUser(db, 'lost', 1_000n);
  const before = at.replicaId;
  const reservation = await at.admit(userId, 100n);
  // As another process would do that cannot see this one.
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
  assert.equal((await available(db, userId)).available + (await leased(userId)), 900n);
  // The folder and the leases under the old id are still there for whoever took it.
  assert.ok(readdirSync(join(dataDir, 'journal')).includes(before));
  const other = await start();
  await sql`update replicas set fenced = true where id = ${before}`.execute(db);
  rmSync(join(dataDir, 'journal', before, 'owner.json'));
  assert.deepEqual(await other.recover(), [before]);
  assert.deepEqual(await available(db, userId), { available: 900n, held: 0n });
  await other.close();
});

test('what a flush learns about leases that were lost meanwhile is not spent', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 15));
  const at = await start(clock);
  const userId = await makeUser(db, 'late', 10_000n);
  const before = at.replicaId;
  (await at.admit(userId, 100n)).settle(usageRecord(userId, 40n));
  const locker = await connect(bed.url);
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
  assert.ok((rows[0]?.nanos ?? 0n) >= 100n, 'it was admitted on a lease of its own');
  next.release();
  await at.close();
  await removeReplica(db, before);
  rmSync(join(dataDir, 'journal', before), { recursive: true });
  assert.deepEqual(await available(db, userId), { available: 9_960n, held: 0n });
});

test('the journal of another database is left for it', async () => {
  const stranger = join(dataDir, 'journal', 'rep_stranger');
  mkdirSync(stranger, { recursive: true });
  writeFileSync(join(stranger, 'owner.json'), JSON.stringify({ host: 'h', pid: 1, start: '1', ledger: 'another' }));
  const at = await start();
  assert.ok(readdirSync(join(dataDir, 'journal')).includes('rep_stranger'));
  rmSync(stranger, { recursive: true });
  await at.close();
  assert.throws(() => at.admit('ann', 1n), { code: 'shutting_down' });
});

test('a clean end leaves no folder, no replica and no lease', async () => {
  const at = await start();
  const userId = await makeUser(db, 'end', 10n ** 6n);
  (await at.admit(userId, 10n)).settle(usageRecord(userId, 10n));
  await at.close();
  assert.deepEqual(readdirSync(join(dataDir, 'journal')), []);
  assert.deepEqual(await db.selectFrom('replicas').selectAll().execute(), []);
  assert.deepEqual(await available(db, userId), { available: 10n ** 6n - 10n, held: 0n });
});

test('a disk that refuses stops new calls, and nothing that was used is lost', async () => {
  const userId = await makeUser(db, 'zoe', 1_000_000n);
  const clock = new FakeClock();
  // So small that every write begins a new file, which a folder that is gone refuses.
  const at = await metering({ db, dataDir, clock, segmentBytes: 1 });
  const [first, second] = [await at.admit(userId, 100n), await at.admit(userId, 100n)];
  const journal = join(dataDir, 'journal', at.replicaId);
  first.settle(usageRecord(userId, 30n));
  await at.flushed();
  renameSync(journal, `${journal}.gone`);
  second.settle(usageRecord(userId, 12n));
  await assert.rejects(at.flushed(), /ENOENT/);
  assert.throws(() => at.admit(userId, 100n), isOverloaded);
  renameSync(`${journal}.gone`, journal);
  await pass(clock, 1_000);
  await at.flushed();
  (await at.admit(userId, 100n)).release();
  await at.drain();
  await at.close();
  await checkLedger(db);
  assert.deepEqual(await available(db, userId), { available: 999_958n, held: 0n });
});
