/** Real-person authorization sessions of variant A (V 4.10), with the simulated provider and its validation page. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { statementsOf } from '../support/plan.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
} from '../support/video.ts';
import { addUser } from '../support/video-tasks.ts';
import { until } from '../support/wait.ts';

const SESSIONS = '/v1/assets/real-person/authorization-sessions';

let fixture: VideoFixture;
/** Limits are per user. */
let keys: Record<'flow' | 'fields' | 'groups' | 'faults' | 'late', string>;

before(async () => {
  fixture = await startVideo({ worker: true });
  keys = {
    flow: await addUser(fixture.gateway, 'flow'),
    fields: await addUser(fixture.gateway, 'fields'),
    groups: await addUser(fixture.gateway, 'groups'),
    faults: await addUser(fixture.gateway, 'faults'),
    late: await addUser(fixture.gateway, 'late'),
  };
});
after(() => fixture.close());

const db = () => fixture.gateway.context.database.db;

interface Session {
  readonly id: string;
  readonly object: string;
  readonly status: string;
  readonly authorization_url?: string;
  readonly asset_group_id?: string;
  readonly route_group_id: string;
  readonly route_group_name: string;
  readonly expires_at: number;
  readonly created_at: number;
  readonly updated_at: number;
}

const create = (body: unknown = {}, key = keys.flow, headers: Record<string, string> = {}) =>
  callVideo(fixture.gateway.url, SESSIONS, { method: 'POST', body, key, headers });
const read = (id: string, key = keys.flow) => callVideo(fixture.gateway.url, `${SESSIONS}/${id}`, { key });

async function open(body: unknown = {}, key = keys.flow): Promise<Session & { readonly authorization_url: string }> {
  const { status, body: session } = await create(body, key);
  assert.equal(status, 201, JSON.stringify(session));
  return session as unknown as Session & { authorization_url: string };
}

/** Presses a button of the provider's page and returns where it sends the browser. */
async function decide(link: string, result: 'pass' | 'fail' | 'abandon' | 'forge'): Promise<string> {
  const response = await fetch(link, { method: 'POST', body: new URLSearchParams({ result }), redirect: 'manual' });
  assert.equal(response.status, 303, await response.text());
  return response.headers.get('location') ?? '';
}

