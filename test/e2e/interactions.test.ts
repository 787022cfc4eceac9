/** Gemini's interactions on generate-content groups: the official client, charges, ownership, and what is refused. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { openWorkerServices } from '../../src/program/server/command-services.ts';
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

test('a response that was made by conversion is no interaction', async () => {
  const made = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-generate', input: 'Hello' }),
  });
  const { id } = (await made.json()) as { id: string };
  for (const [path, method] of [
    [`/${id}`, 'GET'],
    [`/${id}/cancel`, 'POST'],
    [`/${id}`, 'DELETE'],
  ] as const)
    assert.equal((await call(path, { method })).status, 404, `${method} ${path}`);
});

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

test('G 4.6: one in the background is held, followed and charged once, cancelled and deleted', async () => {
  const { db } = gateway.context.database;
  const worker = await openWorkerServices(gateway.context);
  const follow = async (): Promise<void> => {
    await db
      .updateTable('background_responses')
      .set({ next_check_at: new Date(0) })
      .where('state', '=', 'running')
      .execute();
    await worker.background.jobs[0]?.run();
  };
  const begin = async () => {
    const response = await call('', { body: { model: 'demo-generate', input: 'Hello', background: true } });
    const { id, status } = (await response.json()) as { id: string; status: string };
    assert.deepEqual([response.status, status], [200, 'in_progress']);
    const row = await db
      .selectFrom('background_responses')
      .selectAll()
      .where('response_id', '=', id)
      .executeTakeFirstOrThrow();
    const charges = () =>
      db
        .selectFrom('usage_records')
        .select(['operation', 'output_tokens', 'estimated'])
        .where('request_id', '=', row.request_id)
        .execute();
    return { id, row, charges };
  };
  try {
    const made = await begin();
    const hold = await db.selectFrom('holds').select('nanos').where('reference', '=', made.row.reference).execute();
    assert.ok(BigInt(hold[0]?.nanos ?? 0) > 0n, 'its maximum cost is held');
    assert.equal((await call(`/${made.id}`, { method: 'GET', token: foreign })).status, 404);
    await follow();
    await follow();
    const { usage } = (await (await call(`/${made.id}`, { method: 'GET' })).json()) as {
      usage: Record<string, number>;
    };
    const output = (usage.total_output_tokens ?? 0) + (usage.total_thought_tokens ?? 0);
    assert.deepEqual(await made.charges(), [
      { operation: 'interactions.create', output_tokens: BigInt(output), estimated: false },
    ]);
    assert.equal((await call(`/${made.id}`, { method: 'DELETE' })).status, 200);
    const stopped = await begin();
    assert.equal(((await (await call(`/${stopped.id}/cancel`, {})).json()) as Json).status, 'cancelled');
    await follow();
    assert.deepEqual(await stopped.charges(), []);
    const { state } = await db
      .selectFrom('background_responses')
      .select('state')
      .where('response_id', '=', stopped.id)
      .executeTakeFirstOrThrow();
    assert.equal(state, 'released');
  } finally {
    await worker.close();
  }
});

test('what has no price or other owners is refused, and other groups say why', async () => {
  const refusal = async (more: Json) =>
    errorOf(await call('', { body: { model: 'demo-generate', input: 'x', ...more } }));
  for (const more of [{ agent: 'deep-research' }, { environment: 'env_1' }, { cached_content: 'cachedContents/1' }]) {
    const [status, message] = await refusal(more);
    assert.deepEqual([status, message.includes(Object.keys(more)[0] ?? '')], [400, true], message);
  }
  const [status, message] = await errorOf(
    await call('', { token: other, body: { model: 'demo-responses', input: 'x' } }),
  );
  assert.equal(status, 404);
  assert.match(message, /interactions/);
});
