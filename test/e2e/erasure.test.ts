/** Erasure and export of users: a user who has everything, whose person, content and objects at providers go while the ledger adds up. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { toFile } from 'openai';
import { checkLedger } from '../../src/ledger/index.ts';
import type { ShownAuditLine, ShownErasure, ShownUser } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { AssetCaller, actions } from '../support/assets.ts';
import { addPerson, type Browser, browserOf } from '../support/console.ts';
import { longTest } from '../support/long-test.ts';
import { openai } from '../support/sdk.ts';
import { callVideo, startVideo, TASKS, taskBody, textItem, type VideoFixture } from '../support/video.ts';
import { until } from '../support/wait.ts';

/** In every text that names a person or that they wrote. */
const MARK = 'zebrine';
const SESSIONS = '/v1/assets/real-person/authorization-sessions';

let fixture: VideoFixture;
const admin = adminApi(() => fixture.gateway.url);
const db = () => fixture.gateway.context.database.db;

before(async () => {
  fixture = await startVideo({ worker: true, video: { clock: 'manual' }, env: { ADMIN_TOKEN } });
  const { sim, gateway } = fixture;
  await gateway.apply({
    groups: [
      { id: 'claude', style: 'messages' },
      { id: 'gemini', style: 'generate-content' },
    ],
    accounts: [
      { id: 'oa1', group: 'openai', base_url: `${sim.url}/v1`, api_key: 'sk-upstream-oa1' },
      { id: 'cl1', group: 'claude', base_url: sim.url, api_key: 'sk-upstream-cl1' },
      { id: 'ge1', group: 'gemini', base_url: sim.url, api_key: 'sk-upstream-ge1' },
    ],
    models: [
      { id: 'demo-responses', groups: ['openai'], prices: { input: '1', output: '2' } },
      { id: 'demo-messages', groups: ['claude'], prices: { input: '1', output: '2' } },
      { id: 'demo-generate', groups: ['gemini'], prices: { input: '1', output: '2' } },
    ],
  });
});
after(() => fixture.close());

interface Scene {
  readonly user: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly person: Browser;
}

/** A user with keys, calls, stored responses here and at a provider, captures, tasks, assets, sessions, people and warnings. */
async function addEverything(user: string): Promise<Scene> {
  const { gateway } = fixture;
  const mail = `${user}.${MARK}@example.test`;
  const keys = await gateway.apply({
    users: [{ id: user, email: mail, balance: '100' }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({
      user,
      group,
      name: `laptop of ${MARK}`,
      addresses: ['127.0.0.0/8'],
    })),
  });
  await admin('POST', '/credits', {
    user,
    amount: '5',
    kind: 'payment',
    reason: 'invoice 7',
    reference: `inv-${user}`,
  });
  await admin('PATCH', `/users/${user}`, { email: `new.${mail}` });
  const person = await browserOf(gateway, await addPerson(db(), { email: mail, role: 'user', user }));
  for (const { id } of await db().selectFrom('keys').select('id').where('user_id', '=', user).execute())
    await admin('POST', `/keys/${id}/capture`, { hours: 1 });
  await person.send('POST', '/console/v1/warning-destinations', {
    kind: 'webhook',
    name: `hook of ${MARK}`,
    url: `https://${MARK}.example.com/hook`,
  });
  const warned = await person.send('POST', '/console/v1/warnings', {
    name: `low for ${MARK}`,
    kind: 'balance',
    amount: '1',
  });
  assert.ok(warned.status < 300, warned.text);
  const captures = () => db().selectFrom('captures').select('request_id').where('user_id', '=', user).execute();
  await until('a captured call', async () => {
    const models = { openai: 'demo-responses', claude: 'demo-messages' };
    for (const [group, model] of Object.entries(models))
      await openai(gateway.url, keys[group] ?? '').responses.create({ model, input: `${MARK} writes`, store: true });
    return (await captures()).length > 0;
  });
  const key = keys.openai ?? '';
  const client = openai(gateway.url, key);
  await client.conversations.create({ items: [{ type: 'message', role: 'user', content: `${MARK} talks` }] });
  const cached = await fetch(`${gateway.url}/v1beta/cachedContents`, {
    method: 'POST',
    headers: { 'x-goog-api-key': keys.gemini ?? '', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'models/demo-generate', contents: [{ parts: [{ text: MARK }] }], displayName: MARK }),
  });
  assert.equal(cached.status, 200, await cached.text());
  const line = {
    custom_id: MARK,
    method: 'POST',
    url: '/v1/responses',
    body: { model: 'demo-responses', input: MARK },
  };
  const file = await toFile(Buffer.from(JSON.stringify(line)), `${MARK}.jsonl`);
  const { id: fileId } = await client.files.create({ file, purpose: 'batch' });
  const batch = { input_file_id: fileId, endpoint: '/v1/responses', completion_window: '24h' } as const;
  const { id: batchId } = await client.batches.create(batch);
  await until('the batch', async () => (await client.batches.retrieve(batchId)).status === 'completed');
  const make = async (more: object): Promise<string> => {
    const body = taskBody('A', {
      content: [textItem(`${MARK} runs`)],
      callback_url: `https://${MARK}.example.com/done`,
      ...more,
    });
    const { status, body: task } = await callVideo(gateway.url, TASKS, {
      key,
      body,
      headers: { 'idempotency-key': `${MARK}-1` },
    });
    assert.equal(status, 200, JSON.stringify(task));
    return String(task.id);
  };
  const ended = await make({});
  await finishTask(ended);
  const caller = new AssetCaller(fixture, key);
  await caller.activate(await caller.assetId('A', { name: `face of ${MARK}`, url: `https://example.com/${MARK}.png` }));
  await caller.assetId('HC', { name: `face of ${MARK}`, url: `https://example.com/${MARK}.png` });
  await callVideo(gateway.url, SESSIONS, { method: 'POST', key, body: { name: `${MARK} herself` } });
  await sql`update authorization_sessions set status = 'expired', upstream_token_sealed = null, link_sealed = null,
    next_check_at = null where user_id = ${user}`.execute(db());
  return { user, keys, person };
}

