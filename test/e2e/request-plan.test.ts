// set: sweeps; plans of queries over many rows
/** The query plans of the request log: each filter reads an index and little more than a page, and charts read few roll-ups. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from 'pg';
import { systemClock } from '../../src/core/index.ts';
import { RequestRollUp } from '../../src/observe/request-log/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { explain, statementsOf } from '../support/plan.ts';
import { fillRequests } from '../support/request-rows.ts';

const ROWS = 24_000;
const DAYS = 3;
/** A page of 100 rows, a few levels of an index in every day, and a margin. Reading all rows would take 900 blocks. */
const MAX_BLOCKS = 250;

/** Has the days of the rows, and no empty one. */
let database: TestDatabase;
let gateway: TestGateway;
let client: Client;
const admin = adminApi(() => gateway.url);

before(async () => {
  database = await testDatabase();
  gateway = await startGateway({ env: { ADMIN_TOKEN }, database });
  client = await connect(gateway.database.url);
  await fillRequests(client, { rows: ROWS, days: DAYS, lastDay: new Date().toISOString().slice(0, 10) });
});
after(async () => {
  await client?.end();
  await gateway?.stop();
  await database?.drop();
});

for (const query of [
  '',
  'user=u77',
  'user=rare',
  'group=group-1',
  'model=model-7',
  'model=rare',
  'account=account-7',
  'account=rare',
  'operation=chat.create',
  'status=200',
  'status=502',
  'status=418',
  'error=ours',
  'user=u77&status=200&model=model-17',
])
  test(`GET /requests reads an index with "${query}"`, async () => {
    const found: { data: readonly { readonly at: string }[]; next_cursor: string | null }[] = [];
    const sent = await statementsOf(async () => {
      const { body } = await admin<(typeof found)[number]>('GET', `/requests?${query}`);
      found.push(body);
      if (body.next_cursor) await admin('GET', `/requests?${query}&cursor=${body.next_cursor}`);
    });
    const [page] = found;
    assert.ok((page?.data.length ?? 0) > 0);
    assert.deepEqual(
      page?.data.map(({ at }) => at),
      page?.data
        .map(({ at }) => at)
        .toSorted()
        .reverse(),
    );
    const statements = sent.filter(({ text }) => /from "requests"/.test(text));
    assert.ok(statements.length >= 1);
    for (const statement of statements) {
      const { scanned, blocks } = await explain(client, statement);
      assert.deepEqual([...scanned], [], statement.text);
      assert.ok(blocks <= MAX_BLOCKS, `${blocks} blocks: ${statement.text}`);
    }
  });

test('GET /requests finds a call by the time in its id', async () => {
  const [, middle] = (await client.query<{ id: string }>('select id from requests order by at limit 2 offset 9000'))
    .rows;
  const sent = await statementsOf(async () => {
    const { body } = await admin<{ data: readonly { readonly id: string }[] }>(
      'GET',
      `/requests?request_id=${middle?.id}`,
    );
    assert.deepEqual(
      body.data.map(({ id }) => id),
      [middle?.id],
    );
  });
  const [statement] = sent.filter(({ text }) => /from "requests"/.test(text));
  assert.ok(statement);
  const { scanned, blocks } = await explain(client, statement);
  assert.deepEqual([...scanned], []);
  assert.ok(blocks <= 20, `${blocks} blocks`);
});

for (const query of [
  'user=*none*',
  'status=3xx',
  'code=none',
  'sort=charge',
  'key=rare',
  'group=rare',
  'operation=rare',
])
  test(`GET /requests reads a bounded number of rows with "${query}"`, async () => {
    const sent = await statementsOf(() => admin('GET', `/requests?${query}`));
    const statements = sent.filter(({ text }) => /from "requests"/.test(text));
    assert.ok(statements.length >= 1);
    for (const { text } of statements) assert.match(text, /limit \$\d+\) requests|offset \$\d+ limit 1$/);
  });

/** A day by hour and account has 1,000 roll-ups of a few hundred bytes, which are read twice. Arrays of counts would take six times as many. */
const MAX_STATS_BLOCKS = 300;

test('GET /stats by account reads its roll-ups in two statements', async () => {
  const { rows } = await client.query<{ day: Date }>(
    `select date_trunc('day', now(), 'UTC') - interval '1 day' as day`,
  );
  const day = rows[0]?.day ?? new Date();
  await client.query(
    `insert into request_hours_due select generate_series($1::timestamptz, $1::timestamptz + interval '23 hours', interval '1 hour')`,
    [day],
  );
  await new RequestRollUp(gateway.context.database, systemClock).run();
  await client.query('vacuum (analyze) request_hours');
  const end = new Date(day.getTime() + 86_400_000).toISOString();
  const sent = await statementsOf(async () => {
    const query = `start=${day.toISOString()}&end=${end}&bucket=hour&by=account`;
    const { body } = await admin<{ total: { requests: number }; data: { requests: number }[] }>(
      'GET',
      `/stats?${query}`,
    );
    assert.equal(body.data.length, 24 * 21, 'twenty accounts and the others');
    assert.equal(
      body.data.reduce((sum, { requests }) => sum + requests, 0),
      body.total.requests,
    );
  });
  const statements = sent.filter(({ text }) => /from "?request_hours/.test(text));
  assert.equal(statements.length, 2);
  for (const statement of statements) {
    const { blocks } = await explain(client, statement);
    assert.ok(blocks <= MAX_STATS_BLOCKS, `${blocks} blocks: ${statement.text}`);
  }
});
