import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { makeUser, metering, usageRecord } from '../../../test/support/ledger-process.ts';
import { until } from '../../../test/support/wait.ts';
import { silentLog } from '../../core/index.ts';
import { connect, type Db } from '../../platform/db/index.ts';
import { readBalance } from '../wallets/wallets.ts';
import { recordResolved } from './resolved-record.ts';
import { removeOldMonths, removeOldQuarantine } from './retention.ts';
import { UsageWriter } from './usage-writer.ts';

let fixture: LedgerFixture;
let db: Db;
let dir: string;

before(async () => {
  fixture = await openLedgerFixture();
  ({ db, dir } = fixture);
  await makeUser(db, 'ann', 1_000_000n);
});
after(() => fixture.close());

const months = async (): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where nspname = 'usage_months' and relkind = 'r' order by 1`.execute(db);
  return rows.map(({ name }) => name.slice('usage_'.length));
};
const record = (year: number, month: number) => usageRecord('ann', 10n, { at: Date.UTC(year, month - 1, 28) });
const write = (...records: ReturnType<typeof record>[]) =>
  new UsageWriter({ db, log: silentLog }).write('rep_none', records);
const spent = async (): Promise<bigint> => 1_000_000n - (await readBalance(db, 'ann')).available;
const NOW = Date.UTC(2026, 10, 15);

test('removeOldMonths() removes whole months and keeps roll-ups and charges', async () => {
  await write(record(2026, 7), record(2026, 8), record(2026, 9), record(2026, 11));
  assert.equal(await removeOldMonths(fixture.database, { months: 0, now: NOW }), 0, '0 keeps everything');
  assert.equal(await removeOldMonths(fixture.database, { months: 2, now: NOW }), 2);
  assert.deepEqual(await months(), ['2026_09', '2026_11']);
  assert.equal(await removeOldMonths(fixture.database, { months: 2, now: NOW }), 0);
  assert.equal(await spent(), 40n);
  const daily = await db.selectFrom('usage_daily').select('day').where('user_id', '=', 'ann').execute();
  assert.equal(daily.length, 4);
});

test('a quarantined call of the first kept day is reported on that day once an operator charges it', async () => {
  const charge = (at: number, id: string) =>
    db.transaction().execute((tx) => recordResolved(tx, { id, userId: 'ann', raw: { at }, nanos: 0n, now: NOW }));
  await charge(Date.UTC(2026, 8, 1), 'first kept');
  await charge(Date.UTC(2026, 7, 31), 'removed');
  const { rows } = await sql<{ day: string }>`
    select day::text as day from usage_daily where user_id = 'ann' and key_id = '' order by day`.execute(db);
  assert.deepEqual(rows, [{ day: '2026-09-01' }, { day: '2026-11-15' }]);
});

test('UsageWriter quarantines a record of a removed month instead of charging it again', async () => {
  const before = await spent();
  const [late, recent] = [record(2026, 7), record(2026, 11)];
  await write(late, recent);
  assert.equal((await spent()) - before, 10n);
  const rows = await db.selectFrom('usage_quarantine').select(['id', 'fault']).execute();
  assert.deepEqual(rows, [{ id: late.id, fault: 'the month 2026-07 has been removed' }]);
  assert.deepEqual(await months(), ['2026_09', '2026_11']);
});

test('removeOldMonths() keeps a month while a journal may hold a record of it', async () => {
  // The clock is in the old month, and the locked wallet blocks the flusher.
  const clock = new FakeClock(Date.UTC(2026, 8, 28));
  const at = await metering({ db, dataDir: dir, clock });
  const reservation = await at.admit('ann', 100n);
  const locker = await connect(fixture.url);
  await locker.query('begin');
  await locker.query("select from wallets where user_id = 'ann' for update");
  reservation.settle(record(2026, 9));
  await at.whenWrittenOrFailed();
  clock.advance(10_000);
  await until('the heartbeat to report the backlog', async () => {
    const row = await db.selectFrom('replicas').select('pending_since').executeTakeFirstOrThrow();
    return row.pending_since !== null;
  });
  assert.equal(await removeOldMonths(fixture.database, { months: 1, now: NOW }), 0);
  await locker.query('rollback');
  await locker.end();
  await at.close();

  // A dead replica whose journal was not recovered.
  await sql`insert into replicas (id, host, started_at, seen_at)
    values ('rep_dead', 'elsewhere', '2026-09-30', '2026-10-02')`.execute(db);
  assert.equal(await removeOldMonths(fixture.database, { months: 1, now: NOW }), 0);
  assert.ok((await months()).includes('2026_09'));
  await sql`delete from replicas where id = 'rep_dead'`.execute(db);
  assert.equal(await removeOldMonths(fixture.database, { months: 1, now: NOW }), 1);
  assert.ok(!(await months()).includes('2026_09'));
});

test('removeOldMonths() gives up when a reader blocks it, never blocks the flusher, and continues in the next run', async () => {
  await write(record(2026, 10));
  const reader = await connect(fixture.url);
  await reader.query('begin');
  await reader.query('select count(*) from usage_records');
  let isOver = false;
  const removing = removeOldMonths(fixture.database, { months: 2, now: Date.UTC(2027, 0, 1) }).finally(() => {
    isOver = true;
  });
  removing.catch(() => {});
  let written = 0;
  while (!isOver) {
    await write(record(2026, 11));
    written += 1;
  }
  assert.ok(written > 3, `${written} batches while it waited`);
  await assert.rejects(removing, { code: '55P03' });
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_inherits join pg_class c on c.oid = inhrelid where inhdetachpending`.execute(db);
  assert.deepEqual(rows, [{ name: 'usage_2026_10' }], 'the detach is pending');
  await reader.query('commit');
  await reader.end();
  assert.equal(await removeOldMonths(fixture.database, { months: 2, now: Date.UTC(2027, 0, 1) }), 1);
  assert.deepEqual(await months(), ['2026_11']);
});

test('removeOldMonths() drops a detached table, and only one of two workers runs it', async () => {
  await write(record(2027, 1));
  await sql`alter table usage_records detach partition usage_months.usage_2026_11`.execute(db);
  const now = Date.UTC(2027, 2, 1);
  const both = await Promise.all([1, 2].map(() => removeOldMonths(fixture.database, { months: 2, now })));
  assert.deepEqual(both.sort(), [0, 1]);
  assert.deepEqual(await months(), ['2027_01']);
});

test('removeOldQuarantine() removes old resolved records only', async () => {
  await sql`insert into usage_quarantine (id, fault, raw, created_at, outcome, outcome_reason, resolved_at) values
    ('open', 'x', '{}', '2020-01-01', null, null, null),
    ('done', 'x', '{}', '2020-01-01', 'dismissed', 'x', '2025-01-01'),
    ('recent', 'x', '{}', '2020-01-01', 'dismissed', 'x', '2026-11-01')`.execute(db);
  assert.equal(await removeOldQuarantine(db, { months: 13, now: NOW }), 1);
  const rows = await db.selectFrom('usage_quarantine').select('id').where('fault', '=', 'x').orderBy('id').execute();
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['open', 'recent'],
  );
});