async function visit(url: string, language = 'en'): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(url, { headers: { 'accept-language': language }, redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Visits the return page until it shows the text: the account allows few checks per second. */
const visitUntil = (url: string, text: RegExp) =>
  until(String(text), async () => {
    const page = await visit(url);
    return text.test(page.text) ? page : undefined;
  });
const COMPLETE = /Verification complete/;

const validationsStarted = () =>
  fixture.sim.video.journal.requests.filter(({ action }) => action === 'CreateVisualValidateSession').length;
const countSessions = async (user: string) =>
  (await db().selectFrom('authorization_sessions').select('id').where('user_id', '=', user).execute()).length;
/** Moves the whole life of a session into the past. */
const age = (id: string, seconds: number) =>
  sql`update authorization_sessions set created_at = created_at - ${seconds} * interval '1 second',
    updated_at = updated_at - ${seconds} * interval '1 second', expires_at = expires_at - ${seconds} * interval '1 second'
    where id = ${id}`.execute(db());

test('V 4.10 r1: a session without a body is pending, lasts 1800 seconds and has the documented fields', async () => {
  for (const request of [{ method: 'POST' }, { body: {} }, { body: '' }]) {
    const { status, body } = await callVideo(fixture.gateway.url, SESSIONS, {
      ...request,
      method: 'POST',
      key: keys.flow,
    });
    assert.equal(status, 201, JSON.stringify(body));
    const session = body as unknown as Session;
    assert.match(session.id, /^authsess_[A-Za-z0-9]+$/);
    assert.deepEqual(Object.keys(session).sort(), [
      'authorization_url',
      'created_at',
      'expires_at',
      'id',
      'object',
      'route_group_id',
      'route_group_name',
      'status',
      'updated_at',
    ]);
    assert.deepEqual(
      [session.object, session.status, session.route_group_id, session.route_group_name],
      ['asset.authorization_session', 'pending', 'video-a', 'Video A'],
    );
    assert.equal(session.expires_at - session.created_at, 1_800);
    assert.deepEqual((await read(session.id)).body, body);
  }
});

test('V 4 null: members of a session with null are absent, whatever their name', async () => {
  const { status, body } = await create(
    { name: null, description: null, redirect_url: null, extra: null },
    keys.fields,
  );
  assert.deepEqual([status, body.status], [201, 'pending'], JSON.stringify(body));
});

test('V 4.10 r1, V 4.12: unknown fields, wrong types, long texts and a redirect_url that is not public HTTPS are rejected', async () => {
  const before = validationsStarted();
  for (const body of [
    { unknown: 1 },
    { name: 7 },
    { name: 'n'.repeat(65) },
    { description: 'd'.repeat(301) },
    { redirect_url: 'http://example.com/done' },
    { redirect_url: 'https://10.0.0.1/done' },
    { redirect_url: 'https://localhost/done' },
    { redirect_url: 'javascript:alert(1)' },
    { redirect_url: '//example.com' },
    { route_group_id: 'video-a' },
    [],
    '{',
  ]) {
    const { status, body: error } = await create(body, keys.fields);
    assert.deepEqual([status, error.error?.code], [400, 'invalid_request'], JSON.stringify(body));
  }
  assert.equal(validationsStarted(), before, 'nothing was sent');
});

test('V 1 r5, V 4.10 r2: a session completes with a LivenessFace group of variant A once the person passed', async () => {
  const session = await open({ name: 'Ana', description: 'the presenter' });
  const page = await visitUntil(await decide(session.authorization_url, 'pass'), COMPLETE);
  assert.equal(page.status, 200);
  const { status, body } = await read(session.id);
  assert.deepEqual([status, body.status], [200, 'completed']);
  assert.equal(body.authorization_url, undefined);
  const group = await callVideo(fixture.gateway.url, `/v1/asset-groups/${body.asset_group_id}`, { key: keys.flow });
  assert.deepEqual(
    [
      group.status,
      group.body.group_type,
      group.body.status,
      group.body.name,
      group.body.description,
      group.body.route_group_id,
    ],
    [200, 'LivenessFace', 'active', 'Ana', 'the presenter', 'video-a'],
  );
  const row = await db()
    .selectFrom('authorization_sessions')
    .select(['upstream_token_sealed', 'link_sealed'])
    .where('id', '=', session.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(row, { upstream_token_sealed: null, link_sealed: null }, 'token and link are dropped');
});

test('V 4.10 r3, r4: the whole flow ends in a task that uses an asset of the real-person group', async () => {
  const session = await open();
  await visitUntil(await decide(session.authorization_url, 'pass'), COMPLETE);
  const { body: completed } = await read(session.id);
  const created = await callVideo(fixture.gateway.url, '/v1/assets', {
    key: keys.flow,
    body: { url: 'https://example.com/face.png', asset_type: 'Image', group_id: completed.asset_group_id },
  });
  assert.equal(created.status, 202, JSON.stringify(created.body));
  await until('the review', async () => {
    const path = `/v1/assets/${created.body.id}/refresh`;
    const { body } = await callVideo(fixture.gateway.url, path, { key: keys.flow, method: 'POST' });
    return body.status === 'active';
  });
  const content = [
    textItem(),
    { type: 'image_url', image_url: { url: `asset://${created.body.id}` }, role: 'reference_image' },
  ];
  const task = await callVideo(fixture.gateway.url, TASKS, { key: keys.flow, body: taskBody('A', { content }) });
  assert.equal(task.status, 200, JSON.stringify(task.body));
});

test('V 3: a person who fails ends the session as failed, without a group', async () => {
  const session = await open();
  await visitUntil(await decide(session.authorization_url, 'fail'), /not successful/);
  const { status, body } = await read(session.id);
  assert.deepEqual(
    [status, body.status, body.asset_group_id, body.authorization_url],
    [200, 'failed', undefined, undefined],
  );
});

test('V 3: a forged return completes nothing; the session is verifying until the provider has a result', async () => {
  const session = await open();
  const forged = await visit(await decide(session.authorization_url, 'forge'));
  assert.equal(forged.status, 200);
  assert.match(forged.text, /Checking your verification/);
  const { body } = await read(session.id);
  assert.deepEqual([body.status, body.asset_group_id], ['verifying', undefined]);
  assert.equal(body.authorization_url, session.authorization_url);
  // The real outcome still counts, although the browser does not return again.
  await decide(session.authorization_url, 'pass');
  await until('the worker', async () => (await read(session.id)).body.status === 'completed');
  assert.match(String((await read(session.id)).body.asset_group_id), /^assetgrp_/);
});

test('V 3: a worker completes a pending session whose browser never returned', async () => {
  const session = await open();
  await decide(session.authorization_url, 'pass');
  assert.equal((await read(session.id)).body.status, 'pending');
  await db()
    .updateTable('authorization_sessions')
    .set({ next_check_at: new Date() })
    .where('id', '=', session.id)
    .execute();
  await until('the worker', async () => (await read(session.id)).body.status === 'completed');
});

test('V 3: an expired session gives 410, a completed one stays readable', async () => {
  const [open1, done] = [await open({}, keys.late), await open({}, keys.late)];
  await visitUntil(await decide(done.authorization_url, 'pass'), COMPLETE);
  await age(open1.id, 1_801);
  await age(done.id, 1_801);
  const expired = await read(open1.id, keys.late);
  assert.deepEqual([expired.status, expired.body.error?.code], [410, 'authorization_session_expired']);
  assert.deepEqual(
    [(await read(done.id, keys.late)).status, (await read(done.id, keys.late)).body.status],
    [200, 'completed'],
  );
  // A result that comes too late changes nothing.
  const page = await visit(await decide(open1.authorization_url, 'pass'));
  assert.match(page.text, /expired/);
  await db()
    .updateTable('authorization_sessions')
    .set({ next_check_at: new Date() })
    .where('id', '=', open1.id)
    .execute();
  await until('the worker', async () => {
    const row = await db()
      .selectFrom('authorization_sessions')
      .selectAll()
      .where('id', '=', open1.id)
      .executeTakeFirstOrThrow();
    return row.status === 'expired' && row.link_sealed === null && row.upstream_token_sealed === null;
  });
  assert.equal((await read(open1.id, keys.late)).status, 410);
});

test('V 1: missing, foreign and malformed sessions give the same 404', async () => {
  const session = await open();
  const responses = await Promise.all(
    [
      [session.id, KEYS.bob],
      [`authsess_${'0'.repeat(22)}`, KEYS.bob],
      ['authsess_%20', KEYS.bob],
      ['x', KEYS.bob],
    ].map(([id = '', key]) => read(id, key)),
  );
  for (const { status, body } of responses) {
    assert.deepEqual([status, body.error?.code], [404, 'authorization_session_not_found']);
    assert.deepEqual(body, responses[0]?.body);
  }
});

test('V 4.10 r5: models of EP and HC, and a key without variant A, give real_person_auth_not_supported', async () => {
  for (const model of [VIDEO_MODELS.EP, VIDEO_MODELS.HC]) {
    const { status, body } = await create({ model }, keys.groups);
    assert.deepEqual([status, body.error?.code], [400, 'real_person_auth_not_supported'], model);
  }
  const { status, body } = await create({}, KEYS.onlyEp);
  assert.deepEqual([status, body.error?.code], [400, 'real_person_auth_not_supported']);
  const unknown = await create({ model: 'unknown' }, keys.groups);
  assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'model_not_found']);
  assert.equal((await create({ model: VIDEO_MODELS.A }, keys.groups)).status, 201);
});

for (const fault of ['fault=500', 'reset', 'truncated', 'fault=429'] as const)
  test(`V 7: a create whose provider call ends with ${fault} gives 503 and leaves nothing`, async () => {
    const before = await countSessions('faults');
    const headers = { 'idempotency-key': `fault ${fault}` };
    fixture.sim.video.next(`on=CreateVisualValidateSession; ${fault}`);
    const failed = await create({}, keys.faults, headers);
    assert.deepEqual([failed.status, failed.body.error?.code], [503, 'asset_upstream_unavailable'], fault);
    assert.equal(await countSessions('faults'), before);
    assert.equal((await create({}, keys.faults, headers)).status, 201, 'the key is free');
  });

test('V 8: a replay returns the same session, and its link only while it is pending', async () => {
  const headers = { 'idempotency-key': 'order-1' };
  const first = await create({ name: 'one' }, keys.fields, headers);
  const started = validationsStarted();
  assert.deepEqual((await create({ name: 'one' }, keys.fields, headers)).body, first.body);
  const conflict = await create({ name: 'two' }, keys.fields, headers);
  assert.deepEqual([conflict.status, conflict.body.error?.code], [409, 'idempotency_conflict']);
  assert.equal(validationsStarted(), started);
  const { id, authorization_url: link } = first.body as unknown as Required<Session>;
  await visit(await decide(link, 'forge'));
  const verifying = await create({ name: 'one' }, keys.fields, headers);
  assert.deepEqual(
    [verifying.status, verifying.body.status, verifying.body.authorization_url],
    [201, 'verifying', undefined],
  );
  await age(id, 1_801);
  const expired = await create({ name: 'one' }, keys.fields, headers);
  assert.deepEqual([expired.status, expired.body.status, expired.body.authorization_url], [201, 'expired', undefined]);
});

test('V 8: concurrent creates with one key start one validation', async () => {
  const started = validationsStarted();
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => create({}, keys.fields, { 'idempotency-key': 'concurrent' })),
  );
  assert.equal(validationsStarted() - started, 1);
  const created = responses.filter(({ status }) => status === 201);
  assert.equal(new Set(created.map(({ body }) => body.id)).size, 1);
  for (const { status, body } of responses)
    assert.ok(status === 201 || body.error?.code === 'idempotency_in_progress', JSON.stringify(body));
});

