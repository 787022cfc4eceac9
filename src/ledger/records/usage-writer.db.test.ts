import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { FAR_FUTURE, makeUser, usageRecord } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { TcpRelay } from '../../../test/support/tcp-relay.ts';
import { until } from '../../../test/support/wait.ts';
import { silentLog } from '../../core/index.ts';
import { DatabaseUnavailable, type Db, openDatabase } from '../../platform/db/index.ts';
import { takeLease } from '../admission/lease-queries.ts';
import type { MeteredUsage } from '../usage-record.ts';
import { readStatement } from '../wallets/statement.ts';
import { hold, readBalance, settle } from '../wallets/wallets.ts';
import { unpackUsage } from './stored-usage.ts';
import { recordUsage, UsageWriter } from './usage-writer.ts';

let fixture: LedgerFixture;
let db: Db;

before(async () => {
  fixture = await openLedgerFixture();
  ({ db } = fixture);
});
after(() => fixture.close());

const writerOf = (on: Db = db): UsageWriter => new UsageWriter({ db: on, log: silentLog });
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

test('UsageWriter stores usage that is read as it was reported', async () => {
  await makeUser(db, 'una', 1_000n);
  const reported = [
    { input: 7, cacheRead: 0, cacheWrite: 3, output: 2 },
    { input: 7, cacheRead: 1, cacheWrite: 0, output: 0, reasoning: 0, searches: 4, tier: 'flex' },
    { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, audioSeconds: 3 },
    // Journals of earlier versions may lack members.
    { output: 5 } as unknown as MeteredUsage,
  ];
  const at = Date.UTC(2026, 9, 1);
  await writerOf().write(
    'rep_x',
    reported.map((usage, n) => usageRecord('una', 1n, { at: at + n, usage })),
  );
  const rows = await db.selectFrom('usage_records').selectAll().where('user_id', '=', 'una').orderBy('at').execute();
  assert.deepEqual(rows.map(unpackUsage), reported);
  assert.deepEqual(rows[0]?.usage, {}, 'the columns say it');
});

