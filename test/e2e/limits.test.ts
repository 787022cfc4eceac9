import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';
import { SocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ setup: basicSetup(sim.url) });
  // A dollar for each token that it reads, and it reads one at most: a dollar is set aside for every call.
  const models = [
    { id: 'dear-messages', groups: ['claude'], upstream: 'demo-messages' },
    { id: 'dear-responses', groups: ['openai'], upstream: 'demo-responses' },
    { id: 'dear-generate', groups: ['gemini'], upstream: 'demo-generate' },
    { id: 'dear-slow', groups: ['claude'], upstream: 'demo-messages@events=100000;gap=20' },
    { id: 'demo-embedding', groups: ['openai'] },
    { id: 'demo-*', groups: ['openai', 'claude', 'gemini'] },
  ].map((model) => ({ ...model, ...(model.id.startsWith('dear') && { context: 1, prices: { input: '1000000' } }) }));
  await gateway.apply({ models });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const limited = async (name: string, limits: object): Promise<string> =>
  (await gateway.apply({ keys: [{ user: 'ana', group: 'claude', name, ...limits }] })).claude ?? assert.fail();
const ask = (key: string, model = 'demo-messages', path = '/v1/messages') =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] }),
  });

test('a key has its requests per minute and is told what is left, in native and converted answers', async () => {
  const key = await limited('rpm', { rpm: 2 });
  const first = await ask(key);
  assert.equal(first.headers.get('x-ratelimit-limit-requests'), '2');
  assert.equal(first.headers.get('x-ratelimit-remaining-requests'), '1');
  assert.equal(
    (await ask(key, 'demo-messages', '/v1/chat/completions')).headers.get('x-ratelimit-remaining-requests'),
    '0',
  );
  const third = await ask(key);
  assert.equal(third.status, 429);
  assert.ok(Number(third.headers.get('retry-after')) >= 1);
  const body = (await third.json()) as { error: { type: string; code: string } };
  assert.deepEqual([body.error.type, body.error.code], ['rate_limit_error', 'rate_limit_exceeded']);
});

test('tokens of earlier answers count', async () => {
  const key = await limited('tpm', { tpm: 10 });
  assert.equal((await ask(key)).status, 200);
  assert.equal((await ask(key)).status, 429);
});

test('no more calls at once than the key may have, and a place is free again when a client leaves', async () => {
  const key = await limited('one', { concurrency: 1 });
  const leave = new AbortController();
  const open = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    signal: leave.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo-messages@events=100000;gap=5',
      max_tokens: 50,
      stream: true,
      messages: [{ role: 'user', content: 'hello' }],
    }),
  });
  assert.equal(open.status, 200);
  assert.equal((await ask(key)).status, 429);
  sim.journal.clear();
  leave.abort();
  for (let status = 429; status !== 200; ) status = (await ask(key)).status;
});

