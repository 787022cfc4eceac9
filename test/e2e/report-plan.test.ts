// set: sweeps; plans of queries over many rows
/** Query plans of the admin reports: pages read an index, and a report over all users reads sums of days or months. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { Client } from 'pg';
import { newRequestId } from '../../src/core/index.ts';
import { breakdownQuery, recordUsage, sumOldDays, sumOldMonths } from '../../src/ledger/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { usageRecord } from '../support/ledger-process.ts';
import { type Cost, explain, statementsOf } from '../support/plan.ts';
import { fillUsage } from '../support/usage-rows.ts';

const ROWS = 120_000;
const DAYS = 300;
const DAY_MS = 86_400_000;
const LARGE_TABLES = ['usage_daily', 'usage_records', 'entries'];

let gateway: TestGateway;
let client: Client;
const dayOf = (daysAgo: number): string => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
const year = `start_date=${dayOf(DAYS - 1)}&end_date=${dayOf(0)}`;
const admin = adminApi(() => gateway.url);
const db = () => gateway.context.database.db;

before(async () => {
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  client = await connect(gateway.database.url);
  await fillUsage(client, { rows: ROWS, users: 200, days: DAYS, lastDay: dayOf(0) });
  while ((await sumOldDays(db())) > 0);
  while ((await sumOldMonths(gateway.context.database)) > 0);
  await client.query('vacuum (analyze) usage_totals, usage_totals_days, usage_monthly, usage_monthly_months');
});
after(async () => {
  await client.end();
  await gateway.stop();
});

interface UsagePage {
  readonly data: readonly { readonly requests: number }[];
  readonly total?: { readonly requests: number };
}

/** Path of a page and the most blocks of 8 KB that it may read. */
const PAGES: readonly (readonly [about: string, path: string, maxBlocks: number])[] = [
  ['usage by day, user and model', `/usage?by=day,user,model&${year}`, 1_500],
  ['usage by day', `/usage?${year}`, 1_500],
  ['usage by model', `/usage?by=model&${year}`, 1_500],
  ['usage by user', `/usage?by=user&${year}`, 1_500],
  ['usage by key', `/usage?by=key&${year}`, 1_500],
  ['usage by model and user', `/usage?by=model,user&${year}`, 1_500],
  ['usage by account, user and model', `/usage?by=account,user,model&${year}`, 1_500],
  ['usage by model, user and day', `/usage?by=model,user,day&${year}`, 1_500],
  ['usage by model, day and user', `/usage?by=model,day,user&${year}`, 1_500],
  ['usage of a user by day and model', `/usage?by=day,model&user=u7&${year}`, 1_500],
  ['usage of an unused key', `/usage?by=day&key=key_none&${year}`, 100],
  ['records of an unused model', `/records?model=model-none&start=${dayOf(DAYS)}`, 300],
  ['records of an unused key', `/records?key=key_none&start=${dayOf(DAYS)}`, 300],
  ['records of a model', `/records?model=model-1&start=${dayOf(DAYS)}`, 600],
  ['records of a user', `/records?user=u7&start=${dayOf(DAYS)}`, 600],
  ['records of a long call', '/records?request_id=req_60000', 300],
  ['records of a call', `/records?request_id=${newRequestId(Date.now() - DAY_MS)}`, 300],
];
for (const [about, path, maxBlocks] of PAGES)
  test(`a page with ${about} over most of a year reads no large table from end to end`, async (t) => {
    const responses: { status: number }[] = [];
    const sent = await statementsOf(async () => responses.push(await admin('GET', path)));
    assert.equal(responses[0]?.status, 200);
    const costs: Cost[] = [];
    for (const statement of sent)
      if (/usage_/.test(statement.text) && /^\s*select/i.test(statement.text))
        costs.push(await explain(client, statement));
    assert.ok(costs.length > 0);
    const blocks = costs.reduce((sum, cost) => sum + cost.blocks, 0);
    t.diagnostic(`${blocks} blocks, ${costs.reduce((sum, { ms }) => sum + ms, 0).toFixed(1)} ms in the database`);
    const scanned = costs.flatMap((cost) => [...cost.scanned]).filter((table) => LARGE_TABLES.includes(table));
    assert.deepEqual(scanned, []);
    assert.ok(blocks <= maxBlocks, `${blocks} blocks`);
  });

