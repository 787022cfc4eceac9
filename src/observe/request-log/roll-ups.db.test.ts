/** Which hours a chart has, and how long days and hours are kept. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { type Database, openDatabase } from '../../platform/db/index.ts';
import { readRequestStats } from './request-stats.ts';
import { removeOldRequests, removeOldRollUps } from './roll-up.ts';

const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 10, 17, 12);
let own: TestDatabase;
let database: Database;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 2);
});
after(async () => {
  await database.close();
  await own.drop();
});

const addHour = (at: number, requests: number) =>
  sql`
  insert into request_hours select (jsonb_populate_record(null::request_hours, ${JSON.stringify({
    level: 'total',
    hour: new Date(at),
    group_id: '',
    account_id: '',
    model: '',
    requests,
    provider_errors: 0,
    own_errors: 0,
    caller_errors: 0,
    client_closed: 0,
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    nanos: 0,
    cost_nanos: 0,
    cost_unknown: 0,
    first_byte: 0,
    total: 0,
    added: 0,
    failover: 0,
  })}::jsonb)).*`.execute(database.db);

test('a chart has the hours from its start on, without the one that begins at its end', async () => {
  for (const [hour, requests] of [1, 10, 100, 1_000].entries()) await addHour(NOON + hour * 3_600_000, requests);
  const query = { start: new Date(NOON + 3_600_000), end: new Date(NOON + 3 * 3_600_000), bucket: 'hour' } as const;
  const { points, total } = await database.db.transaction().execute((tx) => readRequestStats(tx, query));
  assert.deepEqual([points.map(({ requests }) => requests), total.requests], [[10, 100], 110]);
});

test('hours are kept for 400 days, so that a chart can compare with last year', async () => {
  await addHour(NOON - 399 * DAY_MS, 1);
  await addHour(NOON - 401 * DAY_MS, 1);
  assert.equal(await removeOldRollUps(database.db, NOON), 1);
  assert.equal(await removeOldRollUps(database.db, NOON), 0);
});

test('a day of the request log is kept for as many whole days as are set', async () => {
  const dayOf = (daysAgo: number): string => new Date(NOON - daysAgo * DAY_MS).toISOString().slice(0, 10);
  for (const daysAgo of [14, 15]) await sql`select request_day(${dayOf(daysAgo)}::date)`.execute(database.db);
  const days = async (): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`
      select tablename as name from pg_tables where schemaname = 'request_days' and tablename like 'requests_%' order by 1`.execute(
      database.db,
    );
    return rows.map(({ name }) => name.replace('requests_', '').replaceAll('_', '-'));
  };
  assert.deepEqual(await days(), [dayOf(15), dayOf(14)]);
  assert.equal(await removeOldRequests(database.db, { days: 14, now: NOON }), 1);
  assert.equal(await removeOldRequests(database.db, { days: 14, now: NOON }), 0);
  assert.deepEqual(await days(), [dayOf(14)]);
});
