/** What a call cost, asked with its own key: GET /v1/usage/requests/{request_id}, and the balance endpoints of older tools (G 4.7). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Client } from 'pg';
import { formatNanos } from '../../src/core/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import { TEXT_ONLY } from '../../src/rules/index.ts';
import type { BillingSubscription, BillingUsage, RequestUsage } from '../../src/schemas/index.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '10', cached_input: '1', output: '100' };
/** Of the group; that of each user is 2. */
const GROUP_FACTOR = '1.5';
const USAGE = {
  prompt_tokens: 700,
  completion_tokens: 90,
  total_tokens: 790,
  prompt_tokens_details: { cached_tokens: 200 },
  completion_tokens_details: { reasoning_tokens: 60 },
};
/** (500 x 10 + 200 x 1 + 90 x 100) / 10^6 x 1.5 x 2 dollars. */
const CHARGE = 42_600_000n;
const REPLY = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'demo-x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: USAGE,
};

let gateway: TestGateway;
let upstream: Canned;
let client: Client;
let users = 0;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway();
  client = await connect(gateway.database.url);
  const setup = basicSetup(upstream.url) as Record<'groups' | 'models', { id: string }[]>;
  await gateway.apply({
    ...setup,
    groups: setup.groups.map((group) => ({ ...group, multiplier: GROUP_FACTOR })),
    // Stated, so that no report of a test changes what the next call reserves.
    models: [{ id: 'demo-*', groups: ['openai', 'claude', 'gemini'], prices: PRICES, capabilities: TEXT_ONLY }],
  });
  upstream.respondWith(jsonResponse(JSON.stringify(REPLY)));
});
after(async () => {
  await client?.end();
  await gateway?.stop();
  await upstream?.close();
});

async function newUser(limits: object = {}, balance = '10') {
  const user = `user-${++users}`;
  const keys = await gateway.apply({
    users: [{ id: user, balance, multiplier: '2' }],
    keys: ['openai', 'claude'].map((group) => ({ user, group, ...limits })),
  });
  return { user, key: keys.openai ?? '', other: keys.claude ?? '' };
}

