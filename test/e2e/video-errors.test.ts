/** Edges of video tasks and assets that a caller meets: which error, what it says, and what of a provider's report is believed. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { newId } from '../../src/core/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { type Canned, jsonResponse, type Script, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { callVideo, TASKS, taskBody, videoSetup } from '../support/video.ts';
import { openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const ADMIN_TOKEN = 'admin-token-of-this-test-000001';

let canned: Canned;
let gateway: TestGateway;
let jobs: VideoJobs;
let db: Db;

before(async () => {
  canned = await startCanned();
  gateway = await startGateway({ setup: videoSetup(`${canned.url}/api/v3`), env: { ADMIN_TOKEN } });
  jobs = await openJobs(gateway);
  ({ db } = gateway.context.database);
});
after(async () => {
  await jobs?.close();
  await gateway?.stop();
  await canned?.close();
});

const json = (body: object, status = 200): Script => jsonResponse(JSON.stringify(body), status);
const create = (more: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  callVideo(gateway.url, TASKS, { body: taskBody('A', more), headers });
const taskOf = (id: unknown) => callVideo(gateway.url, `${TASKS}/${String(id)}`);

/** Creates a task, and lets the provider report it with these members. */
async function reportedAs(members: object) {
  const upstreamId = newId('task').replace('task_', 'cgt-');
  canned.respondWith(json({ id: upstreamId }));
  const { body } = await create();
  canned.respondWith(json({ id: upstreamId, ...members }));
  await jobs.run('tasks.follow');
  return { id: body.id, upstreamId };
}
const VIDEO = { status: 'succeeded', content: { video_url: 'https://store.example/a.mp4' } };

interface TestAsset {
  readonly status?: string;
  readonly groupType?: string;
}

async function insertAsset({ status = 'active', groupType = 'AIGC' }: TestAsset = {}) {
  const [id, groupId] = [newId('asset'), newId('assetgrp')];
  const shared = { user_id: 'ana', group_id: 'video-a', variant: 'A', account_id: 'account-video-a' };
  const group = { ...shared, id: groupId, name: 'g', group_type: groupType, status: 'active', upstream_id: 'group-1' };
  await db.insertInto('asset_groups').values(group).execute();
  await db
    .insertInto('assets')
    .values({
      ...shared,
      id,
      asset_group_id: groupId,
      name: '',
      asset_type: 'Image',
      status,
      source_url: 'https://example.com/a.png',
      upstream_id: 'asset-1',
    })
    .execute();
  return { id, groupId };
}
const withAsset = (id: string) => ({
  content: [
    { type: 'text', text: 'a lamp' },
    { type: 'image_url', role: 'reference_image', image_url: { url: `asset://${id}` } },
  ],
});

test('V 4.2: an empty model name is a malformed request, not an unknown model', async () => {
  const { status, body } = await create({ model: '' });
  assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], JSON.stringify(body));
});

test('V 8: usage is shown as the provider reported it, and no half of it is invented', async () => {
  for (const usage of [
    { completion_tokens: 1000, total_tokens: 2000 },
    { total_tokens: 2000 },
    { completion_tokens: 1000 },
  ]) {
    const { id } = await reportedAs({ ...VIDEO, usage });
    const { body } = await until('the task has succeeded', async () => {
      const task = await taskOf(id);
      return task.body.status === 'succeeded' ? task : undefined;
    });
    assert.deepEqual(body.usage, usage);
    assert.deepEqual((await callVideo(gateway.url, `/v1/videos/${String(id)}`)).body.usage, usage);
  }
});

test('V 8: usage that is reported after the success is shown in the same way', async () => {
  const { id, upstreamId } = await reportedAs(VIDEO);
  await until('the task has succeeded', async () => (await taskOf(id)).body.status === 'succeeded');
  assert.equal((await taskOf(id)).body.usage, undefined);
  canned.respondWith(json({ id: upstreamId, ...VIDEO, usage: { completion_tokens: 7, total_tokens: 9 }, duration: 5 }));
  const shown = await until('the usage is known', async () => {
    await jobs.run('tasks.follow');
    return (await taskOf(id)).body.usage;
  });
  assert.deepEqual(shown, { completion_tokens: 7, total_tokens: 9 });
});

test('V 3: a report about another task changes nothing, and is not charged', async () => {
  const { id, upstreamId } = await reportedAs({ ...VIDEO, id: 'cgt-of-another-task', usage: { total_tokens: 2000 } });
  await until('the provider was asked', () => canned.last.target.endsWith(upstreamId));
  assert.equal((await taskOf(id)).body.status, 'queued');
  canned.respondWith(json({ id: upstreamId, ...VIDEO, usage: { total_tokens: 3 } }));
  await until('the right report counts', async () => {
    await jobs.run('tasks.follow');
    return (await taskOf(id)).body.status === 'succeeded';
  });
});

