/** Batches that are sent as batches of the provider: charged by request at the price of batches, and as if nothing had been tried where it refuses. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { sql } from 'kysely';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { BATCHES } from '../../src/rules/index.ts';
import { type BatchProvider, checkSoon, startBatchProvider } from '../support/batch-provider.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { someOf } from '../support/long-test.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '1000', output: '10000', tiers: { batch: { multiplier: '0.5' } } };
const COST = { input: '500', output: '5000', tiers: { batch: { multiplier: '0.5' } } };
type Endpoint = '/v1/responses' | '/v1/chat/completions' | '/v1/embeddings';

let sim: Sim;
let provider: BatchProvider;
let gateway: TestGateway;
let keys: Record<string, string>;
const db = () => gateway.context.database.db;

before(async () => {
  sim = await startSim();
  provider = await startBatchProvider(() => sim.url);
  gateway = await startGateway({ sendsBatches: true });
  const { models, accounts, ...rest } = basicSetup(provider.url) as { models: object[]; accounts: { group: string }[] };
  keys = await gateway.apply({
    ...rest,
    models: models.map((model) => ({ ...model, prices: PRICES, cost: COST })),
    accounts: accounts.map((account) => ({ ...account, ...FEATURES[account.group] })),
  });
  await checkSoon(db());
});
const FEATURES: Readonly<Record<string, object>> = {
  openai: { features: ['responses', 'chat', 'embeddings', 'batches'] },
  claude: { features: ['messages', 'batches'] },
};
after(async () => {
  await gateway?.stop();
  await provider?.close();
  await sim?.close();
});
beforeEach(() => {
  sim.journal.clear();
  provider.log.length = 0;
  provider.batches.length = 0;
  provider.files.clear();
  provider.mode = 'serve';
  provider.edit = (line) => [JSON.stringify(line)];
});
afterEach(async () => {
  provider.resume();
  await until('the rows at the provider are gone', async () => (await rowsLeft()) === 0);
  await checkLedger(db());
});

const rowsLeft = async (): Promise<number> => (await sql`select from provider_batches`.execute(db())).rows.length;
const bodyOf = (url: Endpoint, model = 'demo-responses'): object =>
  ({
    '/v1/responses': { model, input: 'hi', max_output_tokens: 50 },
    '/v1/chat/completions': { model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 50 },
    '/v1/embeddings': { model: 'demo-embedding', input: 'hi' },
  })[url];

async function create(client: OpenAI, url: Endpoint, bodies: readonly object[]) {
  const lines = bodies.map((body, n) => JSON.stringify({ custom_id: `own ${n + 1}`, method: 'POST', url, body }));
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
    purpose: 'batch',
  });
  return client.batches.create({ input_file_id: file.id, endpoint: url, completion_window: '24h' });
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

/** What requests of the key cost the user and the operator, in dollars. */
async function charged(requestIds: readonly string[]) {
  const { rows } = await sql<{ nanos: bigint; cost: bigint; account: string; tier: string }>`
    select nanos, cost_nanos as cost, account_id as account, usage ->> 'tier' as tier from usage_records
    where request_id = any(${requestIds}::text[])`.execute(db());
  const sum = (of: (row: (typeof rows)[number]) => bigint) =>
    Number(rows.reduce((total, row) => total + of(row), 0n)) / 1e9;
  return { count: rows.length, nanos: sum(({ nanos }) => nanos), cost: sum(({ cost }) => cost), rows };
}

const resultsOf = async (id: string): Promise<number> =>
  (await sql`select from batch_lines where batch_id = ${id} and state = 'succeeded'`.execute(db())).rows.length;

/** Charges of the batch as a whole: one, or none. */
const chargesOf = async (id: string, dollars?: number): Promise<number> =>
  (
    await sql`select from entries where reference = ${`settle:batch:${id}`}
      and nanos = coalesce(${dollars === undefined ? null : Math.round(dollars * 1e9)}::bigint, nanos)`.execute(db())
  ).rows.length;
const callsOf = (path: string): number => sim.journal.requests.filter((request) => request.path === path).length;

