/** Model lists: names that a pattern accepts, and HEAD. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const read = (path: string, group: string, method = 'GET'): Promise<Response> =>
  fetch(gateway.url + path, { method, headers: { authorization: `Bearer ${keys[group]}` } });

test('G 4.7: GET /v1/models/{id} knows every name that a call may use', async () => {
  for (const [path, group] of [
    ['/v1/models/demo-unlisted', 'openai'],
    ['/v1/models/alias-anything', 'claude'],
    ['/v1beta/models/demo-unlisted', 'gemini'],
  ] as const) {
    const response = await read(path, group);
    assert.equal(response.status, 200, path);
    const { id, name } = (await response.json()) as { id?: string; name?: string };
    assert.equal(id ?? name?.replace('models/', ''), path.split('/').at(-1));
  }
  assert.equal((await read('/v1/models/nope', 'openai')).status, 404);
});

test('G 4.7: a key that may not use a model does not find it', async () => {
  const own = await gateway.apply({
    groups: [{ id: 'narrow', style: 'messages' }],
    accounts: [{ id: 'n1', group: 'narrow', base_url: sim.url, api_key: 'sk-n' }],
    models: [{ id: 'demo-*', groups: ['narrow'] }],
    keys: [{ user: 'ana', group: 'narrow', models: ['demo-a*'] }],
  });
  keys = { ...keys, ...own };
  assert.equal((await read('/v1/models/demo-ab', 'narrow')).status, 200);
  assert.equal((await read('/v1/models/demo-b', 'narrow')).status, 404);
});

test('HEAD has the status and length of GET and no body', async () => {
  for (const path of ['/v1/models', '/v1/models/demo-responses', '/v1/usage', '/openapi.json']) {
    const [get, head] = [await read(path, 'openai'), await read(path, 'openai', 'HEAD')];
    assert.equal(head.status, 200, path);
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'), path);
    assert.equal(await head.text(), '');
  }
  assert.equal((await read('/v1/models/nope', 'openai', 'HEAD')).status, 404);
});