test('V 4.1: a failed asset says that it failed', async () => {
  const { id } = await insertAsset({ status: 'failed' });
  const { status, body } = await create(withAsset(id));
  assert.deepEqual([status, body.error?.code], [409, 'asset_not_ready']);
  assert.match(String(body.error?.message), /failed/);
});

test('V 4.10 r3: the group of a real person takes images and videos, but no audio', async () => {
  const { groupId } = await insertAsset({ groupType: 'LivenessFace' });
  const before = canned.requests.length;
  const asset = { url: 'https://example.com/a.mp3', asset_type: 'Audio', group_id: groupId };
  const { status, body } = await callVideo(gateway.url, '/v1/assets', { body: asset });
  assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], JSON.stringify(body));
  assert.match(String(body.error?.message), /asset_type/);
  assert.equal(canned.requests.length, before, 'nothing is sent');
});

test('V 4.1: an asset that is gone at use is found, although it was refreshed a moment ago', async () => {
  const { id } = await insertAsset();
  await sql`update assets set refreshed_at = now() where id = ${id}`.execute(db);
  canned.respondWith((response, request) =>
    (request.target.includes('Action=GetAsset')
      ? json({ ResponseMetadata: { Error: { Code: 'NotFound.asset', Message: 'gone' } } }, 404)
      : json({ error: { code: 'InvalidParameter', message: 'The asset is not available.' } }, 400))(response, request),
  );
  const { status, body } = await create(withAsset(id));
  assert.deepEqual([status, body.error?.code], [410, 'asset_invalid'], JSON.stringify(body));
});

test('V 4.9 r5: a report about another asset changes nothing', async () => {
  const { id } = await insertAsset({ status: 'processing' });
  canned.respondWith(json({ ResponseMetadata: {}, Result: { Id: 'asset-2', Name: '', Status: 'Active' } }));
  const { status } = await callVideo(gateway.url, `/v1/assets/${id}/refresh`, { method: 'POST' });
  assert.equal(status, 502);
  assert.equal((await callVideo(gateway.url, `/v1/assets/${id}`)).body.status, 'processing');
});

longTest(
  'V 8: a repeated request may be sent again by an SDK, and the claim is kept while the first one runs',
  async () => {
    const answer = Promise.withResolvers<void>();
    canned.respondWith(async (response, request) => {
      await answer.promise;
      await json({ id: 'cgt-slow' })(response, request);
    });
    const headers = { 'idempotency-key': 'slow' };
    const first = create({}, headers);
    const leases = async () => {
      const { rows } = await sql<{ task: number; record: number }>`
      select extract(epoch from t.submitter_until - now())::float8 as task, extract(epoch from r.owner_until - now())::float8 as record
      from video_tasks t join idempotency_records r on r.user_id = t.user_id and r.resource_id = t.id
      where t.submission = 'sending'`.execute(db);
      return rows[0];
    };
    const begun = await until('the request is sent', leases);
    assert.ok(Math.max(begun.task, begun.record) <= 30, 'a killed replica blocks the key for at most half a minute');
    const again = await create({}, headers);
    assert.deepEqual(
      [again.status, again.body.error?.code, again.headers.get('x-should-retry'), again.headers.get('retry-after')],
      [409, 'idempotency_in_progress', 'true', '2'],
    );
    await sql`update video_tasks set submitter_until = now() + interval '10 seconds' where submission = 'sending'`.execute(
      db,
    );
    await sql`update idempotency_records set owner_until = now() + interval '10 seconds' where finished_at is null`.execute(
      db,
    );
    await until('the claim is renewed', async () => {
      const { task = 0, record = 0 } = (await leases()) ?? {};
      return Math.min(task, record) > 15;
    });
    answer.resolve();
    const { status, body } = await first;
    assert.equal(status, 200);
    assert.equal((await create({}, headers)).body.id, body.id);
  },
);

const UNAVAILABLE: Readonly<Record<string, () => Promise<unknown>>> = {
  'cools down': () => {
    canned.respondWith(json({ error: { code: 'AccountOverdueError', message: 'overdue' } }, 403));
    return create();
  },
  'is parked': () =>
    fetch(`${gateway.url}/admin/v1/accounts/account-video-a/park`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ reason: 'test' }),
    }),
};

for (const [how, act] of Object.entries(UNAVAILABLE))
  test(`V 4.1: assets of an account that ${how} give asset_binding_unavailable`, async () => {
    const { id } = await insertAsset();
    await act();
    const before = canned.requests.length;
    const { status, body, headers } = await until('the account is not used', async () => {
      const response = await create(withAsset(id));
      return canned.requests.length === before ? response : undefined;
    });
    assert.deepEqual([status, body.error?.code], [409, 'asset_binding_unavailable'], JSON.stringify(body));
    assert.equal(headers.get('x-should-retry'), 'true');
    assert.ok(Number(headers.get('retry-after')) >= 1);
  });
