/** Capture of bodies: off by default, for one key, bounded, encrypted, and every look on record. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { expireCaptures } from '../../src/observe/request-log/index.ts';
import { exportFrames } from '../../src/program/backup/index.ts';
import { CAPTURE } from '../../src/rules/index.ts';
import type { ShownAuditLine, ShownCapture, ShownKey } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { addPerson, type Browser, browserOf, type ConsoleFault } from '../support/console.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let gateway: TestGateway;
let sim: Sim;
let keys: Record<string, string>;
let ana: Browser;
let ben: Browser;
const admin = adminApi(() => gateway.url);
const db = () => gateway.context.database.db;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  keys = await gateway.apply(basicSetup(sim.url));
  await gateway.apply({ users: [{ id: 'ben', balance: '100' }] });
  ana = await browserOf(gateway, await addPerson(db(), { email: 'ana@example.test', role: 'user', user: 'ana' }));
  ben = await browserOf(gateway, await addPerson(db(), { email: 'ben@example.test', role: 'user', user: 'ben' }));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const keyId = async (group: string): Promise<string> =>
  (
    await db()
      .selectFrom('keys')
      .select('id')
      .where('user_id', '=', 'ana')
      .where('group_id', '=', group)
      .executeTakeFirstOrThrow()
  ).id;
const switchTo = async (group: string, hours: number): Promise<ShownKey> => {
  const { status, body } = await admin<ShownKey>('POST', `/keys/${await keyId(group)}/capture`, { hours });
  assert.equal(status, 200);
  return body;
};

interface Sent {
  readonly id: string;
  readonly text: string;
}
const send = async (group: string, path: string, body: object, headers: Record<string, string> = {}): Promise<Sent> => {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { id: response.headers.get('x-request-id') ?? '', text: await response.text() };
};
const message = (content: string, more: object = {}) => ({
  model: 'demo-messages',
  max_tokens: 16,
  messages: [{ role: 'user', content }],
  ...more,
});
const look = (id: string) => admin<ShownCapture>('GET', `/requests/${id}/capture`);
const captured = (id: string): Promise<ShownCapture> =>
  until('the capture', async () => {
    const { status, body } = await look(id);
    return status === 200 ? body : undefined;
  });
/** A call of a key whose switch this server knows of. */
const capturedCall = (group: string, path: string, body: object): Promise<Sent> =>
  until('a captured call', async () => {
    const sent = await send(group, path, body);
    await until('its line', async () => (await admin('GET', `/requests/${sent.id}`)).status === 200);
    return (await stored(sent.id)) ? sent : undefined;
  });
/** Calls are written in their order: when this one is, those before it were. */
const untilWritten = async (): Promise<void> => {
  await switchTo('openai', 1);
  await capturedCall('openai', '/v1/responses', { model: 'demo-responses', input: 'the last one' });
};
const stored = async (id: string): Promise<boolean> =>
  (await db().selectFrom('captures').select('request_id').where('request_id', '=', id).execute()).length > 0;

test('without the switch nothing is kept; with it, both bodies of native and converted calls are', async () => {
  const before = await send('claude', '/v1/messages', message('before'));
  const begun = Date.now();
  const { capture_until } = await switchTo('claude', 2);
  const switchedAt = Date.parse(capture_until ?? '') - 2 * 3_600_000;
  assert.ok(switchedAt >= begun && switchedAt <= Date.now(), capture_until ?? '');
  await capturedCall('claude', '/v1/messages', message('probe'));
  const native = await send(
    'claude',
    '/v1/messages?access_token=a-secret&beta=true&KEY=a-secret',
    message('the first words', { stream: true }),
    {
      'anthropic-version': '2023-06-01',
      'x-private': 'not kept',
    },
  );
  const shown = await captured(native.id);
  assert.deepEqual(JSON.parse(shown.request.body), message('the first words', { stream: true }));
  assert.deepEqual(
    [shown.request.method, shown.request.path, shown.request.headers['anthropic-version']],
    ['POST', '/v1/messages?beta=true', '2023-06-01'],
  );
  assert.equal(shown.response.body, native.text);
  assert.match(shown.response.headers['content-type'] ?? '', /event-stream/);
  assert.ok(!JSON.stringify(shown).includes(keys.claude ?? '-') && !/not kept|a-secret/.test(JSON.stringify(shown)));

  const chat = { model: 'demo-messages', max_tokens: 16, messages: [{ role: 'user', content: 'converted words' }] };
  const converted = await send('claude', '/v1/chat/completions', chat);
  const client = await captured(converted.id);
  assert.deepEqual(JSON.parse(client.request.body), chat, "the client's request, not the provider's");
  assert.deepEqual(JSON.parse(client.response.body), JSON.parse(converted.text));

  const other = await send('openai', '/v1/responses', { model: 'demo-responses', input: 'another key' });
  assert.equal((await look(before.id)).status, 404);
  assert.equal((await look(other.id)).status, 404);
  const { rows } = await sql<{ sealed: string }>`select sealed from captures`.execute(db());
  for (const { sealed } of rows) assert.match(sealed, /^v1:k1:[\w-]+$/);
  assert.ok(!JSON.stringify(gateway.log).includes('the first words'));
});

