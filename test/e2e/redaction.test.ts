/** Whatever a provider writes into an error, the caller reads none of our secrets: each place of the API with all secrets planted in it. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Canned, jsonResponse, type ReceivedRequest, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const CREDENTIAL = 'key/of+the+account==zebra';
const ACCESS_KEY = 'AKLTzebra0123456789';
const SECRET_KEY = 'SK/zebra+of+the+library==';
const UPSTREAM_MODEL = 'zebra-model-9';
const ACCOUNT_MODEL = 'ep-20260101-zebra';
const KEYS = {
  openai: 'key-of-ana-for-openai-000000',
  claude: 'key-of-ana-for-claude-000000',
  gemini: 'key-of-ana-for-gemini-000000',
} as const;

let canned: Canned;
let receiver: Canned;
let gateway: TestGateway;
let jobs: VideoJobs;

const setup = (url: string) => ({
  groups: [
    { id: 'openai', style: 'responses' },
    { id: 'claude', style: 'messages' },
    { id: 'gemini', style: 'generate-content' },
    { id: 'film', style: 'video', variant: 'A' },
  ],
  accounts: [
    ...[
      ['openai', '/v1'],
      ['claude', ''],
      ['gemini', ''],
      ['film', '/api/v3'],
    ].map(([group, path]) => ({
      id: `${group}-account-7`,
      group,
      base_url: url + path,
      api_key: CREDENTIAL,
      models: { [UPSTREAM_MODEL]: ACCOUNT_MODEL },
      ...(group === 'film' && {
        assets: {
          base_url: url,
          access_key: ACCESS_KEY,
          secret_key: SECRET_KEY,
          region: 'r',
          project: 'zebra-project',
        },
      }),
    })),
  ],
  models: [
    { id: 'our-text', groups: ['openai', 'claude', 'gemini'], upstream: UPSTREAM_MODEL, free: true },
    { id: 'our-image', groups: ['openai'], upstream: UPSTREAM_MODEL, free: true, capabilities: { imageOutput: true } },
    { id: 'our-film', groups: ['film'], upstream: UPSTREAM_MODEL, prices: { video: '7' } },
  ],
  users: [{ id: 'ana', email: 'ana@example.test', balance: '1000' }],
  keys: Object.entries(KEYS).map(([group, key]) => ({ user: 'ana', group, name: group, key })),
});

before(async () => {
  [canned, receiver] = [await startCanned(), await startCanned()];
  gateway = await startGateway({
    setup: setup(canned.url),
    env: { EGRESS_ALLOW: receiver.url },
  });
  jobs = await openJobs(gateway);
});
after(async () => {
  await jobs?.close();
  await gateway?.stop();
  await Promise.all([canned?.close(), receiver?.close()]);
});

/** Everything that the provider knows and the caller must not, from what it received. */
function secretsIn({ headers, target, body }: ReceivedRequest): string[] {
  const sent = textOf(body);
  const callback = /"callback_url":"([^"]+)"/.exec(sent)?.[1];
  const isVideo = target.startsWith('/api/v3') || target.includes('Action=');
  const text = 'x-api-key' in headers ? 'claude' : 'x-goog-api-key' in headers ? 'gemini' : 'openai';
  return [
    CREDENTIAL,
    new URL(canned.url).host,
    canned.url,
    `${isVideo ? 'film' : text}-account-7`,
    ...(isVideo ? [ACCESS_KEY, SECRET_KEY, 'zebra-project'] : []),
    ...(target.includes('Action=') ? [] : [UPSTREAM_MODEL, ACCOUNT_MODEL]),
    ...(callback === undefined ? [] : [callback, callback.split('/').at(-1) ?? '']),
    ...[/"safety_identifier":"(\w+)"/, /"CallbackURL":"([^"]+)"/].flatMap((form) => form.exec(sent)?.[1] ?? []),
  ];
}
const textOf = (body: Buffer): string => body.toString('utf8');

let planted: readonly string[] = [];
beforeEach(() => {
  planted = [];
});

/** A message with each secret as it is, URL-encoded and in upper case. */
function plant(request: ReceivedRequest): string {
  const secrets = secretsIn(request);
  planted = [...new Set([...planted, ...secrets])];
  return `Zebra says: ${secrets.flatMap((secret) => [secret, encodeURIComponent(secret), secret.toUpperCase()]).join(' , ')} !`;
}