const get = (path: string, key: string): Promise<Response> =>
  fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}` } });

async function chat(key: string): Promise<string> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-x', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 }),
  });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get('x-request-id') ?? assert.fail('no id');
}

const usageOf = (id: string, key: string): Promise<Response> => get(`/v1/usage/requests/${id}`, key);

async function read(id: string, key: string): Promise<RequestUsage> {
  const response = await usageOf(id, key);
  assert.equal(response.status, 200);
  return response.json() as Promise<RequestUsage>;
}

const settled = (id: string, key: string): Promise<RequestUsage> =>
  until('the charge', async () => {
    const response = await usageOf(id, key);
    const body = (await response.json()) as RequestUsage;
    return body.status === 'charged' ? body : undefined;
  });

describe('GET /v1/usage/requests/{request_id}', () => {
  test('shows tokens by kind, the price version, the amount of each kind and the charge', async () => {
    const { key } = await newUser();
    const begun = Date.now();
    const id = await chat(key);
    const shown = await settled(id, key);
    const { rows } = await client.query('select price_id from usage_records where request_id = $1', [id]);
    const { at, pricing, ...rest } = shown;
    assert.ok(Date.parse(at) >= begun && Date.parse(at) <= Date.now());
    assert.deepEqual(rest, {
      object: 'usage.request',
      currency: 'USD',
      id,
      status: 'charged',
      model: 'demo-x',
      operation: 'chat.create',
      usage: {
        input_tokens: 700,
        cached_input_tokens: 200,
        cache_write_tokens: 0,
        output_tokens: 90,
        reasoning_tokens: 60,
      },
      estimated: false,
      charge: formatNanos(CHARGE),
    });
    assert.deepEqual(pricing?.lines.map(({ part, count, rate, amount }) => [part, count, rate, amount]).sort(), [
      ['cached_input', 200, '1', '0.0002'],
      ['input', 500, '10', '0.005'],
      ['output', 90, '100', '0.009'],
    ]);
    assert.deepEqual(
      [pricing?.price, pricing?.subtotal, pricing?.charge],
      [String(rows[0].price_id), '0.0142', formatNanos(CHARGE)],
    );
    const multiplied = await until('the row of the request log', async () => {
      const row = await read(id, key);
      return row.pricing?.group_multiplier === null ? undefined : row.pricing;
    });
    assert.deepEqual([multiplied?.group_multiplier, multiplied?.user_multiplier], ['1.5', '2']);
  });

  test('is 404 for every other key, as for an id that no call has', async () => {
    const [ana, bob] = [await newUser(), await newUser()];
    const id = await chat(ana.key);
    await settled(id, ana.key);
    const invented = `${id.slice(0, -4)}${id.endsWith('0000') ? '1111' : '0000'}`;
    const answers = await Promise.all(
      [
        [id, ana.other],
        [id, bob.key],
        [invented, ana.key],
        ['req_1', ana.key],
        [`req_ffffffffffff${id.slice(16)}`, ana.key],
        [`req_000000000000${id.slice(16)}`, ana.key],
      ].map(async ([asked = '', key = '']) => {
        const response = await usageOf(asked, key);
        return [response.status, (await response.text()).replaceAll(asked, '<id>')];
      }),
    );
    const [first] = answers;
    for (const answer of answers) assert.deepEqual(answer, first);
    assert.equal(first?.[0], 404);
    assert.equal(JSON.parse(String(first?.[1])).error.code, 'request_not_found');
  });

  test('says what was not charged', async () => {
    const { key } = await newUser();
    const id = (await get('/v1/models', key)).headers.get('x-request-id') ?? '';
    const shown = await until('its row', async () => {
      const response = await usageOf(id, key);
      return response.ok ? ((await response.json()) as RequestUsage) : undefined;
    });
    assert.partialDeepStrictEqual(shown, { status: 'not_charged', operation: 'models.list', charge: '0', usage: null });
  });

  test('is pending while the charge is only in the journal', async () => {
    const { key } = await newUser();
    await chat(key);
    const locking = await connect(gateway.database.url);
    await locking.query('begin; lock table usage_records in exclusive mode');
    const id = await chat(key);
    try {
      const response = await until('the row of the request log', async () => {
        const found = await usageOf(id, key);
        return found.status === 200 ? found : undefined;
      });
      assert.equal(response.headers.get('retry-after'), '1');
      assert.partialDeepStrictEqual(await response.json(), { id, status: 'pending', charge: null, model: 'demo-x' });
    } finally {
      await locking.query('rollback');
      await locking.end();
    }
    assert.equal((await settled(id, key)).charge, formatNanos(CHARGE));
  });

  test('is pending for a background response that runs, for its key alone', async () => {
    const { user, key, other } = await newUser();
    const id = (await get('/v1/models', key)).headers.get('x-request-id') ?? '';
    await client.query(
      `insert into background_responses (reference, user_id, key_id, group_id, model, request_id, input_tokens, next_check_at)
       select 'background:' || $1::text, user_id, id, group_id, 'demo-x', $1, 1, now() + interval '1 day'
       from keys where user_id = $2 and group_id = 'openai'`,
      [id, user],
    );
    assert.partialDeepStrictEqual(await read(id, key), { status: 'pending', operation: 'responses.create' });
    assert.equal((await usageOf(id, other)).status, 404);
  });
});

describe('the balance endpoints of older tools', () => {
  const balanceOf = async (key: string, prefix = '/v1') => {
    const subscription = (await (
      await get(`${prefix}/dashboard/billing/subscription`, key)
    ).json()) as BillingSubscription;
    const usage = (await (await get(`${prefix}/dashboard/billing/usage`, key)).json()) as BillingUsage;
    return { subscription, usage, left: subscription.hard_limit_usd - usage.total_usage / 100 };
  };
  const near = (found: number, expected: number): void =>
    assert.ok(Math.abs(found - expected) < 1e-9, `${found}, not ${expected}`);
  const spent = Number(CHARGE) / 1e9;

  test('show limit and spending of the key, so that their difference is the wallet', async () => {
    const { key, other } = await newUser();
    await settled(await chat(key), key);
    for (const prefix of ['/v1', '']) {
      const { subscription, usage, left } = await balanceOf(key, prefix);
      assert.partialDeepStrictEqual(subscription, {
        object: 'billing_subscription',
        has_payment_method: true,
        access_until: 0,
      });
      assert.deepEqual(
        [subscription.soft_limit_usd, subscription.system_hard_limit_usd],
        [subscription.hard_limit_usd, subscription.hard_limit_usd],
      );
      near(usage.total_usage, spent * 100);
      near(left, 10 - spent);
    }
    const { usage, left } = await balanceOf(other);
    assert.deepEqual(usage, { object: 'list', total_usage: 0, daily_costs: [] });
    near(left, 10 - spent);
  });

  test('show what a spend limit leaves of the wallet', async () => {
    const { key } = await newUser({ spend_month: '2', spend_day: '1' });
    near((await balanceOf(key)).subscription.hard_limit_usd, 1);
    await settled(await chat(key), key);
    const { subscription, left } = await balanceOf(key);
    near(left, 1 - spent);
    near(subscription.hard_limit_usd, 1);
  });

  test('take start_date and end_date, both included', async () => {
    const { key } = await newUser();
    await settled(await chat(key), key);
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    const total = async (query: string) => {
      const response = await get(`/v1/dashboard/billing/usage?${query}`, key);
      assert.equal(response.status, 200, query);
      return (await response.json()) as BillingUsage;
    };
    const { total_usage, daily_costs } = await total(`start_date=${day(-99)}&end_date=${day(1)}`);
    near(total_usage, spent * 100);
    near(daily_costs[0]?.line_items[0]?.cost ?? 0, spent * 100);
    assert.equal((await total(`start_date=${day(-99)}&end_date=${day(-2)}`)).total_usage, 0);
    const { status } = await get('/v1/dashboard/billing/usage?start_date=yesterday', key);
    assert.equal(status, 400);
  });
});
