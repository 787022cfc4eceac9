import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type LedgerBed, openLedgerBed } from '../../../test/support/ledger.ts';
import { FAR_FUTURE, makeUser, usageRecord } from '../../../test/support/ledger-process.ts';
import { until } from '../../../test/support/wait.ts';
import { FakeClock, formatNanos, silentLog, systemClock } from '../../core/index.ts';
import { connect, type Db, openDatabase } from '../../db/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import { available, hold, settle, statement } from '../wallets/wallets.ts';
import { Flusher, recordUsage, UsageWriter } from './flusher.ts';
import { Journal } from './journal.ts';

let bed: LedgerBed;
let db: Db;
let dir: string;

before(async () => {
  bed = await openLedgerBed();
  ({ db, dir } = bed);
});
after(() => bed.close());

const storeOf = (on: Db = db): UsageWriter => new UsageWriter({ db: on, log: silentLog });
const daily = (userId: string) =>
  db
    .selectFrom('usage_daily')
    .selectAll()
    .select(sql<string>`day::text`.as('date'))
    .where('user_id', '=', userId)
    .orderBy('day')
    .orderBy('model')
    .execute();
const count = async (table: 'usage_records' | 'entries' | 'usage_quarantine'): Promise<number> => {
  const { rows } = await sql<{ n: bigint }>`select count(*) as n from ${sql.table(table)}`.execute(db);
  return Number(rows[0]?.n);
};

test('a batch becomes rows, roll-ups and one charge per wallet', async () => {
  await makeUser(db, 'ann', 1_000n);
  await makeUser(db, 'bob', 1_000n);
  const late = Date.UTC(2026, 10, 15, 23, 59, 59, 999);
  await storeOf().write('rep_x', [
    usageRecord('ann', 10n),
    usageRecord('ann', 20n, { estimated: true, images: 2 }),
    usageRecord('ann', 5n, {
      at: late + 1,
      usage: { input: 7, cacheRead: 0, cacheWrite: 3, output: 2, searches: 4, inputAudio: 1, outputAudio: 2 },
    }),
    usageRecord('bob', 40n, { at: late, model: 'gpt-6' }),
    usageRecord('bob', 0n),
  ]);
  const [first, second] = await daily('ann');
  assert.deepEqual(
    [
      first?.date,
      first?.requests,
      first?.input_tokens,
      first?.cached_input_tokens,
      first?.output_tokens,
      first?.reasoning_tokens,
    ],
    ['2026-11-15', 2n, 200n, 40n, 20n, 8n],
  );
  assert.deepEqual([first?.nanos, first?.estimated, first?.images], [30n, 1n, 2n]);
  assert.deepEqual(
    [second?.date, second?.requests, second?.cache_write_tokens, second?.searches, second?.audio_tokens, second?.nanos],
    ['2026-11-16', 1n, 3n, 4n, 3n, 5n],
  );
  assert.equal((await daily('bob')).length, 2);
  assert.equal((await available(db, 'ann')).available, 965n);
  assert.equal((await available(db, 'bob')).available, 960n);
  // Nothing was leased, so it is all recorded as overdraft; one entry each, though ann made three calls.
  assert.deepEqual((await statement(db, 'ann')).map(({ kind, nanos }) => [kind, nanos]).slice(0, 1), [
    ['overdraft', -35n],
  ]);
  assert.equal((await statement(db, 'ann')).length, 2);
});

test('the same records again, together or mixed with new ones, change nothing of the old', async () => {
  await makeUser(db, 'cy', 1_000n);
  const store = storeOf();
  const old = Array.from({ length: 50 }, (_, n) => usageRecord('cy', BigInt(n)));
  await store.write('rep_x', old);
  const before = { daily: await daily('cy'), balance: await available(db, 'cy'), entries: await count('entries') };
  await store.write('rep_x', old);
  await store.write('rep_y', old.slice(10, 20));
  assert.deepEqual(
    { daily: await daily('cy'), balance: await available(db, 'cy'), entries: await count('entries') },
    before,
  );
  await store.write('rep_x', [...old, usageRecord('cy', 3n)]);
  assert.equal((await available(db, 'cy')).available, before.balance.available - 3n);
  // Twice in the same batch is once, too.
  const twin = usageRecord('cy', 7n);
  await store.write('rep_x', [twin, twin]);
  assert.equal((await available(db, 'cy')).available, before.balance.available - 10n);
});