/** The text as a reader could decode it. */
const decoded = (text: string): string =>
  text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('\\/', '/')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase();

function assertClean(text: string, where: string): void {
  assert.ok(planted.length >= 6, where);
  for (const secret of planted)
    assert.ok(!decoded(text).includes(secret.toLowerCase()), `${where} shows "${secret}": ${text}`);
}

const errorBody = (message: string) => ({
  error: { message, type: 'invalid_request_error', code: 'invalid_value', param: null, status: 'INVALID_ARGUMENT' },
});

async function call(path: string, key: string, body?: object): Promise<{ status: number; text: string }> {
  const response = await fetch(gateway.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'x-goog-api-key': key,
      'content-type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

const hello = { role: 'user', content: 'Hello!' };
const chat = { path: '/v1/chat/completions', body: { model: 'our-text', messages: [hello] } };
const messages = { path: '/v1/messages', body: { model: 'our-text', max_tokens: 9, messages: [hello] } };
const responses = { path: '/v1/responses', body: { model: 'our-text', input: 'Hello!' } };
const contents = { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] };
const image = { path: '/v1/images/generations', body: { model: 'our-image', prompt: 'a zebra' } };

/** Text and images: the path of the client and the group of its key, native or converted. */
const CALLS = {
  'chat, native': { ...chat, key: KEYS.openai },
  'responses, native': { ...responses, key: KEYS.openai },
  'messages, native': { ...messages, key: KEYS.claude },
  'generate-content, native': { path: '/v1beta/models/our-text:generateContent', body: contents, key: KEYS.gemini },
  'images, native': { ...image, key: KEYS.openai },
  'chat to messages': { ...chat, key: KEYS.claude },
  'messages to responses': { ...messages, key: KEYS.openai },
  'responses to generate-content': { ...responses, key: KEYS.gemini },
} as const;

for (const [name, { path, body, key }] of Object.entries(CALLS)) {
  for (const status of [400, 404, 422, 500])
    test(`${name}: an error body with status ${status}`, async () => {
      canned.respondWith((response, request) =>
        jsonResponse(JSON.stringify(errorBody(plant(request))).replaceAll('/', '\\/'), status)(response, request),
      );
      const { text } = await call(path, key, body);
      assertClean(text, name);
      if (status === 400) assert.match(text, /Zebra says: /, 'the wording stays');
    });

  test(`${name}: an error in a response with the status of a success`, async () => {
    canned.respondWith((response, request) =>
      jsonResponse(JSON.stringify({ id: 'x', status: 'failed', ...errorBody(plant(request)) }))(response, request),
    );
    assertClean((await call(path, key, body)).text, name);
  });
}

const STREAMS = {
  'chat, native': { ...CALLS['chat, native'], event: (message: string) => errorBody(message) },
  'responses, native': {
    ...CALLS['responses, native'],
    event: (message: string) => ({
      type: 'response.failed',
      response: { id: 'r', status: 'failed', ...errorBody(message) },
    }),
  },
  'messages, native': {
    ...CALLS['messages, native'],
    event: (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  },
  'generate-content, native': {
    ...CALLS['generate-content, native'],
    path: '/v1beta/models/our-text:streamGenerateContent?alt=sse',
    event: (message: string) => errorBody(message),
  },
  'chat to messages': {
    ...CALLS['chat to messages'],
    event: (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  },
} as const;

for (const [name, { path, body, key, event }] of Object.entries(STREAMS))
  for (const pieces of [1, 3])
    test(`${name}: an error event of a stream, in ${pieces} chunks`, async () => {
      canned.respondWith(async (response, request) => {
        const data = JSON.stringify(event(plant(request)));
        const block = `event: error\ndata: ${data}\n\n`;
        const size = Math.ceil(block.length / pieces);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < block.length; at += size) {
          response.write(block.slice(at, at + size));
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      });
      const isInPath = path.includes('streamGenerate');
      const { text } = await call(path, key, isInPath ? body : { ...body, stream: true });
      assertClean(text, name);
      assert.match(text, /Zebra says: /, 'the wording stays');
    });

// ---------------------------------------------------------------- video

const TASKS = '/api/v3/contents/generations/tasks';
const task = { model: 'our-film', content: [{ type: 'text', text: 'a zebra' }] };
const control = (result: object) => ({ ResponseMetadata: { RequestId: 'r' }, Result: result });
const refused = (message: string) => ({ ResponseMetadata: { Error: { Code: 'InvalidParameter', Message: message } } });

test('video: a rejected create', async () => {
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify({ error: { code: 'InvalidParameter', message: plant(request) } }), 400)(
      response,
      request,
    ),
  );
  const { status, text } = await call(TASKS, KEYS.openai, task);
  assert.equal(status, 400);
  assertClean(text, 'create');
  assert.match(text, /Zebra says: /);
  assert.ok(
    planted.some((secret) => secret.includes('/upstream/callbacks/')),
    'the callback path was planted',
  );
});

test('video: a task that fails later, its callback and its list', async () => {
  const failed = (request: ReceivedRequest) => ({
    id: 'cgt-1',
    status: 'failed',
    error: { code: 'InvalidParameter', message: plant(request) },
  });
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(request.method === 'POST' ? { id: 'cgt-1' } : failed(request)))(response, request),
  );
  const created = JSON.parse((await call(TASKS, KEYS.openai, { ...task, callback_url: receiver.url })).text);
  await jobs.run('tasks.follow');
  const shown = await until('the task has failed', async () => {
    const { text } = await call(`${TASKS}/${created.id}`, KEYS.openai);
    return text.includes('"failed"') ? text : undefined;
  });
  assertClean(shown, 'task');
  assertClean((await call(TASKS, KEYS.openai)).text, 'list');
  assertClean((await call(`/v1/videos/${created.id}`, KEYS.openai)).text, 'video');
  await jobs.run('callbacks.deliver');
  await until('the callback arrives', () => receiver.requests.length > 0);
  assertClean(textOf(receiver.last.body), 'callback');
});

