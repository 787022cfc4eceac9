/** Files that callers upload once and name in requests of every dialect, on every group. Each belongs to one user. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { toFile as anthropicFile } from '@anthropic-ai/sdk';
import { sql } from 'kysely';
import { toFile } from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { parseNanos } from '../../src/core/index.ts';
import { chargeFiles } from '../../src/gateway/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { FILES } from '../../src/rules/index.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { anthropic, google, openai } from '../support/sdk.ts';

const STYLES = { openai: 'demo-responses', claude: 'demo-messages', gemini: 'demo-generate' } as const;
type Group = keyof typeof STYLES;
const GROUPS = Object.keys(STYLES) as Group[];

const PDF = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 1/Kids[]>>endobj\n%%EOF',
);
const PDF_BASE64 = PDF.toString('base64');

let sim: Sim;
let gateway: TestGateway;
let ana: Record<string, string>;
let ben: Record<string, string>;
const keyOf = (group: Group): string => ana[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  ana = await gateway.apply(basicSetup(sim.url));
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

const upload = async (key = keyOf('openai'), name = 'report.pdf', content = PDF): Promise<string> => {
  const file = await toFile(content, name, { type: 'application/pdf' });
  return (await openai(gateway.url, key).files.create({ file, purpose: 'user_data' })).id;
};

/** What the provider received, as text. */
const sent = (): string => sim.journal.requests.at(-1)?.body?.toString() ?? '';

/** A request that names the file, in each dialect. */
const REQUESTS = {
  responses: (model: string, id: string) => [
    '/v1/responses',
    {
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', file_id: id },
            { type: 'input_text', text: 'Read it.' },
          ],
        },
      ],
    },
  ],
  chat: (model: string, id: string) => [
    '/v1/chat/completions',
    {
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'file', file: { file_id: id } },
            { type: 'text', text: 'Read it.' },
          ],
        },
      ],
    },
  ],
  messages: (model: string, id: string) => [
    '/v1/messages',
    {
      model,
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'file', file_id: id } },
            { type: 'text', text: 'Read it.' },
          ],
        },
      ],
    },
  ],
  generate: (model: string, id: string) => [
    `/v1beta/models/${model}:generateContent`,
    {
      contents: [
        {
          parts: [
            { fileData: { fileUri: `${gateway.url}/v1beta/files/${id}`, mimeType: 'application/pdf' } },
            { text: 'Read it.' },
          ],
        },
      ],
    },
  ],
} as const;
type Dialect = keyof typeof REQUESTS;

const ask = (dialect: Dialect, group: Group, id: string, key = keyOf(group)) => {
  const [path, body] = REQUESTS[dialect](STYLES[group], id);
  return post(path as string, key, body);
};

