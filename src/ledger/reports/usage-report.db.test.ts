import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FAR_FUTURE, makeUser, usageRecord } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { ApiError, silentLog } from '../../core/index.ts';
import { type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import { UsageWriter } from '../records/usage-writer.ts';
import { hold, review } from '../wallets/wallets.ts';
import { balanceReport, dailyQuery, periodOf, usageReport, walletReports } from './usage-report.ts';

let own: TestDatabase;
let database: Database;
let db: Db;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  db = database.db;
});
after(async () => {
  await database.close();
  await own.drop();
});

const NOW = Date.UTC(2026, 10, 15, 23, 30);
const rejects = (param: string) => (error: unknown) =>
  error instanceof ApiError && error.code === 'invalid_request' && error.details.param === param;

test('G 4.10: periodOf() validates dates and fills in defaults', () => {
  assert.deepEqual(periodOf({}, NOW), { start: '2026-10-17', end: '2026-11-15', timezone: 'UTC' });
  assert.deepEqual(periodOf({ timezone: 'Asia/Shanghai' }, NOW), {
    start: '2026-10-18',
    end: '2026-11-16',
    timezone: 'Asia/Shanghai',
  });
  assert.deepEqual(periodOf({ start_date: '2026-11-01' }, NOW), {
    start: '2026-11-01',
    end: '2026-11-15',
    timezone: 'UTC',
  });
  assert.deepEqual(periodOf({ start_date: '2026-01-01' }, NOW), {
    start: '2026-01-01',
    end: '2026-04-02',
    timezone: 'UTC',
  });
  assert.deepEqual(periodOf({ end_date: '2024-02-29' }, NOW), {
    start: '2024-01-31',
    end: '2024-02-29',
    timezone: 'UTC',
  });
  const query = { start_date: '2026-01-01', end_date: '2026-04-02' };
  assert.deepEqual(periodOf(query, NOW), { start: '2026-01-01', end: '2026-04-02', timezone: 'UTC' });
  assert.throws(() => periodOf({ ...query, end_date: '2026-04-03' }, NOW), rejects('start_date'));
  assert.throws(() => periodOf({ ...query, end_date: '2025-12-31' }, NOW), rejects('start_date'));
  assert.throws(() => periodOf({ start_date: '2026-02-30' }, NOW), rejects('start_date'));
  assert.throws(() => periodOf({ end_date: '1.2.2026' }, NOW), rejects('end_date'));
  assert.throws(() => periodOf({ start_date: '0000-01-01', end_date: '0000-01-02' }, NOW), rejects('end_date'));
  assert.throws(() => periodOf({ timezone: 'Mars/Olympus' }, NOW), rejects('timezone'));
});

test('G 4.10: usageReport() counts usage in total, by day and by model', async () => {
  await makeUser(db, 'ann', 10n ** 9n);
  await makeUser(db, 'bob', 10n ** 9n);
  const at = (day: number): number => Date.UTC(2026, 10, day, 20);
  await new UsageWriter({ db, log: silentLog }).write('rep_x', [
    usageRecord('ann', 1_500_000n, { at: at(13) }),
    usageRecord('ann', 500_000n, { at: at(14), keyId: 'key_2', model: 'o9', images: 3 }),
    usageRecord('ann', 1n, { at: at(14) }),
    usageRecord('ann', 7n, { at: at(14), operation: 'tasks.create', model: 'video' }),
    usageRecord('ann', 99n, { at: at(16) }),
    usageRecord('bob', 99n, { at: at(14) }),
  ]);
  const period = periodOf({ start_date: '2026-11-13', end_date: '2026-11-15' }, NOW);
  const report = await usageReport(db, 'ann', period);
  assert.deepEqual(report.total, {
    requests: 4,
    input_tokens: 400,
    cached_input_tokens: 80,
    cache_write_tokens: 0,
    output_tokens: 40,
    reasoning_tokens: 16,
    images: 3,
    video_tasks: 1,
    cost: '0.002000008',
  });
  assert.deepEqual(
    report.by_day.map(({ date, requests, cost }) => [date, requests, cost]),
    [
      ['2026-11-13', 1, '0.0015'],
      ['2026-11-14', 3, '0.000500008'],
    ],
  );
  assert.deepEqual(
    report.by_model.map(({ model, requests }) => [model, requests]),
    [
      ['gpt-5', 2],
      ['o9', 1],
      ['video', 1],
    ],
  );
  const none = await usageReport(db, 'unknown', period);
  assert.deepEqual([none.total.requests, none.total.cost, none.by_day, none.by_model], [0, '0', [], []]);
});

