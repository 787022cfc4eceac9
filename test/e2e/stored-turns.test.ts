/** Stored turns of converted groups (G 3, G 4.4): each holds what it adds, and later ones keep what came before. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { jobsFor } from '../../src/program/jobs/jobs.ts';
import { STORED } from '../../src/rules/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let key: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  key = (await gateway.apply(basicSetup(sim.url))).claude ?? '';
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const db = () => gateway.context.database.db;
const lastBody = (): string => sim.journal.requests.at(-1)?.body?.toString() ?? '';
const create = (input: string | object[], previous?: string, more: object = {}, url = gateway.url) =>
  openai(url, key).responses.create({
    model: 'demo-messages',
    input: input as string,
    ...(previous !== undefined && { previous_response_id: previous }),
    ...more,
  });
const rowsOf = async (ids: readonly string[]) =>
  db().selectFrom('stored_responses').selectAll().where('id', 'in', ids).execute();
const written = (...ids: string[]) => until('the rows', async () => (await rowsOf(ids)).length === ids.length);
const storedBytes = async (): Promise<number> => {
  const { rows } = await sql<{ sum: number }>`
    select coalesce(sum(octet_length(sealed)), 0)::float8 as sum from stored_responses`.execute(db());
  return rows[0]?.sum ?? 0;
};
const counted = async (): Promise<{ rows: number; counter: number }> => {
  const { rows } = await sql<{ rows: number; counter: number }>`select
    (select coalesce(sum(bytes), 0)::float8 from stored_responses where sealed is not null) as rows,
    (select coalesce(sum(bytes), 0)::float8 from stored_bytes) as counter`.execute(db());
  return rows[0] ?? assert.fail();
};
/** The job, as a server runs it. */
const runExpiry = async (): Promise<void> => {
  const none = { jobs: [], eraseUser: async () => 0 };
  const jobs = jobsFor({
    ...gateway.context,
    video: none,
    background: none,
    warnings: none,
    watch: { onWork() {}, read: async () => undefined },
  });
  const job = jobs.find(({ name }) => name === 'responses.expire') ?? assert.fail();
  await job.run();
};
/** A second server, which has nothing in memory. */
async function elsewhere<T>(use: (url: string) => Promise<T>): Promise<T> {
  const replica = await startGateway({ database: gateway.database });
  try {
    return await use(replica.url);
  } finally {
    await replica.stop();
  }
}
const expire = (...ids: string[]) =>
  sql`update stored_responses set expires_at = now() - interval '1 second' where id = any(${ids}::text[])`.execute(
    db(),
  );

longTest(
  'G 3: continuations of a large conversation store what they add, at once and one after the other',
  async () => {
    const first = await create(`the word is fig ${'large '.repeat(200_000)}`);
    await written(first.id);
    const begun = await storedBytes();
    const ids: string[] = [];
    for (let n = 0; n < 10; n += 1)
      ids.push(
        ...(await Promise.all([0, 1, 2, 3].map(() => create('go on', ids.at(-1) ?? first.id)))).map(({ id }) => id),
      );
    await written(...ids);
    const perTurn = ((await storedBytes()) - begun) / ids.length;
    assert.ok(perTurn < 8 * 1024, `a continuation took ${perTurn} bytes`);
    await elsewhere(async (url) => {
      const { data } = await openai(url, key).responses.inputItems.list(ids.at(-1) ?? '', { order: 'asc', limit: 100 });
      assert.match(JSON.stringify(data[0]), /fig large/);
      assert.equal(data.length, 21, 'the first input, and an output and an input for each turn after it');
    });
  },
);

test('G 4.4: input items of a chain are listed in order, page by page, with ids that stay the same', async () => {
  let id = (await create('turn 0')).id;
  for (let n = 1; n <= 12; n += 1) id = (await create(`turn ${n}`, id)).id;
  await written(id);
  const list = async (url: string): Promise<void> => {
    const seen: string[] = [];
    const ids = new Set<string>();
    for await (const item of openai(url, key).responses.inputItems.list(id, { order: 'asc', limit: 5 })) {
      ids.add(item.id ?? '');
      if ('role' in item && item.role === 'user') seen.push(/turn \d+/.exec(JSON.stringify(item))?.[0] ?? '');
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 13 }, (_, n) => `turn ${n}`),
    );
    assert.equal(ids.size, 25, '13 inputs and 12 outputs before the last response');
    const [last] = (await openai(url, key).responses.inputItems.list(id, { limit: 1 })).data;
    assert.match(JSON.stringify(last), /turn 12/);
  };
  await list(gateway.url);
  await elsewhere(list);
});

