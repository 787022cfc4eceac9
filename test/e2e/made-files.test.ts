/** Files that code of a messages provider made for a reply: whose they are, and how their user reads them on the account that holds them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, jsonResponse, type Script, sseResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

type Keys = Record<string, string>;

const USAGE = { input_tokens: 1, output_tokens: 1 };
const TABLE = 'lamp;12\n'.repeat(40_000);

let provider: Canned;
let gateway: TestGateway;
let ana: Keys;
let bob: Keys;
const admin = adminApi(() => gateway.url);

before(async () => {
  provider = await startCanned();
  gateway = await startGateway({ worker: true, env: { ADMIN_TOKEN } });
  const setup = basicSetup() as { groups: object[]; accounts: { group: string }[] };
  const account = (id: string, group = 'claude') => ({
    ...{ id, group, base_url: `${provider.url}/${id}`, api_key: `sk-${id}` },
  });
  ana = await gateway.apply({
    ...setup,
    groups: [...setup.groups, { id: 'other', style: 'messages' }],
    accounts: [
      ...setup.accounts.filter(({ group }) => group !== 'claude'),
      ...[account('one'), account('two'), account('three'), account('elsewhere', 'other')],
    ],
    models: [{ id: '*', groups: ['openai', 'claude', 'gemini', 'other'] }],
  });
  Object.assign(ana, await gateway.apply({ keys: [{ user: 'ana', group: 'other' }] }));
  Object.assign(
    ana,
    await gateway.apply({ keys: [{ user: 'ana', groups: ['openai', 'claude'], name: 'several' }] }).then((made) => ({
      several: Object.values(made)[0],
    })),
  );
  bob = await gateway.apply({
    users: [{ id: 'bob', balance: '100' }],
    keys: ['claude', 'openai'].map((group) => ({ user: 'bob', group })),
  });
});
after(async () => {
  await gateway?.stop();
  await provider?.close();
});

const result = (id: string, tool: string) => ({
  type: `${tool}_tool_result`,
  tool_use_id: 'srvtoolu_1',
  content: { type: `${tool}_result`, stdout: '', return_code: 0, content: [{ type: `${tool}_output`, file_id: id }] },
});
const reply = (name: string, ...content: object[]) => ({
  ...{ id: `msg_${name}`, type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn' },
  ...{ container: { id: `container_${name}`, expires_at: '2030-01-01T00:00:00Z' }, usage: USAGE },
});
const event = (data: { readonly type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const streamWith = (name: string, ...blocks: object[]): string =>
  [
    { type: 'message_start', message: { id: `msg_${name}`, usage: USAGE } },
    ...blocks.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn', container: { id: 'container_s' } }, usage: USAGE },
    { type: 'message_stop' },
  ]
    .map(event)
    .join('');

const send = (token: string | undefined, script: Script): Promise<Response> => {
  provider.respondWith(script);
  return fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': token ?? '', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'draw' }] }),
  });
};
/** The account that made the reply. */
async function make(token: string | undefined, script: Script): Promise<string> {
  const response = await send(token, script);
  assert.equal(response.status, 200, await response.text());
  return accountOf();
}
const accountOf = (): string => provider.last.target.split('/')[1] ?? '';
const ask = (
  path: string,
  token: string | undefined,
  { method = 'GET', headers = { 'anthropic-version': '2023-06-01' }, at = gateway.url } = {},
) => fetch(`${at}/v1/files/${path}`, { method, headers: { 'x-api-key': token ?? '', ...headers } });

const pieces = (text: string, size: number): string[] => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
const [small, large] = [result('file_small', 'bash_code_execution'), result('file_large', 'code_execution')];
const streamed = result('file_stream', 'bash_code_execution');
for (const [name, script] of [
  ['small', jsonResponse(JSON.stringify(reply('small', small)))],
  ['large', jsonResponse(JSON.stringify(reply('large', { type: 'text', text: 'x'.repeat(20_000) }, large)))],
  ['stream', sseResponse(streamWith('stream', { type: 'text', text: 'hi' }, streamed, { type: 'text', text: 'done' }))],
  ['pieces', sseResponse(...pieces(streamWith('pieces', result('file_pieces', 'code_execution')), 40))],
] as const)
  test(`a file of a reply (${name}) is read on the account that made it, by every key of its user that reaches it`, async () => {
    const account = await make(ana.claude, script);
    const id = `file_${name}`;
    provider.respondWith(jsonResponse(JSON.stringify({ id, type: 'file', filename: 'a.csv', size_bytes: 3 })));
    for (let n = 0; n < 4; n += 1)
      for (const token of [ana.claude, ana.several]) {
        const response = await ask(id, token);
        assert.deepEqual([response.status, ((await response.json()) as { id: string }).id], [200, id]);
        assert.deepEqual([accountOf(), provider.last.headers['x-api-key']], [account, `sk-${account}`]);
        assert.equal(provider.last.target, `/${account}/v1/files/${id}`);
      }
    await until('the row', () =>
      gateway.context.database.db
        .selectFrom('stored_responses')
        .select('id')
        .where('id', '=', `msg_${name}`)
        .executeTakeFirst(),
    );
    const replica = await startGateway({ database: gateway.database });
    try {
      assert.equal((await ask(id, ana.claude, { at: replica.url })).status, 200);
    } finally {
      await replica.stop();
    }
  });

