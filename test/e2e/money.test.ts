import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { type Sim, startSim } from '../../sim/index.ts';
import { available, checkLedger } from '../../src/ledger/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';

const PRICES = { input: '2', cached_input: '0.5', cache_write: '2.5', output: '10' };
const MODELS = [
  { id: 'demo-responses', groups: ['openai'], prices: PRICES },
  {
    id: 'demo-image',
    groups: ['openai'],
    prices: { input: '5', image_output: '40', per_image: { '1024x1024/high': '0.17' } },
  },
  { id: 'demo-embedding', groups: ['openai'], prices: { input: '0.02' } },
  { id: 'demo-messages', groups: ['claude'], prices: PRICES },
  { id: 'demo-generate', groups: ['gemini'], prices: PRICES },
  { id: 'demo-*', groups: ['openai', 'claude', 'gemini'], prices: PRICES },
];

let sim: Sim;
let gateway: TestGateway;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  await gateway.apply({ ...basicSetup(sim.url), models: MODELS });
});
after(async () => {
  await gateway.stop().finally(() => sim.close());
});

interface Usage {
  balance: { available: string; held: string };
  total: { requests: number; input_tokens: number; output_tokens: number; cached_input_tokens: number; cost: string };
  by_model: { model: string; requests: number }[];
}
const usageOf = async (key: string): Promise<Usage> =>
  (await fetch(`${gateway.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })).json() as Promise<Usage>;

/** Waits until the flusher has moved `requests` records for the key's user. */
async function recorded(key: string, requests: number): Promise<Usage> {
  for (let n = 0; n < 200; n++) {
    const usage = await usageOf(key);
    if (usage.total.requests >= requests) return usage;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return assert.fail(`not recorded: ${JSON.stringify(await usageOf(key))}`);
}

const userKeys = async (user: string, balance: string): Promise<Record<string, string>> =>
  gateway.apply({
    users: [{ id: user, balance }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user, group })),
  });

test('every kind of call is metered once: native, converted, streamed, images, embeddings, a socket turn', async () => {
  const own = await userKeys('meter', '10');
  const [r, m, g] = [own.openai ?? '', own.claude ?? '', own.gemini ?? ''];
  await anthropic(gateway.url, m).messages.create({
    model: 'demo-messages',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
  });
  await anthropic(gateway.url, m)
    .messages.stream({ model: 'demo-messages', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] })
    .finalMessage();
  await anthropic(gateway.url, r).messages.create({
    model: 'demo-responses',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
  });
  await openai(gateway.url, g).responses.stream({ model: 'demo-generate', input: 'hi' }).finalResponse();
  await openai(gateway.url, r).embeddings.create({ model: 'demo-embedding', input: 'hi' });
  await openai(gateway.url, r).images.generate({
    model: 'demo-image',
    prompt: 'a lamp',
    size: '1024x1024',
    quality: 'high',
  });
  await google(gateway.url, g).models.generateContent({ model: 'demo-generate', contents: 'hi' });
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${m}` },
  });
  await new Promise<void>((resolve) => {
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'response.create', model: 'demo-messages', input: 'hi' })),
    );
    socket.on('message', (data) => String(data).includes('response.completed') && resolve());
  });
  socket.close();
  const usage = await recorded(r, 8);
  assert.equal(usage.total.requests, 8);
  assert.ok(usage.total.input_tokens > 0 && usage.total.output_tokens > 0);
  assert.ok(Number(usage.total.cost) > 0.17, 'the image alone costs that');
  assert.equal(Number(usage.balance.available).toFixed(9), (10 - Number(usage.total.cost)).toFixed(9));
});

test('a call costs what its usage says at its price, cached input once at its own', async () => {
  const own = await userKeys('exact', '10');
  const body = {
    model: 'demo-messages',
    max_tokens: 50,
    system: 'x'.repeat(4000),
    messages: [{ role: 'user' as const, content: 'same beginning' }],
  };
  const client = anthropic(gateway.url, own.claude ?? '');
  const answers = [await client.messages.create(body), await client.messages.create(body)];
  const cost =
    answers.reduce(
      (sum, { usage }) =>
        sum +
        usage.input_tokens * 2 +
        (usage.cache_read_input_tokens ?? 0) * 0.5 +
        (usage.cache_creation_input_tokens ?? 0) * 2.5 +
        usage.output_tokens * 10,
      0,
    ) / 1e6;
  const usage = await recorded(own.claude ?? '', 2);
  assert.equal(Number(usage.total.cost).toFixed(9), cost.toFixed(9));
  assert.ok(usage.total.cached_input_tokens > 0);
});

