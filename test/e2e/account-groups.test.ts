/** Accounts of several groups: one credential, one health and one concurrency limit, and features per group. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { applySetup, parseSetup } from '../../src/catalog/setup/index.ts';
import type { ShownAccount } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let gateway: TestGateway;
const admin = adminApi(() => gateway.url);
const token = (group: string): string => `the-key-of-ana-for-${group}`;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  await gateway.apply({
    groups: [
      { id: 'fast', style: 'responses' },
      { id: 'plain', style: 'responses' },
      { id: 'claude', style: 'messages' },
    ],
    accounts: [
      {
        ...{ id: 'one', groups: ['fast', 'plain'], base_url: `${sim.url}/v1`, api_key: 'sk-one', max_concurrency: 1 },
        group_features: { plain: ['chat'] },
      },
      { id: 'two', groups: ['claude'], base_url: sim.url, api_key: 'sk-two' },
    ],
    models: [
      { id: 'demo-*', groups: ['fast', 'claude'] },
      { id: 'demo-*', groups: ['plain'] },
    ],
    users: [{ id: 'ana', balance: '100' }],
    keys: ['fast', 'plain', 'claude'].map((group) => ({ user: 'ana', group, key: token(group) })),
  });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});
beforeEach(() => sim.journal.clear());

async function send(group: string, path = '/v1/responses', body: object = { model: 'demo-x', input: 'hi' }) {
  const headers = { authorization: `Bearer ${token(group)}`, 'content-type': 'application/json' };
  const response = await fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return {
    status: response.status,
    converted: response.headers.get('x-gateway-converted'),
    text: await response.text(),
  };
}

test('one account serves two groups with one credential, and with the features of each', async () => {
  const [fast, plain] = [await send('fast'), await send('plain')];
  assert.deepEqual([fast.status, fast.converted], [200, null]);
  assert.deepEqual([plain.status, plain.converted], [200, 'responses->chat']);
  assert.deepEqual(
    sim.journal.requests.map(({ path, headers }) => [path, headers.authorization]),
    [
      ['/v1/responses', 'Bearer sk-one'],
      ['/v1/chat/completions', 'Bearer sk-one'],
    ],
  );
});

test('the groups share the health: a parked account is out in both', async () => {
  assert.equal((await admin('POST', '/accounts/one/park', {})).status, 200);
  for (const group of ['fast', 'plain']) assert.equal((await send(group)).status, 503, group);
  assert.equal((await admin('POST', '/accounts/one/resume', {})).status, 200);
  for (const group of ['fast', 'plain']) assert.equal((await send(group)).status, 200, group);
});

test('operators see and change the groups of an account, of one kind only', async () => {
  const { body } = await admin<ShownAccount>('GET', '/accounts/one');
  assert.deepEqual([body.group, body.groups, body.group_features], ['fast', ['fast', 'plain'], { plain: ['chat'] }]);
  const listed = await admin<{ data: ShownAccount[] }>('GET', '/accounts?group=plain');
  assert.deepEqual(
    listed.body.data.map(({ id }) => id),
    ['one'],
  );
  await gateway.apply({ groups: [{ id: 'film', style: 'video', variant: 'A' }] });
  assert.equal((await admin('PATCH', '/accounts/two', { groups: ['claude', 'film'] })).status, 400);
  assert.equal((await admin('PATCH', '/accounts/two', { groups: ['claude', 'nope'] })).status, 400);
  const other = await admin<ShownAccount>('PATCH', '/accounts/two', { groups: ['claude', 'fast'] });
  assert.equal(other.status, 200, other.text);
  assert.deepEqual(other.body.groups, ['claude', 'fast']);
  assert.ok(other.body.features.includes('responses'), 'it offers what the style of the new group has');
  assert.deepEqual((await admin<ShownAccount>('PATCH', '/accounts/two', { groups: ['claude'] })).body.groups, [
    'claude',
  ]);
});

test('an account outlives a group that is removed, while it has another', async () => {
  await gateway.apply({
    groups: ['gone', 'stays'].map((id) => ({ id, style: 'messages' })),
    accounts: [{ id: 'three', groups: ['gone', 'stays'], base_url: sim.url, api_key: 'sk-three' }],
  });
  const { db } = gateway.context.database;
  await db.deleteFrom('groups').where('id', '=', 'gone').execute();
  const { body } = await admin<ShownAccount>('GET', '/accounts/three');
  assert.deepEqual([body.group, body.groups], ['stays', ['stays']]);
  await db.deleteFrom('groups').where('id', '=', 'stays').execute();
  assert.equal((await admin('GET', '/accounts/three')).status, 404);
});

test('apply warns of a credential that two accounts have', async () => {
  const twice = { groups: [], accounts: [{ id: 'again', group: 'claude', base_url: sim.url, api_key: 'sk-two' }] };
  const { database, secrets } = gateway.context;
  const { warnings } = await applySetup(database.db, parseSetup(JSON.stringify(twice)), { secrets });
  assert.match(warnings.join('\n'), /accounts\[0\].*two.*groups/);
  await until('the account', () => gateway.catalog().accounts('claude').length === 2);
});
