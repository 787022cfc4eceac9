// set: sweeps; plans of queries over many rows
/** The query plans of GET /v1/usage, and of what callers read of their calls and balance, with many records; `npm run bench -- usage` has ten million. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from 'pg';
import { connect } from '../../src/platform/db/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { type Cost, explain, statementsOf } from '../support/plan.ts';
import { fillUsage } from '../support/usage-rows.ts';

/** 1,600 records per user, each in another block: reading them would take four times the blocks that are allowed. */
const ROWS = Number(process.env.USAGE_ROWS ?? 80_000);
const DAYS = 92;
/** The tables that GET /v1/usage may read. */
const EXPECTED_TABLES = ['keys', 'leases', 'usage_daily', 'wallets'];
/** 92 days, two keys and three models are some 550 roll-ups, stored side by side per day: 225 blocks, plus a margin. */
const MAX_BLOCKS = 400;

let gateway: TestGateway;
let client: Client;
let key: string;

before(async () => {
  gateway = await startGateway();
  client = await connect(gateway.database.url);
  const lastDay = new Date().toISOString().slice(0, 10);
  await fillUsage(client, { rows: ROWS, users: ROWS / 1_600, days: DAYS, lastDay });
  await gateway.apply(basicSetup());
  const limits = { spend_day: '1000', spend_month: '5000' };
  const keys = await gateway.apply({ users: [{ id: 'u7' }], keys: [{ user: 'u7', group: 'openai', ...limits }] });
  key = keys.openai ?? '';
});
after(async () => {
  await client.end();
  await gateway.stop();
});

interface UsageResponse {
  readonly total: { readonly requests: number; readonly cost: string };
  readonly by_day: readonly object[];
  readonly by_model: readonly object[];
}

const getUsage = async (query: string): Promise<UsageResponse> => {
  const response = await fetch(`${gateway.url}/v1/usage${query}`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200);
  return response.json() as Promise<UsageResponse>;
};

test('GET /v1/usage reads only roll-ups, and no more of them with more calls', async (t) => {
  const start = new Date(Date.now() - (DAYS - 1) * 86_400_000).toISOString().slice(0, 10);
  await getUsage('');
  const responses: UsageResponse[] = [];
  const sent = await statementsOf(async () => responses.push(await getUsage(`?start_date=${start}`)));
  const [response] = responses;
  assert.equal(response?.by_day.length, DAYS);
  assert.equal(response?.by_model.length, 3);
  const { rows } = await client.query(
    "select count(*) as calls, trim_scale(sum(nanos) / 1e9)::text as cost from usage_records where user_id = 'u7' and at >= $1::date at time zone 'UTC'",
    [start],
  );
  assert.deepEqual([BigInt(response?.total.requests ?? 0), response?.total.cost], [rows[0].calls, rows[0].cost]);

  const costs: Cost[] = [];
  for (const statement of sent)
    if (/^\s*(?:with|select)/i.test(statement.text) && /usage|wallets/.test(statement.text))
      costs.push(await explain(client, statement));
  assert.ok(costs.length >= 2, sent.map(({ text }) => text).join('\n'));
  const tables = new Set(costs.flatMap((cost) => [...cost.tables]));
  assert.deepEqual([...tables].sort(), EXPECTED_TABLES);
  const blocks = costs.reduce((sum, cost) => sum + cost.blocks, 0);
  assert.ok(blocks <= MAX_BLOCKS, `${blocks} blocks`);
  t.diagnostic(`${blocks} blocks, ${costs.reduce((sum, { ms }) => sum + ms, 0).toFixed(1)} ms in the database`);
});

/** A few levels of an index in each month, and the rows of one user in a minute. Reading the user's records would take 1,600 blocks. */
const MAX_CALL_BLOCKS = 60;

test('GET /v1/usage/requests/{request_id} reads an index of each month', async () => {
  const { rows } = await client.query<{ id: string; at: Date }>(
    `select id, at from usage_records where user_id = 'u7' order by at offset 800 limit 2`,
  );
  for (const [index, { id, at }] of rows.entries()) {
    // One call of a second, and one of an hour, which only the index of such calls has.
    const begun = at.getTime() - (index === 0 ? 1_000 : 3_600_000);
    const request = `req_${begun.toString(16).padStart(12, '0')}0123456789ab`;
    await client.query(
      `update usage_records set request_id = $1, key_id = (select id from keys where user_id = 'u7' limit 1)
       where id = $2 and at = $3`,
      [request, id, at],
    );
    const sent = await statementsOf(async () => {
      const response = await fetch(`${gateway.url}/v1/usage/requests/${request}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      assert.equal(response.status, 200, await response.clone().text());
      assert.equal(((await response.json()) as { status: string }).status, 'charged');
    });
    const statements = sent.filter(({ text }) => /from (?:usage_records|"requests")/.test(text));
    assert.equal(statements.length, 2);
    for (const statement of statements) {
      const { scanned, blocks } = await explain(client, statement);
      // The months to come are empty.
      for (const table of scanned)
        assert.deepEqual((await client.query(`select from usage_months.${table} limit 1`)).rows, [], table);
      assert.ok(blocks <= MAX_CALL_BLOCKS, `${blocks} blocks: ${statement.text}`);
    }
  }
});

test('the balance endpoints of older tools read only roll-ups', async () => {
  const start = new Date(Date.now() - (DAYS - 1) * 86_400_000).toISOString().slice(0, 10);
  const sent = await statementsOf(async () => {
    for (const path of ['subscription', `usage?start_date=${start}`]) {
      const response = await fetch(`${gateway.url}/v1/dashboard/billing/${path}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      assert.equal(response.status, 200);
    }
  });
  const statements = sent.filter(({ text }) => /usage_|wallets/.test(text));
  assert.equal(statements.length, 3);
  for (const statement of statements) {
    const { tables, blocks } = await explain(client, statement);
    for (const table of tables) assert.ok(EXPECTED_TABLES.includes(table), table);
    assert.ok(blocks <= MAX_BLOCKS, `${blocks} blocks: ${statement.text}`);
  }
});
