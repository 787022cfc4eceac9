/**
 * What a wallet of five cents admits. Each request looks small and makes the provider report a large usage; many arrive at once. The
 * balance may end below zero by one such call, not by many.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBalance } from '../../src/ledger/index.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '1', output: '10', image_output: '40', per_search: '0.01' };
const PARALLEL = 40;

let gateway: TestGateway;
let upstream: Canned;
let users = 0;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway({ setup: basicSetup(upstream.url) });
  const groups = ['openai', 'claude', 'gemini'];
  await gateway.apply({ models: [{ id: 'demo-*', groups, prices: PRICES, context: 200_000 }] });
});
after(() => gateway.stop().finally(() => upstream.close()));

interface Wallet {
  readonly user: string;
  readonly keys: Readonly<Record<string, string>>;
}
async function walletWith(balance: string): Promise<Wallet> {
  const user = `user-${++users}`;
  const keys = await gateway.apply({
    users: [{ id: user, balance }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user, group })),
  });
  return { user, keys };
}

const post = (path: string, key: string | undefined, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Sends the request many times at once; returns how many were admitted and the balance once all are charged, in dollars. */
async function flood({ user, keys }: Wallet, group: string, path: string, body: object) {
  const statuses = await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      const response = await post(path, keys[group], body);
      await response.arrayBuffer();
      return response.status;
    }),
  );
  const admitted = statuses.filter((status) => status === 200).length;
  const { db } = gateway.context.database;
  const records = () => db.selectFrom('usage_records').select('id').where('user_id', '=', user).execute();
  const before = upstream.requests.length;
  await until('all charges', async () => ((await records()).length >= admitted ? true : undefined));
  assert.equal(upstream.requests.length, before);
  const { available } = await readBalance(db, user);
  return { admitted, balance: Number(available) / 1e9 };
}

const usage = (input: number, output: number, more: object = {}): object => ({
  id: `resp_${Math.random()}`,
  object: 'response',
  status: 'completed',
  output: [],
  usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  ...more,
});
const chatUsage = (input: number, output: number): object => ({
  id: 'c',
  object: 'chat.completion',
  choices: [],
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
});
const respond = (body: object) => upstream.respondWith(jsonResponse(JSON.stringify(body)));
const generated = (output: number): object => ({
  candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'x' }] } }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: output, totalTokenCount: 10 + output },
});

