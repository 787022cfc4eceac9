/** One credential of the provider behind two accounts: each of its tasks belongs to one task of ours, whatever the account and group. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../src/platform/db/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { jsonResponse, startCanned } from '../support/canned.ts';
import { runHere } from '../support/cli.ts';
import {
  callVideo,
  startVideo,
  TASKS,
  taskBody,
  textItem,
  VIDEO_MODELS,
  VIDEO_PRICES,
  type VideoFixture,
} from '../support/video.ts';
import { expectRest, openJobs, type VideoJobs } from '../support/video-jobs.ts';

const SECOND = 'demo-video-second';
let fixture: VideoFixture;
let jobs: VideoJobs;
let db: Db;

before(async () => {
  fixture = await startVideo({ video: { clock: 'manual' }, env: { ADMIN_TOKEN } });
  await fixture.gateway.apply({
    groups: [{ id: 'second', style: 'video', variant: 'EP' }],
    // The same address in another spelling.
    accounts: [{ id: 'second', group: 'second', base_url: `${fixture.sim.video.url}/`, api_key: 'sk-simulated-ep' }],
    models: [{ id: SECOND, groups: ['second'], upstream: VIDEO_MODELS.EP, prices: VIDEO_PRICES }],
  });
  jobs = await openJobs(fixture.gateway);
  ({ db } = fixture.gateway.context.database);
});
after(async () => {
  await expectRest(db, fixture.sim.video);
  await jobs.close();
  await fixture.close();
});
beforeEach(async () => {
  for (const { id } of fixture.sim.video.tasks.all) fixture.sim.video.tasks.forget(id);
  await sql`update video_tasks set created_at = now() - interval '2 days' where finished_at is null`.execute(db);
  await jobs.run('tasks.reconcile');
  await sql`delete from video_tasks where finished_at is not null`.execute(db);
});

const LOST = 'reset; created; callbacks=dropped';
const NEVER_ARRIVED = 'status=503';

async function create(model: string, words = 'stuck=queued', expected = 202): Promise<string> {
  const body = taskBody('EP', { model, content: [textItem(`A lighthouse [sim:${words}]`)] });
  const response = await callVideo(fixture.gateway.url, TASKS, { body });
  assert.equal(response.status, expected, JSON.stringify(response.body));
  return String(response.body.id);
}
const rowOf = (id: string) => db.selectFrom('video_tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const upstreamOf = async (id: string) => (await rowOf(id)).upstream_id;
const upstream = () => fixture.sim.video.tasks.all;
const admin = adminApi(() => fixture.gateway.url);
const assign = (task: string, upstream_task: string | null) =>
  admin<{ error?: { message: string } }>('POST', `/submissions/${task}/assign`, { upstream_task, reason: 'seen' });
/** The report path of the nth last create request. */
const pathOf = (n: number): string => fixture.sim.video.journal.creates.at(-1 - n)?.summary?.callbackPath ?? '';

for (const isOld of [false, true])
  test(`a create that never arrived takes no task of another group${isOld ? ' of an earlier version' : ''}`, async () => {
    const other = await create(SECOND, 'stuck=queued', 200);
    if (isOld) await sql`delete from provider_tasks where task_id = ${other}`.execute(db);
    const lost = await create(VIDEO_MODELS.EP, NEVER_ARRIVED);
    await jobs.run('tasks.reconcile');
    assert.deepEqual([await upstreamOf(lost), (await rowOf(lost)).candidates], [null, null]);
    const { status, body } = await assign(lost, await upstreamOf(other));
    assert.equal(status, 409);
    assert.match(body.error?.message ?? '', /another task has it/);
    const report = JSON.stringify({ id: await upstreamOf(other), status: 'queued' });
    await fetch(fixture.gateway.url + pathOf(0), { method: 'POST', body: report });
    assert.equal(await upstreamOf(lost), null, 'not by a report either');
  });

