/** Native requests that name objects of the provider account, which users share: items, containers, files, vector stores, conversations. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { errorCode } from '../support/error-body.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

const OBJECTS = { features: ['responses', 'chat', 'images', 'embeddings', 'objects'] };

let sim: Sim;
let upstream: Canned;
let gateway: TestGateway;
let ana: Record<string, string>;
let ben: Record<string, string>;

before(async () => {
  sim = await startSim();
  upstream = await startCanned();
  gateway = await startGateway();
  const groups = ['shared', 'own', 'relayed'];
  ana = await gateway.apply({
    groups: [
      ...groups.map((id) => ({ id, style: 'responses' })),
      { id: 'claude', style: 'messages' },
      { id: 'gemini', style: 'generate-content' },
      { id: 'gemini-own', style: 'generate-content' },
    ],
    accounts: [
      { id: 's1', group: 'shared', base_url: `${upstream.url}/one/v1`, api_key: 'sk-1' },
      { id: 's2', group: 'shared', base_url: `${upstream.url}/two/v1`, api_key: 'sk-2' },
      { id: 'o1', group: 'own', base_url: `${upstream.url}/plain/v1`, api_key: 'sk-3', priority: 1 },
      { id: 'o2', group: 'own', base_url: `${upstream.url}/objects/v1`, api_key: 'sk-4', ...OBJECTS },
      { id: 'r1', group: 'relayed', base_url: `${sim.url}/v1`, api_key: 'sk-5' },
      { id: 'c1', group: 'claude', base_url: upstream.url, api_key: 'sk-6' },
      { id: 'c2', group: 'claude', base_url: `${upstream.url}/two`, api_key: 'sk-9' },
      { id: 'g1', group: 'gemini', base_url: upstream.url, api_key: 'sk-7' },
      { id: 'g2', group: 'gemini-own', base_url: upstream.url, api_key: 'sk-8', features: ['generate', 'objects'] },
    ],
    models: [
      { id: 'demo-*', groups: [...groups, 'claude'] },
      { id: 'offered', groups: ['gemini'], upstream: 'tunedModels/offered' },
      { id: '*', groups: ['gemini', 'gemini-own'] },
    ],
    users: [
      { id: 'ana', balance: '100' },
      { id: 'ben', balance: '100' },
    ],
    keys: [...groups, 'claude', 'gemini', 'gemini-own'].map((group) => ({ user: 'ana', group })),
  });
  ben = await gateway.apply({
    keys: [...groups.map((group) => ({ user: 'ben', group })), { user: 'ben', group: 'claude', store: false }],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
  await sim?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.respondWith(jsonResponse('{"id":"resp_x","output":[],"usage":{"input_tokens":1,"output_tokens":1}}'));
});

const post = (key: string | undefined, body: object, path = '/v1/responses'): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-responses', ...body }),
  });

const reference = (id: string) => ({
  input: [
    { type: 'item_reference', id },
    { role: 'user', content: 'go on' },
  ],
});

for (const [about, response] of [
  [
    'a unary response',
    jsonResponse(
      '{"id":"resp_unary","output":[{"type":"code_interpreter_call","id":"ci_unary","container_id":"cntr_unary"}],"usage":{"input_tokens":1,"output_tokens":1}}',
    ),
  ],
  [
    'a large unary response',
    jsonResponse(
      `{"id":"resp_large","x":"${'x'.repeat(20_000)}","output":[{"id":"ci_large","container_id":"cntr_large"}],"usage":{"input_tokens":1,"output_tokens":1}}`,
    ),
  ],
  [
    'a stream',
    sseResponse(
      'data: {"type":"response.created","response":{"id":"resp_stream"}}\n\n',
      'data: {"type":"response.completed","response":{"id":"resp_stream","output":[{"id":"ci_stream","container_id":"cntr_stream"}],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
    ),
  ],
] as const)
  test(`items and containers of ${about} can be named by its user, on its account, and by no other`, async () => {
    upstream.respondWith(response);
    const first = await post(ana.shared, { input: 'hi' });
    const [, name] = /resp_(\w+)/.exec(await first.text()) ?? [];
    const account = upstream.last.target;
    upstream.respondWith(jsonResponse('{"id":"resp_x","output":[],"usage":{"input_tokens":1,"output_tokens":1}}'));
    for (const body of [
      reference(`ci_${name}`),
      { input: [{ id: `ci_${name}` }] },
      { input: 'x', tools: [{ type: 'code_interpreter', container: `cntr_${name}` }] },
    ]) {
      for (let n = 0; n < 3; n += 1) {
        assert.equal((await post(ana.shared, body)).status, 200);
        assert.equal(upstream.last.target, account, 'the account that holds the response');
        assert.deepEqual(JSON.parse(upstream.last.body.toString()), { model: 'demo-responses', ...body });
      }
      const sent = upstream.requests.length;
      const rejected = await post(ben.shared, body);
      assert.equal(errorCode('openai', rejected.status, await rejected.json()), 'invalid_request');
      assert.equal(rejected.status, 400);
      assert.equal(upstream.requests.length, sent, 'nothing is sent');
    }
    // Another replica knows the items from the database.
    await until('the row', async () =>
      gateway.context.database.db
        .selectFrom('stored_responses')
        .select('id')
        .where('id', '=', `resp_${name}`)
        .executeTakeFirst(),
    );
    const other = await startGateway({ database: gateway.database });
    try {
      const answer = await fetch(`${other.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ana.shared}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-responses', ...reference(`ci_${name}`) }),
      });
      assert.equal(answer.status, 200);
    } finally {
      await other.stop();
    }
  });

const messageWith = (name: string, text: string) =>
  JSON.stringify({
    ...{ id: `msg_${name}`, type: 'message', role: 'assistant', content: [{ type: 'text', text }] },
    container: { id: `container_${name}`, expires_at: '2030-01-01T00:00:00Z' },
    usage: { input_tokens: 1, output_tokens: 1 },
  });
for (const [about, response] of [
  ['small', jsonResponse(messageWith('small', 'hi'))],
  ['large', jsonResponse(messageWith('large', 'x'.repeat(20_000)))],
  [
    'stream',
    sseResponse(
      'data: {"type":"message_start","message":{"id":"msg_stream","usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
      'data: {"type":"message_delta","delta":{"stop_reason":"end_turn","container":{"id":"container_stream"}},"usage":{"output_tokens":1}}\n\n',
      'data: {"type":"message_stop"}\n\n',
    ),
  ],
] as const)
  test(`the container of a messages reply (${about}) belongs to its user, whatever the key stores`, async () => {
    const turn = { max_tokens: 1, messages: [{ role: 'user', content: 'go on' }] };
    for (const [owner, other] of [
      [ana, ben],
      [ben, ana],
    ]) {
      // What both users have was made by the first one.
      const container = owner === ana ? `container_${about}` : `container_${about}_b`;
      upstream.respondWith(owner === ana ? response : jsonResponse(messageWith(`${about}_b`, 'hi')));
      const made = await post(owner?.claude, turn, '/v1/messages');
      assert.equal(made.status, 200, await made.text());
      const account = upstream.last.target;
      upstream.respondWith(jsonResponse('{"id":"msg_y","usage":{"input_tokens":1,"output_tokens":1}}'));
      for (const named of [container, { id: container, skills: [] }]) {
        const body = { ...turn, container: named };
        for (let n = 0; n < 3; n += 1) {
          assert.equal((await post(owner?.claude, body, '/v1/messages')).status, 200);
          assert.equal(upstream.last.target, account, 'the account that holds the container');
          assert.deepEqual(JSON.parse(upstream.last.body.toString()), { model: 'demo-responses', ...body });
        }
        const sent = upstream.requests.length;
        const refused = await post(other?.claude, body, '/v1/messages');
        const missing = await post(other?.claude, { ...turn, container: 'container_unknown' }, '/v1/messages');
        const text = await refused.text();
        assert.deepEqual([refused.status, missing.status], [400, 400]);
        assert.equal(errorCode('messages', 400, JSON.parse(text)), 'invalid_request');
        assert.match(text, /Container with id/);
        assert.equal(upstream.requests.length, sent, 'nothing is sent');
      }
    }
  });

const FILE = { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] };

for (const [param, body, path] of [
  ['input', FILE, '/v1/responses'],
  ['tools', { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, '/v1/responses'],
  ['conversation', { input: 'x', conversation: 'conv_1' }, '/v1/responses'],
  [
    'messages',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
    '/v1/chat/completions',
  ],
  ['images', { prompt: 'brighter', images: [{ file_id: 'file-1' }] }, '/v1/images/edits'],
  ['mask', { prompt: 'x', images: [{ image_url: 'data:x' }], mask: { file_id: 'file-1' } }, '/v1/images/edits'],
] as const) {
  test(`objects of a shared account in ${param} are 400, and pass on an account with the feature objects`, async () => {
    const rejected = await post(ana.shared, body, path);
    const error = (await rejected.json()) as { error: { param: string; message: string } };
    assert.equal(errorCode('openai', rejected.status, error), 'unsupported_parameter');
    assert.deepEqual([rejected.status, error.error.param], [400, param]);
    assert.equal(upstream.requests.length, 0);
    const passed = await post(ana.own, body, path);
    assert.equal(passed.status, 200);
    assert.match(upstream.last.target, /^\/objects\//);
    assert.deepEqual(JSON.parse(upstream.last.body.toString()), { model: 'demo-responses', ...body });
  });
}

test('files of a shared account in native messages are 400', async () => {
  const content = [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }];
  const rejected = await post(ana.claude, { max_tokens: 1, messages: [{ role: 'user', content }] }, '/v1/messages');
  assert.equal(errorCode('messages', rejected.status, await rejected.json()), 'unsupported_parameter');
  assert.equal(upstream.requests.length, 0);
});

test('a WebSocket turn that is relayed to the provider cannot name objects of a shared account', async () => {
  const client = await new ResponsesSocketClient(gateway.url, ana.relayed ?? '').open();
  const file = await client.turn({ model: 'demo-responses', ...FILE });
  assert.deepEqual([file.status, file.error?.code], [400, 'unsupported_parameter']);
  const item = await client.turn({ model: 'demo-responses', ...reference('msg_of_another_user') });
  assert.deepEqual([item.status, item.error?.code], [400, 'invalid_request']);
  assert.equal((await client.turn({ model: 'demo-responses', input: 'hi' })).type, 'response.completed');
  client.socket.close();
});

test('a file beside previous_response_id needs the feature on the account that holds the response', async () => {
  const keys = await gateway.apply({
    groups: [{ id: 'mixed', style: 'responses' }],
    accounts: [
      { id: 'm1', group: 'mixed', base_url: `${upstream.url}/plain/v1`, api_key: 'sk-7', priority: -1 },
      { id: 'm2', group: 'mixed', base_url: `${upstream.url}/objects/v1`, api_key: 'sk-8', ...OBJECTS },
    ],
    models: [{ id: 'demo-*', groups: ['mixed'] }],
    keys: [{ user: 'ana', group: 'mixed' }],
  });
  upstream.respondWith(jsonResponse('{"id":"resp_plain","output":[],"usage":{"input_tokens":1,"output_tokens":1}}'));
  assert.equal((await post(keys.mixed, { input: 'hi' })).status, 200);
  assert.match(upstream.requests[0]?.target ?? '', /^\/plain\//);
  const response = await post(keys.mixed, {
    previous_response_id: 'resp_plain',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }],
  });
  assert.equal(response.status, 400);
  assert.equal(errorCode('openai', 400, await response.json()), 'unsupported_parameter');
  assert.equal(upstream.requests.length, 1);
});

const contents = [{ role: 'user', parts: [{ text: 'Hello!' }] }];
const generate = (group: 'gemini' | 'gemini-own', body: object, model = 'demo-generate') =>
  post(
    ana[group],
    { contents, ...body, model: undefined },
    `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
  );

test('objects of a generate-content account are refused, unless an account is trusted with them', async () => {
  upstream.respondWith(jsonResponse('{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}'));
  const file = { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/of-ben' } };
  for (const [body, model, field] of [
    [{ cachedContent: 'cachedContents/of-ben' }, 'demo-generate', 'cachedContent'],
    [{ contents: [{ role: 'user', parts: [file] }] }, 'demo-generate', 'contents'],
    [{}, 'tunedModels/of-ben', 'model'],
  ] as const) {
    upstream.requests.length = 0;
    const refused = await generate('gemini', body, model);
    // One that a caller may have made is missing; the others are refused whoever made them.
    const isMissing = field === 'cachedContent';
    assert.equal(refused.status, isMissing ? 404 : 400, field);
    assert.match(await refused.text(), isMissing ? /No cached content/ : new RegExp(`${field}: files, caches`));
    assert.equal(upstream.requests.length, 0, 'nothing is sent');
    assert.equal((await generate('gemini-own', body, model)).status, 200, field);
  }
  assert.equal((await generate('gemini', {}, 'offered')).status, 200, 'a tuned model that the operator lists');
});