test('G 4.4: deleting a middle turn hides it and keeps later turns with their context', async () => {
  const first = await create('the word is date');
  const middle = await create('the colour is teal', first.id);
  const last = await create('the day is monday', middle.id);
  await written(first.id, middle.id, last.id);
  const { responses } = openai(gateway.url, key);
  await responses.delete(middle.id);
  await assert.rejects(responses.retrieve(middle.id), { status: 404 });
  await assert.rejects(create('x', middle.id), { status: 400, code: 'previous_response_not_found' });
  const itemId = middle.output[0]?.id ?? '';
  await assert.rejects(create([{ type: 'item_reference', id: itemId }]), /not found/);
  await create('go on', last.id);
  assert.match(lastBody(), /date.*teal.*monday.*go on/s);
  await elsewhere((url) => create('and on', last.id, {}, url));
  assert.match(lastBody(), /date.*teal.*monday.*and on/s);
  await assert.rejects(responses.delete(middle.id), { status: 404 }, 'once');
});

test('a deleted response stays for a call that is continuing it, and then leaves', async () => {
  const { id } = await create('the word is elm');
  await written(id);
  await openai(gateway.url, key).responses.delete(id);
  await runExpiry();
  assert.deepEqual(
    (await rowsOf([id])).map(({ is_hidden }) => is_hidden),
    [true],
  );
  await expire(id);
  await runExpiry();
  assert.deepEqual(await rowsOf([id]), []);
});

test('an expired turn is gone for callers, stays as context, and leaves with its last later turn', async () => {
  const first = await create('the word is ash');
  const second = await create('then', first.id);
  const third = await create('later', second.id);
  const all = [first.id, second.id, third.id];
  await written(...all);
  await expire(first.id, second.id);
  await runExpiry();
  await elsewhere(async (url) => {
    await assert.rejects(openai(url, key).responses.retrieve(first.id), { status: 404 });
    await create('go on', third.id, { store: false }, url);
    assert.match(lastBody(), /ash.*then.*later.*go on/s);
  });
  const kept = await rowsOf([first.id, second.id]);
  assert.ok(kept.every(({ expires_at, is_hidden }) => is_hidden && expires_at.getTime() > Date.now()));
  await expire(...all);
  await runExpiry();
  assert.deepEqual(await rowsOf(all), [], 'all in one run');
  const { rows, counter } = await counted();
  assert.equal(counter, rows, 'the counters follow');
});

test('rows from before turns hold their whole conversation and are continued', async () => {
  const whole = {
    input: [{ role: 'user', content: 'the word is oak' }],
    response: {
      id: 'resp_old',
      status: 'completed',
      output: [
        {
          type: 'message',
          id: 'msg_old',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'noted oak', annotations: [] }],
        },
      ],
    },
  };
  const sealed = gateway.context.sealer.seal(JSON.stringify(whole), 'stored_responses.sealed:resp_old');
  await db()
    .insertInto('stored_responses')
    .values({
      id: 'resp_old',
      user_id: 'ana',
      sealed,
      item_ids: ['msg_old'],
      expires_at: new Date(Date.now() + 3_600_000),
    })
    .execute();
  const next = await create('go on', 'resp_old');
  assert.match(lastBody(), /oak.*noted oak.*go on/s);
  await written(next.id);
  await elsewhere((url) => create('and on', next.id, {}, url));
  assert.match(lastBody(), /oak.*noted oak.*go on.*and on/s);
  const { data } = await openai(gateway.url, key).responses.inputItems.list(next.id, { order: 'asc' });
  assert.equal(data.length, 3);
  await create([
    { type: 'item_reference', id: 'msg_old' },
    { role: 'user', content: 'more' },
  ]);
  assert.match(lastBody(), /noted oak/);
});