test('V 8: an abandoned create is removed and its key is free again', async () => {
  const headers = { 'idempotency-key': 'abandoned' };
  const { body } = await create({}, keys.fields, headers);
  const past = new Date(Date.now() - 1_000);
  const ofUser = { user_id: 'fields', resource_id: String(body.id) };
  await db()
    .updateTable('authorization_sessions')
    .set({ upstream_token_sealed: null, link_sealed: null, next_check_at: past })
    .where('id', '=', String(body.id))
    .execute();
  await db()
    .updateTable('idempotency_records')
    .set({ http_status: null, finished_at: null, owner_until: past })
    .where('user_id', '=', ofUser.user_id)
    .where('resource_id', '=', ofUser.resource_id)
    .execute();
  assert.equal((await read(String(body.id), keys.fields)).status, 404);
  const again = await create({}, keys.fields, headers);
  assert.equal(again.status, 201, JSON.stringify(again.body));
  assert.notEqual(again.body.id, body.id);
});

/** Two sessions that the same person passes; the provider has one group for the person. */
async function passTwice(first: string, second: string): Promise<readonly [string, string]> {
  const [one, other] = [await open({}, first), await open({}, second)];
  await visitUntil(await decide(one.authorization_url, 'pass'), COMPLETE);
  const back = await decide(other.authorization_url, 'pass');
  const { validations } = fixture.sim.video;
  const [passed, repeated] = [one, other].map(({ authorization_url }) =>
    validations.get(new URL(authorization_url).searchParams.get('token') ?? ''),
  );
  assert.ok(passed?.groupId !== undefined && repeated);
  repeated.groupId = passed.groupId;
  await visitUntil(back, COMPLETE);
  const groupOf = async (id: string, key: string) => String((await read(id, key)).body.asset_group_id);
  return [await groupOf(one.id, first), await groupOf(other.id, second)];
}

