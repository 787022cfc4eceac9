/**
 * Requests that name a second model: it is permitted, priced and bounded like the model of the request, forwarded by the account's name for it,
 * and charged by the rows in which the provider reports usage for each model.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBalance } from '../../src/ledger/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, jsonResponse, type Script, sseResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const CHEAP = { input: '1', output: '5' };
const DEAR = { input: '15', output: '75', image_output: '40', per_request: '0.5' };

let gateway: TestGateway;
let upstream: Canned;
let users = 0;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway({ setup: { ...basicSetup(upstream.url), models: [] }, env: { ADMIN_TOKEN } });
  const groups = ['openai', 'claude', 'gemini'];
  await gateway.apply({
    models: [
      { id: 'cheap', groups, prices: CHEAP, context: 200_000 },
      { id: 'dear', groups, upstream: 'up-dear', prices: DEAR, context: 200_000 },
      { id: 'gift', groups, free: false },
    ],
  });
});
after(() => gateway?.stop().finally(() => upstream.close()));

async function keyFor(group: string, balance: string, models?: string[]): Promise<{ user: string; key: string }> {
  const user = `user-${++users}`;
  const key = `the-key-of-the-named-${user}`;
  await gateway.apply({ users: [{ id: user, balance }], keys: [{ user, group, key, ...(models && { models }) }] });
  return { user, key };
}

const PATHS: Readonly<Record<string, string>> = {
  claude: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  gemini: '/v1beta/models/cheap:generateContent',
};
const post = (path: string, key: string, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const message = (more: object) => ({
  ...{ model: 'cheap', max_tokens: 16, messages: [{ role: 'user', content: 'hi' }] },
  ...more,
});
const ADVISER = { type: 'advisor_20260301', name: 'advisor', max_uses: 1, max_tokens: 100 };

/** Members that name a model, with the API that has them. */
const PLACES: readonly [api: string, group: string, param: string, body: (model: string) => object][] = [
  ['claude', 'claude', 'tools[0].model', (model) => message({ tools: [{ ...ADVISER, model }] })],
  ['claude', 'claude', 'fallbacks[0].model', (model) => message({ fallbacks: [{ model }] })],
  ['claude', 'claude', 'fallbacks', (model) => message({ fallbacks: model })],
  ['chat', 'openai', 'models[1]', (model) => message({ models: ['cheap', model] })],
  ['chat', 'openai', 'fallback_models[0]', (model) => message({ fallback_models: [model] })],
  ['chat', 'openai', 'safety_model', (model) => message({ safety_model: model })],
  [
    'responses',
    'openai',
    'models[0]',
    (model) => ({ model: 'cheap', input: 'hi', max_output_tokens: 16, models: [model] }),
  ],
  [
    'responses',
    'openai',
    'tools[0].model',
    (model) => ({ model: 'cheap', input: 'hi', max_output_tokens: 16, tools: [{ type: 'image_generation', model }] }),
  ],
  [
    'responses',
    'openai',
    'tools[0].svg.model',
    (model) => ({
      ...{ model: 'cheap', input: 'hi', max_output_tokens: 16 },
      tools: [{ type: 'image_generation', svg: { model } }],
    }),
  ],
  [
    'gemini',
    'gemini',
    'generationConfig.routingConfig.manualMode.modelName',
    (model) => ({
      contents: [{ parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: 16, routingConfig: { manualMode: { modelName: model } } },
    }),
  ],
];

describe('a second model', () => {
  for (const [api, group, param, body] of PLACES)
    test(`${api}, ${param}: is refused by name where the key, the group or the price does not allow it`, async () => {
      const path = PATHS[api] ?? '';
      const before = upstream.requests.length;
      const limited = await keyFor(group, '100', ['cheap']);
      const open = await keyFor(group, '100');
      for (const [key, model, status] of [
        [limited.key, 'dear', 403],
        [open.key, 'unheard-of', 404],
        [open.key, 'gift', 503],
      ] as const) {
        const response = await post(path, key, body(model));
        const text = await response.text();
        assert.deepEqual([response.status, text.includes(`${param}: `)], [status, true], text);
      }
      assert.equal(upstream.requests.length, before);
    });

  for (const [api, group, param, body] of PLACES)
    test(`${api}, ${param}: is forwarded by the account's name, and reserved at its own price`, async () => {
      const path = PATHS[api] ?? '';
      upstream.respondWith(jsonResponse('{"candidates":[]}'));
      const open = await keyFor(group, '100');
      upstream.requests.splice(0);
      assert.equal((await post(path, open.key, body('dear'))).status, 200);
      const [sent] = upstream.requests;
      assert.deepEqual(JSON.parse(sent?.body.toString() ?? ''), body('up-dear'));
      // Enough for the cheap model alone.
      const small = await keyFor(group, '0.4');
      assert.equal((await post(path, small.key, body('dear'))).status, 402);
    });
});

const iteration = (model: string | null, input: number, output: number, type = 'message') => ({
  ...{ type, model, input_tokens: input, output_tokens: output },
  ...{ cache_read_input_tokens: 0, cache_creation_input_tokens: 0, cache_creation: null },
});
const messageWith = (usage: object, model = 'cheap') => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: 'end_turn' },
  usage,
});