test('a conversation that lost a turn is not continued without it', async () => {
  const first = await create('the word is yew');
  const second = await create('then', first.id);
  await written(first.id, second.id);
  await db().deleteFrom('stored_responses').where('id', '=', first.id).execute();
  await elsewhere((url) =>
    assert.rejects(create('x', second.id, {}, url), { status: 400, code: 'previous_response_not_found' }),
  );
});

test('a conversation at the limit of turns or bytes is refused by name, before the provider', async () => {
  const { id } = await create('short');
  await written(id);
  for (const change of [
    sql`chain_turns = ${STORED.turns}`,
    sql`chain_turns = 1, chain_bytes = ${STORED.conversationBytes + 1}`,
  ]) {
    await sql`update stored_responses set ${change} where id = ${id}`.execute(db());
    const sent = sim.journal.requests.length;
    await elsewhere((url) =>
      assert.rejects(create('x', id, {}, url), {
        status: 400,
        param: 'previous_response_id',
        message: /8 MiB or 2000 turns/,
      }),
    );
    assert.equal(sim.journal.requests.length, sent);
  }
});

for (const [about, keyId, bytes] of [
  ['key', undefined, STORED.keyBytes],
  ['user', 'another', STORED.userBytes],
] as const)
  test(`responses beyond the bytes of a ${about} are refused where they must be stored, and otherwise not stored`, async () => {
    const { id } = await create('before');
    await written(id);
    const { key_id } = (await rowsOf([id]))[0] ?? assert.fail();
    const full = { user_id: 'ana', key_id: keyId ?? key_id ?? '', bytes: BigInt(bytes) };
    await db()
      .insertInto('stored_bytes')
      .values(full)
      .onConflict((conflict) => conflict.columns(['user_id', 'key_id']).doUpdateSet({ bytes: full.bytes }))
      .execute();
    try {
      // The server learns the sums with its next write.
      await until('the limit', async () => ((await create('default')) as { store?: boolean }).store === false);
      for (const must of [{ store: true }, { previous_response_id: id }, { background: true }])
        await assert.rejects(create('x', undefined, must), {
          status: 400,
          param: 'store',
          message: /stored responses of this/,
        });
      const unstored = await create('still served');
      await assert.rejects(openai(gateway.url, key).responses.retrieve(unstored.id), { status: 404 });
      assert.equal((await create('x', id, { store: false })).status, 'completed');
    } finally {
      await sql`delete from stored_bytes where key_id = ${full.key_id}`.execute(db());
    }
    const again = await create('room again', undefined, { store: true });
    assert.equal((again as { store?: boolean }).store, true, 'the refusal asks the database first');
  });

test('G 4.7: turns of a WebSocket store what they add', async () => {
  const socket = await new ResponsesSocketClient(gateway.url, key).open();
  const first = await socket.turn({ model: 'demo-messages', input: `the word is bay ${'large '.repeat(100_000)}` });
  await written(first.response?.id ?? '');
  const begun = await storedBytes();
  let previous = first.response?.id ?? '';
  for (let n = 0; n < 10; n += 1)
    previous =
      (await socket.turn({ model: 'demo-messages', input: 'go on', previous_response_id: previous })).response?.id ??
      '';
  assert.match(lastBody(), /bay large.*go on/s);
  await written(previous);
  socket.socket.close();
  assert.ok((await storedBytes()) - begun < 100_000);
});

longTest('a continuation counts what it reads in the memory for bodies', async () => {
  const small = await startGateway({ database: gateway.database, env: { BODY_MEMORY_BYTES: String(16 * 2 ** 20) } });
  try {
    const { id } = await create('large '.repeat(1_000_000));
    await written(id);
    await assert.rejects(
      openai(small.url, key).responses.create(
        { model: 'demo-messages', input: 'go on', previous_response_id: id },
        { maxRetries: 0 },
      ),
      (error: { status?: number }) => error.status === 503 || error.status === 429,
    );
  } finally {
    await small.stop();
  }
});
