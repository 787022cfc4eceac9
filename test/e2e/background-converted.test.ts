// set: quick; its only kill is a long test
/** Background responses on groups that do not speak the responses dialect: made by the gateway, read, resumed, cancelled, charged once. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type OpenAI from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { openWorkerServices } from '../../src/program/server/command-services.ts';
import { BACKGROUND } from '../../src/rules/index.ts';
import { checkBookedCosts } from '../support/booked-costs.ts';
import { CrashLane } from '../support/crash-lane.ts';
import { setupWithChatOnly, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest, someOf } from '../support/long-test.ts';
import { openai } from '../support/sdk.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '1000', output: '10000' };
const GROUPS = { claude: 'demo-messages', gemini: 'demo-generate', 'chat-only': 'demo-x' } as const;
type Group = keyof typeof GROUPS;
type Response = OpenAI.Responses.Response;
type StreamEvent = OpenAI.Responses.ResponseStreamEvent;

let sim: Sim;
let gateway: TestGateway;
/** Another replica. */
let other: TestGateway;
let follow: () => Promise<number>;
let closeWorker: () => Promise<void>;
let users = 0;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { DRAIN_MS: '4000' } });
  const { models, ...rest } = setupWithChatOnly(sim.url) as { models: object[] };
  await gateway.apply({ ...rest, models: models.map((model) => ({ ...model, prices: PRICES, cost: PRICES })) });
  other = await startGateway({ database: gateway.database });
  const worker = await openWorkerServices(gateway.context);
  closeWorker = worker.close;
  follow = () => worker.background.jobs[0]?.run() ?? assert.fail('no job');
});
after(async () => {
  await closeWorker?.();
  await other?.stop();
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
  readonly model: string;
}
async function newUser(group: Group, more: object = {}, balance = '1000'): Promise<User> {
  const id = `user-${++users}`;
  const keys = await gateway.apply({ users: [{ id, balance }], keys: [{ user: id, group, ...more }] });
  return { id, key: keys[group] ?? assert.fail('no key'), model: GROUPS[group] };
}

const db = () => gateway.context.database.db;
const charges = ({ id }: User) =>
  db()
    .selectFrom('usage_records')
    .select(['nanos', 'input_tokens', 'output_tokens', 'estimated', 'account_id'])
    .where('user_id', '=', id)
    .where('fault', 'is', null)
    .execute();
const heldBy = async ({ id }: User): Promise<bigint> => {
  const row = await db().selectFrom('wallets').select('held').where('user_id', '=', id).executeTakeFirstOrThrow();
  return BigInt(row.held);
};
const ask = ({ model }: User, fault = '') => ({
  model: `${model}${fault}`,
  input: 'hello',
  background: true as const,
  max_output_tokens: 1000,
});
const ended = (client: OpenAI, id: string): Promise<Response> =>
  until('the end of the response', async () => {
    const response = await client.responses.retrieve(id);
    return response.status === 'queued' || response.status === 'in_progress' ? undefined : response;
  });

/** Slow enough to be caught in the middle. */
const SLOW = '@events=100;gap=20';
/** Never ends by itself. */
const ENDLESS = '@silent_mid;after=5';

for (const group of someOf(Object.keys(GROUPS) as Group[], 1)) {
  describe(`a background response on a ${group} key`, () => {
    test('is created and polled by the SDK on two replicas, and charged once by its usage', async () => {
      const user = await newUser(group);
      const created = await openai(gateway.url, user.key).responses.create(ask(user, SLOW));
      assert.deepEqual([created.status, created.background, created.output], ['queued', true, []]);
      assert.ok((await heldBy(user)) > 0n, 'its maximum cost is held');
      const elsewhere = openai(other.url, user.key);
      assert.equal((await elsewhere.responses.retrieve(created.id)).id, created.id, 'known at once');
      const done = await ended(elsewhere, created.id);
      assert.deepEqual([done.id, done.status, done.background], [created.id, 'completed', true]);
      assert.ok(done.output_text.length > 0);
      const { input_tokens: input = 0, output_tokens: output = 0 } = done.usage ?? {};
      assert.deepEqual(
        (await charges(user)).map(({ nanos, estimated }) => [BigInt(nanos), estimated]),
        [[BigInt(input) * 1_000_000n + BigInt(output) * 10_000_000n, false]],
      );
      assert.equal(await heldBy(user), 0n);
      const items = await elsewhere.responses.inputItems.list(created.id);
      assert.match(JSON.stringify(items.data), /hello/);
      sim.journal.clear();
      await elsewhere.responses.create({ model: user.model, input: 'go on', previous_response_id: created.id });
      assert.ok(String(sim.journal.requests[0]?.body).includes(done.output_text.slice(0, 20)), 'continues from it');
      await elsewhere.responses.delete(created.id);
      await assert.rejects(elsewhere.responses.retrieve(created.id), /not found/);
    });

    test('is streamed, and resumed after an event where it runs and elsewhere', async () => {
      const user = await newUser(group);
      const client = openai(gateway.url, user.key);
      const stream = await client.responses.create({ ...ask(user, SLOW), stream: true });
      const first: StreamEvent[] = [];
      for await (const event of stream) {
        first.push(event);
        if (first.length === 12) break;
      }
      const [created] = first;
      assert.ok(created?.type === 'response.created');
      const { id } = created.response;
      const after = first.at(-1)?.sequence_number ?? assert.fail('no number');
      const read = async (url: string): Promise<StreamEvent[]> =>
        Array.fromAsync(await openai(url, user.key).responses.retrieve(id, { stream: true, starting_after: after }));
      const [here, elsewhere] = await Promise.all([read(gateway.url), read(other.url)]);
      assert.deepEqual(
        [...first, ...here].map((event) => event.sequence_number),
        [...first, ...here].map((_, n) => n),
        'every event once, in order',
      );
      const last = here.at(-1);
      assert.ok(last?.type === 'response.completed' && last.response.id === id);
      const deltas = [...first, ...here].flatMap((event) =>
        event.type === 'response.output_text.delta' ? event.delta : [],
      );
      assert.equal(deltas.join(''), textOf(last.response));
      assert.deepEqual(elsewhere.at(-1), last, 'another replica has the last event, with its number');
      assert.equal((await charges(user)).length, 1);
    });

    test('is cancelled from another replica, and pays for what it has made', async () => {
      const user = await newUser(group);
      const client = openai(gateway.url, user.key);
      const { id } = await client.responses.create(ask(user, ENDLESS));
      await until('some output', async () => {
        const events = await resume(gateway, user, id);
        return events.includes('output_text.delta') ? true : undefined;
      });
      const cancelled = await openai(other.url, user.key).responses.cancel(id);
      assert.equal(cancelled.status, 'cancelled');
      assert.equal((await client.responses.cancel(id)).status, 'cancelled', 'twice is the same');
      const [record, ...more] = await charges(user);
      assert.deepEqual([record?.estimated, more.length], [true, 0]);
      assert.equal(await heldBy(user), 0n);
    });
  });
}

/** The first bytes of the stream that the replica sends. */
async function resume({ url }: TestGateway, { key }: User, id: string): Promise<string> {
  const abort = new AbortController();
  const response = await fetch(`${url}/v1/responses/${id}?stream=true`, {
    headers: { authorization: `Bearer ${key}` },
    signal: abort.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('output_text.delta')) break;
  }
  abort.abort();
  return text;
}

const textOf = ({ output }: Response): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');

describe('a background response that does not complete', () => {
  test('because the provider fails has the error, and costs nothing', async () => {
    for (const fault of ['@status=400', '@error_mid', '@reset_mid']) {
      const user = await newUser('claude');
      const client = openai(gateway.url, user.key);
      const { id } = await client.responses.create(ask(user, fault));
      const failed = await ended(client, id);
      assert.equal(failed.status, 'failed', fault);
      assert.ok(failed.error?.message, fault);
      assert.deepEqual(await charges(user), [], fault);
      const failures = await db().selectFrom('usage_records').select('nanos').where('user_id', '=', user.id).execute();
      assert.deepEqual(failures, fault === '@status=400' ? [] : [{ nanos: 0n }], 'the operator bears what was made');
      assert.equal(await heldBy(user), 0n);
      const [last] = (await Array.fromAsync(await client.responses.retrieve(id, { stream: true }))).slice(-1);
      assert.equal(last?.type, 'response.failed');
    }
  });

  test('is neither deleted nor continued while it runs', async () => {
    const user = await newUser('gemini');
    const client = openai(gateway.url, user.key);
    const { id } = await client.responses.create(ask(user, ENDLESS));
    await assert.rejects(openai(other.url, user.key).responses.delete(id), /still running/);
    await assert.rejects(
      client.responses.create({ model: user.model, input: 'x', previous_response_id: id }),
      /previous_response_id.*still running/,
    );
    const stranger = await newUser('gemini');
    await assert.rejects(openai(gateway.url, stranger.key).responses.cancel(id), /not found/);
    await client.responses.cancel(id);
  });

  longTest('because its process is killed fails on any replica, and leaves nothing in the ledger', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'dragoman-background-'));
    const lane = new CrashLane({ directory, name: 'lane', databaseUrl: gateway.database.url });
    try {
      await lane.start();
      const kept: { user: User; id: string }[] = [];
      for (const group of ['claude', 'gemini'] as const) {
        const user = await newUser(group);
        const { id } = await openai(lane.url, user.key).responses.create(ask(user, ENDLESS));
        kept.push({ user, id });
      }
      lane.child.kill('SIGKILL');
      await lane.died('the kill');
      await follow();
      for (const { user, id } of kept) {
        const client = openai(gateway.url, user.key);
        assert.equal((await client.responses.retrieve(id)).status, 'in_progress', 'the lease has not ended');
        assert.ok((await heldBy(user)) > 0n);
      }
      await db()
        .updateTable('background_responses')
        .set({ next_check_at: new Date(0) })
        .where('state', '=', 'converting')
        .execute();
      await follow();
      await follow();
      for (const { user, id } of kept) {
        const failed = await openai(other.url, user.key).responses.retrieve(id);
        assert.deepEqual([failed.status, failed.error?.code], ['failed', 'server_error']);
        assert.deepEqual(await charges(user), []);
        assert.equal(await heldBy(user), 0n);
      }
      await checkLedger(db());
    } finally {
      await lane.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test('because its lease ended ends as failed for those who read it, too', async () => {
    const user = await newUser('claude');
    const stream = await openai(gateway.url, user.key).responses.create({ ...ask(user, ENDLESS), stream: true });
    const events: StreamEvent[] = [];
    for await (const event of stream) {
      events.push(event);
      if (events.length !== 1) continue;
      await db()
        .updateTable('background_responses')
        .set({ next_check_at: new Date(0) })
        .where('user_id', '=', user.id)
        .execute();
      await follow();
    }
    const last = events.at(-1);
    assert.deepEqual([last?.type, last && 'response' in last && last.response.status], ['response.failed', 'failed']);
    assert.deepEqual(await charges(user), []);
  });

  test('because the server stops fails; one that ends in time completes', async () => {
    const clock = new SkewedClock();
    const replica = await startGateway({ database: gateway.database, env: { DRAIN_MS: '600000' }, clock });
    const [short, long] = [await newUser('claude'), await newUser('claude')];
    const made = await openai(replica.url, short.key).responses.create(ask(short, '@events=40;gap=20'));
    const cut = await openai(replica.url, long.key).responses.create(ask(long, ENDLESS));
    const stopped = replica.stop();
    assert.equal((await ended(openai(gateway.url, short.key), made.id)).status, 'completed');
    clock.pass(600_000);
    await stopped;
    const failed = await openai(gateway.url, long.key).responses.retrieve(cut.id);
    assert.equal(failed.status, 'failed');
    assert.match(failed.error?.message ?? '', /restarting/);
    assert.deepEqual([(await charges(short)).length, await charges(long)], [1, []]);
    assert.equal(await heldBy(long), 0n);
  });
});

describe('a background request on a converted group', () => {
  const send = ({ key }: User, body: object) =>
    fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test('names what the provider does not get', async () => {
    const user = await newUser('claude');
    const tools = [{ type: 'image_generation' }, { type: 'function', name: 'find', parameters: { type: 'object' } }];
    const response = await send(user, { ...ask(user), truncation: 'auto', tools });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('x-gateway-dropped') ?? '', /truncation/);
    assert.equal(response.headers.get('x-gateway-converted'), 'responses->messages');
    const first = (await response.json()) as { id: string; tools: { type: string }[] };
    const names = (given: readonly { type: string }[]) => given.map(({ type }) => type);
    assert.deepEqual(names(first.tools), ['function'], 'no tool that the provider did not get');
    const last = await ended(openai(gateway.url, user.key), first.id);
    assert.deepEqual([last.status, names(last.tools)], ['completed', ['function']]);
  });

  test('that cannot be made is rejected by name, and nothing is sent', async () => {
    sim.journal.clear();
    const user = await newUser('claude');
    const stateless = await newUser('claude', { store: false });
    const poor = await newUser('claude', {}, '0.001');
    for (const [who, body, status, words] of [
      [user, { ...ask(user), store: false }, 400, /background: .*store/],
      [stateless, ask(stateless), 400, /background: .*stores no responses/],
      [user, { ...ask(user), conversation: 'conv_1' }, 400, /conversation/],
      [user, { ...ask(user), input: 'x'.repeat(BACKGROUND.inputBytes) }, 413, /input: /],
      [poor, ask(poor), 402, /balance/],
    ] as const) {
      const response = await send(who, body);
      assert.equal(response.status, status);
      assert.match(await response.text(), words);
    }
    assert.deepEqual(sim.journal.requests, []);
  });

  test('above the number that may run at once is 429', async () => {
    const user = await newUser('gemini', {}, '100000');
    const client = openai(gateway.url, user.key);
    const ids: string[] = [];
    for (let n = 0; n < BACKGROUND.perUser; n += 1) ids.push((await client.responses.create(ask(user, ENDLESS))).id);
    const refused = await send(user, ask(user));
    assert.equal(refused.status, 429);
    assert.match(await refused.text(), /background: 32 background responses/);
    await Promise.all(ids.map((id) => client.responses.cancel(id)));
    assert.equal(await heldBy(user), 0n);
    assert.equal((await charges(user)).length, BACKGROUND.perUser);
  });
});