async function charged(user: string): Promise<{ nanos: bigint; usage: Record<string, unknown>; request: string }> {
  const { db } = gateway.context.database;
  const row = await until('the record', () =>
    db.selectFrom('usage_records').selectAll().where('user_id', '=', user).executeTakeFirst(),
  );
  return { nanos: row.nanos, usage: (row.usage ?? {}) as Record<string, unknown>, request: row.request_id };
}

const CHAT = { id: 'c', object: 'chat.completion', choices: [] };
const CHAT_USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

/** Replies, and what they cost in nano-dollars. */
const CHARGES: readonly [about: string, api: string, group: string, body: object, reply: object, nanos: number][] = [
  [
    'an adviser by its own row',
    'claude',
    'claude',
    message({ tools: [{ ...ADVISER, model: 'dear' }] }),
    messageWith({
      ...{ input_tokens: 200, output_tokens: 20 },
      iterations: [
        iteration('cheap', 100, 10),
        iteration('up-dear', 300, 30, 'advisor_message'),
        iteration(null, 200, 20),
      ],
    }),
    300 * 1_000 + 30 * 5_000 + 300 * 15_000 + 30 * 75_000,
  ],
  [
    'a fallback of the provider, also under a dated name',
    'claude',
    'claude',
    message({ fallbacks: [{ model: 'dear' }] }),
    messageWith(
      {
        ...{ input_tokens: 100, output_tokens: 10 },
        iterations: [iteration('cheap', 100, 0), iteration('up-dear-20260101', 100, 10, 'fallback_message')],
      },
      'up-dear-20260101',
    ),
    100 * 1_000 + 100 * 15_000 + 10 * 75_000,
  ],
  [
    'a row of a model that nobody named, at the price of the request',
    'claude',
    'claude',
    message({}),
    messageWith(
      { ...{ input_tokens: 100, output_tokens: 10 }, iterations: [iteration('another', 100, 10)] },
      'another',
    ),
    100 * 1_000 + 10 * 5_000,
  ],
  [
    'a router by the model that its reply names',
    'chat',
    'openai',
    message({ models: ['dear'] }),
    { ...CHAT, model: 'up-dear', usage: CHAT_USAGE },
    100 * 15_000 + 10 * 75_000 + 500_000_000,
  ],
  [
    'a router that served the model of the request',
    'chat',
    'openai',
    message({ models: ['dear'] }),
    { ...CHAT, model: 'cheap', usage: CHAT_USAGE },
    100 * 1_000 + 10 * 5_000,
  ],
  [
    'a router whose reply names none of the models, by the dearest',
    'chat',
    'openai',
    message({ models: ['dear'] }),
    { ...CHAT, model: 'surprise', usage: CHAT_USAGE },
    100 * 15_000 + 10 * 75_000 + 500_000_000,
  ],
  [
    'a reply of another model than the request named',
    'chat',
    'openai',
    message({}),
    { ...CHAT, model: 'up-dear', usage: CHAT_USAGE },
    100 * 1_000 + 10 * 5_000,
  ],
  [
    'pictures of a tool at the price of its model',
    'responses',
    'openai',
    { model: 'cheap', input: 'a lamp', max_output_tokens: 16, tools: [{ type: 'image_generation', model: 'dear' }] },
    {
      ...{ id: 'resp_1', object: 'response', status: 'completed', output: [], model: 'cheap' },
      usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
      tool_usage: { image_gen: { input_tokens: 20, output_tokens: 1_000, total_tokens: 1_020 } },
    },
    100 * 1_000 + 10 * 5_000 + 20 * 15_000 + 1_000 * 40_000,
  ],
];