test('four stores that record the same and other users at once neither deadlock nor count twice', async () => {
  const users = await Promise.all(Array.from({ length: 12 }, (_, n) => makeUser(db, `many${n}`, 10_000n)));
  const shared = users.flatMap((user) => Array.from({ length: 20 }, () => usageRecord(user, 2n)));
  const lanes = Array.from({ length: 4 }, async (_, lane) => {
    const store = storeOf();
    for (let round = 0; round < 5; round += 1) {
      const fresh = users.map((user) => usageRecord(user, 1n));
      const mixed = [...shared, ...fresh].sort((a, b) => (a.id + lane < b.id + lane === (lane % 2 === 0) ? -1 : 1));
      await store.write(`rep_${lane}`, mixed);
    }
  });
  await Promise.all(lanes);
  for (const user of users) assert.equal((await available(db, user)).available, 10_000n - 40n - 20n);
});

test('what cannot be honest is put aside and never charged', async () => {
  await makeUser(db, 'dan', 100n);
  const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 };
  const faulty = [
    usageRecord('dan', 50n, { usage: { ...usage, output: -1 } }),
    usageRecord('dan', 50n, { usage: { ...usage, input: 2e9 } }),
    usageRecord('nobody', 50n),
    usageRecord('dan', 50n, { keyId: 'k\0' }),
  ];
  const before = await count('usage_quarantine');
  const store = storeOf();
  await store.write('rep_x', [usageRecord('dan', 1n), ...faulty, usageRecord('dan', 2n)]);
  await store.write('rep_x', faulty);
  assert.equal((await available(db, 'dan')).available, 97n);
  assert.equal((await count('usage_quarantine')) - before, faulty.length);
  const rows = await db
    .selectFrom('usage_quarantine')
    .selectAll()
    .where('id', '=', faulty[0]?.id ?? '')
    .execute();
  assert.equal(rows[0]?.fault, 'output is negative');
  assert.equal(JSON.parse(rows[0]?.raw ?? '').userId, 'dan');
});

test('what was set aside stays with the operator, even when its user is there by the next reading of the journal', async () => {
  const record = usageRecord('later', 40n);
  await storeOf().write('rep_x', [record]);
  await makeUser(db, 'later', 100n);
  await storeOf().write('rep_x', [record, usageRecord('later', 1n)]);
  assert.equal((await available(db, 'later')).available, 99n);
});

test('a name that PostgreSQL cannot store does not make a call free', async () => {
  await makeUser(db, 'eve', 100n);
  const tier = 'x\0\ud800';
  await storeOf().write('rep_x', [
    usageRecord('eve', 9n, {
      model: 'gpt-\0\ud800',
      usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, tier },
    }),
  ]);
  assert.equal((await available(db, 'eve')).available, 91n);
});

