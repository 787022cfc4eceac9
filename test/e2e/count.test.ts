/** Token counts on every group: by the provider, or estimated. */
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

const MESSAGES_BODY = {
  messages: [{ role: 'user', content: 'How long is this sentence, counted in tokens?' }],
  system: 'Be brief.',
};

test('G 4.3: count_tokens on a generate-content group returns the count of the provider', async () => {
  sim.journal.clear();
  const { status, body, estimated } = await count('gemini', '/v1/messages/count_tokens', {
    model: 'demo-generate',
    ...MESSAGES_BODY,
  });
  assert.equal(status, 200);
  assert.ok(Number(body.input_tokens) > 5);
  assert.equal(estimated, false);
  assert.equal(sim.journal.requests.at(-1)?.path, '/v1beta/models/demo-generate:countTokens');
});

for (const group of ['claude', 'gemini']) {
  test(`input_tokens on the ${group} group returns the count of the provider`, async () => {
    const { body, estimated } = await count(group, '/v1/responses/input_tokens', {
      model: group === 'claude' ? 'demo-messages' : 'demo-generate',
      input: 'How long is this?',
    });
    assert.equal(body.object, 'response.input_tokens');
    assert.ok(Number(body.input_tokens) > 2);
    assert.equal(estimated, false);
  });
}

test('G 4.1: count_tokens returns an estimate, marked as one, when the provider fails to count', async () => {
  sim.next('status=500');
  const { status, body, estimated } = await count('gemini', '/v1/messages/count_tokens', {
    model: 'demo-generate',
    ...MESSAGES_BODY,
  });
  assert.equal(status, 200);
  assert.ok(Number(body.input_tokens) > 5 && Number(body.input_tokens) < 60);
  assert.ok(estimated);
});

test('G 4.1: countTokens returns estimates when the account has no count feature', async () => {
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
    const response = await count('plain', '/v1beta/models/demo-generate:countTokens', body);
    assert.ok(Number(response.body.totalTokens) > 1, JSON.stringify(response.body));
    assert.ok(response.estimated);
  }
});

test('[S77] G 4.3: count_tokens on a responses group is not supported', async () => {
  const { status, body } = await count('openai', '/v1/messages/count_tokens', {
    model: 'demo-responses',
    ...MESSAGES_BODY,
  });
  assert.equal(status, 404);
  assert.equal((body.error as { type: string }).type, 'not_found_error');
});
