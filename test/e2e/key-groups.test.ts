/** Keys with several groups: the model of a request chooses the group, and the rest is as for a key of that group alone. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ApiError as GoogleError } from '@google/genai';
import { type Sim, startSim } from '../../sim/index.ts';
import { ENDPOINTS, type EndpointRow, type InferenceOperation } from '../../src/rules/index.ts';
import type { ShownExplanation, ShownKey } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { errorCode } from '../support/error-body.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
const admin = adminApi(() => gateway.url);

const GROUPS = ['openai', 'claude', 'gemini'] as const;
type GroupName = (typeof GROUPS)[number];
/** A model that only one group has. */
const ONLY = { openai: 'gpt-only', claude: 'claude-only', gemini: 'gemini-only' } as const;
const token = (name: string): string => `the-key-of-ana-named-${name}`;
const ALL = token('all');

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  const account = (id: string, group: GroupName, base_url = sim.url) => ({ id, group, base_url, api_key: `sk-${id}` });
  const key = (name: string, settings: object) => ({ user: 'ana', name, key: token(name), ...settings });
  await gateway.apply({
    groups: [
      { id: 'openai', style: 'responses' },
      { id: 'claude', style: 'messages' },
      { id: 'gemini', style: 'generate-content' },
    ],
    accounts: [account('oa1', 'openai', `${sim.url}/v1`), account('cl1', 'claude'), account('ge1', 'gemini')],
    models: [
      { id: ONLY.openai, groups: ['openai'], upstream: 'demo-responses' },
      { id: ONLY.claude, groups: ['claude'], upstream: 'demo-messages' },
      { id: ONLY.gemini, groups: ['gemini'], upstream: 'demo-generate' },
      { id: 'picture', groups: ['openai'], upstream: 'demo-image', capabilities: { imageOutput: true } },
      { id: 'shared-*', groups: [...GROUPS], upstream: 'demo-x' },
      { id: 'dear', groups: ['claude'], upstream: 'demo-messages', prices: { input: '1', output: '10' } },
    ],
    users: [{ id: 'ana', balance: '100' }],
    keys: [
      ...GROUPS.map((group) => key(group, { group })),
      key('one', { groups: ['claude'] }),
      key('all', { groups: [...GROUPS] }),
      key('turned', { groups: ['gemini', 'claude', 'openai'] }),
      key('native', { groups: ['gemini', 'claude', 'openai'], prefer: 'native' }),
      key('converting', { groups: ['claude', 'gemini'] }),
      key('narrow', { groups: [...GROUPS], models: ['gpt-*'] }),
      key('rated', { groups: [...GROUPS], rpm: 2 }),
    ],
  });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});
beforeEach(() => sim.journal.clear());

const messages = [{ role: 'user', content: 'hi' }];
const contents = [{ parts: [{ text: 'hi' }] }];
/** One row per operation that names a model: the body of a request for it. */
const BODIES: Partial<Record<InferenceOperation, (model: string) => object>> = {
  'messages.create': (model) => ({ max_tokens: 50, messages, model }),
  'messages.count': (model) => ({ messages, model }),
  'chat.create': (model) => ({ messages, model }),
  'responses.create': (model) => ({ input: 'hi', model }),
  'responses.inputTokens': (model) => ({ input: 'hi', model }),
  'responses.compact': (model) => ({ input: 'hi', model }),
  'search.create': (model) => ({ commands: {}, model }),
  'embeddings.create': (model) => ({ input: 'hi', model }),
  'images.generate': (model) => ({ prompt: 'a lamp', model }),
  'images.edit': (model) => ({
    prompt: 'a lamp',
    images: [{ image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
    model,
  }),
  'generate.create': () => ({ contents }),
  'generate.stream': () => ({ contents }),
  'generate.count': () => ({ contents }),
  'generate.embed': () => ({ content: contents[0] }),
  'generate.batchEmbed': (model) => ({ requests: [{ model: `models/${model}`, content: contents[0] }] }),
  'interactions.create': (model) => ({ input: 'hi', model }),
  'caches.create': (model) => ({ contents, model: `models/${model}` }),
};
const OPERATIONS = Object.keys(BODIES) as InferenceOperation[];

async function send(path: string, key: string, body?: object, method = body ? 'POST' : 'GET') {
  const response = await fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

const call = (operation: InferenceOperation, model: string, key: string) =>
  send(ENDPOINTS[operation].path.replace('{model}', model), key, BODIES[operation]?.(model));

/** What a caller and the providers see of a call, without what differs from call to call. */
async function outcome(operation: InferenceOperation, model: string, key: string) {
  sim.journal.clear();
  const { status, headers, text } = await call(operation, model, key);
  const { errorFormat }: EndpointRow = ENDPOINTS[operation];
  return {
    status,
    converted: headers.get('x-gateway-converted'),
    error: status === 200 ? null : errorCode(errorFormat, status, JSON.parse(text)),
    message: status === 200 ? null : /"message":"((?:[^"\\]|\\.)*)/.exec(text)?.[1],
    sent: sim.journal.requests.map(({ path, body, headers: sent }) => ({
      path,
      body: body?.toString(),
      credential: sent.authorization ?? sent['x-api-key'] ?? sent['x-goog-api-key'],
    })),
  };
}

