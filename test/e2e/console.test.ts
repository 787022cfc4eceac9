/** The console over HTTP: who may do what, the data of users, calls by cookie, and files. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { argumentsOf, callsIn, type ReplyTurn, type Turn, textIn } from '../../console/src/user/play/conversation.ts';
import { dialectsFor, PLAY_DIALECTS, takeEvents } from '../../console/src/user/play/dialects.ts';
import { type Sim, startSim } from '../../sim/index.ts';
import {
  ADMIN_OPERATIONS,
  type AdminOperation,
  adminRow,
  CONSOLE_HEADERS,
  CONSOLE_OPERATIONS,
  CONSOLE_REQUESTS_PER_MINUTE,
  type ConsoleOperation,
  consoleRow,
} from '../../src/rules/index.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { addPerson, type Browser, browserOf, type ConsoleFault } from '../support/console.ts';
import { csvObjects } from '../support/csv.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { storeTask } from '../support/stored-task.ts';
import { until } from '../support/wait.ts';

const MESSAGE = { model: 'demo-messages', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] };
const KEY_OF_EVA = 'console-test-key-of-eva';
const PRICES = { input: '2', output: '10' };

let sim: Sim;
let gateway: TestGateway;
let folder: string;
/** An API key of ana. */
let key: string;
/** The ids of people. */
const people = { operator: '', ana: '', bob: '', eva: '' };
const db = () => gateway.context.database.db;
const as = (name: keyof typeof people): Promise<Browser> => browserOf(gateway, people[name]);

interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}
interface KeyBody extends ConsoleFault {
  readonly id: string;
  readonly value: string;
  readonly user: string;
  readonly own: boolean;
  readonly style: string;
  readonly rpm?: number;
  readonly video_groups: readonly string[] | null;
}

before(async () => {
  sim = await startSim();
  folder = mkdtempSync(join(tmpdir(), 'dragoman-console-'));
  gateway = await startGateway({ env: { ADMIN_TOKEN, CONSOLE_DIR: join(folder, 'built') } });
  const keys = await gateway.apply({
    ...basicSetup(sim.url),
    models: [{ id: 'demo-*', groups: ['openai', 'claude', 'gemini'], prices: PRICES }],
  });
  key = keys.claude ?? '';
  await gateway.apply({
    groups: [{ id: 'ep', style: 'video', variant: 'EP' }],
    users: [
      { id: 'bob', balance: '5', max_keys: 2, key_groups: ['claude'] },
      { id: 'eva', balance: '5' },
    ],
    keys: [
      { user: 'bob', group: 'openai', rpm: 1_000 },
      { user: 'eva', group: 'claude', key: KEY_OF_EVA },
    ],
  });
  people.operator = await addPerson(db(), { email: 'operator@example.test', role: 'operator' });
  people.ana = await addPerson(db(), { email: 'ana@example.test', role: 'user', user: 'ana' });
  people.bob = await addPerson(db(), { email: 'bob@example.test', role: 'user', user: 'bob' });
  people.eva = await addPerson(db(), { email: 'eva@example.test', role: 'user', user: 'eva' });
});
after(async () => {
  await gateway.stop();
  await sim.close();
  rmSync(folder, { recursive: true, force: true });
});

type Headers = Readonly<Record<string, string | undefined>>;

/** Every way to present credentials, by the headers of an operator and of a person of a user. */
const CREDENTIALS = {
  none: () => ({}),
  'caller key': () => ({ authorization: `Bearer ${key}` }),
  'admin token': () => ({ authorization: `Bearer ${ADMIN_TOKEN}` }),
  user: (_, user) => user.headers(),
  operator: (operator) => operator.headers(),
  'operator without CSRF token': (operator) => operator.headers({ 'x-csrf-token': undefined }),
  'operator with the CSRF token of another session': (operator, user) =>
    operator.headers({ 'x-csrf-token': user.csrf }),
  'operator from another site': (operator) => operator.headers({ 'sec-fetch-site': 'cross-site' }),
  'operator from another origin': (operator) =>
    operator.headers({ 'sec-fetch-site': undefined, origin: 'https://evil.example' }),
  'operator without an origin': (operator) => operator.headers({ 'sec-fetch-site': undefined }),
} as const satisfies Record<string, (operator: Browser, user: Browser) => Headers>;
type Credential = keyof typeof CREDENTIALS;