test('a failed call, a count and a list cost nothing', async () => {
  const own = await userKeys('frugal', '10');
  const client = anthropic(gateway.url, own.claude ?? '');
  await assert.rejects(
    client.messages.create({
      model: 'demo-messages@status=500',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x' }],
    }),
  );
  await assert.rejects(
    client.messages.create({
      model: 'demo-messages@status=400',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x' }],
    }),
  );
  await client.messages.countTokens({ model: 'demo-messages', messages: [{ role: 'user', content: 'x' }] });
  await client.models.list();
  await client.messages.create({ model: 'demo-messages', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] });
  assert.equal((await recorded(own.claude ?? '', 1)).total.requests, 1);
});

test('an empty balance is refused with 402 in every dialect, before anything is sent, and still sees its usage', async () => {
  const own = await gateway.apply({
    users: [{ id: 'broke' }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user: 'broke', group })),
  });
  sim.journal.clear();
  const post = (path: string, key: string, body: object) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const message = { max_tokens: 10, messages: [{ role: 'user', content: 'x' }] };
  const answers = [
    await post('/v1/messages', own.claude ?? '', { model: 'demo-messages', ...message }),
    await post('/v1/messages', own.openai ?? '', { model: 'demo-responses', ...message }),
    await post('/v1/responses', own.openai ?? '', { model: 'demo-responses', input: 'x' }),
    await post('/v1beta/models/demo-generate:generateContent', own.gemini ?? '', {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    }),
  ];
  for (const answer of answers) {
    assert.equal(answer.status, 402);
    assert.equal(answer.headers.get('x-should-retry'), 'false');
    assert.match(await answer.text(), /insufficient_balance/);
  }
  assert.equal(sim.journal.requests.length, 0);
  assert.equal((await usageOf(own.claude ?? '')).balance.available, '0');
});

test('a client that leaves in the middle of a stream pays for about what it got', async () => {
  const own = await userKeys('leaver', '10');
  for (const group of ['claude', 'gemini']) {
    const model = group === 'claude' ? 'demo-messages' : 'demo-generate';
    const stream = anthropic(gateway.url, own[group] ?? '').messages.stream({
      model: `${model}@events=100000;gap=2`,
      max_tokens: 1000,
      messages: [{ role: 'user', content: 'hello' }],
    });
    let seen = 0;
    for await (const event of stream) if (event.type === 'content_block_delta' && ++seen > 20) break;
    stream.abort();
  }
  const usage = await recorded(own.claude ?? '', 2);
  assert.ok(usage.total.output_tokens >= 2);
  const line = gateway.log.find((entry) => entry.msg === 'call.done' && entry.user === 'leaver');
  assert.equal(line?.end, 'left');
});

test('200 calls at once on a balance for exactly 37 are 37 answers and no more', async () => {
  // One output token of bound and two bytes of body per token, each at a price of one dollar a token-million: a known bound per call.
  await gateway.apply({
    models: [
      {
        id: 'demo-flat',
        groups: ['claude'],
        upstream: 'demo-messages',
        context: 1,
        prices: { input: '1000000', output: '0' },
      },
    ],
  });
  const own = await gateway.apply({
    users: [{ id: 'rush', balance: '37' }],
    keys: [{ user: 'rush', group: 'claude' }],
  });
  const answers = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const response = await fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${own.claude}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-flat', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }),
      });
      await response.arrayBuffer();
      return response.status;
    }),
  );
  assert.ok(answers.every((status) => status === 200 || status === 402));
  assert.ok(answers.filter((status) => status === 200).length <= 37);
  await checkLedger(gateway.ground.database.db);
  assert.ok((await available(gateway.ground.database.db, 'rush')) !== undefined);
});
