import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

let sim: Sim;
let gateway: TestGateway;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ setup: basicSetup(sim.url) });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const limited = async (name: string, limits: object): Promise<string> =>
  (await gateway.apply({ keys: [{ user: 'ana', group: 'claude', name, ...limits }] })).claude ?? assert.fail();
const ask = (key: string, model = 'demo-messages', path = '/v1/messages') =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] }),
  });

test('a key has its requests per minute and is told what is left, in native and converted answers', async () => {
  const key = await limited('rpm', { rpm: 2 });
  const first = await ask(key);
  assert.equal(first.headers.get('x-ratelimit-limit-requests'), '2');
  assert.equal(first.headers.get('x-ratelimit-remaining-requests'), '1');
  assert.equal(
    (await ask(key, 'demo-messages', '/v1/chat/completions')).headers.get('x-ratelimit-remaining-requests'),
    '0',
  );
  const third = await ask(key);
  assert.equal(third.status, 429);
  assert.ok(Number(third.headers.get('retry-after')) >= 1);
  const body = (await third.json()) as { error: { type: string; code: string } };
  assert.deepEqual([body.error.type, body.error.code], ['rate_limit_error', 'rate_limit_exceeded']);
});

test('tokens of earlier answers count', async () => {
  const key = await limited('tpm', { tpm: 10 });
  assert.equal((await ask(key)).status, 200);
  assert.equal((await ask(key)).status, 429);
});

test('no more calls at once than the key may have, and a place is free again when a client leaves', async () => {
  const key = await limited('one', { concurrency: 1 });
  const leave = new AbortController();
  const open = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    signal: leave.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo-messages@events=100000;gap=5',
      max_tokens: 50,
      stream: true,
      messages: [{ role: 'user', content: 'hello' }],
    }),
  });
  assert.equal(open.status, 200);
  assert.equal((await ask(key)).status, 429);
  sim.journal.clear();
  leave.abort();
  for (let status = 429; status !== 200; ) status = (await ask(key)).status;
});

test('lists and usage are not limited', async () => {
  const key = await limited('lists', { rpm: 1 });
  for (let n = 0; n < 3; n++)
    assert.equal(
      (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status,
      200,
    );
});