test('months are made when they are needed, and ahead of time', async () => {
  await makeUser(db, 'fay', 100n);
  const months = async (): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where nspname = 'usage_months' and relkind = 'r' order by 1`.execute(db);
    return rows.map(({ name }) => name);
  };
  await Promise.all(Array.from({ length: 4 }, () => storeOf().prepare(Date.UTC(2027, 11, 31, 23))));
  assert.deepEqual((await months()).slice(-2), ['usage_2027_12', 'usage_2028_01']);
  const store = storeOf();
  await store.write('rep_x', [usageRecord('fay', 1n, { at: Date.UTC(2029, 1, 28) })]);
  assert.equal((await months()).at(-1), 'usage_2029_02');
  // A month that was dropped for its age is not a reason to stop.
  await sql`drop table usage_months.usage_2029_02`.execute(db);
  await store.write('rep_x', [usageRecord('fay', 1n, { at: Date.UTC(2029, 1, 20) })]);
  assert.equal((await available(db, 'fay')).available, 98n);
});

test('usage that a hold has paid for is recorded without a second charge', async () => {
  await makeUser(db, 'gil', 100n);
  await hold(db, { userId: 'gil', nanos: 60n, reference: 'task:g', checkAfter: FAR_FUTURE });
  const video = usageRecord('gil', 45n, { operation: 'tasks.create', at: Date.UTC(2030, 0, 5) });
  await db.transaction().execute(async (tx) => {
    await settle(tx, 'task:g', { nanos: 45n, reason: 'video' });
    await recordUsage(tx, [video]);
    await recordUsage(tx, [video]);
  });
  assert.equal((await available(db, 'gil')).available, 55n);
  assert.deepEqual(
    (await daily('gil')).map(({ requests, nanos }) => [requests, nanos]),
    [[1n, 45n]],
  );
});

/** A flusher on its own, with nobody who leases. */
const flusherOf = (store: Pick<UsageWriter, 'write'>, clock = systemClock) => {
  const journal = new Journal({ dir: mkdtempSync(join(dir, 'j-')), clock, log: silentLog });
  const moved: UsageRecord[] = [];
  const flusher = new Flusher({
    store: store as UsageWriter,
    journal,
    replica: { id: 'rep_x' },
    clock,
    log: silentLog,
    onMoved: (records) => void moved.push(...records),
  });
  return { journal, flusher, moved };
};

test('with the database down nothing is lost, and it is tried less and less often', async () => {
  const clock = new FakeClock();
  let calls = 0;
  let isDown = true;
  const write = async () => {
    calls += 1;
    if (isDown) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    return [];
  };
  const { journal, flusher, moved } = flusherOf({ write }, clock);
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let n = 0; n < 5; n += 1) await new Promise(setImmediate);
  };
  for (let n = 0; n < 1_500; n += 1) journal.append(usageRecord('ann', 1n));
  await pass(0);
  assert.equal(calls, 1);
  for (let n = 0; n < 60; n += 1) await pass(1_000);
  assert.ok(calls >= 8 && calls <= 14, `${calls} tries in a minute`);
  assert.equal(journal.pending, 1_500);
  isDown = false;
  for (let n = 0; n < 15; n += 1) await pass(1_000);
  assert.equal(journal.pending, 0);
  assert.equal(moved.length, 1_500);
  await flusher.stop();
  await journal.close();
});

test('a database that takes no connections for a while gets everything afterwards', async () => {
  await makeUser(db, 'hal', 100_000n);
  const other = openDatabase(bed.url, 2);
  const { journal, flusher } = flusherOf(storeOf(other.db));
  const name = new URL(bed.url).pathname.slice(1);
  const admin = await connect(process.env.TEST_DATABASE_URL ?? '');
  await admin.query(`alter database ${name} allow_connections false`);
  for (let n = 0; n < 3_000; n += 1) journal.append(usageRecord('hal', 1n));
  await assert.rejects(flusher.drain(), /not currently accepting connections/);
  assert.equal(journal.pending, 3_000);
  await admin.query(`alter database ${name} allow_connections true`);
  await admin.end();
  await until('everything to arrive', () => journal.pending === 0, 20_000);
  assert.equal((await available(db, 'hal')).available, 97_000n);
  await flusher.stop();
  await journal.close();
  await other.close();
});

test('one wallet takes thousands of records a second', async (t) => {
  await makeUser(db, 'hot', 10n ** 12n);
  const { journal, flusher } = flusherOf(storeOf());
  const TOTAL = 20_000;
  const begun = performance.now();
  for (let n = 0; n < TOTAL; n += 1) {
    journal.append(usageRecord('hot', 1_000n));
    if (n % 100 === 0) await journal.flushed();
  }
  const written = performance.now();
  await until('everything to be recorded', () => journal.pending === 0, 60_000);
  const done = performance.now();
  await flusher.stop();
  await journal.close();
  assert.equal((await available(db, 'hot')).available, 10n ** 12n - BigInt(TOTAL) * 1_000n);
  const rate = (ms: number): number => Math.round((TOTAL / ms) * 1_000);
  t.diagnostic(
    `${TOTAL} records: appended ${rate(written - begun)}/s, in the database ${rate(done - begun)}/s, charged ${formatNanos(BigInt(TOTAL) * 1_000n)}`,
  );
});

test('a fault that cannot be stored as it is holds up nobody', async () => {
  await makeUser(db, 'odd', 1_000n);
  const broken = usageRecord('odd', 10n, {
    usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, invalid: 'to\0kens is negative' },
  });
  await storeOf().write('rep_x', [broken, usageRecord('odd', 30n)]);
  const aside = await db.selectFrom('usage_quarantine').select('fault').where('id', '=', broken.id).execute();
  assert.deepEqual(aside, [{ fault: 'tokens is negative' }]);
  assert.equal((await available(db, 'odd')).available, 970n);
});