for (const operation of OPERATIONS)
  for (const group of GROUPS)
    test(`${operation} for a model of ${group} is that of a key of ${group} alone`, async () => {
      const model = operation.startsWith('images.') && group === 'openai' ? 'picture' : ONLY[group];
      const alone = await outcome(operation, model, token(group));
      assert.deepEqual(await outcome(operation, model, ALL), alone);
      assert.deepEqual(await outcome(operation, model, token('turned')), alone, 'whatever the order');
    });

for (const operation of OPERATIONS)
  test(`${operation} on a key with the one group of \`groups\` is that of a key of the group`, async () => {
    for (const model of [ONLY.claude, ONLY.openai, 'shared-x'])
      assert.deepEqual(await outcome(operation, model, token('one')), await outcome(operation, model, token('claude')));
  });

test('the first group in order that has the model serves it, natively preferred where the key says so', async () => {
  const cases = [
    ['all', 'messages.create', 'openai'],
    ['turned', 'messages.create', 'gemini'],
    ['turned', 'chat.create', 'gemini'],
    ['native', 'messages.create', 'claude'],
    ['native', 'chat.create', 'openai'],
    ['native', 'responses.create', 'openai'],
    ['native', 'generate.create', 'gemini'],
  ] as const;
  for (const [key, operation, group] of cases)
    assert.deepEqual(
      await outcome(operation, 'shared-x', token(key)),
      await outcome(operation, 'shared-x', token(group)),
      `${key} ${operation}`,
    );
  // A preference never chooses a group without the model.
  assert.equal((await call('messages.create', ONLY.openai, token('native'))).status, 200);
});

test('a key whose groups all convert a request decodes it in the group of its model', async () => {
  for (const group of ['claude', 'gemini'] as const)
    assert.deepEqual(
      await outcome('chat.create', ONLY[group], token('converting')),
      await outcome('chat.create', ONLY[group], token(group)),
    );
});

test('a model that no group has is 404 in the dialect of the path and names the groups', async () => {
  for (const operation of [
    'messages.create',
    'chat.create',
    'responses.create',
    'generate.create',
    'generate.count',
  ] as const) {
    const { status, error, message, sent } = await outcome(operation, 'nowhere', ALL);
    assert.deepEqual([status, error, sent], [404, 'model_not_found', []], operation);
    for (const group of GROUPS) assert.ok(message?.includes(group), `${operation} names ${group}`);
  }
  const read = await send('/v1/models/nowhere', ALL);
  assert.equal(read.status, 404);
  assert.match(read.text, /openai.*claude.*gemini/);
});