test('reports over all users agree with the daily sums, also after a record of a summed day', async () => {
  const requests = async (): Promise<number> => {
    const { body } = await admin<UsagePage>('GET', `/usage?by=model&${year}`);
    assert.equal(
      body.data.reduce((sum, row) => sum + row.requests, 0),
      body.total?.requests,
    );
    return body.total?.requests ?? 0;
  };
  assert.equal(await requests(), ROWS);
  const late = usageRecord('u7', 5n, { at: Date.now() - 40 * DAY_MS });
  await db()
    .transaction()
    .execute((tx) => recordUsage(tx, [late], new Map()));
  assert.equal(await requests(), ROWS + 1, 'before the day is summed again');
  assert.equal(await sumOldDays(db()), 1);
  assert.equal(await requests(), ROWS + 1);
  const query = { start: dayOf(DAYS), end: dayOf(0), by: ['day', 'model', 'operation'] as const, only: {} };
  const { rows } = await breakdownQuery(query).execute(db());
  const { rows: expected } = await sql`
    select day::text as day, model, operation, sum(requests)::bigint as requests, sum(nanos)::bigint as nanos
    from usage_daily group by 1, 2, 3 order by 1, 2, 3`.execute(db());
  assert.deepEqual(
    rows.map(({ day, model, operation, requests, nanos }) => ({ day, model, operation, requests, nanos })),
    expected,
  );
});

test('a day is not summed while its records are on their way', async () => {
  const other = await connect(gateway.database.url);
  try {
    await other.query('begin');
    await other.query('select reopen_usage_days($1::date[])', [[dayOf(50)]]);
    await sql`delete from usage_totals_days where day = ${dayOf(51)}::date`.execute(db());
    assert.equal(await sumOldDays(db()), 1, 'only the other day');
    await other.query('commit');
    assert.equal(await sumOldDays(db()), 1);
  } finally {
    await other.end();
  }
});

interface Listed {
  readonly id?: string;
  readonly user: string;
  readonly name: string;
  readonly available: string;
  readonly created_at: string;
}
interface ListedPage {
  readonly data: readonly Listed[];
  readonly next_cursor: string | null;
}

/** Path, value and the most blocks that a page of 100 may read: with an index its own rows, otherwise the table once, and no sums of others. */
const SORTED: readonly (readonly [path: string, value: (row: Listed) => string | number, maxBlocks: number])[] = [
  ['/balances?user=member-*&sort=user', ({ user }) => user, 2_500],
  ['/balances?user=member-*&sort=available.asc', ({ available }) => Number(available), 2_500],
  ['/balances?user=member-*&sort=created', ({ created_at }) => created_at, 2_500],
  ['/keys?sort=user', ({ user }) => user, 400],
  ['/keys?sort=name.asc', ({ name }) => name, 1_000],
  ['/keys?sort=created', ({ created_at }) => created_at, 1_000],
];
test('lists of 10,000 users and keys are sorted by the server, each page after the last', async (t) => {
  await gateway.apply({ groups: [{ id: 'openai', style: 'responses' }] });
  await client.query(`
    with made as (
      insert into users (id, created_at) select 'member-' || lpad(n::text, 5, '0'), now() - hashint4(n) * interval '1 ms'
      from generate_series(1, 10000) n returning id, created_at)
    insert into keys (id, user_id, group_id, name, hash, hint, callback_secret_sealed, created_at)
    select 'key_' || id, id, 'openai', 'name-' || md5(id), decode(md5(id), 'hex'), '', '', created_at from made`);
  await client.query(`
    with changed as (
      update wallets set credits = (1 + abs(hashtext(user_id)) % 1000) * 1000000000::bigint, created_at = u.created_at
      from users u where u.id = user_id and u.id like 'member-%' returning user_id, credits)
    insert into entries (debit, credit, nanos, kind, reference, reason)
    select '@funding', user_id, credits, 'credit', 'first:' || user_id, '' from changed`);
  await client.query('vacuum (analyze) users, wallets, keys');
  for (const [path, value, maxBlocks] of SORTED) {
    const rows: Listed[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { readonly body: ListedPage } = await admin('GET', `${path}&limit=1000&cursor=${cursor}`);
      rows.push(...page.body.data);
      cursor = page.body.next_cursor;
    }
    assert.equal(new Set(rows.map(({ id, user }) => id ?? user)).size, rows.length, path);
    assert.ok(rows.length >= 10_000, path);
    const sign = path.endsWith('.asc') ? 1 : -1;
    const values = rows.map(value);
    assert.deepEqual(
      values,
      values.toSorted((a, b) => (a < b ? -sign : a > b ? sign : 0)),
      path,
    );
    const second = await admin<ListedPage>('GET', `${path}&limit=100`);
    const sent = await statementsOf(() => admin('GET', `${path}&limit=100&cursor=${second.body.next_cursor}`));
    const page = sent.find(({ text }) => /sorted_by/.test(text)) ?? assert.fail(path);
    const { blocks, ms } = await explain(client, page);
    t.diagnostic(`${path}: ${blocks} blocks, ${ms.toFixed(1)} ms`);
    assert.ok(blocks <= maxBlocks, `${path}: ${blocks} blocks`);
  }
  const refused = await admin<{ error: { message: string } }>('GET', '/balances?sort=held');
  assert.equal(refused.status, 400);
  assert.match(refused.body.error.message, /sort.*available/);
});