test('a task of the provider that two groups may have created is left to the operator, who assigns it once', async (t) => {
  // It would tell the two submissions apart.
  fixture.sim.video.settings.returnsExpiry = false;
  t.after(() => {
    fixture.sim.video.settings.returnsExpiry = true;
  });
  const [arrived, lost] = [await create(SECOND, LOST), await create(VIDEO_MODELS.EP, NEVER_ARRIVED)];
  await jobs.run('tasks.reconcile');
  assert.deepEqual([await upstreamOf(arrived), await upstreamOf(lost)], [null, null]);
  const id = upstream()[0]?.id ?? '';
  const both = await Promise.all([assign(arrived, id), assign(lost, id)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
  const { rows } = await sql`select from video_tasks where upstream_id = ${id}`.execute(db);
  assert.equal(rows.length, 1);
});

test('reports on two secret paths at once bind a task of the provider once', async () => {
  const ids = [await create(SECOND, NEVER_ARRIVED), await create(VIDEO_MODELS.EP, LOST)];
  const body = JSON.stringify({ id: upstream()[0]?.id, status: 'queued' });
  await Promise.all([0, 1, 0, 1].map((n) => fetch(fixture.gateway.url + pathOf(n), { method: 'POST', body })));
  const bound = await Promise.all(ids.map(upstreamOf));
  assert.equal(bound.filter((one) => one !== null).length, 1);
});

test('an id that the provider has given to another task confirms nothing', async () => {
  const canned = await startCanned();
  try {
    canned.respondWith(jsonResponse('{"id":"cgt-same"}'));
    await fixture.gateway.apply({
      groups: [{ id: 'third', style: 'video', variant: 'EP' }],
      accounts: [{ id: 'third', group: 'third', base_url: canned.url, api_key: 'sk-third' }],
      models: [{ id: 'demo-video-third', groups: ['third'], prices: VIDEO_PRICES }],
    });
    const [first, second] = [await create('demo-video-third', '', 200), await create('demo-video-third')];
    assert.deepEqual([await upstreamOf(first), await upstreamOf(second)], ['cgt-same', null]);
    assert.equal(fixture.gateway.log.filter(({ msg }) => msg === 'task.upstream_id_taken').length, 1);
  } finally {
    await canned.close();
  }
});

test('the provider gets a name of the end user that only this installation gives, and finds tasks with the earlier one', async () => {
  const id = await create(VIDEO_MODELS.EP, LOST);
  const row = await rowOf(id);
  const [task] = upstream();
  assert.ok(task?.request.safetyIdentifier);
  assert.match(row.safety_identifier, /^[0-9a-f]{32}$/);
  const unsalted = createHash('sha256').update('dragoman-end-user:ana').digest('hex').slice(0, 32);
  const elsewhere = await startVideo();
  try {
    await callVideo(elsewhere.gateway.url, TASKS, { body: taskBody('EP') });
    const [foreign] = elsewhere.sim.video.tasks.all;
    assert.ok(foreign?.request.safetyIdentifier);
    const names = [task.request.safetyIdentifier, foreign.request.safetyIdentifier, unsalted];
    assert.deepEqual([new Set(names).size, task.request.safetyIdentifier], [3, row.safety_identifier]);
  } finally {
    await elsewhere.close();
  }
  task.request.safetyIdentifier = unsalted;
  await sql`update video_tasks set safety_identifier = ${unsalted} where id = ${id}`.execute(db);
  await jobs.run('tasks.reconcile');
  assert.equal(await upstreamOf(id), task.id);
  const again = await create(VIDEO_MODELS.EP, 'stuck=queued', 200);
  assert.equal((await rowOf(again)).safety_identifier, row.safety_identifier, 'it stays the same');
});

test('the database has no credential, also not as a plain digest', async () => {
  await create(SECOND, 'stuck=queued', 200);
  const { rows } = await sql<{ provider: Buffer }>`select provider from provider_tasks`.execute(db);
  assert.ok(rows.length > 0);
  const { url } = fixture.sim.video;
  for (const text of ['sk-simulated-ep', `${url}\nsk-simulated-ep`, `provider:${url}\nsk-simulated-ep`])
    for (const { provider } of rows) assert.notDeepEqual(provider, createHash('sha256').update(text).digest());
});

test('doctor names accounts that share an address and credential', async () => {
  const { DATA_DIR, DATABASE_URL, MASTER_KEY } = fixture.gateway.context.config;
  const { stdout } = await runHere(['doctor'], { env: { DATA_DIR, DATABASE_URL, MASTER_KEY } });
  const notes = [...stdout.matchAll(/^note {2}Account +(.*same address and credential.*)$/gm)].map(([, text]) => text);
  assert.equal(notes.length, 1, stdout);
  assert.match(notes[0] ?? '', /^account-ep, second have/);
});
