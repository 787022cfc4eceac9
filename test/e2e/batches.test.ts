/** Batches: their requests are calls of the key that made them, on every group, each sent once; results are files. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { sql } from 'kysely';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { BATCHES, TEXT_ONLY } from '../../src/rules/index.ts';
import type { LoggedRequest } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const MODELS = { openai: 'demo-responses', claude: 'demo-messages', gemini: 'demo-generate' } as const;
type Group = keyof typeof MODELS;
const GROUPS = Object.keys(MODELS) as Group[];
type Endpoint = '/v1/responses' | '/v1/chat/completions' | '/v1/embeddings';

let sim: Sim;
let gateway: TestGateway;
let ana: Record<string, string>;
let ben: Record<string, string>;
const keyOf = (group: Group): string => ana[group] ?? assert.fail(`no key for ${group}`);
const db = () => gateway.context.database.db;
const admin = adminApi(() => gateway.url);

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ sendsBatches: true, env: { ADMIN_TOKEN } });
  const { models, ...rest } = basicSetup(sim.url) as { models: object[] };
  const prices = { input: '1', output: '10' };
  ana = await gateway.apply({ ...rest, models: models.map((model) => ({ ...model, prices })) });
  ben = await gateway.apply({
    users: [{ id: 'ben', balance: '100' }],
    keys: GROUPS.map((group) => ({ user: 'ben', group })),
  });
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
});
beforeEach(() => sim.journal.clear());

const bodyOf = (url: Endpoint, model: string, text = 'hi'): object =>
  ({
    '/v1/responses': { model, input: text, max_output_tokens: 50 },
    '/v1/chat/completions': { model, messages: [{ role: 'user', content: text }], max_tokens: 50 },
    '/v1/embeddings': { model: 'demo-embedding', input: text },
  })[url];

const lineOf = (url: Endpoint, id: string, body: object): string =>
  JSON.stringify({ custom_id: id, method: 'POST', url, body });

async function create(client: OpenAI, endpoint: Endpoint, lines: readonly string[]) {
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
    purpose: 'batch',
  });
  return client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h', metadata: { job: 'a' } });
}

async function ended(client: OpenAI, id: string) {
  let batch = await client.batches.retrieve(id);
  await until('the end of the batch', async () => {
    batch = await client.batches.retrieve(id);
    return !['in_progress', 'cancelling'].includes(batch.status);
  });
  return batch;
}

const linesOf = async (client: OpenAI, id: string | null | undefined) =>
  (await (await client.files.content(id ?? assert.fail('no file'))).text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe("OpenAI's SDK", () => {
  for (const endpoint of ['/v1/responses', '/v1/chat/completions'] as const)
    for (const group of GROUPS)
      test(`a batch for ${endpoint} is served by the group ${group}, and charged by request`, async () => {
        const client = openai(gateway.url, keyOf(group));
        const ids = ['one', 'two', 'three'];
        const made = await create(
          client,
          endpoint,
          ids.map((id) => lineOf(endpoint, id, bodyOf(endpoint, MODELS[group]))),
        );
        assert.deepEqual([made.status, made.request_counts?.total, made.metadata], ['in_progress', 3, { job: 'a' }]);
        const done = await ended(client, made.id);
        assert.deepEqual([done.status, done.request_counts], ['completed', { total: 3, completed: 3, failed: 0 }]);
        assert.ok(done.completed_at && !done.error_file_id);
        const lines = await linesOf(client, done.output_file_id);
        assert.deepEqual(
          lines.map((line) => line.custom_id),
          ids,
        );
        assert.equal(sim.journal.requests.length, 3, 'each is sent once');
        for (const { response, error } of lines) {
          assert.deepEqual([response.status_code, error], [200, null]);
          assert.equal(response.body.object, endpoint === '/v1/responses' ? 'response' : 'chat.completion');
          await until('its charge', async () => (await chargesOf(response.request_id)) === 1);
        }
        await checkLedger(db());
      });

  test('embeddings are served, and lists have the batches of the user alone', async () => {
    const client = openai(gateway.url, keyOf('openai'));
    const made = await create(client, '/v1/embeddings', [lineOf('/v1/embeddings', 'e', bodyOf('/v1/embeddings', ''))]);
    const [line] = await linesOf(client, (await ended(client, made.id)).output_file_id);
    assert.equal(line.response.body.data[0].object, 'embedding');
    const ids: string[] = [];
    for await (const batch of client.batches.list({ limit: 2 })) ids.push(batch.id);
    assert.ok(ids.includes(made.id) && new Set(ids).size === ids.length);
    for await (const batch of openai(gateway.url, ben.openai ?? '').batches.list()) assert.notEqual(batch.id, made.id);
  });

  test('a request that is refused is a line of the file of errors, and the others are served', async () => {
    const client = openai(gateway.url, keyOf('claude'));
    const url = '/v1/chat/completions';
    const lines = [lineOf(url, 'good', bodyOf(url, 'demo-messages')), lineOf(url, 'bad', bodyOf(url, 'no-such-model'))];
    const done = await ended(client, (await create(client, url, lines)).id);
    assert.deepEqual(done.request_counts, { total: 2, completed: 1, failed: 1 });
    const [bad] = await linesOf(client, done.error_file_id);
    assert.deepEqual(
      [bad.custom_id, bad.response.status_code, bad.response.body.error.code],
      ['bad', 404, 'model_not_found'],
    );
  });

  test('a file with invalid lines makes a failed batch that names them', async () => {
    const client = openai(gateway.url, keyOf('openai'));
    const url = '/v1/responses';
    const body = bodyOf(url, 'demo-responses');
    const failed = await create(client, url, [
      lineOf(url, 'a', body),
      lineOf(url, 'a', body),
      'no json',
      lineOf('/v1/embeddings', 'b', body),
      lineOf(url, 'c', { ...body, stream: true }),
      '{"custom_id":"d","method":"POST","url":"/v1/responses"}',
    ]);
    assert.equal(failed.status, 'failed');
    assert.deepEqual(
      failed.errors?.data?.map(({ line, param }) => [line, param]),
      [
        [2, 'custom_id'],
        [3, 'line'],
        [4, 'url'],
        [5, 'body.stream'],
        [6, 'body'],
      ],
    );
    assert.equal(sim.journal.requests.length, 0);
  });

  test('a request names a kept file', async () => {
    const client = openai(gateway.url, keyOf('claude'));
    const pdf = Buffer.from(
      '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 1/Kids[]>>endobj\n%%EOF',
    );
    const uploaded = await toFile(pdf, 'p.pdf', { type: 'application/pdf' });
    const file = await client.files.create({ file: uploaded, purpose: 'user_data' });
    const content = [
      { type: 'input_file', file_id: file.id },
      { type: 'input_text', text: 'Read it.' },
    ];
    const body = { model: 'demo-messages', input: [{ role: 'user', content }] };
    const done = await ended(client, (await create(client, '/v1/responses', [lineOf('/v1/responses', 'f', body)])).id);
    if (done.error_file_id) assert.fail(JSON.stringify(await linesOf(client, done.error_file_id)));
    assert.ok(sim.journal.requests[0]?.body?.includes(pdf.toString('base64')));
  });
});

const chargesOf = async (requestId: string): Promise<number> =>
  (await sql`select from usage_records where request_id = ${requestId}`.execute(db())).rows.length;

describe('the price', () => {
  const url = '/v1/responses';
  const PRICES = { input: '1', output: '10', tiers: { batch: { multiplier: '0.5' }, flex: { multiplier: '0.25' } } };
  let provider: Canned;
  let client: OpenAI;
  /** The tier that the provider reports. */
  let reported: string;

  before(async () => {
    provider = await startCanned();
    provider.respondWith((response, request) => {
      const usage = { input_tokens: 1_000_000, output_tokens: 100_000, total_tokens: 1_100_000 };
      const reply = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [], usage };
      return jsonResponse(JSON.stringify({ ...reply, service_tier: reported }))(response, request);
    });
    const keys = await gateway.apply({
      groups: [{ id: 'sold', style: 'responses', multiplier: '2' }],
      accounts: [{ id: 'sold1', group: 'sold', base_url: `${provider.url}/v1`, api_key: 'sk-s' }],
      models: [
        {
          ...{ id: 'm', groups: ['sold'], prices: PRICES, cost: PRICES, max_output: 100_000, context: 1_000_000 },
          // Stated, so that no report of a test changes what the next batch holds.
          capabilities: TEXT_ONLY,
        },
      ],
      users: [{ id: 'lea', balance: '20' }],
      keys: [{ user: 'lea', group: 'sold' }],
    });
    client = openai(gateway.url, keys.sold ?? '');
  });
  after(() => provider?.close());

  const served = async (body: object) => {
    const line = lineOf(url, 'a', { model: 'm', input: 'hi', ...body });
    const done = await ended(client, (await create(client, url, [line])).id);
    const [{ response }] = await linesOf(client, done.output_file_id ?? done.error_file_id);
    await until('its charge', async () => (await chargesOf(response.request_id)) === 1);
    let { body: call } = await admin<LoggedRequest>('GET', `/requests/${response.request_id}`);
    await until('its line of the log', async () => {
      ({ body: call } = await admin<LoggedRequest>('GET', `/requests/${response.request_id}`));
      return call.charge !== undefined && call.charge !== null;
    });
    return call;
  };

  for (const tier of ['default', 'auto', 'scale'])
    test(`of a request of a batch is that of the tier batch where the model has one, and the provider reports ${tier}`, async () => {
      reported = tier;
      const { charge, pricing } = await served({});
      assert.deepEqual([charge, pricing?.charge?.tier], ['2', 'batch']);
      assert.deepEqual(
        pricing?.charge?.lines.map(({ part, rate, amount }) => [part, rate, amount]),
        [
          ['input', '0.5', '0.5'],
          ['output', '5', '0.5'],
        ],
      );
      // The provider was sent a single request.
      assert.deepEqual([pricing?.cost?.cost, pricing?.cost?.margin], ['2', '0']);
    });

  test('is that of the tier that the request has chosen', async () => {
    reported = 'flex';
    const { charge, pricing } = await served({ service_tier: 'flex' });
    assert.deepEqual([charge, pricing?.charge?.tier], ['1', 'flex']);
  });

  test('is what is held: a balance for half of the full price is enough for a batch only', async () => {
    reported = 'default';
    const keys = await gateway.apply({
      users: [{ id: 'kim', balance: '0.0011' }],
      keys: [{ user: 'kim', group: 'sold' }],
    });
    const kim = openai(gateway.url, keys.sold ?? '');
    const body = { model: 'm', input: 'hi', max_output_tokens: 100 };
    await assert.rejects(kim.responses.create(body), { status: 402 });
    const done = await ended(kim, (await create(kim, url, [lineOf(url, 'a', body)])).id);
    assert.equal(done.request_counts?.completed, 1, JSON.stringify(done));
  });
});

