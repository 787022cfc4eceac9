/** Conversations: kept by the gateway, continued by responses on every group, owned by one user. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { toFile } from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';

const MODELS = { openai: 'demo-responses', claude: 'demo-messages', gemini: 'demo-generate' } as const;
type Group = keyof typeof MODELS;
const GROUPS = Object.keys(MODELS) as Group[];

let sim: Sim;
let gateway: TestGateway;
let ana: Record<string, string>;
let ben: Record<string, string>;
const clientOf = (group: Group) => openai(gateway.url, ana[group] ?? assert.fail(`no key for ${group}`));
const sent = (): string => sim.journal.requests.at(-1)?.body?.toString() ?? '';

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  ana = await gateway.apply(basicSetup(sim.url));
  ben = await gateway.apply({ users: [{ id: 'ben', balance: '100' }], keys: [{ user: 'ben', group: 'openai' }] });
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
});
beforeEach(() => sim.journal.clear());

for (const group of GROUPS)
  for (const stream of [false, true])
    test(`a ${stream ? 'streamed ' : ''}response of the group ${group} continues a conversation and adds its turn`, async () => {
      const client = clientOf(group);
      const items = [{ type: 'message' as const, role: 'user' as const, content: 'The lamp is red.' }];
      const { id } = await client.conversations.create({ items });
      const request = { model: MODELS[group], max_output_tokens: 100, conversation: id } as const;
      if (stream)
        for await (const _ of await client.responses.create({ ...request, input: 'Which colour?', stream: true }));
      else await client.responses.create({ ...request, input: 'Which colour?' });
      assert.ok(sent().indexOf('The lamp is red.') < sent().indexOf('Which colour?'), sent());
      assert.ok(sent().includes('The lamp is red.') && !sent().includes(id), sent());
      const roles: string[] = [];
      for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 2 }))
        roles.push('role' in item ? String(item.role) : item.type);
      assert.deepEqual(roles.slice(0, 2), ['user', 'user']);
      assert.ok(roles.includes('assistant'), roles.join());
      await client.responses.create({
        ...request,
        conversation: { id },
        input: [{ role: 'user', content: 'And now?' }],
      });
      for (const text of ['The lamp is red.', 'Which colour?', 'And now?']) assert.ok(sent().includes(text), text);
    });

test('a conversation that takes a thread to place is sent whole and in order', async () => {
  const client = clientOf('openai');
  const texts = ['first', 'second'].map((word) => `${word} ${'lamp '.repeat(40_000)}`);
  const { id } = await client.conversations.create({});
  for (const content of texts)
    await client.conversations.items.create(id, { items: [{ type: 'message', role: 'user', content }] });
  await client.responses.create({ model: MODELS.openai, conversation: id, input: 'third' });
  const { input, conversation } = JSON.parse(sent());
  assert.ok(!conversation);
  assert.deepEqual(
    input.map(({ content }: { content: string | readonly { readonly text: string }[] }) =>
      typeof content === 'string' ? content : content[0]?.text,
    ),
    [...texts, 'third'],
  );
});

test("OpenAI's SDK creates, changes, reads and deletes conversations and items", async () => {
  const { conversations } = clientOf('openai');
  const made = await conversations.create({ metadata: { topic: 'a' } });
  assert.deepEqual([made.object, made.metadata], ['conversation', { topic: 'a' }]);
  assert.deepEqual((await conversations.update(made.id, { metadata: { topic: 'b' } })).metadata, { topic: 'b' });
  const items = ['one', 'two'].map((content) => ({ type: 'message' as const, role: 'user' as const, content }));
  const { data } = await conversations.items.create(made.id, { items });
  const [first] = data;
  assert.ok(first && data.length === 2);
  const itemId = String(first.id);
  assert.deepEqual(await conversations.items.retrieve(itemId, { conversation_id: made.id }), first);
  await conversations.items.delete(itemId, { conversation_id: made.id });
  assert.equal((await conversations.items.list(made.id)).data.length, 1);
  await assert.rejects(conversations.items.retrieve(itemId, { conversation_id: made.id }), { status: 404 });
  const { rows } = await sql<{
    sealed: string;
  }>`select sealed from conversation_pages where conversation_id = ${made.id}`.execute(gateway.context.database.db);
  assert.ok(rows.length === 1 && !rows[0]?.sealed.includes('two'));
  assert.equal((await conversations.delete(made.id)).deleted, true);
  await assert.rejects(conversations.retrieve(made.id), { status: 404, code: 'conversation_not_found' });
});

const message = (content: string) => ({ type: 'message' as const, role: 'user' as const, content });
const contentsOf = (input: readonly { readonly content: unknown }[]): unknown[] => input.map(({ content }) => content);
const pagesOf = async (id: string) => {
  const { db } = gateway.context.database;
  return db.selectFrom('conversation_pages').selectAll().where('conversation_id', '=', id).orderBy('first_n').execute();
};
const listed = async (id: string, order: 'asc' | 'desc', limit: number): Promise<string[]> => {
  const ids: string[] = [];
  for await (const item of clientOf('openai').conversations.items.list(id, { order, limit })) ids.push(String(item.id));
  return ids;
};

test('items that are added one by one share pages, and are listed, read and removed one by one', async () => {
  const { conversations, responses } = clientOf('openai');
  const { id } = await conversations.create({ items: [message('0')] });
  for (let n = 1; n < 30; n += 1) await conversations.items.create(id, { items: [message(String(n))] });
  assert.equal((await pagesOf(id)).length, 1);
  const ids = await listed(id, 'asc', 7);
  assert.equal(new Set(ids).size, 30);
  assert.deepEqual((await listed(id, 'desc', 11)).reverse(), ids);
  const read = await conversations.items.retrieve(ids[12] ?? '', { conversation_id: id });
  assert.ok(JSON.stringify(read).includes('"12"'), JSON.stringify(read));
  await conversations.items.delete(ids[12] ?? '', { conversation_id: id });
  assert.deepEqual(await listed(id, 'asc', 20), ids.toSpliced(12, 1));
  await responses.create({ model: MODELS.openai, conversation: id, input: 'last' });
  const numbers = Array.from({ length: 30 }, (_, n) => String(n)).toSpliced(12, 1);
  assert.deepEqual(contentsOf(JSON.parse(sent()).input), [...numbers, 'last']);
});

test('a turn of more than a page is kept in several, each of which can lose its items', async () => {
  const { conversations } = clientOf('openai');
  const long = 'a'.repeat(40_000);
  const { id } = await conversations.create({
    items: [message('short'), message(long), message(long), message('end')],
  });
  assert.deepEqual(
    (await pagesOf(id)).map(({ item_ids: ids }) => ids.length),
    [2, 2],
  );
  for (const itemId of await listed(id, 'asc', 20)) await conversations.items.delete(itemId, { conversation_id: id });
  assert.deepEqual([await pagesOf(id), await listed(id, 'asc', 20)], [[], []]);
  const { rows } = await sql`select items, bytes from conversations where id = ${id}`.execute(
    gateway.context.database.db,
  );
  assert.deepEqual(rows, [{ items: 0, bytes: 0n }]);
});

test('items of 0.2.0 are continued, listed and removed beside those that are added', async () => {
  const { conversations, responses } = clientOf('claude');
  const { id } = await conversations.create();
  const { context } = gateway;
  const { db } = context.database;
  const old = ['first', 'second'].map(message);
  for (const [n, item] of old.entries()) {
    const text = JSON.stringify(item);
    const row = { user_id: 'ana', conversation_id: id, n, id: `msg_old_${n}`, bytes: text.length };
    const sealed = context.sealer.seal(text, `conversation_items.sealed:${id}/${n}`);
    await db
      .insertInto('conversation_items')
      .values({ ...row, sealed })
      .execute();
  }
  const bytes = BigInt(JSON.stringify(old).length - 3);
  await db.updateTable('conversations').set({ items: 2, next_n: 2, bytes }).where('id', '=', id).execute();
  await conversations.items.create(id, { items: [{ ...message('third'), id: 'msg_old_0' } as never] });
  const ids = await listed(id, 'asc', 20);
  assert.deepEqual([ids.slice(0, 2), new Set(ids).size], [['msg_old_0', 'msg_old_1'], 3]);
  await conversations.items.delete('msg_old_0', { conversation_id: id });
  assert.deepEqual(await listed(id, 'desc', 1), ids.slice(1).reverse());
  await responses.create({ model: MODELS.claude, conversation: id, input: 'fourth', max_output_tokens: 100 });
  const places = ['first', 'second', 'third', 'fourth'].map((word) => sent().indexOf(word));
  assert.equal(places[0], -1);
  assert.ok(
    places.slice(1).every((at, n) => at > (places[n] ?? 0)),
    sent(),
  );
});

test('too many items, too large input and too much metadata are refused with their limit', async () => {
  const { id } = await clientOf('openai').conversations.create();
  const large = message('a'.repeat(8 * 2 ** 20));
  const metadata = Object.fromEntries(Array.from({ length: 42_000 }, (_, n) => [`n${n}`, '']));
  const ask = async (path: string, body: object): Promise<[number, string, string | null]> => {
    const response = await fetch(`${gateway.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ana.openai}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { error } = (await response.json()) as { error: { code: string; param: string | null } };
    return [response.status, error.code, error.param];
  };
  assert.deepEqual((await ask(`conversations/${id}/items`, { items: [large] })).slice(0, 2), [
    413,
    'request_too_large',
  ]);
  assert.deepEqual((await ask('conversations', { items: [large] })).slice(0, 2), [413, 'request_too_large']);
  const turn = { model: MODELS.openai, conversation: id, input: [large] };
  assert.deepEqual(await ask('responses', turn), [413, 'request_too_large', 'input']);
  for (const path of ['conversations', `conversations/${id}`, 'batches'])
    assert.deepEqual(
      await ask(path, { metadata, input_file_id: 'dgfile', endpoint: '/v1/responses' }),
      [400, 'invalid_value', 'metadata'],
      path,
    );
});

test('the conversation of another user is a missing one on every route, and in requests', async () => {
  const items = [{ id: 'msg_mine', type: 'message', role: 'user', content: 'secret' }];
  const { id } = await clientOf('openai').conversations.create({ items: items as never });
  const routes = [
    ['GET', '', undefined],
    ['POST', '', { metadata: {} }],
    ['GET', '/items', undefined],
    ['POST', '/items', { items: [] }],
    ['GET', '/items/msg_mine', undefined],
    ['DELETE', '/items/msg_mine', undefined],
    ['DELETE', '', undefined],
  ] as const;
  const ask = async (method: string, path: string, body: object | undefined): Promise<[number, string]> => {
    const response = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${ben.openai}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return [response.status, (await response.text()).replaceAll(/conv_\w+|req_\w+/g, '')];
  };
  const missing = `conv_dg${'0'.repeat(32)}`;
  for (const [method, path, body] of routes) {
    const foreign = await ask(method, `/v1/conversations/${id}${path}`, body);
    assert.equal(foreign[0], 404, `${method} ${path}`);
    assert.deepEqual(foreign, await ask(method, `/v1/conversations/${missing}${path}`, body));
  }
  const request = (conversation: string) => ({ model: 'demo-responses', input: 'hi', conversation });
  const foreign = await ask('POST', '/v1/responses', request(id));
  assert.deepEqual(foreign, await ask('POST', '/v1/responses', request(missing)));
  assert.equal(foreign[0], 404);
  assert.equal(sim.journal.requests.length, 0);
});

test('a conversation beside previous_response_id or background, or of the provider, is refused by name', async () => {
  const client = clientOf('claude');
  const { id: conversation } = await client.conversations.create();
  const request = { model: 'demo-messages', input: 'hi', conversation };
  await assert.rejects(client.responses.create({ ...request, previous_response_id: 'resp_x' }), /previous_response_id/);
  await assert.rejects(client.responses.create({ ...request, background: true }), /background/);
  await assert.rejects(client.responses.create({ ...request, conversation: 'conv_other' }), { status: 400 });
});

test('conversations, batches and files of an erased user go at once', async () => {
  const { db } = gateway.context.database;
  const keys = await gateway.apply({ users: [{ id: 'eve', balance: '1' }], keys: [{ user: 'eve', group: 'claude' }] });
  const client = openai(gateway.url, keys.claude ?? '');
  await client.conversations.create({ items: [{ type: 'message', role: 'user', content: 'hi' }] });
  const body = { model: 'demo-messages', input: 'hi' };
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body });
  const file = await client.files.create({ file: await toFile(Buffer.from(line), 'in.jsonl'), purpose: 'batch' });
  await client.batches.create({ input_file_id: file.id, endpoint: '/v1/responses', completion_window: '24h' });
  const left = async (): Promise<number[]> => {
    const tables = ['files', 'batches', 'batch_lines', 'conversations', 'conversation_pages'];
    const count = async (table: string): Promise<number> =>
      (await sql`select from ${sql.table(table)} where user_id = 'eve'`.execute(db)).rows.length;
    return Promise.all(tables.map(count));
  };
  assert.deepEqual(await left(), [1, 1, 1, 1, 1]);
  await sql`select begin_erasure('eve', 'operator', '{}'::jsonb)`.execute(db);
  assert.deepEqual(await left(), [0, 0, 0, 0, 0]);
});