test('UsageWriter records rows, roll-ups and one charge per wallet', async () => {
  await makeUser(db, 'ann', 1_000n);
  await makeUser(db, 'bob', 1_000n);
  const late = Date.UTC(2026, 10, 15, 23, 59, 59, 999);
  await writerOf().write('rep_x', [
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
  assert.equal((await readBalance(db, 'ann')).available, 965n);
  assert.equal((await readBalance(db, 'bob')).available, 960n);
  // Without a lease all of it is overdraft. One entry per wallet, although ann made three calls.
  assert.deepEqual((await readStatement(db, 'ann')).map(({ kind, nanos }) => [kind, nanos]).slice(0, 1), [
    ['overdraft', -35n],
  ]);
  assert.equal((await readStatement(db, 'ann')).length, 2);
});

test('UsageWriter ignores records that are written again, alone or mixed with new ones', async () => {
  await makeUser(db, 'cy', 1_000n);
  const writer = writerOf();
  const old = Array.from({ length: 50 }, (_, n) => usageRecord('cy', BigInt(n)));
  await writer.write('rep_x', old);
  const before = { daily: await daily('cy'), balance: await readBalance(db, 'cy'), entries: await count('entries') };
  await writer.write('rep_x', old);
  await writer.write('rep_y', old.slice(10, 20));
  assert.deepEqual(
    { daily: await daily('cy'), balance: await readBalance(db, 'cy'), entries: await count('entries') },
    before,
  );
  await writer.write('rep_x', [...old, usageRecord('cy', 3n)]);
  assert.equal((await readBalance(db, 'cy')).available, before.balance.available - 3n);
  // Twice in the same batch.
  const twin = usageRecord('cy', 7n);
  await writer.write('rep_x', [twin, twin]);
  assert.equal((await readBalance(db, 'cy')).available, before.balance.available - 10n);
});

test('UsageWriter neither deadlocks nor counts twice when four write the same users at once', async () => {
  const users = await Promise.all(Array.from({ length: 12 }, (_, n) => makeUser(db, `many${n}`, 10_000n)));
  const shared = users.flatMap((user) => Array.from({ length: 20 }, () => usageRecord(user, 2n)));
  const lanes = Array.from({ length: 4 }, async (_, lane) => {
    const writer = writerOf();
    for (let round = 0; round < 5; round += 1) {
      const added = users.map((user) => usageRecord(user, 1n));
      const mixed = [...shared, ...added].sort((a, b) => (a.id + lane < b.id + lane === (lane % 2 === 0) ? -1 : 1));
      await writer.write(`rep_${lane}`, mixed);
    }
  });
  await Promise.all(lanes);
  for (const user of users) assert.equal((await readBalance(db, user)).available, 10_000n - 40n - 20n);
});

test('UsageWriter quarantines invalid records and never charges them', async () => {
  await makeUser(db, 'dan', 100n);
  const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 };
  const invalid = [
    usageRecord('dan', 50n, { usage: { ...usage, output: -1 } }),
    usageRecord('dan', 50n, { usage: { ...usage, input: 2e9 } }),
    usageRecord('unknown', 50n),
    usageRecord('dan', 50n, { keyId: 'k\0' }),
  ];
  const before = await count('usage_quarantine');
  const writer = writerOf();
  await writer.write('rep_x', [usageRecord('dan', 1n), ...invalid, usageRecord('dan', 2n)]);
  await writer.write('rep_x', invalid);
  assert.equal((await readBalance(db, 'dan')).available, 97n);
  assert.equal((await count('usage_quarantine')) - before, invalid.length);
  const rows = await db
    .selectFrom('usage_quarantine')
    .selectAll()
    .where('id', '=', invalid[0]?.id ?? '')
    .execute();
  assert.equal(rows[0]?.fault, 'output is negative');
  assert.equal(JSON.parse(rows[0]?.raw ?? '').userId, 'dan');
});

test('UsageWriter leaves a quarantined record to the operator when its user exists by the next write', async () => {
  const record = usageRecord('later', 40n);
  await writerOf().write('rep_x', [record]);
  await makeUser(db, 'later', 100n);
  await writerOf().write('rep_x', [record, usageRecord('later', 1n)]);
  assert.equal((await readBalance(db, 'later')).available, 99n);
});

test('UsageWriter charges a call whose model name PostgreSQL cannot store', async () => {
  await makeUser(db, 'eve', 100n);
  const tier = 'x\0\ud800';
  await writerOf().write('rep_x', [
    usageRecord('eve', 9n, {
      model: 'gpt-\0\ud800',
      usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, tier },
    }),
  ]);
  assert.equal((await readBalance(db, 'eve')).available, 91n);
});