test('the allow-list and the limits of a key hold over all of its groups', async () => {
  assert.equal((await call('messages.create', ONLY.openai, token('narrow'))).status, 200);
  const refused = await outcome('messages.create', ONLY.claude, token('narrow'));
  assert.deepEqual([refused.status, refused.error], [403, 'model_not_allowed']);
  const statuses = [];
  for (const group of GROUPS) statuses.push((await call('chat.create', ONLY[group], token('rated'))).status);
  assert.deepEqual(statuses, [200, 200, 429]);
});

test('an endpoint that no group of the key serves is refused with their names before its body is read', async () => {
  const { status, text } = await send('/v1/embeddings', token('converting'), { model: 'x' });
  assert.equal(status, 404);
  assert.match(text, /endpoint_not_supported/);
  assert.match(text, /messages-style group \\"claude\\".*generate-content-style group \\"gemini\\"/);
});

test('model lists are the union of the groups in the form of the client, each model once', async () => {
  const ids = async (path: string): Promise<string[]> => {
    const { data, models } = JSON.parse((await send(path, ALL)).text);
    return (data ?? models).map(({ id, name }: { id?: string; name?: string }) => id ?? name?.replace('models/', ''));
  };
  for (const path of ['/v1/models', '/v1beta/models?pageSize=100']) {
    const listed = await ids(path);
    for (const group of GROUPS) assert.ok(listed.includes(ONLY[group]), `${path} has ${ONLY[group]}`);
    assert.equal(new Set(listed).size, listed.length, 'each once');
  }
  const { data } = JSON.parse((await send('/v1/models', ALL)).text);
  const owners = Object.fromEntries(data.map(({ id, owned_by }: { id: string; owned_by: string }) => [id, owned_by]));
  for (const group of GROUPS) assert.equal(owners[ONLY[group]], group);
  assert.equal(JSON.parse((await send('/v1/models/shared-x', ALL)).text).owned_by, 'openai');
  // Native methods belong to the groups that have them (G 4.1).
  const native = JSON.parse((await send(`/v1beta/models/${ONLY.claude}`, ALL)).text);
  assert.deepEqual(native.supportedGenerationMethods, []);
});

test('usage is that of the key, and names its groups', async () => {
  const { key } = JSON.parse((await send('/v1/usage', ALL)).text);
  assert.deepEqual([key.group, key.groups], ['openai', [...GROUPS]]);
});

test('stored responses go by their id, whichever group made them', async () => {
  for (const group of GROUPS) {
    const { id } = JSON.parse((await call('responses.create', ONLY[group], ALL)).text);
    for (const key of [ALL, token('turned')]) {
      const { status, text } = await send(`/v1/responses/${id}`, key);
      assert.equal(status, 200, `${group}: ${text}`);
      assert.equal(JSON.parse(text).id, id);
    }
    const next = await send('/v1/responses', ALL, { model: ONLY[group], input: 'go on', previous_response_id: id });
    assert.equal(next.status, 200, next.text);
    assert.equal((await send(`/v1/responses/${id}`, token('turned'), undefined, 'DELETE')).status, 200);
    assert.equal((await send(`/v1/responses/${id}`, ALL)).status, 404);
  }
  const { id } = JSON.parse((await call('interactions.create', ONLY.gemini, ALL)).text);
  assert.equal((await send(`/v1beta/interactions/${id}`, ALL)).status, 200);
  const { name } = JSON.parse((await call('caches.create', ONLY.gemini, ALL)).text);
  for (const key of [ALL, token('turned')]) {
    const used = await send(`/v1beta/models/${ONLY.gemini}:generateContent`, key, { contents, cachedContent: name });
    assert.equal(used.status, 200, used.text);
    assert.equal((await send(`/v1beta/${name}`, key, { ttl: '4000s' }, 'PATCH')).status, 200);
  }
  const listed = JSON.parse((await send('/v1beta/cachedContents', ALL)).text).cachedContents as { name: string }[];
  assert.ok(listed.some((one) => one.name === name));
  assert.equal((await send(`/v1beta/${name}`, ALL, undefined, 'DELETE')).status, 200);
});

