/**
 * What a wallet of five cents admits. Each request looks small and makes the provider report a large usage; many arrive at once. The
 * balance may end below zero by one such call, not by many.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBalance } from '../../src/ledger/index.ts';
import { TEXT_ONLY } from '../../src/rules/index.ts';
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
  // Stated, so that no reply of a test changes what the next one reserves.
  await gateway.apply({
    models: [{ id: 'demo-*', groups, prices: PRICES, context: 200_000, capabilities: TEXT_ONLY }],
  });
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
      max_tool_calls: 2,
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

/** Requests that a wallet does not cover, and the members that the rejection names, with the API to send them to. */
const TOO_EXPENSIVE: readonly [about: string, path: string, group: string, body: object, params: string[]][] = [
  ['no output limit', '/v1/responses', 'openai', { model: 'demo-x', input: 'hi' }, ['max_output_tokens']],
  [
    'a large output limit',
    '/v1/chat/completions',
    'openai',
    { model: 'demo-x', messages: [{ role: 'user', content: 'hi' }], max_tokens: 30_000 },
    ['max_tokens'],
  ],
  [
    'many choices',
    '/v1/chat/completions',
    'openai',
    { model: 'demo-x', messages: [{ role: 'user', content: 'hi' }], max_completion_tokens: 400, n: 50 },
    ['n'],
  ],
  [
    'choices that are discarded',
    '/v1/chat/completions',
    'openai',
    { model: 'demo-x', messages: [{ role: 'user', content: 'hi' }], max_completion_tokens: 16, best_of: 2_000 },
    ['best_of'],
  ],
  [
    'candidates without a limit',
    '/v1beta/models/demo-x:generateContent',
    'gemini',
    { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { candidateCount: 4 } },
    ['generationConfig.maxOutputTokens'],
  ],
  [
    'searches without a limit',
    '/v1/messages',
    'claude',
    {
      model: 'demo-x',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 100,
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    },
    ['tools[0].max_uses'],
  ],
  [
    'pages without a limit',
    '/v1/messages',
    'claude',
    {
      model: 'demo-x',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 100,
      tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 3 }],
    },
    ['tools[0].max_content_tokens'],
  ],
  [
    'searches and a long output',
    '/v1/responses',
    'openai',
    { model: 'demo-x', input: 'hi', tools: [{ type: 'web_search' }] },
    ['max_output_tokens', 'max_tool_calls'],
  ],
];

describe('the rejection of a request that the balance does not cover', () => {
  for (const [about, path, group, body, params] of TOO_EXPENSIVE)
    test(`${about}: names ${params.join(' and ')} with values that are admitted, and hardly larger ones are not`, async () => {
      respond(path.includes('generate') ? generated(1) : path.includes('messages') ? usage(1, 1) : chatUsage(1, 1));
      const wallet = await walletWith('0.1');
      const rejected = await post(path, wallet.keys[group], body);
      const text = await rejected.text();
      assert.equal(rejected.status, 402, text);
      const changes = changesIn(text);
      assert.deepEqual([...changes.keys()], params, text);
      const larger = new Map(changes);
      const last = params.at(-1) ?? '';
      larger.set(last, Math.ceil((changes.get(last) ?? 0) * 1.1));
      assert.equal((await post(path, wallet.keys[group], changed(body, larger))).status, 402, text);
      assert.equal((await post(path, wallet.keys[group], changed(body, changes))).status, 200, text);
    });

  test('says what makes a model read its whole context, where no value helps', async () => {
    const wallet = await walletWith('0.1');
    const tools = [{ type: 'mcp', server_label: 'a', server_url: 'https://example.com' }];
    const body = { model: 'demo-x', input: 'hi', max_output_tokens: 16 };
    const withTool = await post('/v1/responses', wallet.keys.openai, { ...body, tools });
    assert.match(await withTool.text(), /tools\[0\] can make the model read its whole context/);
    const withPrompt = await post('/v1/responses', wallet.keys.openai, { ...body, prompt: { id: 'pmpt_1' } });
    assert.match(await withPrompt.text(), /prompt can make the model read its whole context/);
    const long = await post('/v1/responses', wallet.keys.openai, { ...body, input: 'a'.repeat(150_000) });
    assert.match(await long.text(), /its input counts as up to 150\d{3} tokens/);
  });

  test('a background response gets the same advice', async () => {
    const wallet = await walletWith('0.1');
    const body = { model: 'demo-x', input: 'hi', background: true };
    const rejected = await post('/v1/responses', wallet.keys.openai, body);
    assert.equal(rejected.status, 402);
    assert.deepEqual([...changesIn(await rejected.text()).keys()], ['max_output_tokens']);
  });
});

const changesIn = (text: string): Map<string, number> =>
  new Map([...text.matchAll(/([\w[\].]+): (\d+)(?= and|\.)/g)].map(([, param = '', value]) => [param, Number(value)]));

/** The body with members set: `tools[0].max_uses`, `generationConfig.maxOutputTokens`. */
function changed(body: object, values: ReadonlyMap<string, number>): object {
  const copy = structuredClone(body) as Record<string, unknown>;
  for (const [param, value] of values) {
    const path = param.split(/[.[\]]+/).filter((name) => name !== '');
    const last = path.pop() ?? '';
    const parent = path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], copy);
    (parent as Record<string, unknown>)[last] = value;
  }
  return copy;
}

describe('members of the wrong type', () => {
  for (const [path, group, body, param] of [
    ['/v1/chat/completions', 'openai', { model: 'demo-x', messages: [], n: '8' }, 'n'],
    ['/v1/chat/completions', 'openai', { model: 'demo-x', messages: [], best_of: [8] }, 'best_of'],
    ['/v1/chat/completions', 'openai', { model: 'demo-x', messages: [], max_tokens: '8' }, 'max_tokens'],
    ['/v1/messages', 'claude', { model: 'demo-x', messages: [], max_tokens: true }, 'max_tokens'],
    ['/v1/responses', 'openai', { model: 'demo-x', input: 'a', max_output_tokens: {} }, 'max_output_tokens'],
    [
      '/v1/responses',
      'openai',
      { model: 'demo-x', input: 'a', tools: [{ type: 'web_search' }], max_tool_calls: '1' },
      'max_tool_calls',
    ],
    [
      '/v1/messages',
      'claude',
      {
        model: 'demo-x',
        messages: [],
        max_tokens: 8,
        tools: [{ type: 'web_fetch_20250910', max_content_tokens: '8' }],
      },
      'tools[0].max_content_tokens',
    ],
    [
      '/v1beta/models/demo-x:generateContent',
      'gemini',
      { contents: [], generation_config: { max_output_tokens: '8' } },
      'generation_config.max_output_tokens',
    ],
    [
      '/v1beta/models/demo-x:generateContent',
      'gemini',
      { contents: [], generationConfig: { candidateCount: '8' } },
      'generationConfig.candidateCount',
    ],
  ] as const)
    test(`${param} is rejected by name, and null is the same as absent`, async () => {
      const wallet = await walletWith('20');
      const before = upstream.requests.length;
      const response = await post(path, wallet.keys[group], body);
      assert.equal(response.status, 400);
      assert.ok((await response.text()).includes(`${param}: expected a number, got a`));
      assert.equal(upstream.requests.length, before);
      const json = JSON.parse(JSON.stringify(body, (name, value) => (param.endsWith(name) && name ? null : value)));
      assert.equal((await post(path, wallet.keys[group], json)).status, 200);
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
