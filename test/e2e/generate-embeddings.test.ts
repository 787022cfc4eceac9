/** Native embeddings of generate-content groups: the SDK, aliases, charges, and bodies that name another model. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { google } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let gateway: TestGateway;
let key: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const setup = basicSetup(sim.url) as { models: object[] };
  const prices = { input: '1', output: '1000' };
  const models = setup.models.map((model) => ({ ...model, prices }));
  key = (await gateway.apply({ ...setup, models })).gemini ?? assert.fail('no key');
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const post = (path: string, body: object | string): Promise<Response> =>
  fetch(`${gateway.url}/v1beta/models/${path}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

async function recordOf(response: Response) {
  return until('the usage record', () =>
    gateway.context.database.db
      .selectFrom('usage_records')
      .select(['input_tokens', 'output_tokens', 'estimated'])
      .where('request_id', '=', response.headers.get('x-request-id') ?? '')
      .executeTakeFirst(),
  );
}

const content = (text: string) => ({ parts: [{ text }] });

test('G 4.6: @google/genai embeds texts, also with an alias of the model', async () => {
  for (const model of ['demo-generate', 'alias-x']) {
    sim.journal.clear();
    const { embeddings } = await google(gateway.url, key).models.embedContent({
      model,
      contents: ['one', 'two'],
      config: { outputDimensionality: 8 },
    });
    assert.deepEqual(
      embeddings?.map(({ values }) => values?.length),
      [8, 8],
    );
    assert.equal(sim.journal.requests.at(-1)?.path, '/v1beta/models/demo-generate:batchEmbedContents');
  }
});

test('G 8: an embedding is charged by its input, and reports no output', async () => {
  const record = await recordOf(await post('demo-generate:embedContent', { content: content('several words') }));
  assert.ok(Number(record.input_tokens) > 0);
  assert.deepEqual([Number(record.output_tokens), record.estimated], [0, false]);
});

test('G 8: an embedding without reported usage is charged by an estimate of its input alone', async () => {
  const model = encodeURIComponent('demo-generate@usage=missing');
  const response = await post(`${model}:embedContent`, { content: content('several words') });
  assert.equal(response.status, 200, await response.clone().text());
  const record = await recordOf(response);
  assert.ok(Number(record.input_tokens) > 0);
  assert.deepEqual([Number(record.output_tokens), record.estimated], [0, true]);
});

test('a body that names another model than the path is rejected before anything is sent', async () => {
  sim.journal.clear();
  for (const [path, body, param] of [
    ['demo-generate:embedContent', { model: 'models/other', content: content('x') }, 'model'],
    [
      'demo-generate:batchEmbedContents',
      {
        requests: [
          { model: 'models/demo-generate', content: content('x') },
          { model: 'other', content: content('x') },
        ],
      },
      'requests[1].model',
    ],
    ['demo-generate:batchEmbedContents', { requests: [{ model: 7 }] }, 'requests[0].model'],
  ] as const) {
    const response = await post(path, body);
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { message: string } };
    assert.ok(error.message.startsWith(`${param}: `), error.message);
  }
  const twice = '{"requests":[{"model":"models/demo-generate","mod\\u0065l":"models/other"}]}';
  assert.equal((await post('demo-generate:batchEmbedContents', twice)).status, 400);
  assert.equal(sim.journal.requests.length, 0);
});