describe('the charge of a call with two models', () => {
  for (const [about, api, group, body, reply, nanos] of CHARGES)
    test(about, async () => {
      const { user, key } = await keyFor(group, '100');
      upstream.respondWith(jsonResponse(JSON.stringify(reply)));
      const response = await post(PATHS[api] ?? '', key, body);
      assert.equal(response.status, 200, await response.text());
      const record = await charged(user);
      assert.equal(record.nanos, BigInt(nanos));
    });

  test('a stream is charged by its rows too', async () => {
    const { user, key } = await keyFor('claude', '100');
    const events = [
      {
        type: 'message_start',
        message: { ...messageWith({ input_tokens: 100, output_tokens: 1 }), stop_reason: null },
      },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: {
          output_tokens: 10,
          iterations: [iteration('cheap', 100, 10), iteration('up-dear', 300, 30, 'advisor_message')],
        },
      },
      { type: 'message_stop' },
    ];
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    });
    const body = message({ stream: true, tools: [{ ...ADVISER, model: 'dear' }] });
    await (await post('/v1/messages', key, body)).text();
    assert.equal((await charged(user)).nanos, BigInt(100 * 1_000 + 10 * 5_000 + 300 * 15_000 + 30 * 75_000));
  });

  test('thirty calls at once do not overspend a small wallet', async () => {
    for (const [, api, group, body, reply] of CHARGES) {
      const { user, key } = await keyFor(group, '0.6');
      upstream.respondWith(jsonResponse(JSON.stringify(reply)));
      const statuses = await Promise.all(
        Array.from({ length: 30 }, async () => {
          const response = await post(PATHS[api] ?? '', key, body);
          await response.arrayBuffer();
          return response.status;
        }),
      );
      const admitted = statuses.filter((status) => status === 200).length;
      const { db } = gateway.context.database;
      await until('all charges', async () => {
        const rows = await db.selectFrom('usage_records').select('id').where('user_id', '=', user).execute();
        return rows.length >= admitted ? true : undefined;
      });
      assert.ok((await readBalance(db, user)).available >= 0n, `${admitted} admitted`);
    }
  });
});

describe('what an operator sees of it', () => {
  const logged = (request: string): Promise<unknown> =>
    until('the request in the log', async () => {
      const { status, body } = await adminApi(() => gateway.url)<object>('GET', `/requests/${request}`);
      return status === 200 ? body : undefined;
    });

  test('the log shows the model that a reply names, and the arithmetic of both prices', async () => {
    const { user, key } = await keyFor('claude', '100');
    const [, , , body, reply, nanos] = CHARGES[0] ?? assert.fail();
    upstream.respondWith(jsonResponse(JSON.stringify({ ...reply, model: 'another' })));
    assert.equal((await post('/v1/messages', key, body)).status, 200);
    const { request } = await charged(user);
    const { usage, pricing } = (await logged(request)) as {
      usage: { replyModel: string };
      pricing: { charge: { subtotal: string; charge: string } };
    };
    assert.equal(usage.replyModel, 'another');
    assert.equal(Number(pricing.charge.subtotal) * 1e9, nanos);
    assert.equal(Number(pricing.charge.charge) * 1e9, nanos);
  });
});

/** A request in the caller's dialect on a group of another one, and how that provider replies under another model's name. */
const event = (one: { type: string }) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`;
const ANOTHER = messageWith({ input_tokens: 100, output_tokens: 10 }, 'another');
const UNARY = jsonResponse(JSON.stringify({ ...ANOTHER, content: [{ type: 'text', text: 'hi' }] }));
const OPENED = event({ type: 'message_start', message: { ...ANOTHER, stop_reason: null } } as { type: string });
const ENDED = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 10 } },
  { type: 'message_stop' },
].map(event);
const CONVERTED: readonly [about: string, path: string, body: object, reply: Script][] = [
  ['a unary reply', '/v1/chat/completions', message({}), UNARY],
  ['a stream', '/v1/chat/completions', message({ stream: true }), sseResponse(OPENED, ...ENDED)],
  [
    'a background response',
    '/v1/responses',
    { model: 'cheap', input: 'hi', max_output_tokens: 16, background: true },
    sseResponse(OPENED, ...ENDED),
  ],
];

for (const [about, path, body, reply] of CONVERTED)
  test(`a converted call, ${about}: the model that the reply names is on record, and the request is charged`, async () => {
    const { user, key } = await keyFor('claude', '100');
    upstream.respondWith(reply);
    const response = await post(path, key, body);
    assert.equal(response.status, 200, await response.text());
    const { usage, nanos } = await charged(user);
    assert.deepEqual([usage.replyModel, nanos], ['another', BigInt(100 * 1_000 + 10 * 5_000)]);
  });

test("members that identify the operator's organisation are not forwarded", async () => {
  const { key } = await keyFor('claude', '100');
  upstream.respondWith(jsonResponse(JSON.stringify(messageWith({ input_tokens: 1, output_tokens: 1 }))));
  for (const more of [
    { fallback_credit_token: 'secret' },
    { user_profile_id: 'secret', workspace_id: 'secret' },
    { fallback_credit_token: { token: 'secret' }, stream: false },
  ]) {
    upstream.requests.splice(0);
    assert.equal((await post('/v1/messages', key, message(more))).status, 200);
    const sent = upstream.requests[0]?.body.toString() ?? '';
    assert.ok(!sent.includes('secret') && JSON.parse(sent).model === 'cheap', sent);
  }
});