describe("OpenAI's batches", () => {
  const client = (): OpenAI => openai(gateway.url, keys.openai ?? '');

  for (const url of someOf(['/v1/responses', '/v1/chat/completions', '/v1/embeddings'] as const, 1))
    test(`requests for ${url} go as one batch, and are charged at the price of batches`, async () => {
      const made = await create(client(), url, [bodyOf(url), bodyOf(url), bodyOf(url)]);
      const done = await ended(client(), made.id);
      assert.deepEqual([done.status, done.request_counts], ['completed', { total: 3, completed: 3, failed: 0 }]);
      assert.equal(provider.log.filter((line) => line === 'POST /v1/batches').length, 1);
      assert.ok(!provider.log.includes(`POST ${url}`), 'none is sent alone');
      const lines = await linesOf(client(), done.output_file_id);
      assert.deepEqual(
        lines.map((line) => line.custom_id),
        ['own 1', 'own 2', 'own 3'],
      );
      const price = ({ usage: u }: { usage: Record<string, number> }): number =>
        ((u.input_tokens ?? u.prompt_tokens ?? 0) * 500 + (u.output_tokens ?? u.completion_tokens ?? 0) * 5_000) / 1e6;
      const expected = lines.reduce((sum, { response }) => sum + price(response.body), 0);
      const { count, nanos, cost, rows } = await charged(lines.map(({ response }) => response.request_id));
      assert.deepEqual([count, nanos.toFixed(9), cost.toFixed(9)], [3, expected.toFixed(9), (expected / 2).toFixed(9)]);
      assert.ok(rows.every(({ account, tier }) => account === 'oa1' && tier === 'batch'));
      await until('the charge', async () => (await chargesOf(made.id, nanos)) === 1);
      await until('its files are deleted', async () => provider.files.size === 0);
    });

  test('requests for another model, and refused ones, are sent by the gateway', async () => {
    const url = '/v1/responses';
    const bodies = [bodyOf(url), bodyOf(url, 'alias-one'), bodyOf(url, 'no-such-model'), bodyOf(url)];
    const done = await ended(client(), (await create(client(), url, bodies)).id);
    assert.deepEqual(done.request_counts, { total: 4, completed: 3, failed: 1 });
    assert.equal(provider.log.filter((line) => line === `POST ${url}`).length, 1);
    assert.equal(callsOf(url), 3);
    const [bad] = await linesOf(client(), done.error_file_id);
    assert.deepEqual([bad.custom_id, bad.response.body.error.code], ['own 3', 'model_not_found']);
  });

  for (const mode of ['refuse', 'fail'] as const)
    test(`a batch that the provider does not take (${mode}) is sent request by request`, async () => {
      provider.mode = mode;
      const url = '/v1/responses';
      const done = await ended(client(), (await create(client(), url, [bodyOf(url), bodyOf(url)])).id);
      assert.deepEqual(done.request_counts, { total: 2, completed: 2, failed: 0 });
      assert.equal(provider.log.filter((line) => line === `POST ${url}`).length, 2);
    });

  test('a response of a batch can be read and continued by its user', async () => {
    const url = '/v1/responses';
    const done = await ended(client(), (await create(client(), url, [bodyOf(url)])).id);
    const [{ response }] = await linesOf(client(), done.output_file_id);
    // A request that is bound to an account is sent alone.
    const bound = { ...bodyOf(url), previous_response_id: response.body.id };
    const second = await ended(client(), (await create(client(), url, [bodyOf(url), bound])).id);
    assert.equal(second.request_counts?.completed, 2);
    assert.equal(provider.log.filter((line) => line === `POST ${url}`).length, 1);
    const next = {
      model: 'demo-responses',
      input: 'and?',
      max_output_tokens: 50,
      previous_response_id: response.body.id,
    };
    assert.equal((await client().responses.create(next)).previous_response_id, response.body.id);
  });

  test('a cancelled batch is cancelled at the provider, and what was served is paid', async () => {
    provider.mode = 'hold';
    const url = '/v1/responses';
    const made = await create(client(), url, [bodyOf(url), bodyOf(url), bodyOf(url)]);
    await until('it runs', async () => provider.batches.length === 1);
    await client().batches.cancel(made.id);
    const done = await ended(client(), made.id);
    assert.deepEqual([done.status, done.request_counts?.completed], ['cancelled', 1]);
    const errors = await linesOf(client(), done.error_file_id);
    assert.deepEqual(
      errors.map((line) => line.error.code),
      ['batch_canceled', 'batch_canceled'],
    );
    const [{ response }] = await linesOf(client(), done.output_file_id);
    assert.equal((await charged([response.request_id])).count, 1);
  });

  test('a batch that expires at the provider is paid for what was served', async () => {
    provider.mode = 'hold';
    const url = '/v1/responses';
    const made = await create(client(), url, [bodyOf(url), bodyOf(url)]);
    await until('it runs', async () => provider.batches.length === 1);
    await provider.finish(provider.batches[0] ?? assert.fail(), 'expired');
    const done = await ended(client(), made.id);
    assert.deepEqual([done.status, done.request_counts?.completed], ['expired', 1]);
  });

  test('results that are foreign, repeated, damaged or missing charge nothing, and usage that is missing is estimated', async () => {
    provider.edit = (line, n) => {
      const text = JSON.stringify(line);
      const own = String(line.custom_id);
      if (n === 0)
        return [text, text, text.replace(own, `${own}9`), text.replace(own, 'other-1'), '{"custom_id":', 'null', ''];
      if (n === 1) return [];
      if (n === 2) return [text.replace('"usage":{', '"unused":{')];
      return [text.replace(/"status_code":200/, '"status_code":429')];
    };
    const url = '/v1/chat/completions';
    const made = await create(client(), url, [bodyOf(url), bodyOf(url), bodyOf(url), bodyOf(url)]);
    const done = await ended(client(), made.id);
    assert.deepEqual(done.request_counts, { total: 4, completed: 2, failed: 2 });
    const [first, third] = await linesOf(client(), done.output_file_id);
    const failed = await linesOf(client(), done.error_file_id);
    assert.deepEqual(
      failed.map(({ custom_id: id, response }) => [id, response.status_code]),
      [
        ['own 2', 502],
        ['own 4', 429],
      ],
    );
    assert.equal((await charged(failed.map(({ response }) => response.request_id))).count, 0);
    assert.equal((await charged([first.response.request_id])).count, 1);
    assert.ok((await charged([third.response.request_id])).nanos > 0);
  });

  test('a batch that fails after some of its results is paid for them, and the others are sent request by request', async () => {
    provider.mode = 'hold';
    const url = '/v1/chat/completions';
    const { id } = await create(client(), url, [bodyOf(url), bodyOf(url)]);
    await until('the batch at the provider', async () => provider.batches.length > 0);
    const there = provider.batches[0] ?? assert.fail();
    provider.stalls = /^GET .*\/err_/;
    await provider.finish(there, 'expired');
    await until('the first result', async () => (await resultsOf(id)) === 1);
    await until('the stalled errors', () => provider.log.some((line) => provider.stalls?.test(line)));
    there.status = 'failed';
    provider.resume();
    const done = await ended(client(), id);
    assert.equal(done.request_counts?.completed, 2);
    assert.equal(await chargesOf(id), 1, 'the first is paid');
  });

  test('a reply that is too long to be kept is an error, and is paid', async () => {
    provider.edit = (line) => [
      JSON.stringify(line).replace(
        '"status_code"',
        `"padding":"${'x'.repeat(BATCHES.replyBytes + 20_000)}","status_code"`,
      ),
    ];
    const url = '/v1/embeddings';
    const done = await ended(client(), (await create(client(), url, [bodyOf(url)])).id);
    const [{ response }] = await linesOf(client(), done.error_file_id);
    assert.equal(response.status_code, 502);
    const { count, nanos } = await charged([response.request_id]);
    assert.ok(count === 1 && nanos > 0);
  });

  const damages: Readonly<Record<string, (text: string, own: string) => string[]>> = {
    'an id beyond every number': (text: string, own: string) => [
      text.replace(own, own.replace(/\d+$/, '99999999999')),
      text,
    ],
    'an id that is no text': (text: string, own: string) => [text.replace(`"${own}"`, '{"toString":1}'), text],
    'a status beyond every number': (text: string) => [text.replace('"status_code":200', '"status_code":1e12')],
    'a status with a fraction': (text: string) => [text.replace('"status_code":200', '"status_code":200.5')],
  };
  for (const [what, damage] of someOf(Object.entries(damages), 1))
    test(`a result with ${what} keeps no other from being charged`, async () => {
      provider.edit = (line, n) => {
        const text = JSON.stringify(line);
        return n === 0 ? damage(text, String(line.custom_id)) : [text];
      };
      const url = '/v1/chat/completions';
      const done = await ended(client(), (await create(client(), url, [bodyOf(url), bodyOf(url)])).id);
      const last = (await linesOf(client(), done.output_file_id)).at(-1);
      assert.equal(last.custom_id, 'own 2');
      assert.equal((await charged([last.response.request_id])).count, 1);
    });

  test('a batch whose account is not there for a moment is collected when it is', async () => {
    provider.mode = 'hold';
    const url = '/v1/responses';
    const made = await create(client(), url, [bodyOf(url), bodyOf(url)]);
    await until('it runs', async () => provider.batches.length === 1);
    const move = (from: string, to: string) =>
      sql`update provider_batches set account_id = ${to}, next_check_at = now() where account_id = ${from} and state = 'running'`.execute(
        db(),
      );
    await until('its account is gone', async () => (await move('oa1', 'no-account')).numAffectedRows === 1n);
    const isLookedAt = async () =>
      (await sql`select from provider_batches where next_check_at > now() or state = 'ended'`.execute(db())).rows
        .length > 0;
    await until('it is looked at', isLookedAt);
    await provider.finish(provider.batches[0] ?? assert.fail(), 'completed');
    await move('no-account', 'oa1');
    assert.equal((await ended(client(), made.id)).request_counts?.completed, 2);
  });

  test('a batch whose cost the balance does not cover at once is sent request by request', async () => {
    const poor = await gateway.apply({
      users: [{ id: 'poor', balance: '1' }],
      keys: [{ user: 'poor', group: 'openai' }],
    });
    const own = openai(gateway.url, poor.openai ?? '');
    const url = '/v1/responses';
    const done = await ended(own, (await create(own, url, [bodyOf(url), bodyOf(url), bodyOf(url), bodyOf(url)])).id);
    assert.equal(done.request_counts?.total, 4);
    assert.ok(!provider.log.includes('POST /v1/batches'));
  });

  test('a running batch that is deleted is cancelled at the provider, and paid', async () => {
    provider.mode = 'hold';
    const url = '/v1/responses';
    const made = await create(client(), url, [bodyOf(url), bodyOf(url)]);
    await until('it runs', async () => provider.batches.length === 1);
    await sql`delete from batches where id = ${made.id}`.execute(db());
    await until('it is paid', async () => (await chargesOf(made.id)) === 1);
    assert.ok(provider.log.some((line) => line.endsWith('/cancel')));
  });

  test('one whose creation was lost on the way is found by its file', async () => {
    provider.mode = 'lose';
    const url = '/v1/responses';
    const made = await create(client(), url, [bodyOf(url)]);
    await until('it may run', async () => provider.batches.length === 1);
    await provider.finish(provider.batches[0] ?? assert.fail(), 'completed');
    await dueNow();
    assert.equal((await ended(client(), made.id)).request_counts?.completed, 1);
    assert.equal(provider.log.filter((line) => line === 'POST /v1/batches').length, 1);
  });

  test('one that was not made is not made again: its requests are errors, which cost nothing', async () => {
    provider.mode = 'break';
    const url = '/v1/responses';
    const made = await create(client(), url, [bodyOf(url)]);
    await until('it was sent', async () => provider.log.includes('POST /v1/batches'));
    await dueNow();
    assert.equal((await ended(client(), made.id)).request_counts?.failed, 1);
    assert.equal(callsOf(url), 0);
    assert.equal(await chargesOf(made.id), 0);
  });

  test('a batch that waits for slower ones for long is sent request by request', async () => {
    provider.stalls = /^POST .v1.files$/;
    const url = '/v1/responses';
    const uploads = () => provider.log.filter((line) => provider.stalls?.test(line)).length;
    for (const count of [1, 2]) {
      await create(client(), url, [bodyOf(url)]);
      await until('it is stalled', async () => uploads() === count);
    }
    const { id } = await create(client(), url, [bodyOf(url)]);
    await sql`update batches set created_at = created_at - interval '1 hour' where id = ${id}`.execute(db());
    assert.equal((await ended(client(), id)).request_counts?.completed, 1);
    assert.equal(uploads(), 2);
    assert.equal(callsOf(url), 1);
  });

  test('an erasure cancels it at the provider and waits for its charge', async () => {
    const eve = await gateway.apply({
      users: [{ id: 'eve', balance: '10' }],
      keys: [{ user: 'eve', group: 'openai' }],
    });
    provider.mode = 'hold';
    const own = openai(gateway.url, eve.openai ?? '');
    await create(own, '/v1/responses', [bodyOf('/v1/responses'), bodyOf('/v1/responses')]);
    await until('it runs', async () => provider.batches.length === 1);
    await sql`select begin_erasure('eve', 'operator', '{}'::jsonb)`.execute(db());
    const { rows } = await sql<{ holds: bigint }>`select holds from erasure_waits('eve')`.execute(db());
    assert.equal(Number(rows[0]?.holds), 1);
    await until('nothing is left at the provider', async () => (await rowsLeft()) === 0);
    assert.ok(provider.log.some((line) => line.endsWith('/cancel')));
  });
});