async function post(path: string, key: string, body: unknown) {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

describe('a file in requests', () => {
  for (const dialect of Object.keys(REQUESTS) as Dialect[])
    for (const group of dialect === 'generate' ? (['gemini'] as const) : GROUPS)
      test(`a ${dialect} request with a file reaches the provider of ${group} with its content`, async () => {
        const id = await upload();
        const { status, text } = await ask(dialect, group, id);
        assert.equal(status, 200, text);
        assert.ok(sent().includes(PDF_BASE64), sent().slice(0, 300));
        assert.ok(!sent().includes(id), 'the provider never sees the id');
      });

  test('everything else of a native body stays byte for byte', async () => {
    const id = await upload();
    const part = `{"type":"input_file", "file_id":"${id}"}`;
    const body = `{ "model":"demo-responses", "temperature":1.50,"input" : [{"role":"user","content":[${part} ]} ] }`;
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyOf('openai')}`, 'content-type': 'application/json' },
      body,
    });
    assert.equal(response.status, 200, await response.text());
    const placed = `{"type":"input_file","filename":"report.pdf","file_data":"data:application/pdf;base64,${PDF_BASE64}"}`;
    assert.equal(sent(), body.replace(part, placed));
  });

  test('an id in a text is text', async () => {
    const id = await upload();
    const client = openai(gateway.url, keyOf('openai'));
    await client.responses.create({ model: 'demo-responses', input: `What is ${id}?` });
    assert.ok(sent().includes(id));
    assert.ok(!sent().includes(PDF_BASE64));
  });

  for (const dialect of Object.keys(REQUESTS) as Dialect[])
    test(`a ${dialect} request with the file of another user is refused as one without a file`, async () => {
      const group = dialect === 'generate' ? 'gemini' : 'claude';
      const id = await upload();
      const foreign = await ask(dialect, group, id, ben[group]);
      const missing = await ask(dialect, group, `dgfile${'0'.repeat(32)}`, ben[group]);
      assert.equal(foreign.status, 404, foreign.text);
      const plain = (text: string): string => text.replaceAll(/dgfile\w+|req_\w+/g, '');
      assert.equal(plain(foreign.text), plain(missing.text));
      assert.equal(sim.journal.requests.length, 0);
    });

  longTest('files larger than a request may be are refused by name, before anything is sent', async () => {
    const large = await upload(keyOf('openai'), 'large.pdf', Buffer.concat([PDF, Buffer.alloc(25 * 2 ** 20)]));
    const { status, text } = await ask('responses', 'openai', large);
    assert.equal(status, 413, text);
    assert.match(text, /file_id/);
    assert.equal(sim.journal.requests.length, 0);
  });

  test('a file counts in each place that names it', async () => {
    const id = await upload(keyOf('openai'), 'named.pdf', Buffer.concat([PDF, Buffer.alloc(2 ** 20)]));
    const content = Array.from({ length: 30 }, () => ({ type: 'input_file', file_id: id }));
    const { status, text } = await post('/v1/responses', keyOf('openai'), {
      model: STYLES.openai,
      input: [{ role: 'user', content }],
    });
    assert.equal(status, 413, text);
    assert.match(text, /file_id/);
    assert.equal(sim.journal.requests.length, 0);
  });

  test('a request counts its file', async () => {
    const id = await upload();
    const [, body] = REQUESTS.messages('demo-messages', id);
    const client = anthropic(gateway.url, keyOf('gemini'));
    const { messages } = body as { messages: Parameters<typeof client.messages.countTokens>[0]['messages'] };
    const counted = await client.messages.countTokens({ model: 'demo-generate', messages });
    assert.ok(counted.input_tokens > 10, String(counted.input_tokens));
  });
});

describe('the price of files', () => {
  const DAY = '2026-05-01';
  const charges = (db: Db, user: string) =>
    db.selectFrom('entries').select(['reference', 'nanos', 'reason']).where('debit', '=', user).execute();

  test('is charged once a day for what users keep, by several servers at once, with its line in the statement', async () => {
    const { db } = gateway.context.database;
    const keys = await gateway.apply({
      users: [
        { id: 'eva', balance: '1', multiplier: '0.5' },
        { id: 'none', balance: '1' },
      ],
      keys: [{ user: 'eva', group: 'openai' }],
    });
    for (const name of ['a.pdf', 'b.pdf']) await upload(keys.openai, name, Buffer.alloc(2 ** 20));
    const begun = (await charges(db, 'eva')).length;
    const clock = new FakeClock(Date.parse(`${DAY}T10:00:00Z`));
    const free = { db, clock, price: 0n };
    assert.equal(await chargeFiles(free), 0);
    const charging = { ...free, price: parseNanos('0.1') ?? assert.fail() };
    await Promise.all([chargeFiles(charging), chargeFiles(charging)]);
    await chargeFiles(charging);
    const [charged, ...others] = (await charges(db, 'eva')).slice(begun);
    // 2 MiB of a GiB, at 0.1 dollars, times 0.5.
    assert.deepEqual([charged?.reference, charged?.nanos, others], [`files:${DAY}:eva`, 97_657n, []]);
    assert.equal(charged?.reason, `Files of ${DAY}: 2097152 bytes at 0.1 per GiB and day, x 0.5`);
    const { rows } = await sql<{ model: string; nanos: bigint; cost_nanos: bigint }>`
      select model, nanos, cost_nanos from usage_daily where user_id = 'eva' and day = ${DAY}`.execute(db);
    assert.deepEqual(rows, [{ model: 'files', nanos: 97_657n, cost_nanos: 0n }]);
    assert.deepEqual(await charges(db, 'none'), []);
    clock.advance(86_400_000);
    await chargeFiles(charging);
    assert.equal((await charges(db, 'eva')).length, begun + 2);
    await checkLedger(db);
  });

  longTest('is charged to all users in one run, page after page', async () => {
    const { db } = gateway.context.database;
    const ids = Array.from({ length: 205 }, (_, n) => `keeper-${n}`);
    await gateway.apply({ users: ids.map((id) => ({ id, balance: '1' })) });
    await sql`insert into files (user_id, id, name, media_type, purpose, bytes, expires_at, completed_at)
      select id, 'dgfile-' || id, 'a', 'text/plain', 'user_data', 1073741824, now() + interval '1 day', now()
      from unnest(${ids}::text[]) id`.execute(db);
    const clock = new FakeClock(Date.parse('2026-06-01T10:00:00Z'));
    const charging = { db, clock, price: parseNanos('0.1') ?? assert.fail() };
    assert.ok((await chargeFiles(charging)) >= ids.length);
    const { rows } = await sql<{ nanos: bigint }>`
      select distinct nanos from entries where reference like 'files:2026-06-01:keeper-%'`.execute(db);
    assert.deepEqual(rows, [{ nanos: 100_000_000n }]);
    assert.equal(await chargeFiles(charging), 0);
    await checkLedger(db);
    await sql`delete from files where user_id = any(${ids})`.execute(db);
  });
});

describe('the file endpoints', () => {
  test("OpenAI's SDK uploads, lists, reads and deletes", async () => {
    const client = openai(gateway.url, keyOf('claude'));
    const made = await client.files.create({
      file: await toFile(PDF, '../a/b.pdf'),
      purpose: 'user_data',
      expires_after: { anchor: 'created_at', seconds: 3_600 },
    });
    assert.deepEqual(
      [made.filename, made.bytes, made.purpose, made.object],
      ['b.pdf', PDF.length, 'user_data', 'file'],
    );
    assert.equal((made.expires_at ?? 0) - made.created_at, 3_600);
    const ids: string[] = [];
    for await (const file of client.files.list({ limit: 1 })) ids.push(file.id);
    assert.ok(ids.includes(made.id));
    assert.equal(new Set(ids).size, ids.length);
    const content = await client.files.content(made.id);
    assert.deepEqual(Buffer.from(await content.arrayBuffer()), PDF);
    assert.deepEqual(await client.files.delete(made.id), { id: made.id, object: 'file', deleted: true });
    await assert.rejects(client.files.retrieve(made.id), { status: 404, code: 'file_not_found' });
  });

  test("Anthropic's SDK uploads, lists, reads and deletes", async () => {
    const client = anthropic(gateway.url, keyOf('openai'));
    const made = await client.beta.files.upload({
      file: await anthropicFile(PDF, 'c.pdf', { type: 'application/pdf' }),
    });
    assert.deepEqual(
      [made.type, made.filename, made.mime_type, made.size_bytes],
      ['file', 'c.pdf', 'application/pdf', PDF.length],
    );
    const ids: string[] = [];
    for await (const file of client.beta.files.list({ limit: 2 })) ids.push(file.id);
    assert.ok(ids.includes(made.id));
    const paged: string[] = [];
    for await (const file of client.files.list({ limit: 1 })) paged.push(file.id);
    assert.ok(paged.length > 2 && new Set(paged).size === paged.length, 'every page, each file once');
    const named = await client.files.list({ ids: [made.id, 'dgfile0'] });
    assert.deepEqual([named.data.map(({ id }) => id), named.hasNextPage()], [[made.id], false]);
    assert.equal((await client.beta.files.retrieveMetadata(made.id)).id, made.id);
    assert.deepEqual(Buffer.from(await (await client.beta.files.download(made.id)).arrayBuffer()), PDF);
    assert.equal((await client.beta.files.delete(made.id)).type, 'file_deleted');
    await assert.rejects(client.beta.files.retrieveMetadata(made.id), { status: 404 });
  });

  test("Google's SDK uploads in pieces, lists, reads and deletes", async () => {
    const client = google(gateway.url, keyOf('gemini'));
    const content = Buffer.concat([PDF, Buffer.alloc(9 * 2 ** 20, 'x')]);
    const made = await client.files.upload({
      file: new Blob([content], { type: 'application/pdf' }),
      config: { displayName: 'd.pdf', mimeType: 'application/pdf' },
    });
    assert.deepEqual(
      [made.displayName, made.mimeType, made.sizeBytes, made.state],
      ['d.pdf', 'application/pdf', String(content.length), 'ACTIVE'],
    );
    const names: (string | undefined)[] = [];
    for await (const file of await client.files.list({ config: { pageSize: 1 } })) names.push(file.name);
    assert.ok(names.includes(made.name));
    assert.equal((await client.files.get({ name: made.name ?? '' })).uri, made.uri);
    const downloaded = await fetch(`${gateway.url}/v1beta/${made.name}:download?alt=media`, {
      headers: { 'x-goog-api-key': keyOf('gemini') },
    });
    assert.ok(content.equals(Buffer.from(await downloaded.arrayBuffer())), `status ${downloaded.status}`);
    await client.files.delete({ name: made.name ?? '' });
    await assert.rejects(client.files.get({ name: made.name ?? '' }), { status: 404 });
  });

  test('another user neither sees, reads nor deletes a file', async () => {
    const id = await upload();
    const other = openai(gateway.url, ben.openai ?? '');
    await assert.rejects(other.files.retrieve(id), { status: 404 });
    await assert.rejects(other.files.content(id), { status: 404 });
    await assert.rejects(other.files.delete(id), { status: 404 });
    for await (const file of other.files.list()) assert.notEqual(file.id, id);
    assert.equal(
      (await openai(gateway.url, keyOf('gemini')).files.retrieve(id)).id,
      id,
      'every key of the user has it',
    );
  });

  test('a piece that does not follow the last one is refused, a repeated one is not kept twice, and none needs a key', async () => {
    const begun = await fetch(`${gateway.url}/upload/v1beta/files`, {
      method: 'POST',
      headers: {
        'x-goog-api-key': keyOf('gemini'),
        'x-goog-upload-protocol': 'resumable',
        'x-goog-upload-command': 'start',
      },
      body: JSON.stringify({ file: { displayName: 'e.txt' } }),
    });
    const url = begun.headers.get('x-goog-upload-url') ?? assert.fail('no address');
    const piece = (text: string, offset: number, command = 'upload', to = url) =>
      fetch(to, {
        method: 'POST',
        headers: { 'x-goog-upload-command': command, 'x-goog-upload-offset': String(offset) },
        body: text,
      });
    const link = new URL(url);
    const forged = [
      url.replace(/link=.{6}/, 'link=AAAAAA'),
      link.origin + link.pathname,
      url.replace(/dgfile[^?]*/, await upload()),
    ];
    for (const other of forged) {
      const refused = await piece('x', 0, 'upload', other);
      const { error } = (await refused.json()) as { error: { status: string } };
      assert.deepEqual([refused.status, error.status], [404, 'NOT_FOUND'], other);
    }
    assert.equal((await piece('one', 0)).status, 204);
    assert.equal((await piece('one', 0)).status, 400);
    assert.equal((await piece('three', 4)).status, 400);
    const { file } = (await (await piece('two', 3, 'upload, finalize')).json()) as {
      file: { name: string; sizeBytes: string };
    };
    assert.equal(file.sizeBytes, '6');
    assert.equal((await piece('more', 6)).status, 404, 'the file is complete');
  });

  test('what a user keeps is bounded, also in uploads that began before', async () => {
    const { db } = gateway.context.database;
    const headers = { 'x-goog-api-key': ben.gemini ?? '' };
    const begun = await fetch(`${gateway.url}/upload/v1beta/files`, {
      method: 'POST',
      headers: { ...headers, 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' },
      body: JSON.stringify({ file: { displayName: 'e.txt' } }),
    });
    const url = begun.headers.get('x-goog-upload-url') ?? assert.fail('no address');
    const piece = () =>
      fetch(url, {
        method: 'POST',
        headers: { ...headers, 'x-goog-upload-command': 'upload', 'x-goog-upload-offset': '0' },
        body: 'one',
      });
    const large = await upload(ben.openai);
    await sql`update files set bytes = ${FILES.userBytes} where id = ${large}`.execute(db);
    assert.equal((await piece()).status, 400);
    await assert.rejects(upload(ben.openai), { status: 400, message: /1024 MiB of files, the limit/ });
    await sql`delete from files where id = ${large}`.execute(db);
    assert.equal((await piece()).status, 204);
  });

  test('operators set what a user may keep', async () => {
    const keys = await gateway.apply({
      users: [{ id: 'small', balance: '1', max_files: 2, max_file_mib: 1 }],
      keys: [{ user: 'small', group: 'openai' }],
    });
    const key = keys.openai ?? '';
    await upload(key, 'large.pdf', Buffer.alloc(2 ** 20));
    await assert.rejects(upload(key), { status: 400, message: /1 MiB of files, the limit/ });
    await gateway.apply({ users: [{ id: 'small', max_files: 2, max_file_mib: 2 }] });
    await upload(key);
    await assert.rejects(upload(key), { status: 400, message: /2 files, the limit/ });
    await gateway.apply({ users: [{ id: 'small', max_files: 3 }] });
    await upload(key);
  });

  test('a form without a file, without a purpose or with an unknown one is refused by name', async () => {
    const send = async (form: FormData) => {
      const response = await fetch(`${gateway.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keyOf('openai')}` },
        body: form,
      });
      const { error } = (await response.json()) as { error: { param: string } };
      return [response.status, error.param];
    };
    const withFile = (purpose?: string): FormData => {
      const form = new FormData();
      form.set('file', new Blob(['x']), 'x.txt');
      if (purpose !== undefined) form.set('purpose', purpose);
      return form;
    };
    const empty = new FormData();
    empty.set('purpose', 'user_data');
    assert.deepEqual(await send(empty), [400, 'file']);
    assert.deepEqual(await send(withFile()), [400, 'purpose']);
    assert.deepEqual(await send(withFile('party')), [400, 'purpose']);
  });

  test('the database holds no byte of a file in clear', async () => {
    const id = await upload(keyOf('openai'), 'secret.pdf', Buffer.concat([PDF, Buffer.from('a clear text')]));
    const { rows } = await sql<{ sealed: Buffer }>`select sealed from file_parts where file_id = ${id}`.execute(
      gateway.context.database.db,
    );
    assert.equal(rows.length, 1);
    for (const { sealed } of rows) assert.ok(!sealed.includes('clear') && !sealed.includes('PDF'));
  });
});