describe('a small request with a large charge', () => {
  test('previous_response_id: the tokens of the stored response count', async () => {
    const wallet = await walletWith('0.06');
    respond(usage(9_000, 100, { id: 'resp_long' }));
    const first = { model: 'demo-x', input: 'a', max_output_tokens: 100 };
    assert.equal((await post('/v1/responses', wallet.keys.openai, first)).status, 200);
    respond(usage(40_000, 10));
    const { admitted, balance } = await flood(wallet, 'openai', '/v1/responses', {
      ...first,
      max_output_tokens: 16,
      previous_response_id: 'resp_long',
    });
    assert.ok(admitted >= 1 && admitted <= 5, `${admitted} admitted`);
    assert.ok(balance > -0.2, `${balance}`);
  });

  test('a file by address counts as the whole context', async () => {
    const wallet = await walletWith('0.05');
    respond(usage(150_000, 10));
    const file = { type: 'input_file', file_url: 'https://example.com/book.pdf' };
    const { admitted } = await flood(wallet, 'openai', '/v1/responses', {
      model: 'demo-x',
      input: [{ role: 'user', content: [file] }],
      max_output_tokens: 16,
    });
    assert.equal(admitted, 0);
  });

  test('an image by address counts as much as one image can', async () => {
    const wallet = await walletWith('0.05');
    respond(usage(16_000, 10));
    const { admitted, balance } = await flood(wallet, 'openai', '/v1/responses', {
      model: 'demo-x',
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] }],
      max_output_tokens: 16,
    });
    assert.ok(admitted >= 1 && admitted <= 3, `${admitted} admitted`);
    assert.ok(balance > -0.016);
  });

  test('a foreign output limit means nothing', async () => {
    const wallet = await walletWith('0.05');
    respond(chatUsage(10, 4_000));
    const { admitted, balance } = await flood(wallet, 'openai', '/v1/chat/completions', {
      model: 'demo-x',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 4_000,
      max_output_tokens: 0,
    });
    assert.ok(admitted <= 1 && balance > -0.04, `${admitted} admitted, ${balance}`);
  });

  test('choices multiply the output, also without a limit', async () => {
    // Enough for one choice of the default length, not for eight.
    const wallet = await walletWith('2');
    respond(chatUsage(10, 60_000));
    const { admitted } = await flood(wallet, 'openai', '/v1/chat/completions', {
      model: 'demo-x',
      messages: [{ role: 'user', content: 'hi' }],
      n: 8,
    });
    assert.equal(admitted, 0);
  });

  test('candidates multiply the output', async () => {
    const wallet = await walletWith('0.05');
    respond(generated(8 * 500));
    const { admitted } = await flood(wallet, 'gemini', '/v1beta/models/demo-x:generateContent', {
      contents: [{ parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: 500, candidateCount: 8 },
    });
    assert.ok(admitted <= 1, `${admitted} admitted`);
  });

  test('searches are reserved and charged', async () => {
    const wallet = await walletWith('0.25');
    respond(
      usage(10, 10, {
        output: [
          { type: 'web_search_call', id: 'ws_1' },
          { type: 'web_search_call', id: 'ws_2' },
        ],
      }),
    );
    const { admitted, balance } = await flood(wallet, 'openai', '/v1/responses', {
      model: 'demo-x',
      input: 'news',
      tools: [{ type: 'web_search' }],
      max_output_tokens: 16,
    });
    assert.ok(admitted >= 2, `${admitted} admitted`);
    assert.ok(balance >= 0 && balance <= 0.25 - admitted * 0.02, `${balance}`);
  });

  test('grounding of generate-content is charged per query', async () => {
    const wallet = await walletWith('1');
    const [candidate] = (generated(10) as { candidates: object[] }).candidates;
    respond({
      ...generated(10),
      candidates: [{ ...candidate, groundingMetadata: { webSearchQueries: ['a', 'b', 'c'] } }],
    });
    const generationConfig = { maxOutputTokens: 100 };
    const body = { contents: [{ parts: [{ text: 'hi' }] }], tools: [{ googleSearch: {} }], generationConfig };
    const response = await post('/v1beta/models/demo-x:generateContent', wallet.keys.gemini, body);
    assert.equal(response.status, 200);
    const { db } = gateway.context.database;
    const record = await until('the record', () =>
      db.selectFrom('usage_records').select('nanos').where('user_id', '=', wallet.user).executeTakeFirst(),
    );
    assert.equal(record.nanos, 3n * 10_000_000n + 10n * 1_000n + 10n * 10_000n);
  });
});

describe('contradicting limits', () => {
  for (const [path, group, body, param] of [
    [
      '/v1/chat/completions',
      'openai',
      { model: 'demo-x', messages: [], max_tokens: 4_000, max_completion_tokens: 1 },
      'max_tokens',
    ],
    [
      '/v1beta/models/demo-x:generateContent',
      'gemini',
      { contents: [], generationConfig: { maxOutputTokens: 1 }, generation_config: { maxOutputTokens: 4_000 } },
      'generation_config',
    ],
    [
      '/v1beta/models/demo-x:generateContent',
      'gemini',
      { contents: [], generationConfig: { maxOutputTokens: 1, max_output_tokens: 4_000 } },
      'max_output_tokens',
    ],
  ] as const)
    test(`${param} beside another spelling is rejected by name`, async () => {
      const wallet = await walletWith('1');
      const before = upstream.requests.length;
      const response = await post(path, wallet.keys[group], body);
      assert.equal(response.status, 400);
      assert.match(await response.text(), new RegExp(`${param}: `));
      assert.equal(upstream.requests.length, before);
    });
});

test('a small wallet is not refused a small request', async () => {
  const wallet = await walletWith('0.05');
  respond(usage(400, 20));
  const image = `data:image/png;base64,${'A'.repeat(400_000)}`;
  for (const content of ['hello', [{ type: 'input_image', image_url: image }]]) {
    const body = { model: 'demo-x', input: [{ role: 'user', content }], max_output_tokens: 200 };
    assert.equal((await post('/v1/responses', wallet.keys.openai, body)).status, 200);
  }
});
