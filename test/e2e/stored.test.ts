/** Stored responses (G 3, G 4.4): continued, read and deleted by their user, on native and converted groups. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { runHere } from '../support/cli.ts';
import { setupWithChatOnly, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
let others: Record<string, string>;
/** Keys with storing switched off. */
let nonStoring: Record<string, string>;
const MODEL: Record<string, string> = {
  openai: 'demo-responses',
  'chat-only': 'demo-responses',
  claude: 'demo-messages',
  gemini: 'demo-generate',
};
const hasCode = (code: string, status: number) => (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === code && 'status' in error && error.status === status;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(setupWithChatOnly(sim.url));
  others = await gateway.apply({
    users: [{ id: 'ben' }],
    keys: ['openai', 'chat-only', 'claude', 'gemini'].map((group) => ({ user: 'ben', group })),
  });
  nonStoring = await gateway.apply({
    keys: ['openai', 'chat-only', 'claude', 'gemini'].map((group) => ({
      user: 'ana',
      group,
      name: 'non-storing',
      store: false,
    })),
  });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const lastBody = (): string => sim.journal.requests.at(-1)?.body?.toString() ?? '';

for (const group of ['openai', 'chat-only', 'claude', 'gemini']) {
  describe(`stored responses on the ${group} group`, () => {
    const client = (key = keys[group]) => openai(gateway.url, key ?? '');
    const create = (input: string, more: object = {}) =>
      client().responses.create({ model: MODEL[group] ?? '', input, ...more });

    test(`G 3: a stored response is continued, read and deleted by its user (${group})`, async () => {
      const first = await create('the word is apple');
      const second = await create('and pear', { previous_response_id: first.id });
      assert.equal(second.previous_response_id, first.id);
      if (group !== 'openai') assert.match(lastBody(), /apple.*pear/s);
      const third = await client()
        .responses.stream({ model: MODEL[group] ?? '', input: 'and plum', previous_response_id: second.id })
        .finalResponse();
      if (group !== 'openai') assert.match(lastBody(), /apple.*pear.*plum/s);
      assert.equal((await client().responses.retrieve(third.id)).output_text, third.output_text);
      const items = await client().responses.inputItems.list(third.id, { order: 'asc' });
      assert.match(JSON.stringify(items.data[0]), group === 'openai' ? /plum|apple/ : /apple/);
      await client().responses.delete(first.id);
      await assert.rejects(client().responses.retrieve(first.id), hasCode('response_not_found', 404));
      await assert.rejects(
        create('x', { previous_response_id: first.id }),
        hasCode('previous_response_not_found', 400),
      );
    });

    test(`G 3: a key with storing switched off stores nothing, over HTTP and WebSocket (${group})`, async () => {
      const nonStoringClient = client(nonStoring[group]);
      const first = await nonStoringClient.responses.create({ model: MODEL[group] ?? '', input: 'not for later' });
      if (group !== 'openai') assert.equal((first as { store?: boolean }).store, false);
      const streamed = await nonStoringClient.responses
        .stream({ model: MODEL[group] ?? '', input: 'nor this' })
        .finalResponse();
      const socket = await new ResponsesSocketClient(gateway.url, nonStoring[group] ?? '').open();
      const turn = await socket.turn({ model: MODEL[group], input: 'nor that' });
      assert.equal(turn.type, 'response.completed');
      const again = { model: MODEL[group], input: 'go on', previous_response_id: turn.response?.id };
      assert.equal((await socket.turn(again)).type, 'response.completed', 'a connection remembers its latest response');
      socket.socket.close();
      for (const id of [first.id, streamed.id, turn.response?.id ?? '']) {
        await assert.rejects(client().responses.retrieve(id), hasCode('response_not_found', 404));
        await assert.rejects(create('x', { previous_response_id: id }), hasCode('previous_response_not_found', 400));
      }
      const stored = await create('this is kept');
      const found = await nonStoringClient.responses.retrieve(stored.id);
      assert.equal(found.id, stored.id, 'responses stored with another key can be read');
    });

    test(`a response of another user is reported exactly like an unknown one (${group})`, async () => {
      const mine = await create('secret');
      const foreign = await client(others[group])
        .responses.retrieve(mine.id)
        .catch((error: Error) => error.message.replace(mine.id, 'ID'));
      const unknown = await client(others[group])
        .responses.retrieve('resp_unknown')
        .catch((error: Error) => error.message.replace('resp_unknown', 'ID'));
      assert.equal(foreign, unknown);
      const next = { model: MODEL[group] ?? '', input: 'x', previous_response_id: mine.id };
      await assert.rejects(client(others[group]).responses.create(next), hasCode('previous_response_not_found', 400));
      await assert.rejects(client(others[group]).responses.delete(mine.id), hasCode('response_not_found', 404));
      assert.ok(await client().responses.retrieve(mine.id));
    });

    test(`a stored response is available on another replica (${group})`, async () => {
      const first = await create('the word is quince');
      const replica = await startGateway({ database: gateway.database });
      try {
        await until('the stored response', async () => {
          const { db } = replica.context.database;
          const rows = await db.selectFrom('stored_responses').select('id').where('id', '=', first.id).execute();
          return rows.length > 0;
        });
        const second = await openai(replica.url, keys[group] ?? '').responses.create({
          model: MODEL[group] ?? '',
          input: 'go on',
          previous_response_id: first.id,
        });
        assert.equal(second.status, 'completed');
        if (group !== 'openai') assert.match(lastBody(), /quince/);
      } finally {
        await replica.stop();
      }
    });
  });
}

describe('stored responses of converted groups', () => {
  const client = () => openai(gateway.url, keys.claude ?? '');

  test('a stored response is replayed as a stream from any event', async () => {
    const response = await client().responses.create({ model: 'demo-messages', input: 'tell me' });
    const types: string[] = [];
    for await (const event of await client().responses.retrieve(response.id, { stream: true })) types.push(event.type);
    assert.equal(types[0], 'response.created');
    assert.equal(types.at(-1), 'response.completed');
    const replayed: number[] = [];
    for await (const event of await client().responses.retrieve(response.id, { stream: true, starting_after: 1 }))
      replayed.push(event.sequence_number);
    assert.equal(replayed[0], 2);
  });

  test('G 3: store: false stores nothing', async () => {
    const response = await client().responses.create({ model: 'demo-messages', input: 'x', store: false });
    await assert.rejects(client().responses.retrieve(response.id), hasCode('response_not_found', 404));
  });

  test('key create --no-store makes a key that stores nothing', async () => {
    const { DATA_DIR, DATABASE_URL, MASTER_KEY } = gateway.context.config;
    const args = ['--user', 'ana', '--group', 'claude', '--name', 'from-the-shell', '--no-store'];
    const created = await runHere(['key', 'create', ...args], { env: { DATA_DIR, DATABASE_URL, MASTER_KEY } });
    assert.equal(created.code, 0, created.stderr);
    const client = openai(gateway.url, created.stdout.trim());
    const response = await client.responses.create({ model: 'demo-messages', input: 'x' });
    await assert.rejects(client.responses.retrieve(response.id), hasCode('response_not_found', 404));
  });

  test('an item_reference is replaced by the stored item', async () => {
    const first = await client().responses.create({ model: 'demo-messages', input: 'say something about kiwis' });
    const item = first.output[0] ?? assert.fail();
    await client().responses.create({
      model: 'demo-messages',
      input: [
        { role: 'user', content: 'hi' },
        { type: 'item_reference', id: item.id ?? '' },
        { role: 'user', content: 'go on' },
      ],
    });
    assert.match(lastBody(), /kiwis/);
    await assert.rejects(
      client().responses.create({ model: 'demo-messages', input: [{ type: 'item_reference', id: 'msg_unknown' }] }),
      /msg_unknown/,
    );
  });

  test('item references are resolved together, from memory and from the database, and their number is limited', async () => {
    const outputs = await Promise.all(
      ['lemons', 'limes', 'melons'].map((fruit) =>
        client().responses.create({ model: 'demo-messages', input: `say something about ${fruit}` }),
      ),
    );
    const references = outputs.map(({ output }) => ({ type: 'item_reference' as const, id: output[0]?.id ?? '' }));
    const other = await startGateway({ database: gateway.database });
    try {
      await until('the rows', async () => {
        const rows = await gateway.context.database.db.selectFrom('stored_responses').select('id').execute();
        return outputs.every(({ id }) => rows.some((row) => row.id === id));
      });
      for (const url of [gateway.url, other.url]) {
        await openai(url, keys.claude ?? '').responses.create({
          model: 'demo-messages',
          input: [...references, references[0] ?? assert.fail(), { role: 'user', content: 'go on' }],
        });
        for (const fruit of ['lemons', 'limes', 'melons']) assert.match(lastBody(), new RegExp(fruit));
      }
    } finally {
      await other.stop();
    }
    const many = Array.from({ length: 1_001 }, (_, n) => ({ type: 'item_reference' as const, id: `msg_${n}` }));
    await assert.rejects(client().responses.create({ model: 'demo-messages', input: many }), /1001 item references/);
  });

  test('a response of another user takes the same query as an unknown one', async () => {
    const { id } = await client().responses.create({ model: 'demo-messages', input: 'mine' });
    const other = openai(gateway.url, others.claude ?? '');
    const { db } = gateway.context.database;
    const statusOf = (wanted: string): Promise<unknown> =>
      other.responses.retrieve(wanted).catch((error: unknown) => (error as { status?: unknown }).status);
    assert.deepEqual([await statusOf(id), await statusOf('resp_unknown')], [404, 404]);
    await sql`alter table stored_responses rename to stored_responses_gone`.execute(db);
    try {
      assert.deepEqual([await statusOf(id), await statusOf('resp_unknown')], [500, 500], 'both need the table');
    } finally {
      await sql`alter table stored_responses_gone rename to stored_responses`.execute(db);
    }
  });

  test('G 3: a response that another replica deleted is gone on the one that made it', async () => {
    const client = openai(gateway.url, keys.claude ?? '');
    const first = await client.responses.create({ model: 'demo-messages', input: 'the word is medlar' });
    const replica = await startGateway({ database: gateway.database });
    try {
      const elsewhere = openai(replica.url, keys.claude ?? '');
      await until('the stored response', () => elsewhere.responses.retrieve(first.id).catch(() => undefined));
      await elsewhere.responses.delete(first.id);
    } finally {
      await replica.stop();
    }
    await assert.rejects(client.responses.retrieve(first.id), hasCode('response_not_found', 404));
    const go = (more: object) => client.responses.create({ model: 'demo-messages', input: 'go on', ...more });
    await assert.rejects(go({ previous_response_id: first.id }), hasCode('previous_response_not_found', 400));
    const [item] = first.output;
    await assert.rejects(go({ input: [{ type: 'item_reference', id: item?.id ?? '' }] }), /not found/);
  });

  test('stored conversations are sealed in the database', async () => {
    await client().responses.create({ model: 'demo-messages', input: 'canary-watermelon' });
    const { rows } = await gateway.context.database.db
      .selectFrom('stored_responses')
      .selectAll()
      .execute()
      .then((found) => ({ rows: JSON.stringify(found.map(({ sealed, item_ids }) => [sealed, item_ids])) }));
    assert.doesNotMatch(rows, /watermelon/);
  });
});

test('a response deleted at its provider is gone for its user even when the database delete fails', async () => {
  const client = openai(gateway.url, keys.openai ?? '');
  const { id } = await client.responses.create({ model: 'demo-responses', input: 'to be deleted' });
  const { db } = gateway.context.database;
  await sql`create function reject_delete() returns trigger language plpgsql as $$ begin raise 'rejected'; end $$`.execute(
    db,
  );
  await sql`create trigger reject_delete before delete on stored_responses for each statement execute function reject_delete()`.execute(
    db,
  );
  try {
    await client.responses.delete(id);
    await until('the log line', () => gateway.log.some(({ msg }) => msg === 'stored_response.delete_failed'));
    await assert.rejects(client.responses.retrieve(id), hasCode('response_not_found', 404));
  } finally {
    await sql`drop function reject_delete cascade`.execute(db);
  }
});

test('a response that an account of another group holds is not found', async () => {
  const made = await gateway.apply({
    groups: [{ id: 'elsewhere', style: 'responses' }],
    accounts: [{ id: 'elsewhere', group: 'elsewhere', base_url: `${sim.url}/v1`, api_key: 'sk-sim' }],
    models: [{ id: 'demo-elsewhere', groups: ['elsewhere'], free: true }],
    keys: [{ user: 'ana', group: 'elsewhere' }],
  });
  const first = await openai(gateway.url, keys.openai ?? '').responses.create({
    model: MODEL.openai ?? '',
    input: 'the word is fig',
  });
  const { responses } = openai(gateway.url, made.elsewhere ?? '');
  const next = { model: 'demo-elsewhere', input: 'x', previous_response_id: first.id };
  await assert.rejects(responses.create(next), hasCode('previous_response_not_found', 400));
  await assert.rejects(responses.retrieve(first.id), hasCode('response_not_found', 404));
  await assert.rejects(responses.delete(first.id), hasCode('response_not_found', 404));
});
