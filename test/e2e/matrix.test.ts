/**
 * The matrix of G 4.1 over HTTP: what each endpoint does with a key of each group.
 * `EXPECTED` is written out by hand, so that a change of the endpoint table fails here.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import {
  ENDPOINTS,
  type EndpointRow,
  type INFERENCE_ENDPOINTS,
  OPERATIONS,
  STYLES,
  type Style,
  VIDEO_ENDPOINTS,
  type VideoRow,
} from '../../src/rules/index.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

type TextOperation = keyof typeof INFERENCE_ENDPOINTS;
/** `native`, `own` (no provider is called), `unsupported` (404), or the conversion as in `x-gateway-converted`. */
type Expected = 'native' | 'own' | 'unsupported' | `${string}->${string}`;

const onlyResponses = { responses: 'native', messages: 'unsupported', 'generate-content': 'unsupported' } as const;
const onlyGenerate = { responses: 'unsupported', messages: 'unsupported', 'generate-content': 'native' } as const;
const onlyGenerateOwn = { ...onlyGenerate, 'generate-content': 'own' } as const;
const everywhere = { responses: 'own', messages: 'own', 'generate-content': 'own' } as const;
const nowhere = { ...onlyResponses, responses: 'unsupported' } as const;
const stored = { responses: 'native', messages: 'own', 'generate-content': 'own' } as const;
const responses = {
  responses: 'native',
  messages: 'responses->messages',
  'generate-content': 'responses->generate',
} as const;

const EXPECTED: Readonly<Record<TextOperation, Readonly<Record<Style, Expected>>>> = {
  'messages.create': {
    responses: 'messages->responses',
    messages: 'native',
    'generate-content': 'messages->generate',
  },
  'messages.count': { responses: 'unsupported', messages: 'native', 'generate-content': 'messages->generate' },
  'chat.create': { responses: 'native', messages: 'chat->messages', 'generate-content': 'chat->generate' },
  'responses.create': responses,
  'responses.socket': responses,
  'responses.inputTokens': responses,
  'responses.compact': responses,
  'responses.get': stored,
  'responses.delete': stored,
  'responses.cancel': stored,
  'responses.inputItems': stored,
  // No account of these groups lists the feature.
  'search.create': nowhere,
  'embeddings.create': onlyResponses,
  'images.generate': onlyResponses,
  'images.edit': onlyResponses,
  'models.list': everywhere,
  'models.get': everywhere,
  'files.create': everywhere,
  'files.list': everywhere,
  'files.get': everywhere,
  'files.content': everywhere,
  'files.delete': everywhere,
  'googleFiles.upload': everywhere,
  'googleFiles.list': everywhere,
  'googleFiles.get': everywhere,
  'googleFiles.content': everywhere,
  'googleFiles.delete': everywhere,
  'batches.create': everywhere,
  'batches.list': everywhere,
  'batches.get': everywhere,
  'batches.cancel': everywhere,
  'messageBatches.create': everywhere,
  'messageBatches.list': everywhere,
  'messageBatches.get': everywhere,
  'messageBatches.cancel': everywhere,
  'messageBatches.results': everywhere,
  'messageBatches.delete': everywhere,
  'conversations.create': everywhere,
  'conversations.get': everywhere,
  'conversations.update': everywhere,
  'conversations.delete': everywhere,
  'conversations.addItems': everywhere,
  'conversations.items': everywhere,
  'conversations.item': everywhere,
  'conversations.removeItem': everywhere,
  'usage.get': everywhere,
  'usage.request': everywhere,
  'billing.subscription': everywhere,
  'billing.usage': everywhere,
  'generate.models': onlyGenerateOwn,
  'generate.model': onlyGenerateOwn,
  'generate.create': onlyGenerate,
  'generate.stream': onlyGenerate,
  'generate.count': onlyGenerate,
  'interactions.create': onlyGenerate,
  'interactions.get': onlyGenerate,
  'interactions.delete': onlyGenerate,
  'interactions.cancel': onlyGenerate,
  'containers.create': nowhere,
  'containers.list': { ...onlyResponses, responses: 'own' },
  'containers.get': onlyResponses,
  'containers.delete': onlyResponses,
  'containers.files': onlyResponses,
  'containers.file': onlyResponses,
  'containers.content': onlyResponses,
  'caches.create': onlyGenerate,
  'caches.list': onlyGenerateOwn,
  'caches.get': onlyGenerate,
  'caches.update': onlyGenerate,
  'caches.delete': onlyGenerate,
  'generate.embed': onlyGenerate,
  'generate.batchEmbed': onlyGenerate,
};