/** A task that is open until a test finishes it. */
async function openTaskOf({ keys }: Scene): Promise<string> {
  const { body } = await callVideo(fixture.gateway.url, TASKS, { key: keys.openai, body: taskBody('HC') });
  return String(body.id);
}

async function finishTask(id: string): Promise<void> {
  await until(`the end of ${id}`, async () => {
    await fixture.sim.video.clock.advance(5_000);
    await sql`update video_tasks set next_check_at = now() where id = ${id} and finished_at is null`.execute(db());
    const { rows } = await sql`select from video_tasks where id = ${id} and finished_at is not null`.execute(db());
    return rows.length > 0;
  });
}

const erase = (user: string, body: object) => admin<ShownErasure>('POST', `/users/${user}/erase`, body);
const stateOf = async (user: string): Promise<ShownErasure> => (await erase(user, {})).body;
const finished = (user: string): Promise<ShownErasure> =>
  until('the end of the erasure', async () => {
    await sql`update erasures set next_check_at = now() where user_id = ${user} and finished_at is null`.execute(db());
    const erasure = await stateOf(user);
    return erasure.state === 'finished' ? erasure : undefined;
  });

/** Every column of every table that can hold text, with the tables of partitions. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows: columns } = await sql<{ table: string; column: string; type: string }>`
    select format('%I.%I', table_schema, table_name) as table, column_name as column, data_type as type
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
      and data_type in ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY')`.execute(db());
  const found: string[] = [];
  for (const { table, column, type } of columns) {
    const value = type === 'bytea' ? sql`encode(${sql.ref(column)}, 'escape')` : sql`${sql.ref(column)}::text`;
    const { rows } = await sql`select from ${sql.raw(table)} where ${value} ilike ${`%${text}%`} limit 1`.execute(db());
    if (rows.length > 0) found.push(`${table}.${column}`);
  }
  return found;
}

test('an erased user leaves no name, address or content in any table, and a ledger that adds up', async () => {
  const scene = await addEverything('vera');
  const { user, keys, person } = scene;
  await addEverything('otto');
  const openTask = await openTaskOf(scene);
  assert.ok((await tablesWith(MARK)).length > 8, 'the mark is in many tables');

  const { status, body: preview } = await erase(user, {});
  assert.equal(status, 200);
  assert.equal(preview.state, 'preview');
  const { erases } = preview;
  for (const kind of [
    'keys',
    'people',
    'warnings',
    'destinations',
    'tasks',
    'assets',
    'responses',
    'captures',
    'calls',
    'files',
    'batches',
    'conversations',
  ])
    assert.ok((erases[kind] ?? 0) > 0, `${kind}: ${JSON.stringify(erases)}`);
  assert.equal(preview.waits_for.tasks, 1);
  assert.equal((await admin<{ data: ShownUser[] }>('GET', `/users?user=${user}`)).body.data[0]?.erased_at, null);
  const refused = await erase(user, { dry_run: false, confirm: 'otto' });
  assert.equal(refused.status, 400, 'another id does not confirm');

  const begun = await erase(user, { dry_run: false, confirm: user });
  assert.equal(begun.body.state, 'running', begun.text);
  assert.equal((await person.send('GET', '/console/v1/me')).status, 401, 'people are signed out');
  await until(
    'the key is refused',
    async () => (await callVideo(fixture.gateway.url, TASKS, { key: keys.openai })).status === 401,
  );
  for (const [path, body] of [
    ['/keys', { user, group: 'openai' }],
    ['/people', { email: 'again@example.test', role: 'user', user }],
  ] as const)
    assert.equal((await admin('POST', path, body)).status, 409, `${path} for an erased user`);
  assert.equal((await admin('PATCH', `/users/${user}`, { email: 'again@example.test' })).status, 409);
  await fixture.gateway.apply({
    users: [{ id: user, email: `${MARK}@example.test` }],
    keys: [{ user, group: 'openai' }],
  });

  // The open task ends and is charged first.
  assert.equal((await stateOf(user)).waits_for.holds, 1);
  await finishTask(openTask);
  const done = await finished(user);
  assert.ok(done.left_at_providers >= 1, 'the asset of a variant without deletion is left');
  const { rows: charged } = await sql<{
    state: string;
  }>`select state from holds where reference = ${`task:${openTask}`}`.execute(db());
  assert.equal(charged[0]?.state, 'settled');

  await erase('otto', { dry_run: false, confirm: 'otto' });
  await finished('otto');
  assert.deepEqual(await tablesWith(MARK), []);
  await checkLedger(db());
  const { body: balance } = await admin<{ available: string }>('GET', `/users/${user}/balance`);
  assert.equal(balance.available, done.balance.available);
  const { rows: deleted } = await sql`select from stored_responses where user_id = ${user}`.execute(db());
  assert.equal(deleted.length, 0);
  assert.ok(
    fixture.sim.journal.requests.some(({ method, path }) => method === 'DELETE' && path.startsWith('/v1/responses/')),
  );
  assert.ok(
    fixture.sim.journal.requests.some(
      ({ method, path }) => method === 'DELETE' && path.startsWith('/v1beta/cachedContents/'),
    ),
  );
  assert.ok(actions(fixture, 'DeleteAsset').length > 0 && actions(fixture, 'DeleteAssetGroup').length > 0);

  const { body: audit } = await admin<{ data: ShownAuditLine[] }>('GET', `/audit?subject=user:${user}&limit=50`);
  const lines = audit.data.map(({ action }) => action);
  assert.deepEqual(lines.slice(0, 2), ['user.erased', 'user.erasing']);
  assert.deepEqual(audit.data[0]?.after?.erased, done.erases);
  assert.ok(lines.includes('credit.booked'), 'bookings keep their lines');
});

longTest(
  'an erasure that is stopped in the middle, or runs twice, ends the same, and other users keep everything',
  async () => {
    const { user } = await addEverything('wanda');
    const other = await addEverything('paul');
    const kept = async () => {
      const { erases } = await stateOf('paul');
      return [
        erases.keys,
        erases.people,
        erases.warnings,
        erases.tasks,
        erases.assets,
        erases.responses,
        erases.captures,
      ];
    };
    const before = await kept();
    await sql`create function stop_erasure() returns trigger language plpgsql as $$ begin raise exception 'stopped'; end $$`.execute(
      db(),
    );
    await sql`create trigger stop_erasure before update of safety_identifier on video_tasks for each row execute function stop_erasure()`.execute(
      db(),
    );
    await erase(user, { dry_run: false, confirm: user });
    await until('a run that stops', () =>
      fixture.gateway.log.some(({ msg, user: of }) => msg === 'erasure.failed' && of === user),
    );
    assert.equal((await stateOf(user)).state, 'running');
    await sql`drop trigger stop_erasure on video_tasks`.execute(db());
    await finished(user);
    await sql`update erasures set next_check_at = now() where user_id = ${user}`.execute(db());
    await until('another run', async () => {
      const { rows } = await sql`select from erasures where user_id = ${user} and next_check_at > now()`.execute(db());
      return rows.length > 0;
    });
    assert.deepEqual(await kept(), before);
    assert.equal((await other.person.send('GET', '/console/v1/me')).status, 200);
    const { rows } = await sql`select from audit where action = 'user.erased' and subject = ${`user:${user}`}`.execute(
      db(),
    );
    assert.equal(rows.length, 1, 'one line, however often it runs');
    assert.equal((await erase('nobody', {})).status, 404);
  },
);

test('an export has all that is stored of a user, for them and for operators, and nothing of others', async () => {
  const { user, person } = await addEverything('nora');
  const own = await person.send('GET', '/console/v1/export');
  assert.equal(own.status, 200);
  assert.match(own.headers.get('content-disposition') ?? '', /nora\.ndjson/);
  const lines = own.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const kinds = new Set(lines.map(({ object }) => object));
  for (const kind of [
    'user',
    'person',
    'key',
    'usage',
    'movement',
    'call',
    'task',
    'asset_group',
    'asset',
    'authorization',
  ])
    assert.ok(kinds.has(kind), `${kind} of ${[...kinds].join()}`);
  for (const kind of [
    'warning',
    'warning_destination',
    'stored_response',
    'capture',
    'file',
    'batch',
    'conversation_page',
  ])
    assert.ok(kinds.has(kind), kind);
  assert.match(JSON.stringify(lines.filter(({ object }) => object === 'stored_response')), /zebrine writes/);
  const members = JSON.stringify(lines.map(({ content: _, ...line }) => line));
  assert.doesNotMatch(members, /sealed|password|account|upstream|cost/, 'no secret, account or cost');
  assert.doesNotMatch(own.text, /paul/, 'nothing of another user');
  assert.equal((await person.send('GET', '/console/v1/export?user=paul')).status, 403);
  const theirs = await admin('GET', `/users/${user}/export`);
  assert.match(theirs.text, /zebrine writes/);
  const { rows } = await sql`select from audit where action = 'user.exported' and subject = ${`user:${user}`}`.execute(
    db(),
  );
  assert.equal(rows.length, 2, 'each export is in the audit log');
});
