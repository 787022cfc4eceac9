/** Models without a price: rejected unless the configuration says that they are free, and reported to the operator. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { applySetup, parseSetup } from '../../src/catalog/setup/index.ts';
import { runHere } from '../support/cli.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let gateway: TestGateway;
const keys: Record<string, string> = {};

const GROUPS = ['openai', 'claude', 'gemini'];

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  Object.assign(
    keys,
    await gateway.apply({
      ...basicSetup(sim.url),
      models: [
        { id: 'demo-unpriced', groups: GROUPS, free: false },
        {
          id: 'demo-announced',
          groups: GROUPS,
          prices: { input: '1', output: '2' },
          valid_from: '2099-01-01T00:00:00Z',
        },
        { id: 'demo-cost', groups: GROUPS, free: false, cost: { input: '1', output: '2' } },
        { id: 'demo-free', groups: GROUPS, free: true },
        { id: 'demo-priced', groups: GROUPS, prices: { input: '1', output: '2' } },
      ],
    }),
  );
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
});

const post = (group: string, path: string, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const messages = [{ role: 'user', content: 'hi' }];
const CALLS = {
  chat: (group: string, model: string) => post(group, '/v1/chat/completions', { model, messages }),
  responses: (group: string, model: string) => post(group, '/v1/responses', { model, input: 'hi' }),
  messages: (group: string, model: string) => post(group, '/v1/messages', { model, max_tokens: 10, messages }),
  generate: (group: string, model: string) =>
    post(group, `/v1beta/models/${model}:generateContent`, { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
};

for (const [dialect, call] of Object.entries(CALLS))
  test(`a model without a price in force is rejected, and a free one is served (${dialect})`, async () => {
    for (const group of dialect === 'generate' ? ['gemini'] : GROUPS) {
      sim.journal.clear();
      for (const model of ['demo-unpriced', 'demo-announced', 'demo-cost']) {
        const response = await call(group, model);
        const text = await response.text();
        assert.equal(response.status, 503, `${group} ${model}: ${text}`);
        assert.equal(response.headers.get('x-should-retry'), 'false');
        assert.match(text, /model_not_priced/);
        assert.match(text, /model: .*has no price yet; ask the operator/);
        const id = response.headers.get('x-request-id');
        const line = await until('the log line', () =>
          gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === id),
        );
        assert.equal(line.action, 'set prices of the model, or free: true');
      }
      assert.equal(sim.journal.requests.length, 0, 'nothing was sent');
      for (const model of ['demo-free', 'demo-priced']) assert.equal((await call(group, model)).status, 200);
    }
  });

test('the list of models leaves out models without a price in force', async () => {
  const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${keys.openai}` } });
  const { data } = (await response.json()) as { data: { id: string }[] };
  assert.deepEqual(data.map(({ id }) => id).sort(), ['demo-free', 'demo-priced']);
});

const apply = (models: object[]) =>
  applySetup(gateway.context.database.db, parseSetup(JSON.stringify({ models })), { secrets: gateway.context.secrets });

test('apply and doctor name the models without a price, and the start logs them', async () => {
  const { unpriced } = await apply([]);
  assert.ok(unpriced.includes('demo-unpriced of openai') && unpriced.includes('demo-announced of claude'));
  assert.ok(!unpriced.some((model) => /free|priced of/.test(model.replace('demo-unpriced', ''))), unpriced.join());
  const { DATABASE_URL, MASTER_KEY, DATA_DIR } = gateway.context.config;
  const { stdout, code } = await runHere(['doctor'], { env: { DATABASE_URL, MASTER_KEY, DATA_DIR } });
  assert.match(stdout, /BAD {3}Price +model demo-unpriced of openai has none\. .*free: true/);
  assert.equal(code, 1);
  const replica = await startGateway({ database: gateway.database });
  const lines = replica.log.filter(({ msg }) => msg === 'model.unpriced').map(({ model }) => model);
  await replica.stop();
  assert.ok(lines.includes('demo-unpriced of openai'), lines.join());
});

test('doctor names a stored price from before output was required, and its model is served', async () => {
  const { db } = gateway.context.database;
  const { id } = await db
    .selectFrom('models')
    .select('id')
    .where('pattern', '=', 'demo-priced')
    .where('group_id', '=', 'claude')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('prices')
    .values({ model_id: id, rates: JSON.stringify({ input: '1' }) })
    .execute();
  await gateway.apply({});
  assert.equal((await CALLS.messages('claude', 'demo-priced')).status, 200);
  const { DATABASE_URL, MASTER_KEY, DATA_DIR } = gateway.context.config;
  const { stdout } = await runHere(['doctor'], { env: { DATABASE_URL, MASTER_KEY, DATA_DIR } });
  assert.match(stdout, /BAD {3}Price +model demo-priced of claude has no output\. Its replies are free/);
  assert.doesNotMatch(stdout, /model demo-priced of openai/);
});

test('a priced model becomes free with free: true, and priced again with prices', async () => {
  const lineOf = () => gateway.catalog().resolve('openai', 'demo-priced')?.line;
  await apply([{ id: 'demo-priced', groups: ['openai'], free: true }]);
  await gateway.apply({});
  assert.equal(lineOf()?.isFree, true);
  assert.equal((await CALLS.chat('openai', 'demo-priced')).status, 200);
  const { effects } = await apply([
    { id: 'demo-priced', groups: ['openai'], prices: { input: '3', output: '6' }, free: false },
  ]);
  assert.deepEqual(
    effects.map(({ before, after }) => [before.prices, after?.prices]),
    [['free', { input: '3', output: '6' }]],
  );
});
