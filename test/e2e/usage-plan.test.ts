/** The query plan of GET /v1/usage with many records; `npm run bench -- usage` runs it with ten million. */
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