/** The code of the refusal; undefined when the request is authorized, whatever becomes of it. */
type Refusal = 'invalid_admin_token' | 'not_signed_in' | 'not_permitted' | 'cross_site_request' | undefined;

function adminRefusal(operation: AdminOperation, credential: Credential): Refusal {
  if (credential === 'none' || credential === 'caller key') return 'invalid_admin_token';
  if (credential === 'user') return 'not_permitted';
  if (credential === 'admin token' || credential === 'operator') return undefined;
  return adminRow(operation).method === 'GET' ? undefined : 'cross_site_request';
}

function consoleRefusal(operation: ConsoleOperation, credential: Credential): Refusal {
  const { method, access } = consoleRow(operation);
  const isForeign = /site|origin/.test(credential);
  const hasCookie = credential === 'user' || credential.startsWith('operator');
  if (access === 'open') {
    if (method !== 'GET') return hasCookie && !isForeign ? undefined : 'cross_site_request';
    return operation === 'console.session' && !hasCookie ? 'not_signed_in' : undefined;
  }
  if (!hasCookie) return 'not_signed_in';
  if (credential !== 'user' && credential !== 'operator' && method !== 'GET') return 'cross_site_request';
  return access === 'own' && credential !== 'user' ? 'not_permitted' : undefined;
}

const REFUSALS = new Set(['invalid_admin_token', 'not_signed_in', 'not_permitted', 'cross_site_request']);

