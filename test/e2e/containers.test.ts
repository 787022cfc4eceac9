/** Containers that tools of responses made at a provider: whose they are, how their user reads them on the account that holds them, and lists. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

type Keys = Record<string, string>;

const TABLE = 'lamp;12\n'.repeat(20_000);

let provider: Canned;
let gateway: TestGateway;
let ana: Keys;
let bob: Keys;
const admin = adminApi(() => gateway.url);
const db = () => gateway.context.database.db;

before(async () => {
  provider = await startCanned();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  const setup = basicSetup() as { groups: object[]; accounts: { group: string }[] };
  const account = (id: string, group = 'openai') => ({
    ...{ id, group, base_url: `${provider.url}/${id}/v1`, api_key: `sk-${id}` },
  });
  ana = await gateway.apply({
    ...setup,
    groups: [...setup.groups, { id: 'other', style: 'responses' }],
    accounts: [
      ...setup.accounts.filter(({ group }) => group !== 'openai'),
      ...[account('one'), account('two'), account('three'), account('elsewhere', 'other')],
    ],
    models: [{ id: '*', groups: ['openai', 'claude', 'gemini', 'other'] }],
  });
  Object.assign(ana, await gateway.apply({ keys: [{ user: 'ana', group: 'other' }] }));
  bob = await gateway.apply({
    users: [{ id: 'bob', balance: '100' }],
    keys: ['openai', 'claude'].map((group) => ({ user: 'bob', group })),
  });
});
after(async () => {
  await gateway?.stop();
  await provider?.close();
});

const accountOf = (): string => provider.last.target.split('/')[1] ?? '';
/** Returns the account that ran code in the containers. */
async function make(token: string | undefined, name: string, ...containers: string[]): Promise<string> {
  const output = containers.map((id, n) => ({ type: 'code_interpreter_call', id: `ci_${name}${n}`, container_id: id }));
  const usage = { input_tokens: 1, output_tokens: 1 };
  provider.respondWith(jsonResponse(JSON.stringify({ id: `resp_${name}`, object: 'response', output, usage })));
  const response = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      input: 'draw',
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    }),
  });
  assert.equal(response.status, 200, await response.text());
  const alive = db().selectFrom('provider_objects').select('id').where('expires_at', '>', new Date());
  const rows = () => alive.where('id', 'in', containers).execute();
  await until('the rows', async () => (await rows()).length === containers.length);
  return accountOf();
}
const ask = (path: string, token: string | undefined, { method = 'GET', at = gateway.url } = {}) =>
  fetch(`${at}/v1/containers${path}`, { method, headers: { authorization: `Bearer ${token}` } });
const idsOf = async (response: Response): Promise<string[]> =>
  ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);

test('the OpenAI SDK reads a container and its files, and deletes it, on the account that made it', async () => {
  const account = await make(ana.openai, 'sdk', 'cntr_sdk');
  const { containers } = openai(gateway.url, ana.openai ?? '');
  provider.respondWith(jsonResponse('{"id":"cntr_sdk","object":"container","name":"auto"}'));
  for (let n = 0; n < 4; n += 1) {
    assert.equal((await containers.retrieve('cntr_sdk')).name, 'auto');
    assert.deepEqual(
      [provider.last.target, provider.last.headers.authorization],
      [`/${account}/v1/containers/cntr_sdk`, `Bearer sk-${account}`],
    );
  }
  provider.respondWith(
    jsonResponse('{"object":"list","data":[{"id":"cfile_1","path":"/mnt/data/a.csv"}],"has_more":false}'),
  );
  const [file] = (await containers.files.list('cntr_sdk', { limit: 5 })).data;
  assert.deepEqual([file?.id, provider.last.target], ['cfile_1', `/${account}/v1/containers/cntr_sdk/files?limit=5`]);
  provider.respondWith(jsonResponse('{"id":"cfile_1","bytes":8}'));
  assert.equal((await containers.files.retrieve('cfile_1', { container_id: 'cntr_sdk' })).bytes, 8);
  provider.respondWith((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(TABLE);
  });
  const content = await containers.files.content.retrieve('cfile_1', { container_id: 'cntr_sdk' });
  assert.deepEqual([await content.text(), content.headers.get('x-content-type-options')], [TABLE, 'nosniff']);
  assert.equal(provider.last.target, `/${account}/v1/containers/cntr_sdk/files/cfile_1/content`);
  assert.deepEqual(
    (await containers.list()).data.map(({ id }) => id),
    ['cntr_sdk'],
  );
  provider.respondWith(jsonResponse('{"id":"cntr_sdk","object":"container.deleted","deleted":true}'));
  await containers.delete('cntr_sdk');
  assert.deepEqual([provider.last.method, accountOf()], ['DELETE', account]);
  assert.deepEqual((await containers.list()).data, []);
});

