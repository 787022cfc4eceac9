/** Token counts on every group: by the provider, or estimated. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
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

describe('G 4.6 r3: native counting on accounts that cannot count', () => {
  let upstream: Canned;
  let ours: Record<string, string>;
  let other: TestGateway;
  before(async () => {
    upstream = await startCanned();
    other = await startGateway({ database: gateway.database });
    ours = await other.apply({
      groups: [
        { id: 'r', style: 'responses' },
        { id: 'm', style: 'messages' },
        { id: 'g', style: 'generate-content' },
      ],
      accounts: ['r', 'm', 'g'].map((group) => ({
        id: `${group}1`,
        group,
        base_url: group === 'r' ? `${upstream.url}/v1` : upstream.url,
        api_key: 'sk-x',
      })),
      models: [{ id: 'demo-x', groups: ['r', 'm', 'g'] }],
      keys: ['r', 'm', 'g'].map((group) => ({ user: 'ana', group })),
    });
  });
  after(async () => {
    await other.stop();
    await upstream.close();
  });

  for (const [group, path, member, body] of [
    ['m', '/v1/messages/count_tokens', 'input_tokens', { model: 'demo-x', ...MESSAGES_BODY }],
    ['r', '/v1/responses/input_tokens', 'input_tokens', { model: 'demo-x', input: 'How long is this?' }],
    ['g', '/v1beta/models/demo-x:countTokens', 'totalTokens', { contents: [{ parts: [{ text: 'How long is it?' }] }] }],
  ] as const) {
    for (const status of [404, 405, 501])
      test(`${path} returns an estimate when the provider responds with ${status}`, async () => {
        upstream.respondWith(jsonResponse('{"error":{"message":"no such endpoint"}}', status));
        const sent = upstream.requests.length;
        const response = await fetch(other.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${ours[group]}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        const counted = (await response.json()) as Record<string, unknown>;
        assert.equal(response.status, 200, JSON.stringify(counted));
        assert.ok(Number(counted[member]) > 2);
        assert.equal(response.headers.get('x-gateway-token-count'), 'estimated');
        assert.equal(upstream.requests.length, sent + 1);
      });
  }
});

test('G 4.6 r3: a count that the provider rejects for its content is an error, not an estimate', async () => {
  sim.next('status=400');
  const { status, estimated } = await count('claude', '/v1/messages/count_tokens', {
    model: 'demo-messages',
    ...MESSAGES_BODY,
  });
  assert.equal(status, 400);
  assert.equal(estimated, false);
});

test('G 4.3: count_tokens returns an estimate when no messages account has the count feature', async () => {
  const added = await gateway.apply({
    groups: [{ id: 'uncounted', style: 'messages' }],
    accounts: [{ id: 'un1', group: 'uncounted', base_url: sim.url, api_key: 'sk-x', features: ['messages'] }],
    models: [{ id: 'demo-messages', groups: ['uncounted'] }],
    keys: [{ user: 'ana', group: 'uncounted' }],
  });
  keys = { ...keys, ...added };
  const { body, estimated } = await count('uncounted', '/v1/messages/count_tokens', {
    model: 'demo-messages',
    ...MESSAGES_BODY,
  });
  assert.ok(Number(body.input_tokens) > 5, JSON.stringify(body));
  assert.ok(estimated);
});

test('G 4.3: count_tokens on a responses group is not supported', async () => {
  const { status, body } = await count('openai', '/v1/messages/count_tokens', {
    model: 'demo-responses',
    ...MESSAGES_BODY,
  });
  assert.equal(status, 404);
  assert.equal((body.error as { type: string }).type, 'not_found_error');
});