test('a body is cut at its limit, and bytes that are no text are kept as such', async () => {
  await switchTo('claude', 1);
  const long = await send('claude', '/v1/messages', message('ä'.repeat(CAPTURE.bodyBytes)));
  const { request } = await captured(long.id);
  assert.equal(request.cut, true);
  assert.ok(request.bytes > 2 * CAPTURE.bodyBytes);
  assert.equal(request.encoding, 'utf8');
  const kept = Buffer.byteLength(request.body);
  assert.ok(kept <= CAPTURE.bodyBytes && kept > CAPTURE.bodyBytes - 4, `${kept}`);
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.claude}`, 'content-type': 'application/json' },
    body: Buffer.from([0x7b, 0xff, 0xfe]),
  });
  await response.arrayBuffer();
  const binary = await captured(response.headers.get('x-request-id') ?? '');
  assert.deepEqual([binary.request.encoding, binary.request.body], ['base64', 'e//+']);
  assert.equal(binary.response.status, 400);
});

test('no body is stored after the switch is off, when the time is over, or beyond the limit of the key', async () => {
  await switchTo('claude', 1);
  await capturedCall('claude', '/v1/messages', message('on'));
  const id = await keyId('claude');
  // Without its trigger the server does not hear of the change: the write decides.
  await db()
    .transaction()
    .execute(async (tx) => {
      await sql`alter table keys disable trigger keys_changed`.execute(tx);
      await tx.updateTable('keys').set({ capture_until: null }).where('id', '=', id).execute();
      await sql`alter table keys enable trigger keys_changed`.execute(tx);
    });
  const off = await send('claude', '/v1/messages', message('after the end'));
  await switchTo('claude', 0);
  const later = await send('claude', '/v1/messages', message('much later'));
  await db()
    .updateTable('keys')
    .set({ capture_until: new Date(Date.now() - 1_000) })
    .where('id', '=', id)
    .execute();
  const expired = await send('claude', '/v1/messages', message('expired'));
  await untilWritten();
  for (const { id: request } of [off, later, expired]) assert.equal(await stored(request), false);
  assert.equal((await admin<ShownKey>('GET', `/keys/${id}`)).body.capture_until, null);
  const { body: revoked } = await admin<ShownKey>('POST', '/keys', { user: 'ana', group: 'claude', name: 'revoked' });
  await admin('POST', `/keys/${revoked.id}/revoke`, {});
  assert.equal((await admin('POST', `/keys/${revoked.id}/capture`, { hours: 1 })).status, 409);
  await db().deleteFrom('keys').where('id', '=', revoked.id).execute();

  await sql`
    insert into captures (user_id, request_id, key_id, bytes, sealed) values ('ana', 'full', ${await keyId('gemini')}, ${CAPTURE.keyBytes}, 'x')`.execute(
    db(),
  );
  await switchTo('gemini', 1);
  const full = await send('gemini', '/v1beta/models/demo-generate:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'too much' }] }],
  });
  await untilWritten();
  assert.equal(await stored(full.id), false);
});

test('every look is audited, and a user reads and switches only what is the own', async () => {
  await switchTo('claude', 1);
  const { id } = await capturedCall('claude', '/v1/messages', message('mine'));
  const looks = async () =>
    (await admin<{ data: ShownAuditLine[] }>('GET', `/audit?action=capture.viewed&subject=request:${id}`)).body.data;
  assert.equal((await admin('GET', `/requests/${id}`)).body.captured, true);
  assert.deepEqual(await looks(), [], 'the flag is no look');
  assert.equal((await look(id)).status, 200);
  assert.equal((await ana.send(`GET`, `/console/v1/requests/${id}/capture`)).status, 200);
  assert.equal((await ben.send<ConsoleFault>('GET', `/console/v1/requests/${id}/capture`)).status, 404);
  assert.deepEqual(
    (await looks()).map(({ actor, after: line }) => [actor.split(':')[0], line?.user]),
    [
      ['person', 'ana'],
      ['token', 'ana'],
    ],
  );
  const key = await keyId('claude');
  assert.equal((await ben.send('POST', `/console/v1/keys/${key}/capture`, { hours: 1 })).status, 404);
  assert.equal((await ana.send('POST', `/console/v1/keys/${key}/capture`, { hours: 25 })).status, 400);
  const ended = await ana.send<ShownKey>('POST', `/console/v1/keys/${key}/capture`, { hours: 0 });
  assert.equal(ended.body.capture_until, null);
  const { body } = await admin<{ data: ShownAuditLine[] }>('GET', `/audit?subject=key:${key}&limit=2`);
  assert.deepEqual(
    body.data.map(({ action }) => action),
    ['key.capture_ended', 'key.capture_started'],
  );
});

test('captures are removed after their days', async () => {
  await sql`
    insert into captures (user_id, request_id, key_id, at, bytes, sealed)
    values ('ana', 'old', 'k', now() - ${CAPTURE.retentionDays} * interval '1 day', 1, 'x'), ('ana', 'new', 'k', now(), 1, 'x')`.execute(
    db(),
  );
  assert.equal(await expireCaptures(db()), 1);
  assert.deepEqual([await stored('old'), await stored('new')], [false, true]);
});

test('an export has captures by choice only', async () => {
  const tablesOf = async (hasCaptures: boolean): Promise<string> => {
    const frames = await Array.fromAsync(
      exportFrames(gateway.context.database, { tables: 0, rows: 0 }, { hasCaptures }),
    );
    return Buffer.concat(frames).toString('latin1');
  };
  assert.ok(!(await tablesOf(false)).includes('"table":"captures"'));
  assert.ok((await tablesOf(true)).includes('"table":"captures"'));
});
