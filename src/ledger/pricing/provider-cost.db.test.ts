import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { makeUser, usageRecord } from '../../../test/support/ledger-process.ts';
import { silentLog } from '../../core/index.ts';
import { type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import { UsageWriter } from '../records/usage-writer.ts';
import { checkLedger } from '../wallets/check.ts';

let own: TestDatabase;
let database: Database;
let db: Db;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  db = database.db;
  await sql`
    insert into groups (id, style, name, position) values ('openai', 'responses', 'x', 0);
    insert into accounts (id, group_id, base_url, credential_sealed, weight, max_concurrency, features, position, cost_multiplier_ppm)
      values ('oa1', 'openai', 'http://x', '', 1, 1, '{}', 0, 1000000), ('cheap', 'openai', 'http://x', '', 1, 1, '{}', 1, 500000);
    insert into models (group_id, pattern, position) values ('openai', 'gpt-5', 0);`.execute(db);
});
after(async () => {
  await checkLedger(db).finally(async () => {
    await database.close();
    await own.drop();
  });
});

async function price(cost: object | null): Promise<bigint> {
  const { rows } = await sql<{ id: bigint }>`
    insert into prices (model_id, rates, cost) select id, '{}', ${cost === null ? null : JSON.stringify(cost)}::jsonb from models
    returning id`.execute(db);
  return rows[0]?.id ?? 0n;
}

test('providerCosts() applies cost rates and account multiplier; an unknown cost is null, not zero', async () => {
  const userId = await makeUser(db, 'ann', 10n ** 12n);
  const known = await price({ input: '1', cached_input: '0.1', output: '3' });
  const free = await price({});
  const none = await price(null);
  const absurd = await price({ input: '1001' });
  const broken = await price({ input: 'much' });
  const video = await price({ video: '7' });
  const usage = { input: 1_000, cacheRead: 400, cacheWrite: 0, output: 7 };
  const cases: [string, bigint | null, string, bigint | null][] = [
    // 600 x 1 + 400 x 0.1 + 7 x 3 dollars per million
    ['known', known, 'oa1', 661_000n],
    ['half the rates', known, 'cheap', 330_500n],
    ['zero rates', free, 'oa1', 0n],
    ['a price without a cost', none, 'oa1', null],
    ['no price at all', null, 'oa1', null],
    ['a deleted account', known, 'gone', null],
    ['a deleted price', 10n ** 9n, 'oa1', null],
    ['more than the maximum', absurd, 'oa1', null],
    ['invalid rates', broken, 'oa1', null],
    ['video rates', video, 'oa1', null],
  ];
  const records = cases.map(([requestId, priceId, accountId]) =>
    usageRecord(userId, 5n, {
      requestId,
      priceId,
      accountId,
      usage: requestId.startsWith('more') ? { ...usage, input: 10 ** 9 } : usage,
    }),
  );
  await new UsageWriter({ db, log: silentLog }).write('rep_x', records);
  const { rows } = await sql<{ request_id: string; cost_nanos: bigint | null }>`
    select request_id, cost_nanos from usage_records`.execute(db);
  const found = new Map(rows.map((row) => [row.request_id, row.cost_nanos]));
  for (const [about, , , cost] of cases) assert.equal(found.get(about), cost, about);
  const { rows: daily } = await sql<{ cost: bigint; unknown: bigint; requests: bigint; nanos: bigint }>`
    select sum(cost_nanos)::bigint as cost, sum(cost_unknown)::bigint as unknown, sum(requests)::bigint as requests,
      sum(nanos)::bigint as nanos from usage_daily`.execute(db);
  assert.deepEqual(daily, [{ cost: 991_500n, unknown: 7n, requests: 10n, nanos: 50n }]);
});
