/** Changes of operators: repeated submissions happen once, and a change that was not seen is not undone. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
const PRICES = { input: '2', output: '10' };

before(async () => {
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  await gateway.apply({
    ...basicSetup('http://127.0.0.1:9'),
    models: [{ id: 'demo-a', groups: ['openai'], prices: PRICES }],
  });
});
after(() => gateway.stop());

interface Sent {
  readonly key?: string;
  readonly read?: object;
}

async function send(method: string, path: string, body: object, { key, read }: Sent = {}) {
  const response = await fetch(`${gateway.url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(read && { 'x-if-unchanged': JSON.stringify(read) }),
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> & Fault };
}

interface Fault {
  readonly error: { readonly code: string; readonly param: string | null; readonly message: string };
}

const keysOf = async (user: string): Promise<number> => {
  const { rows } = await sql<{ n: bigint }>`select count(*) as n from keys where user_id = ${user}`.execute(
    gateway.context.database.db,
  );
  return Number(rows[0]?.n);
};

test('a repeated submission gets the first reply, with the value of the key, and makes nothing', async () => {
  await gateway.apply({ users: [{ id: 'ana' }] });
  const before = await keysOf('ana');
  const body = { user: 'ana', group: 'openai', name: 'twice' };
  const first = await send('POST', '/keys', body, { key: 'form-1' });
  assert.equal(first.status, 201);
  assert.deepEqual(await send('POST', '/keys', body, { key: 'form-1' }), first);
  assert.equal(await keysOf('ana'), before + 1);
  const { rows } = await sql<{ reply_sealed: string }>`select reply_sealed from change_replies`.execute(
    gateway.context.database.db,
  );
  assert.ok(rows.length > 0 && rows.every((row) => !row.reply_sealed.includes(String(first.body.value))));
});

test('submissions at the same time make one object', async () => {
  await gateway.apply({ users: [{ id: 'bob' }] });
  const body = { user: 'bob', group: 'openai', name: 'same' };
  const replies = await Promise.all(Array.from({ length: 8 }, () => send('POST', '/keys', body, { key: 'same' })));
  assert.ok(replies.some(({ status }) => status === 201));
  for (const { status, body: reply } of replies)
    assert.ok(status === 201 || reply.error.code === 'idempotency_in_progress', JSON.stringify(reply));
  assert.equal(await keysOf('bob'), 1);
});

test('the key of another change, and an empty one, are refused', async () => {
  await send('PATCH', '/users/ana', { multiplier: '2' }, { key: 'form-2' });
  const other = await send('PATCH', '/users/ana', { multiplier: '3' }, { key: 'form-2' });
  assert.deepEqual([other.status, other.body.error.code], [409, 'idempotency_conflict']);
  assert.equal((await send('PATCH', '/users/ana', { multiplier: '3' }, { key: 'x'.repeat(65) })).status, 400);
});

test('a failed change frees its key', async () => {
  const wrong = await send('POST', '/keys', { user: 'nobody', group: 'openai' }, { key: 'form-3' });
  assert.ok(wrong.status >= 400 && wrong.status < 500);
  await gateway.apply({ users: [{ id: 'nobody' }] });
  assert.equal((await send('POST', '/keys', { user: 'nobody', group: 'openai' }, { key: 'form-3' })).status, 201);
});

test('a change whose outcome is unknown is not made again', async () => {
  const body = { user: 'ana', group: 'claude', name: 'unknown' };
  await send('POST', '/keys', body, { key: 'form-4' });
  await sql`update change_replies set reply_sealed = null, created_at = now() - interval '2 minutes'
    where created_at = (select max(created_at) from change_replies)`.execute(gateway.context.database.db);
  const count = await keysOf('ana');
  const { status, body: reply } = await send('POST', '/keys', body, { key: 'form-4' });
  assert.deepEqual([status, reply.error.code], [409, 'conflict']);
  assert.equal(await keysOf('ana'), count);
});

const conflictOf = async (sent: Promise<{ status: number; body: Fault }>): Promise<unknown[]> => {
  const { status, body } = await sent;
  return status === 409 ? [status, body.error.code, body.error.param] : [status];
};

test('a change of a value that was changed meanwhile is a conflict, which says the value now', async () => {
  await gateway.apply({ users: [{ id: 'cy', spend_day: '5' }] });
  const read = { multiplier: '1', spend_day: '5', rpm: null };
  assert.equal((await send('PATCH', '/users/cy', { multiplier: '2' }, { read: { multiplier: '1' } })).status, 200);
  const late = await send('PATCH', '/users/cy', { multiplier: '3' }, { read: { multiplier: '1' } });
  assert.deepEqual([late.status, late.body.error.code, late.body.error.param], [409, 'conflict', 'multiplier']);
  assert.match(late.body.error.message, /"2"/);
  // Other members do not matter.
  assert.equal(
    (await send('PATCH', '/users/cy', { spend_day: null }, { read: { spend_day: read.spend_day } })).status,
    200,
  );
  assert.deepEqual(await conflictOf(send('PATCH', '/users/cy', { spend_day: '9' }, { read: { spend_day: '5' } })), [
    409,
    'conflict',
    'spend_day',
  ]);
  assert.equal((await send('PATCH', '/users/cy', { rpm: 10 }, { read: { rpm: null } })).status, 200);
  assert.equal((await send('PATCH', '/users/cy', { multiplier: '3' }, { read: { multiplier: '2' } })).status, 200);
});

test('a conflict is found in keys, accounts, people, groups, fallbacks and prices too', async () => {
  const key = (await send('POST', '/keys', { user: 'ana', group: 'openai', name: 'edited' })).body;
  const person = (await send('POST', '/people', { email: 'p@example.com', name: 'Pat', role: 'operator' })).body;
  const personId = String((person.person as { id: string } | undefined)?.id ?? person.id);
  const config = (document: object, read: object) => send('PUT', '/config', document, { read });
  const cases: readonly (readonly [
    member: string,
    change: (value: unknown, read: object) => Promise<{ status: number; body: Fault }>,
    unknown,
    unknown,
    unknown,
  ])[] = [
    ['rpm', (rpm, read) => send('PATCH', `/keys/${key.id}`, { rpm }, { read }), null, 5, 6],
    [
      'expires_at',
      (expires_at, read) => send('PATCH', `/keys/${key.id}`, { expires_at }, { read }),
      null,
      '2090-01-01T00:00:00.000Z',
      '2091-01-01T00:00:00.000Z',
    ],
    ['rpm', (rpm, read) => send('PATCH', '/accounts/oa1', { rpm }, { read }), null, 7, 8],
    ['name', (name, read) => send('PATCH', `/people/${personId}`, { name }, { read }), 'Pat', 'Pam', 'Pia'],
    [
      'multiplier',
      (multiplier, read) => config({ groups: [{ id: 'openai', style: 'responses', multiplier }] }, read),
      '1',
      '1.5',
      '2',
    ],
    [
      'prices',
      (prices, read) => config({ models: [{ id: 'demo-a', groups: ['openai'], prices }] }, read),
      PRICES,
      { input: '3', output: '10' },
      { input: '2', output: '20' },
    ],
    [
      'fallback',
      (fallback, read) => config({ models: [{ id: 'demo-a', groups: ['openai'], fallback }] }, read),
      [],
      ['claude/demo-a'],
      ['gemini/demo-a'],
    ],
  ];
  await gateway.apply({ models: [{ id: 'demo-a', groups: ['claude', 'gemini'], prices: PRICES }] });
  for (const [member, change, was, mine, yours] of cases) {
    const read = { [member]: was };
    const first = await change(mine, read);
    assert.equal(first.status, 200, `${member}: ${JSON.stringify(first.body)}`);
    assert.deepEqual(await conflictOf(change(yours, read)), [409, 'conflict', member]);
    assert.equal((await change(yours, { [member]: mine })).status, 200, member);
  }
});

test('values that are no object are refused by name', async () => {
  const response = await fetch(`${gateway.url}/admin/v1/users/ana`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', 'x-if-unchanged': '[1' },
    body: '{"multiplier":"2"}',
  });
  const { error } = (await response.json()) as Fault;
  assert.deepEqual([response.status, error.param], [400, 'x-if-unchanged']);
});
