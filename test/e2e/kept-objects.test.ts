/** What users keep: operators list and delete it for everybody, and people for their own user. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { connect } from '../../src/platform/db/index.ts';
import { BATCHES } from '../../src/rules/index.ts';
import type { OperatorObject, OwnObjects } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { addPerson, browserOf } from '../support/console.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { explain, statementsOf } from '../support/plan.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const CONTENT = 'the content of a file';

let provider: Canned;
let gateway: TestGateway;
const clients = {} as Record<'ana' | 'ben', OpenAI>;
const admin = adminApi(() => gateway.url);
const db = () => gateway.context.database.db;
let answer = Promise.withResolvers<void>();

interface Page {
  readonly data: OperatorObject[];
  readonly next_cursor: string | null;
}

before(async () => {
  provider = await startCanned();
  const reply = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [] };
  const usage = { input_tokens: 10, output_tokens: 10, total_tokens: 20 };
  provider.respondWith(async (response, request) => {
    await answer.promise;
    await jsonResponse(JSON.stringify({ ...reply, usage }))(response, request);
  });
  gateway = await startGateway({ sendsBatches: true, env: { ADMIN_TOKEN } });
  const keys = await gateway.apply({
    ...basicSetup(provider.url),
    models: [{ id: '*', groups: ['openai', 'claude'], prices: { input: '1', output: '1' } }],
  });
  const others = await gateway.apply({
    users: [{ id: 'ben', balance: '1', max_files: 50, max_file_mib: 2 }],
    keys: [{ user: 'ben', group: 'openai' }],
  });
  clients.ana = openai(gateway.url, keys.openai ?? '');
  clients.ben = openai(gateway.url, others.openai ?? '');
});
after(async () => {
  answer.resolve();
  await gateway?.stop();
  await provider?.close();
});

const upload = async (client: OpenAI, name: string, content = CONTENT): Promise<string> =>
  (await client.files.create({ file: await toFile(Buffer.from(content), name), purpose: 'user_data' })).id;

async function startBatch(client: OpenAI, requests: number): Promise<string> {
  const lines = Array.from({ length: requests }, (_, n) =>
    JSON.stringify({
      custom_id: `n${n}`,
      method: 'POST',
      url: '/v1/responses',
      body: { model: 'm', input: `${n}`, max_output_tokens: 10 },
    }),
  );
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
    purpose: 'batch',
  });
  const batch = { input_file_id: file.id, endpoint: '/v1/responses', completion_window: '24h' } as const;
  return (await client.batches.create(batch)).id;
}

const list = async (query = ''): Promise<OperatorObject[]> => (await admin<Page>('GET', `/objects${query}`)).body.data;

const userBrowser = async (user: string) =>
  browserOf(gateway, await addPerson(db(), { email: `${user}-${Date.now()}@example.test`, role: 'user', user }));

test('operators see whose every object is, its size and until when it is kept, filtered and in pages', async () => {
  const file = await upload(clients.ana, 'report.txt');
  const { id: conversation } = await clients.ana.conversations.create({
    items: [{ type: 'message', role: 'user', content: 'hello' }],
  });
  const other = await upload(clients.ben, 'other.txt');
  answer.resolve();
  const batch = await startBatch(clients.ana, 1);
  await until('the end of the batch', async () => (await clients.ana.batches.retrieve(batch)).status === 'completed');

  const all = await list();
  assert.deepEqual(
    all.map(({ user, kind, name, state }) => [user, kind, name, state]),
    [
      ['ana', 'file', `${batch}_output.jsonl`, null],
      ['ana', 'batch', 'responses.create', 'ended'],
      ['ana', 'file', 'in.jsonl', null],
      ['ben', 'file', 'other.txt', null],
      ['ana', 'conversation', null, null],
      ['ana', 'file', 'report.txt', null],
    ],
  );
  const sizes = new Map(all.map(({ id, bytes }) => [id, bytes]));
  assert.equal(sizes.get(file), CONTENT.length);
  assert.ok((sizes.get(conversation) ?? 0) > 0);
  assert.equal(sizes.get(batch), null, 'its results are a file');
  for (const { expires_at, created_at } of all) assert.ok(expires_at > created_at);
  assert.doesNotMatch(JSON.stringify(all), new RegExp(CONTENT));

  assert.deepEqual(
    (await list('?user=ben')).map(({ id }) => id),
    [other],
  );
  assert.deepEqual(
    (await list('?kind=conversation&user=ana')).map(({ id }) => id),
    [conversation],
  );
  const [{ key } = assert.fail('none')] = await list('?user=ben');
  assert.deepEqual(
    (await list(`?key=${key}`)).map(({ id }) => id),
    [other],
  );
  assert.deepEqual(await list('?kind=file&user=nobody'), []);
  assert.equal((await admin('GET', '/objects?kind=unknown')).status, 400);

  const paged: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await admin<Page>('GET', `/objects?limit=2${more}`);
    assert.ok(body.data.length <= 2);
    paged.push(...body.data.map(({ id }) => id));
    cursor = body.next_cursor;
  }
  assert.deepEqual(
    paged,
    all.map(({ id }) => id),
  );

  for (const change of [sql`expires_at = now()`, sql`completed_at = null`]) {
    await sql`update files set ${change} where id = ${other}`.execute(db());
    assert.deepEqual(await list('?user=ben'), [], 'it has expired, or is not whole');
    await sql`update files set expires_at = now() + interval '1 day' where id = ${other}`.execute(db());
  }
});

test('a page is read from indexes of the newest', async () => {
  const client = await connect(gateway.database.url);
  await client.query(`insert into users (id) values ('many')`);
  await client.query(`insert into files (user_id, id, name, media_type, purpose, bytes, completed_at, created_at, expires_at)
    select 'many', 'dgfile' || md5(n::text), 'f', 'text/plain', 'user_data', 1, now(), now() - n * interval '1 minute', now() + interval '1 day'
    from generate_series(1, 20000) n`);
  await client.query(`insert into provider_objects (user_id, kind, id, account_id, model, tokens, shown, created_at, expires_at)
    select 'many', 'cache', 'cache-' || n, 'ge1', 'm', 1, '{}', now() - n * interval '1 minute', now() + interval '1 day'
    from generate_series(1, 20000) n`);
  await client.query('vacuum analyze files, provider_objects');
  try {
    for (const query of ['?', '?user=many&', '?kind=file&', '?kind=cache&', '?user=many&kind=file&']) {
      const sent = await statementsOf(() => list(`${query}limit=50`));
      const page = sent.find(({ text }) => /kept_objects/.test(text) && /sorted_by/.test(text));
      const { blocks, scanned } = await explain(client, page ?? assert.fail('no page'));
      const isScanned = scanned.has('files') || scanned.has('provider_objects');
      assert.ok(blocks < 130 && !isScanned, `${query}: ${blocks} blocks`);
    }
  } finally {
    await client.query(`delete from files where user_id = 'many'`);
    await client.query(`delete from provider_objects where user_id = 'many'`);
    await client.end();
  }
});

test('an operator deletes an object once, with a line in the audit log that has no name', async () => {
  const id = await upload(clients.ben, 'secret name.txt');
  const path = `/users/ben/objects/${id}`;
  const headers = { 'idempotency-key': 'delete-1' };
  assert.equal((await admin('DELETE', `/users/ana/objects/${id}`)).status, 404, 'it is of another user');
  const deleted = await admin('DELETE', path, undefined, headers);
  assert.deepEqual([deleted.status, deleted.body], [200, { object: 'kept_object', id, kind: 'file', deleted: true }]);
  assert.deepEqual((await admin('DELETE', path, undefined, headers)).body, deleted.body, 'the first reply');
  assert.equal((await admin('DELETE', path)).status, 404);
  await assert.rejects(clients.ben.files.retrieve(id), { status: 404 });
  const { body } = await admin<{ data: { action: string; before: unknown }[] }>('GET', `/audit?subject=object:${id}`);
  assert.deepEqual(
    body.data.map(({ action, before }) => [action, before]),
    [['object.deleted', { user: 'ben', kind: 'file', bytes: CONTENT.length }]],
  );
  assert.doesNotMatch(JSON.stringify(body), /secret name/);
});

test('a person sees and deletes what their user keeps, and the room that is left', async () => {
  const [mine, theirs] = [await upload(clients.ben, 'mine.txt'), await upload(clients.ana, 'theirs.txt')];
  const { id: talk } = await clients.ben.conversations.create({});
  const browser = await userBrowser('ben');
  const { body: page } = await browser.send<OwnObjects>('GET', '/console/v1/objects');
  assert.deepEqual(
    page.data.map(({ id }) => id),
    [talk, mine],
  );
  assert.ok(page.data.every((row) => !('account' in row || 'user' in row)));
  assert.deepEqual([page.room.max_files, page.room.max_bytes], [50, 2 * 2 ** 20]);
  assert.ok(page.room.files >= 1 && page.room.bytes >= CONTENT.length);
  const remove = (id: string) => browser.send('DELETE', `/console/v1/objects/${id}`);
  const [foreign, missing] = [await remove(theirs), await remove('dgfile0')];
  assert.equal(foreign.status, 404);
  assert.equal(foreign.text.replaceAll(/dgfile\w+|req_\w+/g, ''), missing.text.replaceAll(/dgfile\w+|req_\w+/g, ''));
  for (const id of [mine, talk]) assert.equal((await remove(id)).status, 200);
  assert.deepEqual((await browser.send<OwnObjects>('GET', '/console/v1/objects')).body.data, []);
  const operator = await browserOf(gateway, await addPerson(db(), { email: 'o@example.test', role: 'operator' }));
  const seen = await operator.send<OwnObjects>('GET', '/console/v1/objects?user=ana&kind=file');
  assert.ok(seen.body.data.some(({ id }) => id === theirs));
  assert.equal((await operator.send('DELETE', `/console/v1/objects/${theirs}?user=ana`)).status, 403);
});

test('a running batch that is deleted sends nothing more, and what was on its way is charged', async () => {
  answer = Promise.withResolvers<void>();
  provider.requests.length = 0;
  const before = (await sql`select from usage_records where user_id = 'ana'`.execute(db())).rows.length;
  const id = await startBatch(clients.ana, 12);
  await until('the first requests', () => provider.requests.length === BATCHES.sentPerUser);
  const [row] = await list('?kind=batch');
  assert.deepEqual([row?.id, row?.state], [id, 'running']);
  assert.equal((await admin('DELETE', `/users/ana/objects/${id}`)).status, 200);
  answer.resolve();
  await until('the charges', async () => {
    const { rows } = await sql`select from usage_records where user_id = 'ana'`.execute(db());
    return rows.length === before + BATCHES.sentPerUser;
  });
  assert.equal(provider.requests.length, BATCHES.sentPerUser);
  await assert.rejects(clients.ana.batches.retrieve(id), { status: 404 });
  const { rows } = await sql`select from batch_lines where batch_id = ${id}`.execute(db());
  assert.equal(rows.length, 0);
});

test('with a batch of messages go its requests and results', async () => {
  answer = Promise.withResolvers<void>();
  const keys = await gateway.apply({ keys: [{ user: 'ben', group: 'claude' }] });
  const { id } = await anthropic(gateway.url, keys.claude ?? '').messages.batches.create({
    requests: [{ custom_id: 'a', params: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] } }],
  });
  const files = async () => (await list('?kind=file&user=ben')).filter(({ name }) => name === 'requests.json').length;
  assert.equal(await files(), 1);
  assert.equal((await admin('DELETE', `/users/ben/objects/${id}`)).status, 200);
  assert.equal(await files(), 0);
  answer.resolve();
});

const keepCache = async (user: string, id: string, account = 'ge1') => {
  await sql`insert into provider_objects (user_id, kind, id, account_id, model, tokens, shown, expires_at)
    values (${user}, 'cache', ${id}, ${account}, 'demo-generate', 1200, '{"displayName":"lamp"}', now() + interval '1 hour')`.execute(
    db(),
  );
  provider.requests.length = 0;
};
const deletesSent = () =>
  provider.requests.map(({ method, target, headers }) => [method, target, headers['x-goog-api-key']]);
const auditOf = async (id: string) =>
  (await admin<{ data: { before: unknown }[] }>('GET', `/audit?subject=object:${id}`)).body.data.map(
    ({ before }) => before,
  );

test('a cached content is deleted at its provider too, by the person or an operator', async () => {
  provider.respondWith(jsonResponse('{}'));
  const browser = await userBrowser('ben');
  await keepCache('ben', 'cache-a');
  const [row] = await list('?kind=cache');
  const { user, id, name, bytes, tokens, account } = row ?? assert.fail('not listed');
  assert.deepEqual([user, id, name, bytes, tokens, account], ['ben', 'cache-a', 'lamp', null, 1_200, 'ge1']);
  const { body: page } = await browser.send<OwnObjects>('GET', '/console/v1/objects?kind=cache');
  assert.deepEqual(
    page.data.map((own) => [own.id, own.tokens, 'account' in own]),
    [['cache-a', 1_200, false]],
  );
  // Another person's is missing, and nothing is sent.
  const other = await userBrowser('ana');
  assert.equal((await other.send('DELETE', '/console/v1/objects/cache-a')).status, 404);
  assert.equal((await admin('DELETE', '/users/ana/objects/cache-a')).status, 404);
  assert.deepEqual(deletesSent(), []);
  assert.equal((await browser.send('DELETE', '/console/v1/objects/cache-a')).status, 200);
  const sent = ['DELETE', '/v1beta/cachedContents/cache-a', 'sk-upstream-ge1'];
  assert.deepEqual(deletesSent(), [sent]);
  assert.deepEqual(await auditOf('cache-a'), [{ user: 'ben', kind: 'cache', bytes: null }]);
  await keepCache('ben', 'cache-a');
  assert.equal((await admin('DELETE', '/users/ben/objects/cache-a')).status, 200);
  assert.deepEqual(deletesSent(), [sent]);
  assert.deepEqual(await list('?kind=cache'), []);
});

test('what the provider does not delete stays in the list; what it no longer has goes', async () => {
  await keepCache('ben', 'cache-b');
  provider.respondWith(jsonResponse('{"error":{"message":"no"}}', 500));
  const refused = await admin<{ error: { code: string } }>('DELETE', '/users/ben/objects/cache-b');
  assert.deepEqual([refused.status, refused.body.error.code], [502, 'upstream_error']);
  assert.equal((await list('?kind=cache')).length, 1);
  assert.deepEqual(await auditOf('cache-b'), []);
  provider.respondWith(jsonResponse('{"error":{"message":"unknown"}}', 404));
  assert.equal((await admin('DELETE', '/users/ben/objects/cache-b')).status, 200);
  assert.equal((await auditOf('cache-b')).length, 1);
  // Of an account that is no longer configured.
  await keepCache('ben', 'cache-c', 'gone');
  assert.equal((await admin('DELETE', '/users/ben/objects/cache-c')).status, 200);
  assert.deepEqual(deletesSent(), []);
  assert.deepEqual(await list('?kind=cache'), []);
});