async function refusalOf(method: string, path: string, headers: Headers): Promise<string | undefined> {
  const body = method === 'GET' ? undefined : '{}';
  const given = Object.entries({ 'content-type': 'application/json', ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
  const response = await fetch(gateway.url + path.replaceAll(/\{\w+\*?\}/g, 'none'), {
    method,
    headers: given,
    redirect: 'manual',
    ...(body && { body }),
  });
  const text = await response.text();
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  // The pages are not built here.
  assert.ok(response.status < 500 || /^\/(?:console\/\{|docs)/.test(path), `${method} ${path}: ${text}`);
  return code !== undefined && REFUSALS.has(code) ? code : undefined;
}

test('every admin and console operation is refused without the credential and the role that it needs', async () => {
  const found: string[] = [];
  const expected: string[] = [];
  let [operator, user] = [await as('operator'), await as('bob')];
  const check = async (name: string, row: { method: string; path: string }, refusal: (c: Credential) => Refusal) => {
    // The origin of reads does not matter: a script of another origin cannot see their responses.
    const credentials = (Object.keys(CREDENTIALS) as Credential[]).filter(
      (credential) => row.method !== 'GET' || !/origin|another session/.test(credential),
    );
    const refusals = await Promise.all(
      credentials.map((credential) => refusalOf(row.method, row.path, CREDENTIALS[credential](operator, user))),
    );
    expected.push(...credentials.map((credential) => `${name} by ${credential}: ${refusal(credential)}`));
    found.push(...credentials.map((credential, n) => `${name} by ${credential}: ${refusals[n]}`));
  };
  for (const operation of ADMIN_OPERATIONS)
    await check(operation, adminRow(operation), (credential) => adminRefusal(operation, credential));
  for (const operation of CONSOLE_OPERATIONS) {
    // Signing out in one request must not refuse another one.
    if (operation === 'console.signOut') continue;
    await check(operation, consoleRow(operation), (credential) => consoleRefusal(operation, credential));
  }
  for (const credential of Object.keys(CREDENTIALS) as Credential[]) {
    const { method, path } = consoleRow('console.signOut');
    expected.push(`signOut by ${credential}: ${consoleRefusal('console.signOut', credential)}`);
    found.push(`signOut by ${credential}: ${await refusalOf(method, path, CREDENTIALS[credential](operator, user))}`);
    [operator, user] = [await as('operator'), await as('bob')];
  }
  assert.deepEqual(found, expected);
  assert.ok(found.length > 500);
});

test('a change by an operator in the console is audited under their name', async () => {
  const one = await as('operator');
  const { status, headers } = await one.send('POST', '/admin/v1/users', { id: 'made' });
  assert.equal(status, 201);
  const actor = `person:${people.operator}`;
  const { body } = await one.send<Page<{ request_id: string; subject: string }>>(
    'GET',
    `/admin/v1/audit?actor=${actor}&limit=1`,
  );
  assert.deepEqual([body.data[0]?.subject, body.data[0]?.request_id], ['user:made', headers.get('x-request-id')]);
});

interface LoggedRequest {
  readonly id: string;
  readonly operation: string;
  readonly model: string;
  readonly dialect: string;
  readonly status: number;
  readonly error: string | null;
  readonly outcome: string;
  readonly charge: string | null;
  readonly usage: object | null;
  readonly total_ms: number;
}
/** The id of a call of eva, once it is in the request log. */
async function loggedId(body: object): Promise<string> {
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY_OF_EVA}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.text();
  const id = response.headers.get('x-request-id') ?? assert.fail();
  const find = () => db().selectFrom('requests').select('id').where('id', '=', id).executeTakeFirst();
  await until('the entry', async () => (await find()) !== undefined);
  return id;
}

test('people see only the data of their user; operators read that of any user and change none', async () => {
  const [ana, bob, operator] = [await as('ana'), await as('bob'), await as('operator')];
  await storeTask(db(), { user_id: 'ana', id: 'task_ofana' });
  const reads = CONSOLE_OPERATIONS.filter((operation) => consoleRow(operation).access === 'own')
    .map(consoleRow)
    .filter(({ method, path }) => method === 'GET' && !/\{task\}\/|\{request\}|\{key\}/.test(path))
    .map(({ path }) => path.replace('{task}', 'task_ofana'));
  for (const path of reads) {
    const own = await ana.send('GET', path);
    assert.equal(own.status, 200, own.text);
    const support = await operator.send('GET', `${path}?user=ana`);
    assert.equal(support.status, 200, support.text);
    assert.equal((await bob.send<ConsoleFault>('GET', `${path}?user=ana`)).body.error.code, 'not_permitted');
    for (const { text } of [own, support])
      assert.doesNotMatch(text, /account|margin|"cost"|multiplier|revenue|cl1|sk-upstream/, path);
  }
  assert.equal((await bob.send<ConsoleFault>('GET', '/console/v1/tasks/task_ofana')).body.error.code, 'task_not_found');
  assert.equal((await operator.send('GET', '/console/v1/me?user=nix')).status, 404);
  const write = await operator.send<ConsoleFault>('POST', '/console/v1/keys?user=ana', { group: 'claude' });
  assert.equal(write.body.error.code, 'not_permitted');
  const me = await bob.send('GET', '/console/v1/me');
  assert.deepEqual(me.body, {
    object: 'me',
    user: 'bob',
    currency: 'USD',
    balance: { available: '5', held: '0' },
    limits: {},
    max_keys: 2,
    own_keys: 0,
    groups: [{ id: 'claude', name: 'claude', style: 'messages' }],
  });
});

test('people read the request log of their user, without accounts, messages of providers, costs and multipliers', async () => {
  const [eva, bob, operator] = [await as('eva'), await as('bob'), await as('operator')];
  const id = await loggedId(MESSAGE);
  const failed = await loggedId({ ...MESSAGE, model: 'demo-messages@fault=500' });
  const { body, text } = await eva.send<LoggedRequest>('GET', `/console/v1/requests/${id}`);
  assert.deepEqual(
    [body.operation, body.model, body.dialect, body.status, body.error, body.outcome],
    ['messages.create', 'demo-messages', 'messages', 200, null, 'completed'],
  );
  assert.ok(Number(body.charge) > 0 && body.total_ms > 0 && body.usage !== null, text);
  const list = (query = '') => eva.send<Page<LoggedRequest>>('GET', `/console/v1/requests${query}`);
  const page = await list('?error=provider');
  assert.deepEqual(
    page.body.data.map((row) => [row.id, row.status, row.charge]),
    [[failed, 502, null]],
  );
  const first = await list('?limit=1');
  const next = await list(`?limit=1&cursor=${first.body.next_cursor}`);
  assert.deepEqual([first.body.data[0]?.id, next.body.data[0]?.id], [failed, id]);
  const one = await operator.send('GET', `/console/v1/requests/${failed}?user=eva`);
  assert.equal(one.status, 200);
  const seen = await operator.send('GET', `/admin/v1/requests/${failed}`);
  assert.match(seen.text, /"attempts":\[\{.*"message":"/, 'operators see the message of the provider');
  for (const shown of [text, page.text, one.text])
    assert.doesNotMatch(shown, /account|cl1|attempt|upstream_model|target|cost|margin|multiplier|price/);
  assert.equal((await list('?account=cl1')).status, 400);
  for (const path of [`/${id}`, '/none'])
    assert.equal((await bob.send('GET', `/console/v1/requests${path}`)).status, 404, path);
  const others = await bob.send<Page<LoggedRequest>>('GET', '/console/v1/requests?model=demo-messages');
  assert.deepEqual(others.body.data, []);
});

test('G 1 r5: the console and GET /v1/usage show the same numbers', async () => {
  const readApi = async () => {
    const headers = { authorization: `Bearer ${KEY_OF_EVA}` };
    const response = await fetch(`${gateway.url}/v1/usage`, { headers });
    return ((await response.json()) as { total: Record<string, unknown> }).total;
  };
  const before = await readApi();
  await loggedId(MESSAGE);
  const total = await until('the record', async () => {
    const now = await readApi();
    return Number(now.requests) > Number(before.requests) ? now : undefined;
  });
  const { body } = await (await as('eva')).send<{ total: Record<string, unknown> }>('GET', '/console/v1/usage');
  for (const name of ['requests', 'input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_tokens', 'images'])
    assert.equal(body.total[name], total[name], name);
  assert.equal(body.total.charge, total.cost);
});

test('an operator names the groups and the number of the keys that people of a user may make', async () => {
  const operator = await as('operator');
  const change = (body: object) => operator.send<ConsoleFault>('PATCH', '/admin/v1/users/made', body);
  assert.equal((await change({ key_groups: ['nix'] })).body.error.param, 'key_groups');
  assert.equal((await change({ max_keys: 1_001 })).body.error.param, 'max_keys');
  const { body } = await change({ key_groups: ['claude', 'ep'], max_keys: 1 });
  const { key_groups, max_keys } = body as unknown as { key_groups: string[]; max_keys: number };
  assert.deepEqual([key_groups, max_keys], [['claude', 'ep'], 1]);
  const id = await addPerson(db(), { email: 'made@example.test', role: 'user', user: 'made' });
  const made = await (await browserOf(gateway, id)).send<KeyBody>('POST', '/console/v1/keys', { group: 'claude' });
  assert.deepEqual(made.body.video_groups, ['ep']);
});

test('requests of a person are limited per operation, as those of keys are', async () => {
  const id = await addPerson(db(), { email: 'busy@example.test', role: 'user', user: 'bob' });
  const busy = await browserOf(gateway, id);
  let limited: string | null | undefined;
  // The count refills while a slow machine sends.
  for (let n = 0; n < 3 * CONSOLE_REQUESTS_PER_MINUTE.report && limited === undefined; n += 1) {
    const { status, headers } = await busy.send('GET', '/console/v1/charges?limit=1');
    if (status === 429) limited = headers.get('retry-after');
  }
  assert.ok(Number(limited) > 0);
  assert.equal((await busy.send('GET', '/console/v1/assets')).status, 200, 'another operation');
  assert.equal((await (await as('bob')).send('GET', '/console/v1/charges')).status, 200, 'another person');
});

test('G 5 r3: people make, change, replace and revoke keys within what the operator allows', async () => {
  const [ana, bob] = [await as('ana'), await as('bob')];
  const create = (one: Browser, body: object) => one.send<KeyBody>('POST', '/console/v1/keys', body);
  assert.equal((await create(ana, { group: 'claude' })).body.error.code, 'not_permitted', 'max_keys is 0');
  assert.equal((await create(bob, { group: 'openai', name: 'mine' })).body.error.param, 'group');
  const made = await create(bob, { group: 'claude', name: 'mine', rpm: 100 });
  assert.equal(made.status, 201, made.text);
  const { id, value } = made.body;
  assert.deepEqual([made.body.user, made.body.own, made.body.video_groups], ['bob', true, []]);
  assert.equal(made.body.style, 'messages');
  for (const extra of [{ user: 'ana' }, { video_groups: ['ep'] }, { key: 'a-value-of-my-own-choice' }])
    assert.equal((await create(bob, { group: 'claude', name: 'x', ...extra })).status, 400);
  const models = () => fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${value}` } });
  assert.equal((await models()).status, 200);
  const several = await Promise.all(['a', 'b', 'c'].map((name) => create(bob, { group: 'claude', name })));
  assert.deepEqual(several.map(({ status }) => status).toSorted(), [201, 403, 403], 'max_keys is 2');

  const path = `/console/v1/keys/${id}`;
  assert.equal((await bob.send<KeyBody>('PATCH', path, { rpm: 50 })).body.rpm, 50);
  const { body: list } = await bob.send<Page<KeyBody>>('GET', '/console/v1/keys?limit=1000');
  assert.ok(list.data.every(({ user }) => user === 'bob') && !JSON.stringify(list).includes(value));
  const given = list.data.find(({ own }) => !own) ?? assert.fail();
  const raised = await bob.send<ConsoleFault>('PATCH', `/console/v1/keys/${given.id}`, { rpm: null });
  assert.equal(raised.body.error.code, 'not_permitted', 'limits of the operator stay');
  const replaced = await bob.send<KeyBody>('POST', `/console/v1/keys/${given.id}/rotate`, {});
  assert.deepEqual([replaced.status, replaced.body.rpm, replaced.body.own], [201, 1_000, false]);
  for (const [method, target, body] of [
    ['PATCH', path, { rpm: 1 }],
    ['POST', `${path}/rotate`, {}],
    ['POST', `${path}/revoke`, {}],
  ] as const)
    assert.equal((await ana.send(method, target, body)).status, 404, 'keys of others do not exist');
  assert.equal((await bob.send('POST', `${path}/revoke`, {})).status, 200);
  await until('the key to be rejected', async () => (await models()).status === 401);
  const rows = await db()
    .selectFrom('audit')
    .select(['actor', 'action'])
    .where('subject', '=', `key:${id}`)
    .orderBy('id')
    .execute();
  assert.deepEqual(
    rows.map(({ actor, action }) => `${action} ${actor === `person:${people.bob}`}`),
    ['key.created true', 'key.changed true', 'key.revoked true'],
  );
});

test('a call by cookie runs as a key of the person, is charged, and needs the header, the CSRF token and the origin', async () => {
  const [ana, bob] = [await as('ana'), await as('bob')];
  const { body: keys } = await ana.send<Page<{ id: string; group: string }>>('GET', '/console/v1/keys?group=claude');
  const id = keys.data[0]?.id ?? assert.fail();
  const call = (one: Browser, headers: Headers) => one.send('POST', '/v1/messages', MESSAGE, headers);
  const answered = await call(ana, { 'x-dragoman-key': id });
  assert.equal(answered.status, 200, answered.text);
  const forwarded = sim.journal.requests.at(-1)?.headers ?? {};
  for (const name of ['cookie', 'x-csrf-token', 'x-dragoman-key']) assert.ok(!(name in forwarded), name);
  assert.equal((await ana.send('GET', '/v1/models', undefined, { 'x-dragoman-key': id })).status, 200);
  const requestId = answered.headers.get('x-request-id');
  const line = gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === requestId);
  assert.deepEqual([line?.user, line?.key, line?.person], ['ana', id, people.ana]);

  const refused: [Browser, Headers, number, string][] = [
    [ana, {}, 401, 'invalid_api_key'],
    [ana, { 'x-dragoman-key': id, 'x-csrf-token': undefined }, 403, 'cross_site_request'],
    [ana, { 'x-dragoman-key': id, 'sec-fetch-site': 'cross-site' }, 403, 'cross_site_request'],
    [ana, { 'x-dragoman-key': id, cookie: undefined }, 401, 'not_signed_in'],
    [ana, { 'x-dragoman-key': 'key_none' }, 401, 'invalid_api_key'],
    [bob, { 'x-dragoman-key': id }, 401, 'invalid_api_key'],
    [await as('operator'), { 'x-dragoman-key': id }, 403, 'not_permitted'],
  ];
  for (const [one, headers, status, code] of refused) {
    const response = await call(one, headers);
    assert.deepEqual([response.status, /"code":"(\w+)"/.exec(response.text)?.[1]], [status, code]);
  }

  const usage = await until('the charge', async () => {
    const { body } = await ana.send<Page<Record<string, unknown>>>('GET', '/console/v1/usage?by=model,key');
    return body.data.find((row) => row.key === id);
  });
  assert.equal(usage.requests, 1);
  assert.ok(Number(usage.charge) > 0 && !('cost' in usage) && !('revenue' in usage));
  const csv = csvObjects((await ana.send('GET', '/console/v1/usage?by=day,model&format=csv')).text);
  assert.equal(csv[0]?.model, 'demo-messages');
  const { body: charges } = await ana.send<Page<{ kind: string }>>('GET', '/console/v1/charges');
  assert.ok(charges.data.length >= 2);
});

const WEATHER = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

test('the playground converses with a function by cookie in every dialect that it offers for a key of each style', async () => {
  const ana = await as('ana');
  const { body: keys } = await ana.send<Page<{ id: string; style: 'responses' | 'messages' | 'generate-content' }>>(
    'GET',
    '/console/v1/keys',
  );
  const tried = new Set<string>();
  for (const { id, style } of keys.data)
    for (const name of dialectsFor(style)) {
      if (tried.has(`${style} ${name}`)) continue;
      tried.add(`${style} ${name}`);
      const ask = async (turns: readonly Turn[]): Promise<ReplyTurn> => {
        const { path, body, reader: begin } = PLAY_DIALECTS[name];
        const settings = { model: 'demo-any', system: 'be brief', tools: [WEATHER], effort: 'low', maxTokens: 3_000 };
        const sent = body({ ...settings, turns });
        const { status, text } = await ana.send('POST', path(settings.model), sent, { 'x-dragoman-key': id });
        assert.equal(status, 200, `${style} ${name}: ${text}`);
        const reader = begin();
        for (const event of takeEvents(`${text}\n\n`).events) reader.add(JSON.parse(event));
        return reader.turn();
      };
      const user = { role: 'user', text: 'Explain the weather in "Oslo"', files: [] } as const;
      const reply = await ask([user]);
      const call = callsIn(reply)[0] ?? assert.fail(`${style} ${name} has no call`);
      assert.deepEqual(argumentsOf(call), { city: 'Oslo' });
      const results = { role: 'results', results: [{ call, text: '{"celsius":4}' }] } as const;
      const more = await ask([user, reply, results]);
      assert.match(textIn(more), /celsius/, `${style} ${name}`);
      const question = { role: 'user', text: 'hello', files: [] } as const;
      assert.match(textIn(await ask([user, reply, results, more, question])), /hello/, `${style} ${name}`);
    }
  assert.equal(tried.size, 3 + 3 + 4);
});

test('files of the console have a strict policy, hashed ones are immutable, and pages fall back to the index', async () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(gateway.url + path, { headers, redirect: 'manual' });
  const root = await get('/', { accept: 'text/html,*/*' });
  assert.deepEqual([root.status, root.headers.get('location')], [302, '/console/']);
  assert.equal((await get('/')).status, 404, 'other clients see no page');
  assert.equal((await get('/console')).headers.get('location'), '/console/');
  const missing = await get('/console/');
  assert.equal(missing.status, 503);
  assert.match(await missing.text(), /npm run console/);

  const built = join(folder, 'built');
  mkdirSync(join(built, 'assets'), { recursive: true });
  writeFileSync(join(built, 'index.html'), '<!doctype html><title>Console</title>');
  writeFileSync(join(built, 'assets', 'index-B4x_9aZ1.js'), `export const text = '${'x'.repeat(2_000)}';`);
  writeFileSync(join(folder, 'secret.txt'), 'outside');
  for (const path of ['/console/', '/console/models/openai/gpt-4.1', '/console/..%2fsecret.txt']) {
    const page = await get(path);
    assert.deepEqual([page.status, await page.text()], [200, '<!doctype html><title>Console</title>'], path);
    for (const [name, value] of Object.entries(CONSOLE_HEADERS)) assert.equal(page.headers.get(name), value);
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    const again = await get(path, { 'if-none-match': page.headers.get('etag') ?? '' });
    assert.equal(again.status, 304);
  }
  const script = await get('/console/assets/index-B4x_9aZ1.js', { 'accept-encoding': 'gzip' });
  assert.equal(script.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.deepEqual(
    [script.headers.get('content-type'), script.headers.get('content-encoding')],
    ['text/javascript; charset=utf-8', 'gzip'],
  );
  assert.match(await script.text(), /^export const text/);
  assert.equal((await fetch(`${gateway.url}/console/`, { method: 'HEAD' })).status, 200);
  for (const path of ['/console/assets/none.js', '/console/assets/..%2findex.html', '/console/v1/none'])
    assert.equal((await get(path)).status, 404, path);
});
