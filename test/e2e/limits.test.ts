/** Rate, concurrency and spend limits of keys and users on one gateway. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ setup: basicSetup(sim.url) });
  // One dollar per input token and a context of one token: each call reserves one dollar.
  const models = [
    { id: 'costly-messages', groups: ['claude'], upstream: 'demo-messages' },
    { id: 'costly-responses', groups: ['openai'], upstream: 'demo-responses' },
    { id: 'costly-generate', groups: ['gemini'], upstream: 'demo-generate' },
    { id: 'costly-slow', groups: ['claude'], upstream: 'demo-messages@events=100000;gap=20' },
    { id: 'demo-embedding', groups: ['openai'] },
    { id: 'demo-*', groups: ['openai', 'claude', 'gemini'] },
  ].map((model) => ({
    ...model,
    ...(model.id.startsWith('costly') && { context: 1, prices: { input: '1000000', output: '0' } }),
  }));
  await gateway.apply({ models });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const limitedKey = async (name: string, limits: object): Promise<string> =>
  (await gateway.apply({ keys: [{ user: 'ana', group: 'claude', name, ...limits }] })).claude ?? assert.fail();
const send = (key: string, model = 'demo-messages', path = '/v1/messages', content = 'hello') =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content }] }),
  });

test('G 8: requests per minute are limited per key and reported in native and converted response headers', async () => {
  const key = await limitedKey('rpm', { rpm: 2 });
  const first = await send(key);
  assert.equal(first.headers.get('x-ratelimit-limit-requests'), '2');
  assert.equal(first.headers.get('x-ratelimit-remaining-requests'), '1');
  assert.equal(
    (await send(key, 'demo-messages', '/v1/chat/completions')).headers.get('x-ratelimit-remaining-requests'),
    '0',
  );
  const third = await send(key);
  assert.equal(third.status, 429);
  assert.ok(Number(third.headers.get('retry-after')) >= 1);
  const body = (await third.json()) as { error: { type: string; code: string } };
  assert.deepEqual([body.error.type, body.error.code], ['rate_limit_error', 'rate_limit_exceeded']);
});

test('G 8: tokens of earlier responses count against the token limit', async () => {
  const key = await limitedKey('tpm', { tpm: 10 });
  assert.equal((await send(key)).status, 200);
  assert.equal((await send(key)).status, 429);
  const reader = await limitedKey('tpm of input', { tpm: 200 });
  assert.equal((await send(reader, 'demo-messages', '/v1/messages', 'long '.repeat(1_000))).status, 200);
  assert.equal((await send(reader)).status, 429, 'more input than the limit, and little output');
});

test('G 8: concurrency is limited per key, and a client disconnect releases the slot', async () => {
  const key = await limitedKey('one', { concurrency: 1 });
  const controller = new AbortController();
  const open = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    signal: controller.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo-messages@events=100000;gap=40',
      max_tokens: 50,
      stream: true,
      messages: [{ role: 'user', content: 'hello' }],
    }),
  });
  assert.equal(open.status, 200);
  assert.equal((await send(key)).status, 429);
  sim.journal.clear();
  controller.abort();
  await until('a free slot', async () => (await send(key)).status === 200);
});

test('model lists and usage are not rate limited', async () => {
  const key = await limitedKey('lists', { rpm: 1 });
  for (let n = 0; n < 3; n++)
    assert.equal(
      (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status,
      200,
    );
});

interface ErrorResponse {
  readonly error: { readonly code: string; readonly message: string };
}
interface Usage {
  readonly total: { readonly cost: string; readonly requests: number };
  readonly limits: Record<string, unknown> & { readonly user?: Record<string, unknown> };
}
const post = (path: string, key: string, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const usageOf = async (key: string): Promise<Usage> =>
  (await fetch(`${gateway.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })).json() as Promise<Usage>;

test('G 8: the limits of a user apply to all its keys together, and headers report the tighter limit', async () => {
  const keys = await gateway.apply({
    users: [{ id: 'bea', balance: '10', rpm: 3 }],
    keys: [
      { user: 'bea', group: 'claude', rpm: 100 },
      { user: 'bea', group: 'openai' },
    ],
  });
  const [claude, openai] = [keys.claude ?? assert.fail(), keys.openai ?? assert.fail()];
  const first = await send(claude);
  assert.equal(first.headers.get('x-ratelimit-limit-requests'), '3');
  assert.equal(first.headers.get('x-ratelimit-remaining-requests'), '2');
  const count = await post('/v1/messages/count_tokens', claude, {
    model: 'demo-messages',
    messages: [{ role: 'user', content: 'x' }],
  });
  assert.equal(count.headers.get('x-ratelimit-remaining-requests'), '1', 'a token count is a request too');
  const embedded = await post('/v1/embeddings', openai, { model: 'demo-embedding', input: 'x' });
  assert.equal(embedded.status, 200);
  assert.equal(embedded.headers.get('x-ratelimit-remaining-requests'), '0', 'the other key of the same user');
  for (const key of [claude, openai]) {
    const rejected = await post('/v1/responses', key, { model: 'demo-messages', input: 'x' });
    assert.equal(rejected.status, 429);
    assert.equal(rejected.headers.get('x-ratelimit-remaining-requests'), '0');
    assert.ok(Number(rejected.headers.get('retry-after')) >= 1);
    assert.match(((await rejected.json()) as ErrorResponse).error.message, /this user .*\b3 requests per minute/i);
  }
  const socket = await new ResponsesSocketClient(gateway.url, claude).open();
  const turn = await socket.turn({ model: 'demo-messages', input: 'x' });
  assert.deepEqual([turn.status, turn.error?.code], [429, 'rate_limit_exceeded']);
  socket.socket.close();
  assert.deepEqual((await usageOf(claude)).limits, { rpm: 100, user: { rpm: 3 } });
});

test('a changed limit of a user applies at once', async () => {
  const change = (rpm: number) => gateway.apply({ users: [{ id: 'cas', balance: '10', rpm }] });
  await change(1);
  const { claude = '' } = await gateway.apply({ keys: [{ user: 'cas', group: 'claude' }] });
  assert.deepEqual([(await send(claude)).status, (await send(claude)).status], [200, 429]);
  await change(100);
  assert.equal((await send(claude)).status, 200);
});

test('G 8: a spend limit rejects before anything is sent, in every dialect, with scope and end of the period', async () => {
  const keys = await gateway.apply({
    users: [{ id: 'dan', balance: '100', spend_month: '0.99' }],
    keys: [
      { user: 'dan', group: 'openai' },
      { user: 'dan', group: 'claude', spend_day: '0.5' },
      { user: 'dan', group: 'gemini' },
    ],
  });
  sim.journal.clear();
  const message = { max_tokens: 10, messages: [{ role: 'user', content: 'x' }] };
  const begun = Date.now();
  const responses = [
    await post('/v1/messages', keys.claude ?? '', { model: 'costly-messages', ...message }),
    await post('/v1/chat/completions', keys.claude ?? '', { model: 'costly-messages', ...message }),
    await post('/v1/responses', keys.openai ?? '', { model: 'costly-responses', input: 'x' }),
    await post('/v1beta/models/costly-generate:generateContent', keys.gemini ?? '', {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    }),
  ];
  const month = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1);
  const ends = new Date(month).toISOString().replace('.000Z', 'Z');
  for (const response of responses) {
    assert.equal(response.status, 429);
    assert.equal(response.headers.get('x-should-retry'), 'false');
    const wait = Number(response.headers.get('retry-after'));
    const respondedAt = month - wait * 1_000;
    // It is rounded up to seconds.
    assert.ok(respondedAt > begun - 1_000 && respondedAt <= Date.now(), `${wait} s until the end of the month`);
    const text = await response.text();
    assert.match(text, /spend_limit_reached/);
    assert.match(text, /this user may spend 0\.99 USD per month/);
    assert.ok(text.includes(ends));
  }
  const socket = await new ResponsesSocketClient(gateway.url, keys.openai ?? '').open();
  assert.equal((await socket.turn({ model: 'costly-responses', input: 'x' })).error?.code, 'spend_limit_reached');
  socket.socket.close();
  assert.equal(sim.journal.requests.length, 0);
  assert.equal((await send(keys.claude ?? '')).status, 200, 'a model without a price is not affected');
});

test('G 8: spend counts for all keys of the user and is shown with the limits', async () => {
  const keys = await gateway.apply({
    users: [{ id: 'eva', balance: '10000', spend_day: '1000' }],
    keys: [
      { user: 'eva', group: 'claude', spend_month: '2000' },
      { user: 'eva', group: 'openai' },
    ],
  });
  assert.equal((await send(keys.claude ?? '', 'costly-messages')).status, 200);
  const usage = await until('the record', async () => {
    const now = await usageOf(keys.claude ?? '');
    return now.total.requests === 1 ? now : undefined;
  });
  assert.ok(Number(usage.total.cost) > 1);
  assert.deepEqual(usage.limits, {
    spend_month: '2000',
    spent_month: usage.total.cost,
    user: { spend_day: '1000', spent_day: usage.total.cost },
  });
  await gateway.apply({ users: [{ id: 'eva', spend_day: usage.total.cost }] });
  assert.equal((await send(keys.claude ?? '', 'costly-messages')).status, 429);
  const other = await post('/v1/responses', keys.openai ?? '', { model: 'costly-responses', input: 'x' });
  assert.equal(((await other.json()) as ErrorResponse).error.code, 'spend_limit_reached');
});

longTest('G 8: of 200 concurrent calls under a spend limit for 37, exactly 37 are admitted', async () => {
  const { claude = '' } = await gateway.apply({
    users: [{ id: 'fay', balance: '10000' }],
    keys: [{ user: 'fay', group: 'claude', spend_day: '37' }],
  });
  const controller = new AbortController();
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const response = await fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        signal: controller.signal,
        headers: { authorization: `Bearer ${claude}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'costly-slow',
          max_tokens: 1,
          stream: true,
          messages: [{ role: 'user', content: 'x' }],
        }),
      });
      return response.status;
    }),
  );
  controller.abort();
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.equal(statuses.filter((status) => status === 200).length, 37);
});