test('a background response runs in the group of its model, and goes by its id', async () => {
  for (const group of GROUPS) {
    const started = await send('/v1/responses', ALL, { model: ONLY[group], input: 'hi', background: true });
    assert.equal(started.status, 200, started.text);
    const { id } = JSON.parse(started.text);
    const done = await until(`the response of ${group}`, async () => {
      const { status, output } = JSON.parse((await send(`/v1/responses/${id}`, token('turned'))).text);
      return status === 'completed' ? (output as unknown[]) : undefined;
    });
    assert.ok(done.length > 0);
  }
});

test('a file goes to providers of every group in the form of each', async () => {
  const form = new FormData();
  const pdf = Buffer.from('%PDF-1.4\n%%EOF');
  form.set('purpose', 'user_data');
  form.set('file', new Blob([pdf], { type: 'application/pdf' }), 'a.pdf');
  const headers = { authorization: `Bearer ${ALL}` };
  const made = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form });
  const { id: file_id } = (await made.json()) as { id: string };
  const content = [{ type: 'input_file', file_id }];
  for (const group of GROUPS) {
    sim.journal.clear();
    const body = { model: ONLY[group], input: [{ role: 'user', content }] };
    const { status, text } = await send('/v1/responses', token('turned'), body);
    assert.equal(status, 200, text);
    assert.match(String(sim.journal.requests[0]?.body), new RegExp(pdf.toString('base64')), group);
  }
  for (const path of [`/v1/files/${file_id}`, `/v1beta/files/${file_id}`, '/v1/files'])
    assert.match((await send(path, token('native'))).text, new RegExp(file_id), path);
});

test('an image request without a model uses the first image model of the groups', async () => {
  const { status, text } = await send('/v1/images/generations', token('turned'), { prompt: 'a lamp' });
  assert.equal(status, 200, text);
  assert.equal(JSON.parse(sim.journal.requests[0]?.body?.toString() ?? '{}').model, 'demo-image');
});

test('an image form chooses its group by the field of its model', async () => {
  const form = new FormData();
  form.set('image', new Blob([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')], { type: 'image/png' }), 'a.png');
  form.set('prompt', 'a lamp');
  form.set('model', 'picture');
  const headers = { authorization: `Bearer ${token('turned')}` };
  const response = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form });
  assert.equal(response.status, 200, await response.text());
});

test('each turn of a WebSocket goes to the group of its model, and a provider socket stays with one', async () => {
  const client = await new ResponsesSocketClient(gateway.url, token('turned')).open();
  for (const group of ['claude', 'openai', 'gemini', 'openai'] as const) {
    sim.journal.clear();
    const end = await client.turn({ model: ONLY[group], input: 'hi' });
    assert.equal(end.type, 'response.completed', JSON.stringify(end));
    const path = { openai: /^\/v1\/responses$/, claude: /^\/v1\/messages$/, gemini: /:\w+Content$/ }[group];
    assert.match(sim.journal.requests.at(-1)?.path ?? '', path);
    assert.equal(sim.journal.requests.at(-1)?.method, group === 'openai' ? 'WS' : 'POST');
  }
  const unknown = await client.turn({ model: 'nowhere', input: 'hi' });
  assert.equal(unknown.error?.code, 'model_not_found');
  client.socket.close();
});

test('the log line, the request log and the explanation name the group that was chosen', async () => {
  const { headers } = await call('chat.create', 'dear', ALL);
  const id = headers.get('x-request-id') ?? '';
  const line = await until('the log line', () =>
    gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === id),
  );
  assert.equal(line.group, 'claude');
  const entry = await until('the entry', async () => {
    const { status, body } = await admin<{ group: string }>('GET', `/requests/${id}`);
    return status === 200 ? body : undefined;
  });
  assert.equal(entry.group, 'claude');
  const { data } = (await admin<{ data: ShownKey[] }>('GET', '/keys?user=ana&group=gemini&limit=100')).body;
  const key = data.find(({ name }) => name === 'all') ?? assert.fail('the list by group has no key of several');
  assert.deepEqual([key.group, key.groups, key.prefer], ['openai', [...GROUPS], 'order']);
  const path = `/explain?key=${key.id}&model=${ONLY.gemini}&dialect=chat`;
  const { body } = await admin<ShownExplanation>('POST', path, '');
  assert.deepEqual([body.group, body.groups, body.ways[0]?.group], ['gemini', [...GROUPS], 'gemini']);
});