test('G 4.10: usageReport() reports a UTC day under the local date that holds most of it', async () => {
  const days = async (timezone: string, date: string): Promise<unknown> => {
    const period = periodOf({ start_date: date, end_date: date, timezone }, NOW);
    return (await usageReport(db, 'ann', period)).by_day.map((day) => [day.date, day.requests]);
  };
  assert.deepEqual(await days('America/Los_Angeles', '2026-11-13'), [['2026-11-13', 1]]);
  assert.deepEqual(await days('Asia/Shanghai', '2026-11-13'), [['2026-11-13', 1]]);
  assert.deepEqual(await days('Pacific/Kiritimati', '2026-11-14'), [['2026-11-14', 1]]);
  assert.deepEqual(await days('Pacific/Kiritimati', '2026-11-13'), []);
});

test('balanceReport() includes holds and leaves out leases', async () => {
  const userId = await makeUser(db, 'cy', 1_000_000_000n);
  await hold(db, { userId, nanos: 250_000_000n, reference: 'task:c', checkAfter: FAR_FUTURE });
  await sql`insert into replicas (id, host) values ('rep_r', 'h')`.execute(db);
  await sql`insert into leases (user_id, replica_id, nanos) values (${userId}, 'rep_r', 100000000)`.execute(db);
  await sql`update wallets set held = held + 100000000 where user_id = ${userId}`.execute(db);
  assert.deepEqual(await balanceReport(db, userId), { available: '0.75', held: '0.25' });
  await sql`update users set limits = '{"spend_day": "2", "spend_month": "0.5"}' where id = ${userId}`.execute(db);
  const now = Date.parse('2026-11-20T12:00:00Z');
  for (const [day, nanos] of [
    ['2026-10-31', 900_000_000],
    ['2026-11-01', 300_000_000],
    ['2026-11-20', 100_000_000],
  ] as const)
    await sql`
      insert into usage_daily values (${userId}, ${day}, 'key_c', 'openai', 'm', 'oa1', 'chat.create', 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, ${nanos}, 0)`.execute(
      db,
    );
  // 80 % of the limit of the month, and 5 % of the limit of the day.
  for (const [used, users] of [
    [0.8, [userId]],
    [0.81, []],
  ] as const)
    assert.deepEqual(
      (await walletReports(db, { used, limit: 10, now })).rows.map(({ report }) => report.user),
      users,
    );
  assert.deepEqual((await walletReports(db, { below: 750_000_000n, limit: 10, now })).rows, [], 'as much is not less');
  await review(db, 'task:c');
  const {
    rows: [found],
  } = await walletReports(db, { user: userId, limit: 10, now });
  const { created_at, ...report } = found?.report ?? assert.fail('no report');
  assert.ok(Date.parse(created_at) > 0);
  assert.deepEqual(report, {
    user: userId,
    credits: '1',
    debits: '0',
    available: '0.75',
    held: '0.25',
    leased: '0.1',
    open_holds: 1,
    open_leases: 1,
    spent_day: '0.1',
    spent_month: '0.4',
    spend_day: '2',
    spend_month: '0.5',
  });
  await sql`update users set limits = '{"spend_day": "2"}' where id = ${userId}`.execute(db);
  assert.equal((await walletReports(db, { used: 0.05, limit: 10, now })).count, 1, '5 % of the limit of the day');
});

longTest('dailyQuery() reads roll-ups by primary key', async (t) => {
  await sql`
    insert into usage_daily
    select 'u' || u, date '2026-08-01' + d, 'key_1', 'openai', 'gpt-' || m, 'oa1', 'chat.create', 10, 1, 1, 1, 1, 1, 0, 0, 0, 0, 5, 0
    from generate_series(1, 500) u, generate_series(0, 99) d, generate_series(1, 3) m`.execute(db);
  await sql`analyze usage_daily`.execute(db);
  const days = ['2026-08-10', '2026-11-08'];
  const { rows } = await sql<{
    'QUERY PLAN': string;
  }>`explain (analyze, buffers off) ${dailyQuery('u77', days)}`.execute(db);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  assert.match(plan, /Index Scan[\s\S]* usage_daily|Bitmap Index Scan on usage_daily_pkey/);
  assert.doesNotMatch(plan, /usage_records|usage_months|Seq Scan/);
  const begun = performance.now();
  const report = await usageReport(db, 'u77', { start: '2026-08-10', end: '2026-11-08', timezone: 'UTC' });
  assert.equal(report.by_day.length, 91);
  t.diagnostic(`150,000 roll-ups: ${Math.round(performance.now() - begun)} ms; ${plan.match(/Execution Time.*/)?.[0]}`);
});