test('lists and usage are not limited', async () => {
  const key = await limited('lists', { rpm: 1 });
  for (let n = 0; n < 3; n++)
    assert.equal(
      (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status,
      200,
    );
});

interface Told {
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

test('the limits of a user hold for all its keys together, and the headers tell of the tighter one', async () => {
  const keys = await gateway.apply({
    users: [{ id: 'bea', balance: '10', rpm: 3 }],
    keys: [
      { user: 'bea', group: 'claude', rpm: 100 },
      { user: 'bea', group: 'openai' },
    ],
  });
  const [claude, openai] = [keys.claude ?? assert.fail(), keys.openai ?? assert.fail()];
  const first = await ask(claude);
  assert.equal(first.headers.get('x-ratelimit-limit-requests'), '3');
  assert.equal(first.headers.get('x-ratelimit-remaining-requests'), '2');
  const count = await post('/v1/messages/count_tokens', claude, {
    model: 'demo-messages',
    messages: [{ role: 'user', content: 'x' }],
  });
  assert.equal(count.headers.get('x-ratelimit-remaining-requests'), '1', 'counting is a request too');
  const embedded = await post('/v1/embeddings', openai, { model: 'demo-embedding', input: 'x' });
  assert.equal(embedded.status, 200);
  assert.equal(embedded.headers.get('x-ratelimit-remaining-requests'), '0', 'of the other key of the same user');
  for (const key of [claude, openai]) {
    const refused = await post('/v1/responses', key, { model: 'demo-messages', input: 'x' });
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('x-ratelimit-remaining-requests'), '0');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.match(((await refused.json()) as Told).error.message, /This user's limit of 3 requests/);
  }
  const socket = await new SocketClient(gateway.url, claude).open();
  const turn = await socket.turn({ model: 'demo-messages', input: 'x' });
  assert.deepEqual([turn.status, turn.error?.code], [429, 'rate_limit_exceeded']);
  socket.socket.close();
  assert.deepEqual((await usageOf(claude)).limits, { rpm: 100, user: { rpm: 3 } });
});

test('a changed limit of a user is in force at once', async () => {
  const change = (rpm: number) => gateway.apply({ users: [{ id: 'cas', balance: '10', rpm }] });
  await change(1);
  const { claude = '' } = await gateway.apply({ keys: [{ user: 'cas', group: 'claude' }] });
  assert.deepEqual([(await ask(claude)).status, (await ask(claude)).status], [200, 429]);
  await change(100);
  assert.equal((await ask(claude)).status, 200);
});

test('a spend limit refuses before anything is sent, in every dialect, and says whose it is and when it ends', async () => {
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
  const answers = [
    await post('/v1/messages', keys.claude ?? '', { model: 'dear-messages', ...message }),
    await post('/v1/chat/completions', keys.claude ?? '', { model: 'dear-messages', ...message }),
    await post('/v1/responses', keys.openai ?? '', { model: 'dear-responses', input: 'x' }),
    await post('/v1beta/models/dear-generate:generateContent', keys.gemini ?? '', {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    }),
  ];
  const month = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1);
  const ends = new Date(month).toISOString().replace('.000Z', 'Z');
  for (const answer of answers) {
    assert.equal(answer.status, 429);
    assert.equal(answer.headers.get('x-should-retry'), 'false');
    const wait = Number(answer.headers.get('retry-after'));
    assert.ok(Math.abs(wait - (month - Date.now()) / 1000) < 60, `${wait} s are not the rest of the month`);
    const text = await answer.text();
    assert.match(text, /spend_limit_reached/);
    assert.match(text, /This user may spend 0\.99 USD a month/);
    assert.ok(text.includes(ends));
  }
  const socket = await new SocketClient(gateway.url, keys.openai ?? '').open();
  assert.equal((await socket.turn({ model: 'dear-responses', input: 'x' })).error?.code, 'spend_limit_reached');
  socket.socket.close();
  assert.equal(sim.journal.requests.length, 0);
  assert.equal((await ask(keys.claude ?? '')).status, 200, 'what has no price is not in its way');
});

test('what was spent counts for all keys of the user, and is shown with the limits', async () => {
  const keys = await gateway.apply({
    users: [{ id: 'eva', balance: '10000', spend_day: '1000' }],
    keys: [
      { user: 'eva', group: 'claude', spend_month: '2000' },
      { user: 'eva', group: 'openai' },
    ],
  });
  assert.equal((await ask(keys.claude ?? '', 'dear-messages')).status, 200);
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
  assert.equal((await ask(keys.claude ?? '', 'dear-messages')).status, 429);
  const other = await post('/v1/responses', keys.openai ?? '', { model: 'dear-responses', input: 'x' });
  assert.equal(((await other.json()) as Told).error.code, 'spend_limit_reached');
});

test('of 200 calls at once under a limit for 37, exactly 37 are admitted', async () => {
  const { claude = '' } = await gateway.apply({
    users: [{ id: 'fay', balance: '10000' }],
    keys: [{ user: 'fay', group: 'claude', spend_day: '37' }],
  });
  const leave = new AbortController();
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const response = await fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        signal: leave.signal,
        headers: { authorization: `Bearer ${claude}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'dear-slow',
          max_tokens: 1,
          stream: true,
          messages: [{ role: 'user', content: 'x' }],
        }),
      });
      return response.status;
    }),
  );
  leave.abort();
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.equal(statuses.filter((status) => status === 200).length, 37);
});
