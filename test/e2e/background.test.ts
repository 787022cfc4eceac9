/** Background responses on a responses-style group: followed, charged once, cancelled, and safe against restarts and deletions. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { openWorkerServices } from '../../src/program/server/command-services.ts';
import { checkBookedCosts } from '../support/booked-costs.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { testDatabase } from '../support/database.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '1000', output: '10000' };
let sim: Sim;
let gateway: TestGateway;
let follow: () => Promise<number>;
let closeWorker: () => Promise<void>;
let users = 0;

const setup = (url: string): object => {
  const { models, ...rest } = basicSetup(url) as { models: object[] };
  return { ...rest, models: models.map((model) => ({ ...model, prices: PRICES, cost: PRICES })) };
};

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  await gateway.apply(setup(sim.url));
  const worker = await openWorkerServices(gateway.context);
  closeWorker = worker.close;
  follow = async () => {
    await gateway.context.database.db
      .updateTable('background_responses')
      .set({ next_check_at: new Date(0) })
      .where('state', '=', 'running')
      .execute();
    const [job] = worker.background.jobs;
    return job?.run() ?? assert.fail('no job');
  };
});
after(async () => {
  await closeWorker?.();
  if (gateway) {
    await checkLedger(gateway.context.database.db);
    await checkBookedCosts(gateway.context.database.db);
  }
  await gateway?.stop();
  await sim?.close();
});

interface User {
  readonly id: string;
  readonly key: string;
}
async function newUser(more: object = {}, balance = '100'): Promise<User> {
  const id = `user-${++users}`;
  const keys = await gateway.apply({
    users: [{ id, balance }],
    keys: [{ user: id, group: 'openai', ...more }],
  });
  return { id, key: keys.openai ?? assert.fail('no key') };
}

const call = (key: string, method: string, path: string, body?: object, url = gateway.url): Promise<Response> =>
  fetch(`${url}/v1/responses${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

const REQUEST = { model: 'demo-responses', input: 'hello', background: true, max_output_tokens: 100 };

async function create(key: string, more: object = {}): Promise<string> {
  const response = await call(key, 'POST', '', { ...REQUEST, ...more });
  const body = (await response.json()) as { id: string; status: string };
  assert.equal(response.status, 200, JSON.stringify(body));
  assert.equal(body.status, 'queued');
  return body.id;
}

const charges = ({ id }: User) =>
  gateway.context.database.db
    .selectFrom('usage_records')
    .select(['nanos', 'input_tokens', 'output_tokens', 'estimated'])
    .where('user_id', '=', id)
    .where('fault', 'is', null)
    .execute();
const heldBy = async ({ id }: User): Promise<bigint> => {
  const row = await gateway.context.database.db
    .selectFrom('wallets')
    .select('held')
    .where('user_id', '=', id)
    .executeTakeFirstOrThrow();
  return BigInt(row.held);
};

describe('a background response', () => {
  test('G 4.4: is queued, read when it is complete, and charged once by its usage', async () => {
    const user = await newUser();
    const id = await create(user.key);
    assert.ok((await heldBy(user)) > 0n, 'its maximum cost is held');
    const polled = (await (await call(user.key, 'GET', `/${id}`)).json()) as {
      status: string;
      usage: { input_tokens: number; output_tokens: number };
    };
    assert.equal(polled.status, 'completed');
    await follow();
    await follow();
    const { input_tokens: input, output_tokens: output } = polled.usage;
    assert.deepEqual(
      (await charges(user)).map(({ nanos, estimated }) => [BigInt(nanos), estimated]),
      [[BigInt(input) * 1_000_000n + BigInt(output) * 10_000_000n, false]],
    );
    assert.equal(await heldBy(user), 0n);
  });

  test('is created and polled by the SDK', async () => {
    const { key } = await newUser();
    const client = openai(gateway.url, key);
    const created = await client.responses.create({ ...REQUEST, background: true });
    assert.equal(created.status, 'queued');
    assert.equal((await client.responses.retrieve(created.id)).status, 'completed');
  });

  test('that no client reads is charged by the worker of another process, after a restart', async () => {
    const database = await testDatabase();
    const first = await startGateway({ database });
    const { openai: key = '' } = await first.apply(setup(sim.url));
    const response = await call(key, 'POST', '', REQUEST, first.url);
    assert.equal(response.status, 200, await response.text());
    await first.stop();
    const second = await startGateway({ database, worker: true });
    try {
      const { db } = second.context.database;
      await db
        .updateTable('background_responses')
        .set({ next_check_at: new Date(0) })
        .execute();
      const rows = await until('the charge', async () => {
        const found = await db.selectFrom('usage_records').select(['nanos', 'request_id']).execute();
        return found.length > 0 ? found : undefined;
      });
      assert.equal(rows.length, 1);
      assert.equal(rows[0]?.request_id, response.headers.get('x-request-id'));
      await checkLedger(db);
    } finally {
      await second.stop();
      await database.drop();
    }
  });

  test('G 4.4: that is cancelled costs nothing', async () => {
    const user = await newUser();
    const id = await create(user.key);
    const cancelled = await call(user.key, 'POST', `/${id}/cancel`);
    assert.equal(((await cancelled.json()) as { status: string }).status, 'cancelled');
    await follow();
    assert.deepEqual(await charges(user), []);
    assert.equal(await heldBy(user), 0n);
  });

  test('that is deleted is charged before', async () => {
    const user = await newUser();
    const id = await create(user.key);
    const deleted = await call(user.key, 'DELETE', `/${id}`);
    assert.equal(deleted.status, 200, await deleted.text());
    assert.equal((await charges(user)).length, 1);
    await follow();
    assert.equal((await charges(user)).length, 1);
  });

  test('is streamed, resumed after an event, and charged once', async () => {
    const user = await newUser();
    const response = await call(user.key, 'POST', '', { ...REQUEST, stream: true });
    const text = await response.text();
    const id = /"id":"(resp_\w+)"/.exec(text)?.[1] ?? assert.fail(text);
    assert.match(text, /response\.completed/);
    assert.deepEqual(await charges(user), [], 'the worker charges it');
    const resumed = await (await call(user.key, 'GET', `/${id}?stream=true&starting_after=1`)).text();
    assert.doesNotMatch(resumed, /"sequence_number":1,/);
    assert.match(resumed, /response\.completed/);
    await follow();
    assert.equal((await charges(user)).length, 1);
  });

  test('whose client disconnects from the stream is charged in full, and can be read', async () => {
    const user = await newUser();
    const abort = new AbortController();
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...REQUEST, model: 'demo-responses@events=400;gap=5', stream: true }),
      signal: abort.signal,
    });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes('output_text.delta')) break;
    }
    abort.abort();
    const id = /"id":"(resp_\w+)"/.exec(text)?.[1] ?? assert.fail(text);
    assert.equal((await call(user.key, 'GET', `/${id}`)).status, 200);
    await follow();
    const [record, ...more] = await charges(user);
    assert.deepEqual([record?.estimated, more.length], [false, 0]);
  });

  test('continues a conversation by its id', async () => {
    const user = await newUser({}, '100000');
    const id = await create(user.key);
    await call(user.key, 'GET', `/${id}`);
    await follow();
    const next = await call(user.key, 'POST', '', {
      model: 'demo-responses',
      input: 'go on',
      previous_response_id: id,
    });
    assert.equal(next.status, 200, await next.text());
  });
});

describe('a background request that is not accepted', () => {
  test('G 8: by the provider costs nothing', async () => {
    const user = await newUser();
    const response = await call(user.key, 'POST', '', { ...REQUEST, model: 'demo-responses@status=400' });
    assert.equal(response.status, 400);
    await until('the release of the hold', async () => ((await heldBy(user)) === 0n ? true : undefined));
    await follow();
    assert.deepEqual(await charges(user), []);
  });

  test('G 7: for its cost is 402, and nothing is sent', async () => {
    const user = await newUser({}, '0.001');
    sim.journal.clear();
    const response = await call(user.key, 'POST', '', REQUEST);
    assert.equal(response.status, 402);
    assert.equal(sim.journal.requests.length, 0);
  });

  test('above a spend limit is 429, open responses included', async () => {
    const user = await newUser({ spend_day: '2' });
    await create(user.key);
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await call(user.key, 'POST', '', REQUEST)).status);
    assert.ok(statuses.includes(429), `${statuses}`);
  });

  test('by a key that stores nothing is 400', async () => {
    const user = await newUser({ store: false });
    const stored = await call(user.key, 'POST', '', REQUEST);
    assert.equal(stored.status, 400);
    assert.match(await stored.text(), /stores no responses/);
  });

  test('whose client leaves before the provider responds pays an estimate of its input', async () => {
    const user = await newUser();
    const abort = new AbortController();
    sim.journal.clear();
    const pending = fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...REQUEST, model: 'demo-responses@hang' }),
      signal: abort.signal,
    });
    await sim.journal.waitFor(() => true);
    abort.abort();
    await assert.rejects(pending);
    const [record] = await until('the charge', async () =>
      (await charges(user)).length > 0 ? charges(user) : undefined,
    );
    assert.equal(record?.estimated, true);
    assert.equal(await heldBy(user), 0n, 'charge and release are one transaction');
  });
});

describe('a provider', () => {
  let provider: Canned;
  before(async () => {
    provider = await startCanned();
    await gateway.apply({
      groups: [{ id: 'canned', style: 'responses' }],
      accounts: [{ id: 'canned1', group: 'canned', base_url: `${provider.url}/v1`, api_key: 'sk-c' }],
      models: [
        { id: 'dear', groups: ['canned'], upstream: 'up-dear', prices: { input: '5000', output: '50000' } },
        { id: '*', groups: ['canned'], prices: PRICES },
      ],
    });
  });
  after(() => provider.close());

  async function begin(id: string, more: object = {}): Promise<User> {
    const user = await newUser({}, '100000');
    const keys = await gateway.apply({ keys: [{ user: user.id, group: 'canned' }] });
    const key = keys.canned ?? '';
    provider.respondWith(jsonResponse(JSON.stringify({ id, object: 'response', status: 'queued', output: [] })));
    const created = await call(key, 'POST', '', { ...REQUEST, ...more });
    assert.equal(created.status, 200, await created.text());
    return { id: user.id, key };
  }

  /** The model of the request costs 1,000 and 10,000, the other one 5,000 and 50,000 for a million tokens. */
  const OWN = 100n * 1_000_000n + 10n * 10_000_000n;
  const USAGE = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
  const DRAWN = { image_gen: { input_tokens: 20, output_tokens: 30, total_tokens: 50 } };
  const TWO_MODELS: readonly [about: string, request: object, reply: object, nanos: bigint, replyModel?: string][] = [
    ['of one model', {}, { model: 'demo-responses' }, OWN],
    ['of another model than the request named', {}, { model: 'surprise' }, OWN, 'surprise'],
    [
      'with pictures of a tool at the price of its model',
      { tools: [{ type: 'image_generation', model: 'dear' }] },
      { model: 'demo-responses', tool_usage: DRAWN },
      OWN + 20n * 5_000_000n + 30n * 50_000_000n,
    ],
    ['of the dear one of two choices', { models: ['dear'] }, { model: 'up-dear-2026' }, 5n * OWN, 'up-dear-2026'],
    ['of the cheap one of two choices', { models: ['dear'] }, { model: 'demo-responses' }, OWN],
    ['of an unknown one of two choices', { models: ['dear'] }, { model: 'surprise' }, 5n * OWN, 'surprise'],
  ];
  for (const [n, [about, request, reply, nanos, replyModel]] of TWO_MODELS.entries())
    test(`charges a response ${about}`, async () => {
      const id = `resp_two${n}`;
      const user = await begin(id, request);
      const ended = { id, object: 'response', status: 'completed', output: [], usage: USAGE, ...reply };
      provider.respondWith(jsonResponse(JSON.stringify(ended)));
      await follow();
      const rows = await gateway.context.database.db
        .selectFrom('usage_records')
        .select(['nanos', 'usage'])
        .where('user_id', '=', user.id)
        .execute();
      const shown = rows.map((row) => [BigInt(row.nanos), (row.usage as { replyModel?: string } | null)?.replyModel]);
      assert.deepEqual(shown, [[nanos, replyModel]]);
    });

  test('that fails a response is not paid', async () => {
    const user = await begin('resp_failed1');
    provider.respondWith(
      jsonResponse(
        JSON.stringify({ id: 'resp_failed1', status: 'failed', usage: { input_tokens: 5, output_tokens: 5 } }),
      ),
    );
    await follow();
    assert.deepEqual(await charges(user), []);
    assert.equal(await heldBy(user), 0n);
    const records = await gateway.context.database.db
      .selectFrom('usage_records')
      .select(['nanos', 'fault', 'input_tokens', 'output_tokens'])
      .where('user_id', '=', user.id)
      .execute();
    const cost = { nanos: 0n, fault: 'failed', input_tokens: 5, output_tokens: 5 };
    assert.deepEqual(
      records.map((row) => ({
        ...row,
        input_tokens: Number(row.input_tokens),
        output_tokens: Number(row.output_tokens),
      })),
      [cost],
      'the operator bears what the provider reports',
    );
  });

  test('that is away for a while is asked again', async () => {
    const user = await begin('resp_slow1');
    provider.respondWith(jsonResponse('{"error":{"message":"busy"}}', 503));
    await follow();
    assert.ok((await heldBy(user)) > 0n);
    provider.respondWith(jsonResponse(JSON.stringify({ id: 'resp_slow1', status: 'in_progress' })));
    await follow();
    const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };
    provider.respondWith(jsonResponse(JSON.stringify({ id: 'resp_slow1', status: 'completed', output: [], usage })));
    await follow();
    assert.deepEqual(
      (await charges(user)).map(({ nanos }) => BigInt(nanos)),
      [75_000_000n],
    );
  });

  test('that forgets a response releases its hold after three reads, with an error in the log', async () => {
    const user = await begin('resp_gone1');
    provider.respondWith(jsonResponse('{"error":{"message":"not found"}}', 404));
    await follow();
    await follow();
    assert.ok((await heldBy(user)) > 0n);
    await follow();
    assert.equal(await heldBy(user), 0n);
    assert.ok(gateway.log.some(({ msg, user: who }) => msg === 'background.abandoned' && who === user.id));
  });

  test('that never ends a response releases its hold after a day', async () => {
    const user = await begin('resp_endless1');
    provider.respondWith(jsonResponse(JSON.stringify({ id: 'resp_endless1', status: 'in_progress' })));
    const { db } = gateway.context.database;
    const yesterday = new Date(Date.now() - 25 * 3_600_000);
    await db
      .updateTable('background_responses')
      .set({ created_at: yesterday })
      .where('user_id', '=', user.id)
      .execute();
    await follow();
    assert.equal(await heldBy(user), 0n);
    assert.deepEqual(await charges(user), []);
  });

  test('whose response is unknown, because a process ended in between, leaves a hold that is released', async () => {
    const user = await begin('resp_unknown1');
    await gateway.context.database.db
      .updateTable('background_responses')
      .set({ state: 'sending', response_id: null, account_id: null, next_check_at: new Date(0) })
      .where('user_id', '=', user.id)
      .execute();
    await follow();
    assert.equal(await heldBy(user), 0n);
  });

  test('that still runs a response keeps it from being deleted', async () => {
    const user = await begin('resp_busy1');
    provider.respondWith(jsonResponse(JSON.stringify({ id: 'resp_busy1', status: 'in_progress' })));
    const response = await call(user.key, 'DELETE', '/resp_busy1');
    assert.equal(response.status, 400);
    assert.match(await response.text(), /cancel it/);
  });
});
