/** Gemini's interactions on generate-content groups: the official client, charges, ownership, and what is refused. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { google } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

type Json = Readonly<Record<string, unknown>>;

let sim: Sim;
let gateway: TestGateway;
let key: string;
let foreign: string;
let other: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const setup = basicSetup(sim.url) as { models: object[]; accounts: { id: string; group: string }[] };
  // A second account, which does not hold the interactions of the first.
  const more = setup.accounts
    .filter(({ group }) => group === 'gemini')
    .map((account) => ({ ...account, id: 'gemini-more', api_key: 'sk-more' }));
  const models = setup.models.map((model) => ({ ...model, prices: { input: '1', output: '10' } }));
  const keys = await gateway.apply({ ...setup, models, accounts: [...setup.accounts, ...more] });
  key = keys.gemini ?? assert.fail('no key');
  other = keys.openai ?? assert.fail('no key');
  foreign = (await gateway.apply({ users: [{ id: 'bob', balance: '10' }], keys: [{ user: 'bob', group: 'gemini' }] }))
    .gemini as string;
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const call = (path: string, { method = 'POST', token = key, body }: { method?: string; token?: string; body?: Json }) =>
  fetch(`${gateway.url}/v1beta/interactions${path}`, {
    method,
    headers: { 'x-goog-api-key': token, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
const create = async (more: Json = {}): Promise<Json & { id: string }> => {
  const response = await call('', { body: { model: 'demo-generate', input: 'Hello', ...more } });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as Json & { id: string };
};
const errorOf = async (response: Response): Promise<[number, string]> => {
  const { error } = (await response.json()) as { error: { message: string } };
  return [response.status, error.message];
};

test('G 4.6: @google/genai creates, streams, reads, continues and deletes interactions', async () => {
  const { interactions } = google(gateway.url, key);
  const made = await interactions.create({ model: 'demo-generate', input: 'Hello' });
  assert.equal(made.status, 'completed');
  const types: string[] = [];
  for await (const event of await interactions.create({ model: 'demo-generate', input: 'Hello', stream: true }))
    types.push(event.event_type ?? '');
  assert.deepEqual([types[0], types.at(-1)], ['interaction.created', 'interaction.completed']);
  const shown = await interactions.get(made.id ?? '');
  assert.equal(shown.id, made.id);
  const next = await interactions.create({
    model: 'demo-generate',
    input: 'Go on.',
    previous_interaction_id: made.id ?? '',
  });
  assert.notEqual(next.id, made.id);
  await interactions.delete(made.id ?? '');
  assert.equal((await call(`/${made.id}`, { method: 'GET' })).status, 404);
});

test('usage is charged by what the provider reports, also of a stream', async () => {
  for (const stream of [false, true]) {
    const response = await call('', { body: { model: 'demo-generate', input: 'Hello', stream } });
    const text = await response.text();
    const [, thought] = /"total_thought_tokens":(\d+)/.exec(text) ?? [];
    const [, output] = /"total_output_tokens":(\d+)/.exec(text) ?? [];
    const record = await until('the usage record', () =>
      gateway.context.database.db
        .selectFrom('usage_records')
        .select(['output_tokens', 'estimated'])
        .where('request_id', '=', response.headers.get('x-request-id') ?? '')
        .executeTakeFirst(),
    );
    assert.deepEqual([Number(record.output_tokens), record.estimated], [Number(thought) + Number(output), false]);
  }
});

test('an interaction goes to the account that holds it, and belongs to its user', async () => {
  const { id } = await create();
  const holder = sim.journal.requests.at(-1)?.headers['x-goog-api-key'];
  for (let n = 0; n < 4; n += 1) {
    assert.equal((await call(`/${id}`, { method: 'GET' })).status, 200);
    assert.equal(sim.journal.requests.at(-1)?.headers['x-goog-api-key'], holder);
  }
  const missing = await errorOf(await call('/v1_unknown', { method: 'GET' }));
  const hidden = await errorOf(await call(`/${id}`, { method: 'GET', token: foreign }));
  assert.deepEqual([hidden[0], hidden[1].replace(id, '')], [missing[0], missing[1].replace('v1_unknown', '')]);
  for (const [path, method] of [
    ['', 'DELETE'],
    ['/cancel', 'POST'],
  ] as const)
    assert.equal((await call(`/${id}${path}`, { method, token: foreign })).status, missing[0]);
  const body = { model: 'demo-generate', input: 'Go on.', previous_interaction_id: id };
  assert.notEqual((await call('', { token: foreign, body })).status, 200);
  assert.equal((await call('', { body })).status, 200);
});

test('what has no price or other owners is refused, and other groups say why', async () => {
  const refusal = async (more: Json) =>
    errorOf(await call('', { body: { model: 'demo-generate', input: 'x', ...more } }));
  for (const more of [
    { agent: 'deep-research' },
    { background: true },
    { environment: 'env_1' },
    { cached_content: 'cachedContents/1' },
  ]) {
    const [status, message] = await refusal(more);
    assert.deepEqual([status, message.includes(Object.keys(more)[0] ?? '')], [400, true], message);
  }
  const [status, message] = await errorOf(
    await call('', { token: other, body: { model: 'demo-responses', input: 'x' } }),
  );
  assert.equal(status, 404);
  assert.match(message, /interactions/);
});
