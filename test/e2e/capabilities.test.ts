/** What reaches a provider depends on the model: settings that its family rejects are not sent, and its errors name no cause that is not there. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let upstream: Canned;
let keys: Record<string, string>;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway();
  const groups = { openai: 'responses', claude: 'messages', gemini: 'generate-content' };
  keys = await gateway.apply({
    groups: Object.entries(groups).map(([id, style]) => ({ id, style })),
    accounts: Object.entries(groups).map(([group, style]) => ({
      id: `${group}-1`,
      group,
      base_url: style === 'responses' ? `${upstream.url}/v1` : upstream.url,
      api_key: 'sk-upstream',
      // Chat requests are converted.
      ...(style === 'responses' && { features: ['responses'] }),
    })),
    models: [{ id: '*', groups: Object.keys(groups) }],
    users: [{ id: 'ana', balance: '100' }],
    keys: Object.keys(groups).map((group) => ({ user: 'ana', group })),
  });
});
after(() => gateway.stop().finally(() => upstream.close()));

const post = (path: string, group: string, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const REPLIES: Readonly<Record<string, object>> = {
  gemini: {
    responseId: 'g1',
    candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [{ text: 'Hi.' }] } }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
  },
  claude: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hi.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 5 },
  },
  openai: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hi.', annotations: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
  },
};

/** The upstream body of a chat request, and the fields that its response names as dropped. */
async function sentFor(group: string, model: string, more: object = {}) {
  upstream.respondWith(jsonResponse(JSON.stringify(REPLIES[group])));
  const body = { model, messages: [{ role: 'user', content: 'hi' }], ...more };
  const response = await post('/v1/chat/completions', group, body);
  assert.equal(response.status, 200, await response.text());
  return { sent: JSON.parse(String(upstream.last.body)), dropped: response.headers.get('x-gateway-dropped') };
}

test('a chat request without an effort asks only models that think by default for thoughts', async () => {
  for (const model of [
    'gemini-2.5-flash-lite',
    'gemini-2.5-flash-image',
    'gemini-2.0-flash',
    'gemini-3-pro-image',
    'new',
  ])
    assert.equal((await sentFor('gemini', model)).sent.generationConfig, undefined, model);
  const thoughts = { thinkingConfig: { includeThoughts: true } };
  for (const model of ['gemini-2.5-pro', 'gemini-3.1-pro-preview'])
    assert.deepEqual((await sentFor('gemini', model)).sent.generationConfig, thoughts, model);
});

test('a responses request for a summary alone is named as dropped where the model does not think by default', async () => {
  upstream.respondWith(jsonResponse(JSON.stringify(REPLIES.gemini)));
  const body = { model: 'gemini-2.5-flash-lite', input: 'hi', reasoning: { summary: 'auto' } };
  const response = await post('/v1/responses', 'gemini', body);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-gateway-dropped'), 'reasoning.summary');
  assert.equal(JSON.parse(String(upstream.last.body)).generationConfig, undefined);
});

test('a request without thinking gets the lowest level that a generate-content model accepts', async () => {
  const level = async (model: string, reasoning_effort: string) =>
    (await sentFor('gemini', model, { reasoning_effort })).sent.generationConfig.thinkingConfig;
  for (const effort of ['none', 'minimal'])
    for (const [model, expected] of [
      ['gemini-3-pro-preview', 'LOW'],
      ['gemini-3.1-pro-preview', 'LOW'],
      ['gemini-3.8-flash', 'LOW'],
      ['gemini-3-flash-preview', 'MINIMAL'],
      ['gemini-3.5-flash-lite', 'MINIMAL'],
    ] as const)
      assert.equal((await level(model, effort)).thinkingLevel, expected, `${model} ${effort}`);
  assert.deepEqual(await level('gemini-2.5-pro', 'none'), { thinkingBudget: 128 });
});

test('older messages models get no thinking and no limit above their own', async () => {
  const { sent, dropped } = await sentFor('claude', 'claude-3-5-sonnet-20241022', {
    reasoning_effort: 'high',
    temperature: 0.5,
  });
  assert.deepEqual(
    [sent.max_tokens, sent.thinking, sent.output_config, sent.temperature],
    [8_192, undefined, undefined, 0.5],
  );
  assert.equal(dropped, 'reasoning_effort');
  assert.equal((await sentFor('claude', 'claude-3-haiku-20240307', { max_tokens: 9_000 })).sent.max_tokens, 4_096);
});

test('chat-tuned and older responses models are not asked for encrypted reasoning', async () => {
  for (const model of ['gpt-5-chat-latest', 'gpt-5.2-chat-latest', 'gpt-4-turbo', 'gpt-3.5-turbo', 'gpt-4o']) {
    const { sent } = await sentFor('openai', model);
    assert.deepEqual([sent.include, sent.reasoning], [undefined, undefined], model);
  }
  assert.deepEqual((await sentFor('openai', 'o3')).sent.include, ['reasoning.encrypted_content']);
});

test('an error about encrypted content reaches a messages client that sent none as the provider words it', async () => {
  for (const message of [
    'Encrypted content is not supported with this model.',
    'The encrypted content for item rs_1 could not be verified.',
  ]) {
    upstream.respondWith(
      jsonResponse(JSON.stringify({ error: { message, type: 'invalid_request_error', code: null } }), 400),
    );
    const body = { model: 'gpt-4o', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
    const response = await post('/v1/messages', 'openai', body);
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    assert.deepEqual([error.type, error.message], ['invalid_request_error', message]);
  }
});