test('V 4.10: the same person in two sessions of a user has one group', async () => {
  const [one, other] = await passTwice(keys.groups, keys.groups);
  assert.equal(one, other);
});

test('V 1: a group of a person whom two users know is deleted at the provider with the last of them', async () => {
  const [one, other] = await passTwice(keys.groups, keys.late);
  assert.notEqual(one, other);
  const remove = (id: string, key: string) =>
    callVideo(fixture.gateway.url, `/v1/asset-groups/${id}`, { method: 'DELETE', key });
  const deletions = () =>
    fixture.sim.video.journal.requests.filter(({ action }) => action === 'DeleteAssetGroup').length;
  const before = deletions();
  assert.equal((await remove(one, keys.groups)).status, 202);
  assert.equal(deletions(), before);
  assert.equal((await remove(other, keys.late)).status, 202);
  await until('the deletion', () => deletions() > before);
});

test('V 3: returns at the same time complete a session once, although the provider reports the result once', async () => {
  fixture.sim.video.settings.singleResultRead = true;
  try {
    const session = await open({ name: 'Once' }, keys.late);
    const back = await decide(session.authorization_url, 'pass');
    await Promise.all(Array.from({ length: 8 }, () => visit(back)));
    await visitUntil(back, COMPLETE);
    const groups = await db().selectFrom('asset_groups').select('id').where('name', '=', 'Once').execute();
    assert.deepEqual(groups, [{ id: (await read(session.id, keys.late)).body.asset_group_id }]);
  } finally {
    fixture.sim.video.settings.singleResultRead = false;
  }
});

test('V 1: a foreign session and a missing one are looked for by the same single query', async () => {
  const { id } = await open();
  const missing = `authsess_${'0'.repeat(id.length - 'authsess_'.length)}`;
  const ask = async (name: string) =>
    (await statementsOf(() => read(name, KEYS.bob))).filter(({ text }) =>
      text.includes('where user_id = $1 and id = $2'),
    );
  const [foreign, absent] = [await ask(id), await ask(missing)];
  assert.equal(foreign.length, 1);
  assert.deepEqual(
    foreign.map(({ text, values }) => [text, values.map((value) => (value === id ? missing : value))]),
    absent.map(({ text, values }) => [text, values]),
  );
});