/** Every group offers it by name, so that the models endpoints know it. */
const MODEL = 'demo-x';
const MESSAGES = '[{"role":"user","content":"hi"}]';
const CONTENTS = '{ "contents": [{"parts":[{"text":"hi"}]}] }';
/** Spacing and number formats that no serializer writes: they show that native bodies are forwarded byte for byte. */
const BODIES: Partial<Record<TextOperation, string>> = {
  'messages.create': `{ "model":"${MODEL}", "max_tokens":5e1,"messages" : ${MESSAGES} }`,
  'messages.count': `{ "model":"${MODEL}","messages" : ${MESSAGES} }`,
  'chat.create': `{ "model":"${MODEL}","messages" : ${MESSAGES} }`,
  'responses.create': `{ "model":"${MODEL}", "input" :"hi" }`,
  'responses.inputTokens': `{ "model":"${MODEL}", "input" :"hi" }`,
  'responses.compact': `{ "model":"${MODEL}", "input" :"hi" }`,
  'responses.cancel': '{ }',
  'search.create': `{ "model":"${MODEL}", "commands" :{} }`,
  'embeddings.create': '{ "model":"demo-embedding", "input" :"hi" }',
  'images.generate': '{ "model":"demo-image", "prompt" :"a lamp" }',
  'images.edit': [
    '--frontier\r\ncontent-disposition: form-data; name="model"\r\n\r\ndemo-image',
    '--frontier\r\ncontent-disposition: form-data; name="prompt"\r\n\r\na lamp',
    '--frontier\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n\x89PNG\r\n\x1a\n',
    '--frontier--\r\n',
  ].join('\r\n'),
  'files.create': [
    '--frontier\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data',
    '--frontier\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\nhello',
    '--frontier--\r\n',
  ].join('\r\n'),
  'conversations.create': '{ "items":[{"id":"msg_dg1","type":"message","role":"user","content":"hi"}] }',
  'conversations.update': '{ "metadata":{} }',
  'conversations.addItems': '{ "items":[{"type":"message","role":"user","content":"hi"}] }',
  'messageBatches.create': `{ "requests": [{"custom_id":"a","params":{"model":"${MODEL}","max_tokens":50,"messages":${MESSAGES}}}] }`,
  'generate.create': CONTENTS,
  'generate.stream': CONTENTS,
  'generate.count': CONTENTS,
  'interactions.create': `{ "model":"${MODEL}", "input" :"hi" }`,
  'interactions.cancel': '{ }',
  'caches.create': `{ "model":"models/${MODEL}", "contents" :[{"parts":[{"text":"hi"}]}] }`,
  'caches.update': '{ "ttl" :"4000s" }',
  'generate.embed': '{ "content": {"parts":[{"text":"hi"}]} }',
  'generate.batchEmbed': `{ "requests": [{"model":"models/${MODEL}" ,"content":{"parts":[{"text":"hi"}]}}] }`,
};

const GROUP: Readonly<Record<Style, string>> = {
  responses: 'openai',
  messages: 'claude',
  'generate-content': 'gemini',
};
/** A responses-style group whose account has no chat endpoint. */
const WITHOUT_CHAT = 'plain';
/** The path of a converted request at the simulated provider. */
const UPSTREAM_PATH: Readonly<Record<string, RegExp>> = {
  responses: /^\/v1\/responses$/,
  messages: /^\/v1\/messages(?:\/count_tokens)?$/,
  generate: /^\/v1beta\/models\/demo-x:\w+$/,
};

let sim: Sim;
let gateway: TestGateway;
const keys: Record<string, string> = {};
const keyOf = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const setup = basicSetup(sim.url) as { models: object[] };
  const models = [{ id: MODEL, groups: Object.values(GROUP) }, ...setup.models];
  Object.assign(keys, await gateway.apply({ ...setup, models }));
  const withoutChat = { group: WITHOUT_CHAT, base_url: `${sim.url}/v1`, api_key: 'sk-plain', features: ['responses'] };
  Object.assign(
    keys,
    await gateway.apply({
      groups: [{ id: WITHOUT_CHAT, style: 'responses' }],
      accounts: [{ id: 'plain1', ...withoutChat }],
      models: [{ id: 'demo-*', groups: [WITHOUT_CHAT] }],
      keys: [{ user: 'ana', group: WITHOUT_CHAT }],
    }),
  );
  const { text } = await send('files.create', '/v1/files', keyOf('openai'));
  BODIES['batches.create'] =
    `{ "input_file_id":"${JSON.parse(text).id}", "endpoint":"/v1/responses", "completion_window":"24h" }`;
});
after(async () => {
  await gateway.stop();
  await sim.close();
});
beforeEach(() => sim.journal.clear());

interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One request with a valid body; path parameters are replaced by the model or by `id`. */
async function send(
  operation: keyof typeof ENDPOINTS,
  path: string,
  key?: string,
  id = 'resp_unknown',
): Promise<Exchange> {
  const row: EndpointRow = ENDPOINTS[operation];
  const { content } = row.body;
  const type = content.startsWith('multipart') ? 'multipart/form-data; boundary=frontier' : 'application/json';
  const response = await fetch(gateway.url + fillPath(path, id), {
    method: row.method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(content !== 'none' && { 'content-type': type }),
      ...(content === 'bytes' && { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' }),
    },
    ...(content !== 'none' && { body: Buffer.from(BODIES[operation as TextOperation] ?? '{}', 'latin1') }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const fillPath = (path: string, id: string): string =>
  path.replaceAll(/\{\w+\}/g, (name) => (name === '{model}' ? MODEL : name === '{item_id}' ? 'msg_dg1' : id));

const codeOf = (row: EndpointRow, { status, text }: Exchange): string =>
  errorCode(row.errorFormat, status, JSON.parse(text));

/** The id of a new stored response, or of a call, for endpoints that need one. */
async function storedId(path: string, key: string): Promise<string | undefined> {
  if (path.includes('{request_id}'))
    return (await send('models.list', '/v1/models', key)).headers.get('x-request-id') ?? undefined;
  if (path.includes('{container_id}')) {
    await gateway.context.database.db
      .insertInto('stored_responses')
      .values({ id: 'resp_c', user_id: 'ana', account_id: 'oa1', item_ids: ['cntr_1'], expires_at: new Date(8e14) })
      .onConflict((known) => known.doNothing())
      .execute();
    return 'cntr_1';
  }
  if (path.includes('{file_id}')) return JSON.parse((await send('files.create', '/v1/files', key)).text).id;
  if (path.includes('{conversation_id}'))
    return JSON.parse((await send('conversations.create', '/v1/conversations', key)).text).id;
  if (path.includes('{batch_id}')) {
    const isMessages = path.startsWith('/v1/messages');
    const operation = isMessages ? 'messageBatches.create' : 'batches.create';
    return JSON.parse((await send(operation, ENDPOINTS[operation].path, key)).text).id;
  }
  if (path.includes('{cache_id}')) {
    const { text } = await send('caches.create', '/v1beta/cachedContents', key);
    sim.journal.clear();
    return JSON.parse(text).name.replace('cachedContents/', '');
  }
  if (!path.includes('{response_id}')) return undefined;
  const { status, text } = path.includes('/interactions/')
    ? await send('interactions.create', '/v1beta/interactions', key)
    : await send('responses.create', '/v1/responses', key);
  assert.equal(status, 200, text);
  sim.journal.clear();
  return JSON.parse(text).id;
}

for (const operation of OPERATIONS) {
  const row: EndpointRow = ENDPOINTS[operation];
  for (const path of pathsOf(row)) {
    test(`G 5 r1: ${row.method} ${path} without a key returns 401 in the error format of the path`, async () => {
      const exchange = await send(operation, path);
      assert.equal(exchange.status, 401);
      assert.equal(codeOf(row, exchange), 'invalid_api_key');
      assert.match(exchange.headers.get('x-request-id') ?? '', /^req_/);
    });
  }
}

for (const row of Object.values<VideoRow>(VIDEO_ENDPOINTS)) {
  if (row.status !== 'planned') continue;
  test(`${row.doc}: ${row.method} ${row.path} is planned and returns 501 not_implemented`, async () => {
    const operation = OPERATIONS.find((one) => ENDPOINTS[one] === row) ?? assert.fail('no operation');
    const exchange = await send(operation, row.path, keyOf('openai'));
    assert.equal(exchange.status, 501);
    assert.equal(codeOf(row, exchange), 'not_implemented');
  });
}

for (const operation of Object.keys(EXPECTED) as TextOperation[]) {
  if (operation === 'responses.socket') continue;
  const row: EndpointRow = ENDPOINTS[operation];
  for (const path of pathsOf(row)) {
    for (const style of STYLES) {
      const expected = EXPECTED[operation][style];
      test(`G 0, G 1 r1, G 4.1, G 5 r4, G 7 r2: ${row.method} ${path} with a ${style} key is ${describeCell(expected)}`, () =>
        assertCell(operation, path, GROUP[style], expected));
    }
  }
}

for (const path of pathsOf(ENDPOINTS['chat.create'])) {
  test(`G 4.1: POST ${path} with a responses key is converted when no account has a chat endpoint`, () =>
    assertCell('chat.create', path, WITHOUT_CHAT, 'chat->responses'));
}

for (const path of pathsOf(ENDPOINTS['responses.socket'])) {
  for (const style of STYLES) {
    const expected = EXPECTED['responses.socket'][style];
    test(`G 4.10: WebSocket ${path} with a ${style} key is ${describeCell(expected)}, and 426 without an upgrade`, async () => {
      const plain = await send('responses.socket', path, keyOf(GROUP[style]));
      assert.equal(plain.status, 426);
      const client = await new ResponsesSocketClient(gateway.url, keyOf(GROUP[style]), path).open();
      const end = await client.turn({ model: MODEL, input: 'hi' });
      assert.equal(end.type, 'response.completed');
      client.socket.close();
      // A relayed turn is recorded after the connection that carries it.
      const [first, ...others] = sim.journal.requests;
      assert.match(first?.path ?? '', UPSTREAM_PATH[upstreamOf(expected)] ?? /^$/);
      assert.equal(first?.method, expected === 'native' ? 'WS' : 'POST');
      assert.equal(others.length, expected === 'native' ? 1 : 0);
    });
  }
}

for (const style of ['messages', 'generate-content'] as const) {
  for (const operation of ['responses.get', 'responses.delete', 'responses.inputItems'] as const) {
    const row: EndpointRow = ENDPOINTS[operation];
    test(`G 4.4: ${row.method} ${row.path} with a ${style} key and an unknown id returns 404`, async () => {
      const exchange = await send(operation, row.path, keyOf(GROUP[style]));
      assert.equal(exchange.status, 404);
      assert.notEqual(codeOf(row, exchange), 'endpoint_not_supported');
    });
  }
}

/** Only background responses and running batches are cancelled, and only batches that have ended are deleted or have results. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  ...['responses.cancel', 'batches.cancel', 'messageBatches.results', 'messageBatches.delete'],
]);

async function assertCell(operation: TextOperation, path: string, group: string, expected: Expected): Promise<void> {
  const row: EndpointRow = ENDPOINTS[operation];
  const id = expected === 'unsupported' ? undefined : await storedId(path, keyOf(group));
  const exchange = await send(operation, path, keyOf(group), id);
  const converted = exchange.headers.get('x-gateway-converted');
  if (expected === 'unsupported') {
    assert.equal(exchange.status, 404);
    assert.equal(codeOf(row, exchange), 'endpoint_not_supported');
    // Refused whatever the group, with the reason.
    if (operation !== 'containers.create') assert.ok(exchange.text.includes(group), 'the error names the group');
    assert.deepEqual(sim.journal.requests, [], 'no provider is called');
  } else if (expected === 'own') {
    assert.equal(exchange.status, WITHOUT_EFFECT.has(operation) ? 400 : 200, exchange.text);
    assert.equal(converted, null);
    assert.ok(
      sim.journal.requests.every((entry) => /\/models$/.test(entry.path)),
      'only model lists are read',
    );
  } else if (expected === 'native') {
    const entry = sim.journal.requests[0] ?? assert.fail('the provider was not called');
    // An interaction stays at the version that its client calls.
    const sent = operation.startsWith('interactions.') ? path : row.path;
    assert.equal(entry.path, fillPath(sent, id ?? ''));
    if (row.body.content !== 'none') assert.equal(entry.body?.toString('latin1'), BODIES[operation]);
    // The simulated provider cancels only background responses.
    assert.equal(exchange.status, operation === 'responses.cancel' ? 400 : 200, exchange.text);
    assert.equal(exchange.status, entry.status);
    assert.equal(converted, null);
  } else {
    assert.equal(exchange.status, 200, exchange.text);
    assert.equal(converted, expected);
    assert.equal(sim.journal.requests.length, 1, 'one request to the provider');
    assert.match(sim.journal.requests[0]?.path ?? '', UPSTREAM_PATH[upstreamOf(expected)] ?? /^$/);
  }
}

/** The dialect that the provider receives; a native WebSocket is one of responses. */
const upstreamOf = (expected: Expected): string => expected.split('->')[1] ?? 'responses';

function describeCell(expected: Expected): string {
  if (expected.includes('->')) return `converted (${expected})`;
  return expected === 'own' ? 'handled by the gateway' : expected;
}

function pathsOf(row: EndpointRow): string[] {
  return row.alias === undefined ? [row.path] : [row.path, row.alias];
}
