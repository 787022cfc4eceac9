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

async function count(
  group: string,
  path: string,
  body: object,
): Promise<{ status: number; body: Record<string, unknown>; estimated: boolean }> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    estimated: response.headers.get('x-gateway-token-count') === 'estimated',
  };
}

const MESSAGE = {
  messages: [{ role: 'user', content: 'How long is this sentence, counted in tokens?' }],
  system: 'Be brief.',
};

test('a messages count on the native group is the count of its provider', async () => {
  sim.journal.clear();
  const { status, body, estimated } = await count('gemini', '/v1/messages/count_tokens', {
    model: 'demo-generate',
    ...MESSAGE,
  });
  assert.equal(status, 200);
  assert.ok(Number(body.input_tokens) > 5);
  assert.equal(estimated, false);
  assert.equal(sim.journal.requests.at(-1)?.path, '/v1beta/models/demo-generate:countTokens');
});

for (const group of ['claude', 'gemini']) {
  test(`responses input tokens on the ${group} group are the count of its provider`, async () => {
    const { body, estimated } = await count(group, '/v1/responses/input_tokens', {
      model: group === 'claude' ? 'demo-messages' : 'demo-generate',
      input: 'How long is this?',
    });
    assert.equal(body.object, 'response.input_tokens');
    assert.ok(Number(body.input_tokens) > 2);
    assert.equal(estimated, false);
  });
}

test('a provider that cannot count is replaced by an estimate, and the answer says so', async () => {
  sim.next('status=500');
  const { status, body, estimated } = await count('gemini', '/v1/messages/count_tokens', {
    model: 'demo-generate',
    ...MESSAGE,
  });
  assert.equal(status, 200);
  assert.ok(Number(body.input_tokens) > 5 && Number(body.input_tokens) < 60);
  assert.ok(estimated);
});

test('an account without counting gets estimates on the native endpoint too', async () => {
  await gateway.apply({
    groups: [{ id: 'plain', style: 'generate-content' }],
    accounts: [{ id: 'plain-1', group: 'plain', base_url: sim.url, api_key: 'sk-x', features: ['generate'] }],
    models: [{ id: 'demo-generate', groups: ['plain'] }],
  });
  keys = { ...keys, ...(await gateway.apply({ keys: [{ user: 'ana', group: 'plain' }] })) };
  for (const body of [
    { contents: [{ role: 'user', parts: [{ text: 'hello there' }] }] },
    {
      generateContentRequest: {
        model: 'models/demo-generate',
        contents: [{ role: 'user', parts: [{ text: 'hello there' }] }],
      },
    },
  ]) {
    const answer = await count('plain', '/v1beta/models/demo-generate:countTokens', body);
    assert.ok(Number(answer.body.totalTokens) > 1, JSON.stringify(answer.body));
    assert.ok(answer.estimated);
  }
});

test('[S77] counting on a responses group is refused for messages, as the matrix says', async () => {
  const { status, body } = await count('openai', '/v1/messages/count_tokens', { model: 'demo-responses', ...MESSAGE });
  assert.equal(status, 404);
  assert.equal((body.error as { type: string }).type, 'not_found_error');
});
