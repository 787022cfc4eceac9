/** Service tiers that a request chooses: charged by their own price, or rejected when they have none. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { someOf } from '../support/long-test.ts';
import { until } from '../support/wait.ts';

let provider: Canned;
let gateway: TestGateway;
const keys: Record<string, string> = {};

const GROUPS = ['openai', 'claude', 'gemini'];

before(async () => {
  provider = await startCanned();
  gateway = await startGateway();
  const base = { input: '1', output: '10' };
  Object.assign(
    keys,
    await gateway.apply({
      ...basicSetup(provider.url),
      models: [
        { id: 'plain', groups: GROUPS, prices: base },
        {
          id: 'tiered',
          groups: GROUPS,
          prices: {
            ...base,
            tiers: { priority: { multiplier: '2' }, flex: { input: '0.5', output: '5' }, fast: { multiplier: '6' } },
          },
        },
        { id: 'gift', groups: GROUPS, free: true },
      ],
    }),
  );
});
after(async () => {
  await gateway?.stop();
  await provider?.close();
});

interface Kind {
  readonly group: string;
  path(model: string): string;
  body(model: string): object;
  reply(tier?: string): object;
}
const messages = [{ role: 'user', content: 'hi' }];
/** 1000 input and 100 output tokens: 2,000,000 nano-dollars at the standard price. */
const STANDARD = 2_000_000n;
const KINDS: Readonly<Record<string, Kind>> = {
  chat: {
    group: 'openai',
    path: () => '/v1/chat/completions',
    body: (model) => ({ model, messages }),
    reply: (service_tier) => ({
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      ...(service_tier && { service_tier }),
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }],
      usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    }),
  },
  responses: {
    group: 'openai',
    path: () => '/v1/responses',
    body: (model) => ({ model, input: 'hi' }),
    reply: (service_tier) => ({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [],
      ...(service_tier && { service_tier }),
      usage: { input_tokens: 1000, output_tokens: 100, total_tokens: 1100 },
    }),
  },
  messages: {
    group: 'claude',
    path: () => '/v1/messages',
    body: (model) => ({ model, max_tokens: 100, messages }),
    reply: (service_tier = 'standard') => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1000, output_tokens: 100, service_tier },
    }),
  },
  generate: {
    group: 'gemini',
    path: (model) => `/v1beta/models/${model}:generateContent`,
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
    reply: (tier) => ({
      candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 1000,
        candidatesTokenCount: 100,
        totalTokenCount: 1100,
        ...(tier && { serviceTier: tier }),
      },
    }),
  },
};

async function send(kind: Kind, model: string, more: object, group = kind.group): Promise<Response> {
  return fetch(gateway.url + kind.path(model), {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...kind.body(model), ...more }),
  });
}

/** What the wallet pays for the call. */
async function chargeOf(response: Response): Promise<bigint> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const id = response.headers.get('x-request-id') ?? '';
  const row = await until('the record', () =>
    gateway.context.database.db
      .selectFrom('usage_records')
      .select('nanos')
      .where('request_id', '=', id)
      .executeTakeFirst()
      .then((found) => found),
  );
  return row.nanos;
}

for (const [dialect, kind] of someOf(Object.entries(KINDS), 1)) {
  const field = dialect === 'generate' ? 'serviceTier' : 'service_tier';

  test(`a tier without a price is rejected by the name of its field, and nothing is sent (${dialect})`, async () => {
    provider.requests.length = 0;
    const given = [{ [field]: 'priority' }, { [field]: 'flex' }, { [field]: 'turbo' }, { speed: 'fast' }];
    for (const more of given) {
      const response = await send(kind, 'plain', more);
      const text = await response.text();
      assert.equal(response.status, 400, text);
      assert.ok(text.includes(`${Object.keys(more)[0]}: this tier has no price`), text);
    }
    assert.equal(provider.requests.length, 0);
  });

  test(`the standard tier needs no price, and a free model no tier price (${dialect})`, async () => {
    provider.respondWith(jsonResponse(JSON.stringify(kind.reply())));
    for (const tier of ['auto', 'default', 'standard', null])
      assert.equal(await chargeOf(await send(kind, 'plain', { [field]: tier })), STANDARD);
    assert.equal(await chargeOf(await send(kind, 'gift', { [field]: 'priority' })), 0n);
  });

  test(`a chosen tier is charged by its price, unless the provider reports another one (${dialect})`, async () => {
    const charge = async (reported: string | undefined, more: object) => {
      provider.respondWith(jsonResponse(JSON.stringify(kind.reply(reported))));
      return chargeOf(await send(kind, 'tiered', more));
    };
    assert.equal(await charge('priority', { [field]: 'priority' }), STANDARD * 2n);
    assert.equal(await charge('flex', { [field]: 'flex' }), STANDARD / 2n);
    if (dialect !== 'messages') assert.equal(await charge(undefined, { [field]: 'priority' }), STANDARD * 2n);
    assert.equal(await charge(dialect === 'generate' ? 'standard' : 'default', { [field]: 'priority' }), STANDARD);
    assert.equal(await charge('priority', {}), STANDARD * 2n, 'the account upgraded the call');
  });
}

test('speed: fast is charged as fast, whatever service tier the provider reports', async () => {
  const kind = KINDS.messages ?? assert.fail();
  provider.respondWith(jsonResponse(JSON.stringify(kind.reply('standard'))));
  assert.equal(await chargeOf(await send(kind, 'tiered', { speed: 'fast' })), STANDARD * 6n);
  const both = await send(kind, 'tiered', { speed: 'fast', service_tier: 'priority' });
  assert.equal(both.status, 400);
  assert.match(await both.text(), /speed: service_tier chooses a tier already/);
});

test('a native stream is charged by the tier that it reports', async () => {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', ...more })}\n\n`;
  provider.respondWith(
    sseResponse(
      chunk({ service_tier: 'default', choices: [{ index: 0, delta: { content: 'hello' } }] }),
      chunk({ service_tier: 'default', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      chunk({ service_tier: 'priority', choices: [], usage: { prompt_tokens: 1000, completion_tokens: 100 } }),
      'data: [DONE]\n\n',
    ),
  );
  const more = { stream: true, stream_options: { include_usage: true }, service_tier: 'priority' };
  assert.equal(await chargeOf(await send(KINDS.chat ?? assert.fail(), 'tiered', more)), STANDARD * 2n);
});

test('a converted call is charged by the tier where the provider can be asked for it, and rejected without a price', async () => {
  const chat = KINDS.chat ?? assert.fail();
  provider.respondWith(jsonResponse(JSON.stringify(KINDS.generate?.reply('priority'))));
  const response = await send(chat, 'tiered', { service_tier: 'priority' }, 'gemini');
  assert.equal(await chargeOf(response), STANDARD * 2n);
  assert.equal(JSON.parse(provider.last.body.toString()).serviceTier, 'priority');
  const rejected = await send(chat, 'plain', { service_tier: 'flex' }, 'gemini');
  assert.equal(rejected.status, 400);
  assert.match(await rejected.text(), /service_tier: this tier has no price/);
  // A messages provider cannot be asked for flex; the field is dropped and the standard price holds.
  provider.respondWith(jsonResponse(JSON.stringify(KINDS.messages?.reply())));
  assert.equal(await chargeOf(await send(chat, 'plain', { service_tier: 'flex' }, 'claude')), STANDARD);
});