test('the return page is plain, in the language of the browser, and leads only to the stored address', async () => {
  const target = 'https://example.com/done?a=1&b=%22%3E%3Cscript%3E';
  const session = await open({ redirect_url: target });
  const back = await decide(session.authorization_url, 'pass');
  await visitUntil(back, COMPLETE);
  const url = `${back}&redirect_url=https://evil.test/&lang=xx`;
  for (const [language, title] of [
    ['de-AT,de;q=0.9,en;q=0.5', 'Prüfung abgeschlossen'],
    ['zh-CN', '验证已完成'],
    ['zh-TW,zh;q=0.9', '驗證已完成'],
    ['zh-Hant-HK', '驗證已完成'],
    ['zh-Hans-TW', '验证已完成'],
    ['xx;q=1,fr;q=0.8,en;q=0.2', 'Vérification terminée'],
    ['es', 'Verificación completada'],
    ['ja,*;q=0.5', 'Verification complete'],
    ['', 'Verification complete'],
  ] as const) {
    const { status, headers, text } = await visit(url, language);
    assert.equal(status, 200);
    assert.ok(text.includes(title), `${language}: ${text}`);
    assert.ok(!text.includes('<script') && !text.includes('evil.test'));
    assert.equal(text.split('https://').length - 1, 2, 'the link and the refresh');
    assert.ok(text.includes('href="https://example.com/done?a=1&amp;b=%22%3E%3Cscript%3E"'));
    for (const secret of [session.id, new URL(session.authorization_url).search.slice(7), new URL(back).pathname])
      assert.ok(!text.includes(secret), secret);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/);
    assert.equal(headers.get('x-robots-tag'), 'noindex, nofollow');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('location'), null);
  }
});

test('the return page of an unknown secret is a 404 page that asks no provider', async () => {
  const before = fixture.sim.video.journal.requests.length;
  for (const secret of [randomBytes(24).toString('base64url'), 'x', '..%2f..']) {
    const { status, text, headers } = await visit(
      `${fixture.gateway.url}/return/real-person/${secret}?resultCode=10000`,
    );
    assert.equal(status, 404, secret);
    assert.match(headers.get('content-type') ?? '', /text\/html|application\/json/);
    if (headers.get('content-type')?.startsWith('text/html')) assert.match(text, /not valid/);
  }
  assert.ok(
    fixture.sim.video.journal.requests.slice(before).every(({ action }) => action !== 'CreateVisualValidateSession'),
  );
});

test('V 2: no secret of a session is in the log, and links are stored sealed', async () => {
  const session = await open();
  const back = await decide(session.authorization_url, 'forge');
  await visit(back);
  const token = new URL(session.authorization_url).searchParams.get('token') ?? '';
  const secret = new URL(back).pathname.split('/').at(-1) ?? '';
  const lines = fixture.gateway.log.map((line) => JSON.stringify(line));
  const rows = JSON.stringify(await db().selectFrom('authorization_sessions').selectAll().execute());
  for (const text of [token, secret]) {
    assert.ok(!lines.some((line) => line.includes(text)), 'in the log');
    assert.ok(!rows.includes(text), 'in the database');
  }
});

test('V 8: sessions cost nothing', async () => {
  const balances = await db().selectFrom('wallets').selectAll().where('user_id', '=', 'fields').execute();
  await open({}, keys.fields);
  assert.deepEqual(await db().selectFrom('wallets').selectAll().where('user_id', '=', 'fields').execute(), balances);
});

// The last test: it adds a group of variant A that comes first.
test('V 5 r5: a key without a video group and a group without asset settings have their 409 codes', async () => {
  const none = 'key-of-groups-without-video-0000';
  await fixture.gateway.apply({
    groups: [{ id: 'bare', style: 'video', variant: 'A', name: 'Bare' }],
    accounts: [{ id: 'account-bare', group: 'bare', base_url: fixture.sim.video.url, api_key: 'sk-simulated-bare' }],
    keys: [
      { user: 'groups', group: 'openai', name: 'none', key: none, video_groups: [] },
      { user: 'groups', group: 'openai', name: 'bare', key: `${none}-bare`, video_groups: ['bare'] },
    ],
  });
  for (const [key, code] of [
    [none, 'asset_route_group_unavailable'],
    [`${none}-bare`, 'asset_route_group_misconfigured'],
  ] as const) {
    const { status, body, headers } = await create({}, key);
    assert.deepEqual([status, body.error?.code, headers.get('x-should-retry')], [409, code, 'false']);
  }
});