test('a list has the containers of the user in pages, while they live, on the accounts of the key', async () => {
  await make(ana.openai, 'list', 'cntr_a', 'cntr_b', 'cntr_c');
  await make(ana.other, 'list2', 'cntr_other');
  await make(bob.openai, 'list3', 'cntr_bob');
  provider.requests.length = 0;
  const all = await idsOf(await ask('', ana.openai));
  assert.deepEqual(all.toSorted(), ['cntr_a', 'cntr_b', 'cntr_c']);
  const first = await idsOf(await ask('?limit=2', ana.openai));
  const rest = await idsOf(await ask(`?limit=2&after=${first[1]}`, ana.openai));
  assert.deepEqual([...first, ...rest], all);
  assert.deepEqual(await idsOf(await ask('', ana.other)), ['cntr_other']);
  assert.deepEqual(await idsOf(await ask('', bob.openai)), ['cntr_bob']);
  const expired = { expires_at: new Date(0) };
  await db().updateTable('provider_objects').set(expired).where('id', '=', 'cntr_a').execute();
  assert.deepEqual((await idsOf(await ask('', ana.openai))).toSorted(), ['cntr_b', 'cntr_c']);
  // A further use lets it live on.
  await make(ana.openai, 'again', 'cntr_a');
  assert.deepEqual((await idsOf(await ask('', ana.openai))).toSorted(), ['cntr_a', 'cntr_b', 'cntr_c']);
  assert.ok(provider.requests.every(({ method }) => method === 'POST'));
});

test('another replica reads it too, and what the provider says of a missing one is its own', async () => {
  const account = await make(ana.openai, 'replica', 'cntr_replica');
  const missing = { error: { message: "Container with id 'cntr_replica' not found.", type: 'invalid_request_error' } };
  provider.respondWith(jsonResponse(JSON.stringify(missing), 404));
  const replica = await startGateway({ database: gateway.database });
  try {
    for (let n = 0; n < 3; n += 1) {
      const response = await ask('/cntr_replica', ana.openai, { at: replica.url });
      assert.deepEqual([response.status, await response.json(), accountOf()], [404, missing, account]);
    }
  } finally {
    await replica.stop();
  }
});

/** Every route that names a container, and every identity that it does not belong to. */
test('a container of another user is missing for everybody else, on every route', async () => {
  await make(ana.openai, 'owned', 'cntr_owned');
  const revoked = await gateway.apply({
    users: [{ id: 'gone', balance: '10' }],
    keys: [{ user: 'gone', group: 'openai' }],
  });
  await db().updateTable('keys').set({ revoked_at: new Date() }).where('user_id', '=', 'gone').execute();
  await gateway.apply({});
  const routes = [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/files'],
    ['GET', '/files/cfile_1'],
    ['GET', '/files/cfile_1/content'],
  ] as const;
  const others: readonly [string, string | undefined, number][] = [
    ['another user', bob.openai, 404],
    ['another user with a key of another style', bob.claude, 404],
    ['the owner with a key of another group of the style', ana.other, 404],
    ['the owner with a key of another style', ana.claude, 404],
    ['a key that was revoked', revoked.openai, 401],
    ['no key of ours', 'wrong', 401],
  ];
  for (const [who, token, status] of others)
    for (const [method, path] of routes) {
      provider.requests.length = 0;
      const read = async (id: string) => {
        const response = await ask(`/${id}${path}`, token, { method });
        return [response.status, (await response.text()).replaceAll(/cntr_\w+|req_\w+/g, 'ID')];
      };
      const [foreign, missing] = [await read('cntr_owned'), await read('cntr_unknown')];
      assert.deepEqual(foreign, missing, `${who}, ${method} ${path}`);
      assert.equal(foreign[0], status, `${who}, ${method} ${path}: ${foreign[1]}`);
      assert.equal(provider.requests.length, 0, `${who}, ${method} ${path}: nothing is sent`);
    }
});

test('a path leads to nothing but the own container', async () => {
  await make(ana.openai, 'path', 'cntr_path');
  await make(bob.openai, 'path2', 'cntr_secret');
  provider.requests.length = 0;
  for (const path of [
    '/cntr_path/files/..%2F..%2Fcntr_secret',
    '/cntr_path/files/..%2F..%2Fcntr_secret%2Ffiles%2Fcfile_1/content',
    '/cntr_path/files/cfile_1%3Fx',
    '/cntr_path%2F..%2Fcntr_secret',
    // An item of the own response, which is no container.
    '/ci_path0',
  ])
    assert.equal((await ask(path, ana.openai)).status, 404, path);
  assert.equal(provider.requests.length, 0);
});

test('a container is not created by itself, because it would not be charged', async () => {
  provider.requests.length = 0;
  const refused = await ask('', ana.openai, { method: 'POST' });
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  assert.deepEqual([refused.status, error.code], [404, 'endpoint_not_supported']);
  assert.match(error.message, /would not be charged/);
  assert.equal(provider.requests.length, 0);
});

test('an operator sees containers with what users keep, and deletes them at the provider', async () => {
  const account = await make(bob.openai, 'kept', 'cntr_kept');
  const listed = async () =>
    (await admin<{ data: { id: string; account: string }[] }>('GET', '/objects?kind=container&user=bob')).body.data;
  assert.deepEqual(
    (await listed()).filter(({ id }) => id === 'cntr_kept').map((row) => row.account),
    [account],
  );
  provider.respondWith(jsonResponse('{"deleted":true}'));
  assert.equal((await admin('DELETE', '/users/bob/objects/cntr_kept')).status, 200);
  assert.deepEqual([provider.last.method, provider.last.target], ['DELETE', `/${account}/v1/containers/cntr_kept`]);
  assert.ok((await listed()).every(({ id }) => id !== 'cntr_kept'));
});
