import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { run } from '../support/command.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { SocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
let others: Record<string, string>;
/** Of keys that keep nothing. */
let forgetful: Record<string, string>;
const MODEL: Record<string, string> = { openai: 'demo-responses', claude: 'demo-messages', gemini: 'demo-generate' };
const hasCode = (code: string, status: number) => (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === code && 'status' in error && error.status === status;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(sim.url));
  others = await gateway.apply({
    users: [{ id: 'ben' }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user: 'ben', group })),
  });
  forgetful = await gateway.apply({
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user: 'ana', group, name: 'forgetful', store: false })),
  });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const lastBody = (): string => sim.journal.requests.at(-1)?.body?.toString() ?? '';

for (const group of ['openai', 'claude', 'gemini']) {
  describe(`stored responses on the ${group} group`, () => {
    const client = (key = keys[group]) => openai(gateway.url, key ?? '');
    const make = (input: string, more: object = {}) =>
      client().responses.create({ model: MODEL[group] ?? '', input, ...more });

    test('[S30 L35] a response is continued, read and deleted by its user', async () => {
      const first = await make('the word is apple');
      const second = await make('and pear', { previous_response_id: first.id });
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
      await assert.rejects(make('x', { previous_response_id: first.id }), hasCode('previous_response_not_found', 400));
    });

    test('a key whose storing is off keeps nothing, not even for its user, over HTTP and on a socket', async () => {
      const quiet = client(forgetful[group]);
      const first = await quiet.responses.create({ model: MODEL[group] ?? '', input: 'not for later' });
      if (group !== 'openai') assert.equal((first as { store?: boolean }).store, false);
      const streamed = await quiet.responses.stream({ model: MODEL[group] ?? '', input: 'nor this' }).finalResponse();
      const socket = await new SocketClient(gateway.url, forgetful[group] ?? '').open();
      const turn = await socket.turn({ model: MODEL[group], input: 'nor that' });
      assert.equal(turn.type, 'response.completed');
      const again = { model: MODEL[group], input: 'go on', previous_response_id: turn.response?.id };
      assert.equal((await socket.turn(again)).type, 'response.completed', 'a connection knows its own');
      socket.socket.close();
      for (const id of [first.id, streamed.id, turn.response?.id ?? '']) {
        await assert.rejects(client().responses.retrieve(id), hasCode('response_not_found', 404));
        await assert.rejects(make('x', { previous_response_id: id }), hasCode('previous_response_not_found', 400));
      }
      const kept = await make('this is kept');
      const known = await quiet.responses.retrieve(kept.id);
      assert.equal(known.id, kept.id, 'what the user kept otherwise can be read');
    });

    test('to another user it never was, in the very same words', async () => {
      const mine = await make('secret');
      const foreign = await client(others[group])
        .responses.retrieve(mine.id)
        .catch((error: Error) => error.message.replace(mine.id, 'ID'));
      const unknown = await client(others[group])
        .responses.retrieve('resp_unknown')
        .catch((error: Error) => error.message.replace('resp_unknown', 'ID'));
      assert.equal(foreign, unknown);
      const create = { model: MODEL[group] ?? '', input: 'x', previous_response_id: mine.id };
      await assert.rejects(client(others[group]).responses.create(create), hasCode('previous_response_not_found', 400));
      await assert.rejects(client(others[group]).responses.delete(mine.id), hasCode('response_not_found', 404));
      assert.ok(await client().responses.retrieve(mine.id));
    });

    test('another replica knows it too', async () => {
      const first = await make('the word is quince');
      const replica = await startGateway({ database: gateway.database });
      try {
        const wait = async (): Promise<void> => {
          for (let n = 0; n < 100; n++) {
            const rows = await replica.ground.database.db
              .selectFrom('stored_responses')
              .select('id')
              .where('id', '=', first.id)
              .execute();
            if (rows.length > 0) return;
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
        };
        await wait();
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

describe('what is kept on converted groups', () => {
  const client = () => openai(gateway.url, keys.claude ?? '');

  test('a stored response is told again as a stream, from any event on', async () => {
    const made = await client().responses.create({ model: 'demo-messages', input: 'tell me' });
    const types: string[] = [];
    for await (const event of await client().responses.retrieve(made.id, { stream: true })) types.push(event.type);
    assert.equal(types[0], 'response.created');
    assert.equal(types.at(-1), 'response.completed');
    const rest: number[] = [];
    for await (const event of await client().responses.retrieve(made.id, { stream: true, starting_after: 1 }))
      rest.push(event.sequence_number);
    assert.equal(rest[0], 2);
  });

  test('store: false keeps nothing', async () => {
    const response = await client().responses.create({ model: 'demo-messages', input: 'x', store: false });
    await assert.rejects(client().responses.retrieve(response.id), hasCode('response_not_found', 404));
  });

  test('a key that the command line makes with --no-store keeps nothing', async () => {
    const { DATA_DIR, DATABASE_URL, MASTER_KEY } = gateway.ground.config;
    const wish = ['--user', 'ana', '--group', 'claude', '--name', 'from-the-shell', '--no-store'];
    const made = await run(['key', 'create', ...wish], { env: { DATA_DIR, DATABASE_URL, MASTER_KEY } });
    assert.equal(made.code, 0, made.stderr);
    const shell = openai(gateway.url, made.stdout.trim());
    const response = await shell.responses.create({ model: 'demo-messages', input: 'x' });
    await assert.rejects(shell.responses.retrieve(response.id), hasCode('response_not_found', 404));
  });

  test('[S31 L35] a reference to a single item is replaced by the item', async () => {
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

  test('the database holds the conversation only sealed', async () => {
    await client().responses.create({ model: 'demo-messages', input: 'canary-watermelon' });
    const { rows } = await gateway.ground.database.db
      .selectFrom('stored_responses')
      .selectAll()
      .execute()
      .then((found) => ({ rows: JSON.stringify(found) }));
    assert.doesNotMatch(rows, /watermelon/);
  });
});

test('a response that its provider has deleted is gone for its user, even while the database refuses', async () => {
  const client = openai(gateway.url, keys.openai ?? '');
  const { id } = await client.responses.create({ model: 'demo-responses', input: 'to be deleted' });
  const { db } = gateway.ground.database;
  await sql`create function refused() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(db);
  await sql`create trigger refused before delete on stored_responses for each statement execute function refused()`.execute(
    db,
  );
  try {
    await client.responses.delete(id);
    await until('operators hear of it', () => gateway.log.some(({ msg }) => msg === 'stored_response.delete_failed'));
    await assert.rejects(client.responses.retrieve(id), hasCode('response_not_found', 404));
  } finally {
    await sql`drop function refused cascade`.execute(db);
  }
});