test('@anthropic-ai/sdk reads what is known of a file, downloads and deletes it', async () => {
  await make(ana.claude, jsonResponse(JSON.stringify(reply('sdk', result('file_sdk', 'code_execution')))));
  const { files } = anthropic(gateway.url, ana.claude ?? '').beta;
  provider.respondWith(jsonResponse('{"id":"file_sdk","type":"file","filename":"a.csv"}'));
  const betas = ['files-api-2025-04-14'];
  assert.equal((await files.retrieveMetadata('file_sdk', { betas })).filename, 'a.csv');
  assert.equal(provider.last.headers['anthropic-beta'], betas[0]);
  provider.respondWith((response) => {
    response.writeHead(200, { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="a.csv"' });
    for (const piece of pieces(TABLE, 50_000)) response.write(piece);
    response.end();
  });
  const content = await files.download('file_sdk');
  assert.equal(await content.text(), TABLE);
  assert.deepEqual(
    ['content-type', 'content-disposition', 'x-content-type-options'].map((name) => content.headers.get(name)),
    ['text/csv', 'attachment; filename="a.csv"', 'nosniff'],
  );
  provider.respondWith(jsonResponse('{"id":"file_sdk","type":"file_deleted"}'));
  assert.equal((await files.delete('file_sdk')).id, 'file_sdk');
  assert.equal(provider.last.method, 'DELETE');
});

test('a content passes byte for byte, whatever its type says, and one that is cut off breaks the connection', async () => {
  await make(ana.claude, jsonResponse(JSON.stringify(reply('bytes', result('file_bytes', 'code_execution')))));
  for (const [type, text] of [
    ['text/event-stream', 'data: x'],
    ['application/json', '{"error":{"type":"x"}}'],
    ['text/plain', ''],
  ] as const) {
    provider.respondWith((response) => {
      response.writeHead(200, { 'content-type': type });
      response.end(text);
    });
    const content = await ask('file_bytes/content', ana.claude);
    assert.deepEqual([content.status, content.headers.get('content-type'), await content.text()], [200, type, text]);
  }
  const head = await ask('file_bytes/content', ana.claude, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  provider.respondWith((response) => {
    response.writeHead(200, { 'content-type': 'text/csv', 'content-length': TABLE.length });
    response.write(TABLE.slice(0, 100_000), () => response.destroy());
  });
  await assert.rejects(ask('file_bytes/content', ana.claude).then((content) => content.text()));
});

test('a file that the provider has no more is its 404, and the account goes on', async () => {
  await make(ana.claude, jsonResponse(JSON.stringify(reply('late', result('file_late', 'code_execution')))));
  const missing = { type: 'error', error: { type: 'not_found_error', message: 'not there' } };
  provider.respondWith(jsonResponse(JSON.stringify(missing), 404));
  for (let n = 0; n < 3; n += 1) {
    const gone = await ask('file_late', ana.claude);
    assert.deepEqual([gone.status, await gone.json()], [404, missing]);
  }
  assert.equal((await send(ana.claude, jsonResponse(JSON.stringify(reply('next'))))).status, 200);
});

/** Every route that names such a file, and every identity that it does not belong to. */
test('a file of another user is missing for everybody else, on every route', async () => {
  await make(ana.claude, jsonResponse(JSON.stringify(reply('owned', result('file_owned', 'code_execution')))));
  const revoked = await gateway.apply({
    users: [{ id: 'gone', balance: '10' }],
    keys: [{ user: 'gone', group: 'claude' }],
  });
  await gateway.context.database.db
    .updateTable('keys')
    .set({ revoked_at: new Date() })
    .where('user_id', '=', 'gone')
    .execute();
  await gateway.apply({});
  const openAi = { headers: {} };
  const others: readonly [string, string | undefined, number, object?][] = [
    ['another user', bob.claude, 404],
    ['another user with a key of another style', bob.openai, 404],
    ['the owner with a key of another group of the style', ana.other, 404],
    ['the owner with a key of another style', ana.openai, 404],
    ['the owner with a key of another style, as Google', ana.gemini, 404],
    ['the owner without the header of the dialect', ana.claude, 404, openAi],
    ['a key that was revoked', revoked.claude, 401],
    ['no key of ours', 'wrong', 401],
  ];
  const routes = [
    ['GET', ''],
    ['GET', '/content'],
    ['DELETE', ''],
  ] as const;
  for (const [who, token, status, more] of others)
    for (const [method, path] of routes) {
      provider.requests.length = 0;
      const read = async (id: string) => {
        const response = await ask(id + path, token, { method, ...more });
        return [response.status, (await response.text()).replaceAll(/file_\w+|req_\w+/g, 'ID')];
      };
      const [foreign, missing] = [await read('file_owned'), await read('file_unknown')];
      assert.deepEqual(foreign, missing, `${who}, ${method} ${path}`);
      assert.equal(foreign[0], status, `${who}, ${method} ${path}: ${foreign[1]}`);
      assert.equal(provider.requests.length, 0, `${who}, ${method} ${path}: nothing is sent`);
    }
});

test('only results of the tools of the provider give files to a user', async () => {
  const { content } = result('file_claimed', 'code_execution');
  const claims = [
    { type: 'mcp_tool_result', content },
    { type: 'text', text: JSON.stringify(result('file_claimed', 'code_execution')) },
    { type: 'tool_use', id: 'toolu_1', name: 'code_execution_tool_result', input: content },
    { ...result('x', 'code_execution'), content: [content] },
    result('file_/../claimed', 'code_execution'),
  ];
  await make(bob.claude, jsonResponse(JSON.stringify(reply('claim', ...claims))));
  await make(bob.claude, sseResponse(streamWith('claims', ...claims)));
  provider.requests.length = 0;
  for (const id of ['file_claimed', encodeURIComponent('file_/../claimed')])
    assert.equal((await ask(id, bob.claude)).status, 404);
  assert.equal(provider.requests.length, 0);
});

test('files of the gateway itself stay what they were', async () => {
  const form = new FormData();
  form.set('file', new Blob(['The lamp costs 12 euros.'], { type: 'text/plain' }), 'note.txt');
  const headers = { 'x-api-key': ana.claude ?? '', 'anthropic-version': '2023-06-01' };
  const made = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form });
  const { id } = (await made.json()) as { id: string };
  assert.match(id, /^dgfile/);
  provider.requests.length = 0;
  for (const token of [ana.claude, ana.openai, ana.several]) {
    assert.equal((await ask(id, token)).status, 200);
    assert.equal(await (await ask(`${id}/content`, token)).text(), 'The lamp costs 12 euros.');
  }
  assert.equal((await ask(id, ana.claude, { method: 'HEAD' })).status, 200);
  assert.equal((await ask(id, bob.claude)).status, 404);
  assert.equal((await ask(id, ana.claude, { method: 'DELETE' })).status, 200);
  assert.equal((await ask(id, ana.claude)).status, 404);
  assert.equal(provider.requests.length, 0);
});

test('the files of an erased user are deleted at the provider', async () => {
  const keys = await gateway.apply({
    users: [{ id: 'eve', balance: '10' }],
    keys: [{ user: 'eve', group: 'claude' }],
  });
  const files = [result('file_eve_1', 'code_execution'), result('file_eve_2', 'bash_code_execution')];
  const account = await make(keys.claude, jsonResponse(JSON.stringify(reply('eve', ...files))));
  const { db } = gateway.context.database;
  const rows = () => db.selectFrom('stored_responses').select('id').where('user_id', '=', 'eve').execute();
  await until('the row', async () => (await rows()).length > 0);
  provider.requests.length = 0;
  provider.respondWith(jsonResponse('{"type":"file_deleted"}'));
  await admin('POST', '/users/eve/erase', { dry_run: false, confirm: 'eve' });
  await until('the end of the row', async () => {
    await sql`update erasures set next_check_at = now() where finished_at is null`.execute(db);
    return (await rows()).length === 0;
  });
  assert.deepEqual(
    provider.requests.map(({ method, target, headers }) => [method, target, headers['x-api-key']]).sort(),
    ['file_eve_1', 'file_eve_2'].map((id) => ['DELETE', `/${account}/v1/files/${id}`, `sk-${account}`]),
  );
});