test('assets: a rejected group, a rejected asset and an asset that fails later', async () => {
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(refused(plant(request))), 400)(response, request),
  );
  const group = { name: 'Zebras', model: 'our-film' };
  const rejected = await call('/v1/asset-groups', KEYS.openai, group);
  assert.equal(rejected.status, 400, rejected.text);
  assertClean(rejected.text, 'group');
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(control({ Id: 'group-20260101' })))(response, request),
  );
  const { id: groupId } = JSON.parse((await call('/v1/asset-groups', KEYS.openai, group)).text);
  const asset = { url: 'https://example.com/zebra.png', asset_type: 'Image', group_id: groupId };
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(refused(plant(request))), 400)(response, request),
  );
  assertClean((await call('/v1/assets', KEYS.openai, asset)).text, 'asset');
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(control({ Id: 'asset-20260101' })))(response, request),
  );
  const { id } = JSON.parse((await call('/v1/assets', KEYS.openai, asset)).text);
  canned.respondWith((response, request) => {
    const failure = {
      Id: 'asset-20260101',
      Status: 'Failed',
      Error: { Code: 'FaceMismatch', Message: plant(request) },
    };
    jsonResponse(JSON.stringify(control(failure)))(response, request);
  });
  const refreshed = await call(`/v1/assets/${id}/refresh`, KEYS.openai, {});
  assertClean(refreshed.text, 'refresh');
  const { error } = JSON.parse((await call(`/v1/assets/${id}`, KEYS.openai)).text);
  assert.equal(error.code, 'asset_face_mismatch');
  assert.match(error.message, /^Zebra says: /);
});

test('sessions: a rejected session, and one that fails', async () => {
  const path = '/v1/assets/real-person/authorization-sessions';
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(refused(plant(request))), 400)(response, request),
  );
  assertClean((await call(path, KEYS.openai, {})).text, 'session');
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(control({ BytedToken: 'token-1', H5Link: 'https://person.example/1' })))(
      response,
      request,
    ),
  );
  const { id } = JSON.parse((await call(path, KEYS.openai, {})).text);
  canned.respondWith((response, request) =>
    jsonResponse(JSON.stringify(refused(plant(request))), 400)(response, request),
  );
  const { db } = gateway.context.database;
  await db
    .updateTable('authorization_sessions')
    .set({ next_check_at: new Date(0) })
    .execute();
  await jobs.run('sessions.check');
  const { text } = await call(`${path}/${id}`, KEYS.openai);
  assertClean(text, 'failed session');
  const { status, error } = JSON.parse(text);
  assert.deepEqual([status, error?.code], ['failed', 'real_person_not_verified']);
});