test('operators change the groups of a key, and a removed group leaves it the others', async () => {
  const brief = ['brief-a', 'brief-b', 'brief-c'];
  await gateway.apply({
    groups: brief.map((id) => ({ id, style: 'messages' })),
    accounts: brief.map((id) => ({ id: `${id}1`, group: id, base_url: sim.url, api_key: `sk-${id}` })),
    models: brief.map((id) => ({ id: `${id}-model`, groups: [id], upstream: 'demo-messages' })),
  });
  const made = await admin<ShownKey & { value: string }>('POST', '/keys', { user: 'ana', groups: brief.slice(0, 2) });
  assert.equal(made.status, 201, made.text);
  const { id, value, group } = made.body;
  assert.equal(group, 'brief-a');
  const servedAs = async (...statuses: number[]): Promise<void> => {
    for (const [n, expected] of statuses.entries())
      await until(
        `${brief[n]} is ${expected}`,
        async () => (await call('messages.create', `${brief[n]}-model`, value)).status === expected,
      );
  };
  await servedAs(200, 200, 404);
  const changed = await admin<ShownKey>('PATCH', `/keys/${id}`, { groups: ['brief-b', 'brief-c'], prefer: 'native' });
  assert.deepEqual(
    [changed.body.group, changed.body.groups, changed.body.prefer],
    ['brief-b', brief.slice(1), 'native'],
  );
  await servedAs(404, 200, 200);
  assert.equal((await admin('PATCH', `/keys/${id}`, { groups: ['nope'] })).status, 404);
  assert.equal((await admin('PATCH', `/keys/${id}`, { groups: [] })).status, 400);
  assert.equal((await admin('POST', '/keys', { user: 'ana', name: 'none' })).status, 400);
  const { db } = gateway.context.database;
  await db.deleteFrom('groups').where('id', '=', 'brief-b').execute();
  await servedAs(404, 404, 200);
  await db.deleteFrom('groups').where('id', '=', 'brief-c').execute();
  await servedAs(401);
  assert.equal((await admin<ShownKey>('GET', `/keys/${id}`)).body.state, 'revoked');
});

describe('the official SDKs with one key', () => {
  test('openai reaches a model of every group by chat and by responses', async () => {
    for (const group of GROUPS) {
      const client = openai(gateway.url, ALL);
      const chat = await client.chat.completions.create({
        model: ONLY[group],
        messages: [{ role: 'user', content: 'hi' }],
      });
      assert.match(chat.choices[0]?.message.content ?? '', /simulated/i);
      const reply = await client.responses.create({ model: ONLY[group], input: 'hi' });
      assert.match(reply.output_text, /simulated/i);
    }
  });

  test('@anthropic-ai/sdk reaches a model of every group', async () => {
    for (const group of GROUPS) {
      const body = { model: ONLY[group], max_tokens: 100, messages: [{ role: 'user' as const, content: 'hi' }] };
      const message = await anthropic(gateway.url, ALL).messages.stream(body).finalMessage();
      assert.match(JSON.stringify(message.content), /simulated/i);
    }
  });

  test('G 4.1: @google/genai reaches models of its style, and gets 404 with the group of the others', async () => {
    const client = google(gateway.url, ALL);
    const { text } = await client.models.generateContent({ model: ONLY.gemini, contents: 'hi' });
    assert.match(text ?? '', /simulated/i);
    for (const group of ['openai', 'claude'] as const)
      await assert.rejects(
        client.models.generateContent({ model: ONLY[group], contents: 'hi' }),
        (error: unknown) => error instanceof GoogleError && error.status === 404 && error.message.includes(group),
      );
  });
});