/** As if the lease of the process that sends it had ended. */
const dueNow = async (): Promise<void> => {
  await until('it is submitted', async () => {
    const { numAffectedRows } =
      await sql`update provider_batches set next_check_at = now() where state = 'submitting'`.execute(db());
    return numAffectedRows === 1n;
  });
};

describe("Anthropic's batches", () => {
  const client = () => anthropic(gateway.url, keys.claude ?? '');
  const params = { model: 'demo-messages', max_tokens: 50, messages: [{ role: 'user' as const, content: 'hi' }] };
  const make = (count: number) =>
    client().messages.batches.create({
      requests: Array.from({ length: count }, (_, n) => ({ custom_id: `own-${n + 1}`, params })),
    });

  async function done(id: string) {
    let batch = await client().messages.batches.retrieve(id);
    await until('the end', async () => {
      batch = await client().messages.batches.retrieve(id);
      return batch.processing_status === 'ended';
    });
    const results = await Array.fromAsync(await client().messages.batches.results(id));
    return { counts: batch.request_counts, results };
  }

  test('requests go as one batch, and are charged at the price of batches', async () => {
    const { id } = await make(3);
    const { counts, results } = await done(id);
    assert.deepEqual([counts.succeeded, counts.processing], [3, 0]);
    assert.deepEqual(
      results.map((line) => line.custom_id),
      ['own-1', 'own-2', 'own-3'],
    );
    assert.ok(!provider.log.includes('POST /v1/messages'));
    const tokens = results.map(({ result }) => (result.type === 'succeeded' ? result.message.usage : assert.fail()));
    const inputOf = (one: (typeof tokens)[number]): number => one.input_tokens + (one.cache_read_input_tokens ?? 0);
    const expected = tokens.reduce((sum, one) => sum + inputOf(one) * 500 + one.output_tokens * 5_000, 0) / 1e6;
    await until('the charge', async () => (await chargesOf(id, expected)) === 1);
    await until('it is deleted at the provider', async () => provider.batches.length === 0);
  });

  test('a cancelled batch has what was served', async () => {
    provider.mode = 'hold';
    const { id } = await make(2);
    await until('it runs', async () => provider.batches.length === 1);
    await client().messages.batches.cancel(id);
    const { counts } = await done(id);
    assert.deepEqual([counts.succeeded, counts.canceled], [1, 1]);
  });

  for (const stalls of someOf([/^POST .v1.files$/, /^GET .v1.files.*content$/], 1))
    test(`it does not wait for an account that does not respond to ${stalls.source}`, async () => {
      provider.stalls = stalls;
      const url = '/v1/responses';
      const slow = openai(gateway.url, keys.openai ?? '');
      await create(slow, url, [bodyOf(url)]);
      await until('the other is stalled', async () => provider.log.some((line) => stalls.test(line)));
      assert.equal((await done((await make(2)).id)).counts.succeeded, 2);
      assert.ok(!provider.log.includes('POST /v1/messages'), 'both went as a batch');
    });

  test('one that the provider refuses is sent request by request', async () => {
    provider.mode = 'refuse';
    assert.equal((await done((await make(2)).id)).counts.succeeded, 2);
    assert.equal(callsOf('/v1/messages'), 2);
  });

  test('one whose creation was lost is found by its size and time, and stays at the provider', async () => {
    provider.mode = 'lose';
    const { id } = await make(2);
    await until('it may run', async () => provider.batches.length === 1);
    await provider.finish(provider.batches[0] ?? assert.fail(), 'completed');
    await dueNow();
    assert.equal((await done(id)).counts.succeeded, 2);
    assert.ok(!provider.log.some((line) => line.startsWith('DELETE')));
  });
});