test('UsageWriter creates partitions on demand and ahead of time', async () => {
  await makeUser(db, 'fay', 100n);
  const months = async (): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where nspname = 'usage_months' and relkind = 'r' order by 1`.execute(db);
    return rows.map(({ name }) => name);
  };
  await Promise.all(Array.from({ length: 4 }, () => writerOf().createMonths(Date.UTC(2027, 11, 31, 23))));
  assert.deepEqual((await months()).slice(-2), ['usage_2027_12', 'usage_2028_01']);
  const writer = writerOf();
  await writer.write('rep_x', [usageRecord('fay', 1n, { at: Date.UTC(2029, 1, 28) })]);
  assert.equal((await months()).at(-1), 'usage_2029_02');
  // The partition was dropped meanwhile.
  await sql`drop table usage_months.usage_2029_02`.execute(db);
  await writer.write('rep_x', [usageRecord('fay', 1n, { at: Date.UTC(2029, 1, 20) })]);
  assert.equal((await readBalance(db, 'fay')).available, 98n);
});

test('recordUsage() records usage that a hold pays for without a second charge', async () => {
  await makeUser(db, 'gil', 100n);
  await hold(db, { userId: 'gil', nanos: 60n, reference: 'task:g', checkAfter: FAR_FUTURE });
  const video = usageRecord('gil', 45n, { operation: 'tasks.create', at: Date.UTC(2030, 0, 5) });
  await db.transaction().execute(async (tx) => {
    await settle(tx, 'task:g', { nanos: 45n, reason: 'video' });
    await recordUsage(tx, [video], new Map());
    await recordUsage(tx, [video], new Map());
  });
  assert.equal((await readBalance(db, 'gil')).available, 55n);
  assert.deepEqual(
    (await daily('gil')).map(({ requests, nanos }) => [requests, nanos]),
    [[1n, 45n]],
  );
});

test('UsageWriter stores a fault text with characters that PostgreSQL rejects', async () => {
  await makeUser(db, 'ola', 1_000n);
  const broken = usageRecord('ola', 10n, {
    usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, invalid: 'to\0kens is negative' },
  });
  await writerOf().write('rep_x', [broken, usageRecord('ola', 30n)]);
  const quarantined = await db.selectFrom('usage_quarantine').select('fault').where('id', '=', broken.id).execute();
  assert.deepEqual(quarantined, [{ fault: 'tokens is negative' }]);
  assert.equal((await readBalance(db, 'ola')).available, 970n);
});

longTest('a lease does not wait for a process that hangs while it charges', async (t) => {
  await makeUser(db, 'kim', 1_000n);
  await sql`insert into replicas (id, host) values ('rep_kim', 'here')`.execute(db);
  const record = usageRecord('kim', 10n);
  const relay = await TcpRelay.start(fixture.url);
  const cutOff = openDatabase(relay.url, 2, { statementMs: 5_000 });
  t.after(async () => {
    await cutOff.close();
    await relay.close();
  });
  // From its first lock on, the process hears nothing.
  relay.muteAfter('for no key update');
  const flush = new UsageWriter({ db: cutOff.db, log: silentLog }).write('rep_kim', [record]);
  const failed = assert.rejects(flush, DatabaseUnavailable);
  await until('the flush to lock the wallet or to charge it', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
        and query like '%for no key update'
      union all select from entries where debit = 'kim'`.execute(db);
    return rows.length > 0;
  });
  const taken = await takeLease(fixture.database.forCalls, {
    userId: 'kim',
    replicaId: 'rep_kim',
    needs: [100n],
    ahead: 0n,
    unit: 1n,
    recent: 0n,
  });
  assert.equal(taken.granted, 100n);
  assert.deepEqual(await readBalance(db, 'kim'), { available: 890n, held: 100n }, 'the flush has charged');
  await failed;
  await writerOf().write('rep_kim', [record]);
  assert.equal((await readBalance(db, 'kim')).available, 890n, 'charged once');
});

test('a lease does not wait for the rows of a flush', async () => {
  await makeUser(db, 'lea', 1_000n);
  await sql`insert into replicas (id, host) values ('rep_lea', 'here')`.execute(db);
  const record = usageRecord('lea', 10n);
  const written = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  // Another replica writes the same record, so that the flush waits for the end of its transaction.
  const other = db.transaction().execute(async (tx) => {
    await recordUsage(tx, [record], new Map());
    written.resolve();
    await release.promise;
    throw new Error('rolled back');
  });
  await written.promise;
  const flush = writerOf().write('rep_lea', [record]);
  await until('the flush to wait', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like 'copy usage_records%'`.execute(db);
    return rows.length > 0;
  });
  const taken = await takeLease(db, {
    userId: 'lea',
    replicaId: 'rep_lea',
    needs: [100n],
    ahead: 0n,
    unit: 1n,
    recent: 0n,
  });
  assert.equal(taken.granted, 100n);
  release.resolve();
  await assert.rejects(other, /rolled back/);
  await flush;
  assert.equal((await readBalance(db, 'lea')).available, 900n, 'the charge came from the lease');
});