describe("Anthropic's SDK", () => {
  const requests = (model: string) =>
    ['first', 'second'].map((custom_id) => ({
      custom_id,
      params: {
        model: custom_id === 'first' ? model : 'no-such',
        max_tokens: 50,
        messages: [{ role: 'user' as const, content: 'hi' }],
      },
    }));

  for (const group of GROUPS)
    test(`a batch of messages is served by the group ${group}, its results are read, and it is deleted`, async () => {
      const client = anthropic(gateway.url, keyOf(group)).messages.batches;
      const made = await client.create({ requests: requests(MODELS[group]) });
      assert.deepEqual([made.type, made.processing_status], ['message_batch', 'in_progress']);
      await until('the end', async () => (await client.retrieve(made.id)).processing_status === 'ended');
      const { request_counts: counts } = await client.retrieve(made.id);
      assert.deepEqual(counts, { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 });
      const results = await Array.fromAsync(await client.results(made.id));
      assert.deepEqual(
        results.map(({ custom_id, result }) => [custom_id, result.type]),
        [
          ['first', 'succeeded'],
          ['second', 'errored'],
        ],
      );
      const [first, second] = results.map(({ result }) => result);
      assert.ok(first?.type === 'succeeded' && first.message.type === 'message');
      assert.ok(second?.type === 'errored' && second.error.type === 'error');
      const ids: string[] = [];
      for await (const batch of client.list({ limit: 1 })) ids.push(batch.id);
      assert.ok(ids.includes(made.id));
      assert.equal((await client.delete(made.id)).type, 'message_batch_deleted');
      await assert.rejects(client.retrieve(made.id), { status: 404 });
    });

  test('an invalid request is refused by its place', async () => {
    const client = anthropic(gateway.url, keyOf('claude')).messages.batches;
    const [first] = requests('demo-messages');
    await assert.rejects(client.create({ requests: [first, first] as never }), /requests\[1\]\.custom_id/);
    await assert.rejects(client.create({ requests: [] }), /requests/);
  });

  test('a request with a member twice is invalid', async () => {
    const twice = [
      '{"custom_id":"a","custom_id":"a","params":{}}',
      '{"custom_id":"a","params":{"stream":1,"stream":1}}',
    ];
    for (const request of twice) {
      const response = await fetch(`${gateway.url}/v1/messages/batches`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keyOf('claude')}`, 'content-type': 'application/json' },
        body: `{"requests":[${request}]}`,
      });
      const { error } = (await response.json()) as { error: { code: string } };
      assert.deepEqual([response.status, error.code], [400, 'invalid_request'], request);
    }
  });
});

describe('isolation', () => {
  test('the batches of another user are missing ones on every route', async () => {
    const url = '/v1/responses';
    const client = openai(gateway.url, keyOf('openai'));
    const mine = await create(client, url, [lineOf(url, 'a', bodyOf(url, 'demo-responses'))]);
    const messages = await anthropic(gateway.url, keyOf('claude')).messages.batches.create({
      requests: [
        {
          custom_id: 'a',
          params: { model: 'demo-messages', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
        },
      ],
    });
    const routes: [string, string, string][] = [
      ['GET', `/v1/batches/ID`, mine.id],
      ['POST', `/v1/batches/ID/cancel`, mine.id],
      ['GET', `/v1/messages/batches/ID`, messages.id],
      ['GET', `/v1/messages/batches/ID/results`, messages.id],
      ['POST', `/v1/messages/batches/ID/cancel`, messages.id],
      ['DELETE', `/v1/messages/batches/ID`, messages.id],
    ];
    const ask = async (method: string, path: string, key: string) => {
      const response = await fetch(gateway.url + path, { method, headers: { authorization: `Bearer ${key}` } });
      return [response.status, (await response.text()).replaceAll(/batch_\w+|req_\w+/g, '')];
    };
    for (const [method, path, id] of routes)
      for (const group of GROUPS) {
        const foreign = await ask(method, path.replace('ID', id), ben[group] ?? '');
        assert.equal(foreign[0], 404, `${method} ${path}`);
        assert.deepEqual(foreign, await ask(method, path.replace('ID', 'batch_0'), ben[group] ?? ''));
      }
    await assert.rejects(
      openai(gateway.url, ben.openai ?? '').batches.create({
        input_file_id: mine.input_file_id,
        endpoint: url,
        completion_window: '24h',
      }),
      { status: 404, code: 'file_not_found' },
    );
    assert.equal((await ended(client, mine.id)).status, 'completed');
  });
});

describe('the worker', () => {
  let provider: Canned;
  let client: OpenAI;
  let answer: PromiseWithResolvers<void>;

  before(async () => {
    provider = await startCanned();
    const keys = await gateway.apply({
      groups: [{ id: 'held', style: 'responses' }],
      accounts: [{ id: 'held1', group: 'held', base_url: `${provider.url}/v1`, api_key: 'sk-h' }],
      models: [{ id: '*', groups: ['held'], free: true }],
      users: [{ id: 'hal', balance: '100' }],
      keys: [{ user: 'hal', group: 'held' }],
    });
    client = openai(gateway.url, keys.held ?? '');
  });
  after(() => provider?.close());
  /** The provider answers when the test says so. */
  beforeEach(() => {
    provider.requests.length = 0;
    answer = Promise.withResolvers<void>();
    provider.respondWith(async (response, request) => {
      await answer.promise;
      await jsonResponse(JSON.stringify(REPLY))(response, request);
    });
  });
  const url = '/v1/responses';
  const REPLY = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
  const many = (count: number): string[] =>
    Array.from({ length: count }, (_, n) => lineOf(url, `n${n}`, bodyOf(url, 'm', `text ${n}`)));

  test('sends few requests of a user at a time, and a cancelled batch none that wait', async () => {
    const { id } = await create(client, url, many(12));
    await until('the first requests', () => provider.requests.length >= BATCHES.sentPerUser);
    assert.equal((await client.batches.cancel(id)).status, 'cancelling');
    await until('the end of those that wait', async () => {
      const { rows } = await sql`select from batch_lines where batch_id = ${id} and state = 'waiting'`.execute(db());
      return rows.length === 0;
    });
    assert.equal(provider.requests.length, BATCHES.sentPerUser);
    answer.resolve();
    const done = await ended(client, id);
    assert.deepEqual([done.status, done.request_counts?.completed], ['cancelled', BATCHES.sentPerUser]);
    const errors = await linesOf(client, done.error_file_id);
    assert.equal(errors.length, 12 - BATCHES.sentPerUser);
    assert.equal(errors[0].error.code, 'batch_canceled');
  });

  test('sends a request again that the provider was too busy for', async () => {
    let asked = 0;
    provider.respondWith((response, request) => {
      asked += 1;
      return jsonResponse(
        JSON.stringify(asked === 1 ? { error: { message: 'busy' } } : REPLY),
        asked === 1 ? 529 : 200,
      )(response, request);
    });
    const done = await ended(client, (await create(client, url, many(1))).id);
    assert.deepEqual(done.request_counts, { total: 1, completed: 1, failed: 0 });
    assert.ok(asked >= 2);
  });

  test('ends a batch whose time is over', async () => {
    const { id } = await create(client, url, many(BATCHES.sentPerUser + 1));
    await until('the first requests', () => provider.requests.length === BATCHES.sentPerUser);
    await sql`update batches set expires_at = now() where id = ${id}`.execute(db());
    answer.resolve();
    const done = await ended(client, id);
    assert.deepEqual([done.status, done.request_counts?.completed], ['expired', BATCHES.sentPerUser]);
    const [late] = await linesOf(client, done.error_file_id);
    assert.equal(late.error.code, 'batch_expired');
  });

  test('a request whose process has ended is an error and not sent again', async () => {
    const { id } = await create(client, url, many(1));
    await until('the request', () => provider.requests.length === 1);
    // Its process may have just renewed it.
    await until('the end of its lease', async () => {
      await sql`update batch_lines set lease_until = now() where batch_id = ${id} and state = 'sent'`.execute(db());
      return (await client.batches.retrieve(id)).status !== 'in_progress';
    });
    const done = await ended(client, id);
    assert.deepEqual(done.request_counts, { total: 1, completed: 0, failed: 1 });
    const [lost] = await linesOf(client, done.error_file_id);
    assert.equal(lost.error.code, 'batch_errored');
    assert.equal(provider.requests.length, 1);
    answer.resolve();
  });
});
