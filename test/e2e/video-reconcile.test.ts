/** Reconciliation of submissions without a clear result (V 4.2 r3): by the provider's report, by its list, or by time. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../src/platform/db/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { runHere } from '../support/cli.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  type TestVariant,
  taskBody,
  textItem,
  type VideoFixture,
} from '../support/video.ts';
import { expectRest, openJobs, type VideoJobs } from '../support/video-jobs.ts';

let fixture: VideoFixture;
let jobs: VideoJobs;
let db: Db;

before(async () => {
  fixture = await startVideo({
    video: { clock: 'manual', returnsExpiry: false },
    env: { ADMIN_TOKEN, VIDEO_CREATES_PER_MINUTE: '1000' },
  });
  jobs = await openJobs(fixture.gateway);
  ({ db } = fixture.gateway.context.database);
});
after(async () => {
  await expectRest(db, fixture.sim.video);
  await jobs.close();
  await fixture.close();
});

/** Earlier tests leave no open task behind that the next one could be confused with. */
beforeEach(async () => {
  fixture.sim.video.settings.returnsExpiry = false;
  for (const { id } of fixture.sim.video.tasks.all) fixture.sim.video.tasks.forget(id);
  await age('2 days');
  await jobs.run('tasks.reconcile');
  await sql`delete from video_tasks where finished_at is not null`.execute(db);
});

/** Moves all open tasks into the past. */
const age = (interval: string) =>
  sql`update video_tasks set created_at = created_at - ${interval}::interval, updated_at = updated_at - ${interval}::interval,
    next_check_at = next_check_at - ${interval}::interval where finished_at is null`.execute(db);

const LOST = 'reset; created; callbacks=dropped';

/** Creates a task whose response is lost; `words` say how. Returns its id. */
async function createUnknown(
  words = LOST,
  { variant = 'EP', key, ...more }: { variant?: TestVariant; key?: string; [parameter: string]: unknown } = {},
) {
  const body = taskBody(variant, { content: [textItem(`A lighthouse [sim:${words}]`)], ...more });
  const response = await callVideo(fixture.gateway.url, TASKS, { body, key });
  assert.equal(response.status, 202, JSON.stringify(response.body));
  return String(response.body.id);
}

const rowOf = (id: string) => db.selectFrom('video_tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const isHeld = async (id: string): Promise<boolean> =>
  (await db.selectFrom('holds').select('state').where('reference', '=', `task:${id}`).executeTakeFirst())?.state ===
  'held';
const upstream = () => fixture.sim.video.tasks.all;
const logged = (msg: string, id: string) => fixture.gateway.log.filter((line) => line.msg === msg && line.task === id);

/** The path at which the provider reports the last task that it was asked to create. */
const reportPath = (): string => fixture.sim.video.journal.creates.at(-1)?.summary?.callbackPath ?? '';

const report = (body: unknown, path = reportPath()) =>
  fetch(fixture.gateway.url + path, { method: 'POST', body: JSON.stringify(body) }).then(({ status }) => status);

// ---------------------------------------------------------------- the provider's report

test('V 4.2 r3: the first report of the provider confirms an unknown task', async () => {
  const id = await createUnknown('reset; created; callbacks=delayed');
  assert.equal((await rowOf(id)).submission, 'unknown');
  await fixture.sim.video.clock.advance(5_000);
  const task = await rowOf(id);
  assert.deepEqual([task.submission, task.upstream_id, task.status], ['confirmed', upstream()[0]?.id, 'queued']);
  assert.ok(await isHeld(id));
});

test('a report is only a hint: an id that the provider does not know changes nothing', async () => {
  const id = await createUnknown();
  assert.equal(await report({ id: 'cgt-20260101-wrong', status: 'queued' }), 200);
  for (const body of [{}, { id: 7 }, null, 'text', { id: '' }, { id: '../x' }]) assert.equal(await report(body), 200);
  assert.equal((await rowOf(id)).submission, 'unknown');
});

test("a report cannot bind another user's task, a task of another time, or one that is bound", async () => {
  await createUnknown(LOST, { key: KEYS.bob });
  const foreign = upstream()[0]?.id;
  const id = await createUnknown();
  assert.equal(await report({ id: foreign, status: 'queued' }), 200);
  assert.equal((await rowOf(id)).submission, 'unknown', 'of another user');
  const mine = upstream()[0]?.id;
  await age('20 minutes');
  assert.equal(await report({ id: mine, status: 'queued' }), 200);
  assert.equal((await rowOf(id)).submission, 'unknown', 'of another time');
  await sql`update video_tasks set created_at = now() where id = ${id}`.execute(db);
  const { body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
  const bound = (await rowOf(String(body.id))).upstream_id;
  assert.equal(await report({ id: bound, status: 'queued' }, pathOf(1)), 200);
  assert.equal((await rowOf(id)).submission, 'unknown', 'bound to another task');
  assert.equal(await report({ id: mine, status: 'queued' }, pathOf(1)), 200);
  assert.deepEqual([(await rowOf(id)).submission, (await rowOf(id)).upstream_id], ['confirmed', mine]);
});

/** The report path of the nth last create request. */
const pathOf = (n: number): string => fixture.sim.video.journal.creates.at(-1 - n)?.summary?.callbackPath ?? '';

test('an unknown secret gets 404', async () => {
  await createUnknown();
  const id = upstream()[0]?.id;
  assert.equal(await report({ id, status: 'queued' }, '/upstream/callbacks/unknown'), 404);
  assert.equal(await report({ id, status: 'queued' }, `${reportPath()}x`), 404);
});

test('a report that cannot be verified now gets 503, so that the provider repeats it', async () => {
  const id = await createUnknown();
  fixture.sim.video.next('on=get; fault=500');
  assert.equal(await report({ id: upstream()[0]?.id, status: 'queued' }), 503);
  assert.equal((await rowOf(id)).submission, 'unknown');
  assert.equal(await report({ id: upstream()[0]?.id, status: 'queued' }), 200);
  assert.equal((await rowOf(id)).submission, 'confirmed');
});

test('reports of a confirmed task only make its next check due', async () => {
  const { body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
  const before = await rowOf(String(body.id));
  assert.equal(await report({ id: 'cgt-other', status: 'succeeded' }), 200);
  const now = await rowOf(String(body.id));
  assert.deepEqual([now.status, now.upstream_id, now.version], ['queued', before.upstream_id, 1]);
  assert.ok(Number(now.next_check_at) <= Date.now());
});

// ---------------------------------------------------------------- the list

test('V 4.2 r3: an unknown task is confirmed when the list has exactly one candidate', async () => {
  const id = await createUnknown();
  await createUnknown(LOST, { key: KEYS.bob });
  await jobs.run('tasks.reconcile');
  const task = await rowOf(id);
  assert.deepEqual([task.submission, task.upstream_id], ['confirmed', upstream()[1]?.id]);
  assert.equal(logged('task.reconciled', id).length, 1);
});

test('a task of the provider that is bound, of another model or of another time is not a candidate', async () => {
  const { body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
  assert.equal((await rowOf(String(body.id))).submission, 'confirmed');
  const [other] = [await createUnknown(LOST, { variant: 'HC' }), await createUnknown('status=503')];
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(other)).submission, 'confirmed');
  const id = await createUnknown();
  await age('20 minutes');
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(id)).submission, 'unknown');
});

test('two candidates for one task, and one candidate for two tasks, are left alone', async () => {
  const [first, second] = [await createUnknown(), await createUnknown()];
  await jobs.run('tasks.reconcile');
  assert.deepEqual([(await rowOf(first)).submission, (await rowOf(second)).submission], ['unknown', 'unknown']);
  assert.equal(logged('task.reconciliation_ambiguous', first)[0]?.candidates, 2);
  fixture.sim.video.tasks.forget(upstream()[0]?.id ?? '');
  await jobs.run('tasks.reconcile');
  assert.deepEqual([(await rowOf(first)).submission, (await rowOf(second)).submission], ['unknown', 'unknown']);
});

test('equal submissions are told apart by the expiry that the provider returns', async () => {
  fixture.sim.video.settings.returnsExpiry = true;
  const ids = [await createUnknown(), await createUnknown('status=503'), await createUnknown()];
  await jobs.run('tasks.reconcile');
  const [last, first] = upstream();
  const found = await Promise.all(ids.map(rowOf));
  assert.deepEqual(
    found.map(({ upstream_id }) => upstream_id),
    [first?.id, null, last?.id],
  );
  assert.deepEqual(
    upstream().map(({ request }) => request.expiresAfter),
    [172_797, 172_799],
  );
  // A time that the caller sets is sent as it is.
  const own = await createUnknown(LOST, { variant: 'A', execution_expires_after: 172_800 });
  assert.equal(upstream()[0]?.request.expiresAfter, 172_800);
  assert.equal((await rowOf(own)).sent_expiry, null);
});

test('a candidate is left alone while an other submission of the user is under way', async () => {
  const [first, second] = [await createUnknown(), await createUnknown('status=503')];
  await sql`update video_tasks set submission = 'sending' where id = ${second}`.execute(db);
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(first)).submission, 'unknown');
  await sql`update video_tasks set submission = 'unknown' where id = ${second}`.execute(db);
});

test('a candidate that may belong to a task that was given up is left alone', async () => {
  const [first, second] = [await createUnknown(), await createUnknown('status=503')];
  await sql`update video_tasks set created_at = created_at - interval '86400 seconds' where id = ${first}`.execute(db);
  await sql`update video_tasks set created_at = created_at - interval '86300 seconds' where id = ${second}`.execute(db);
  const [candidate] = upstream();
  assert.ok(candidate);
  Object.assign(candidate, { createdAt: candidate.createdAt - 86_350_000 });
  fixture.sim.video.next('on=list; fault=500');
  await jobs.run('tasks.reconcile');
  assert.deepEqual([(await rowOf(first)).status, (await rowOf(second)).status], ['failed', 'queued']);
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(second)).submission, 'unknown');
});

test('a candidate without the end-user identifier is never bound by the list', async () => {
  const id = await createUnknown();
  const [candidate] = upstream();
  assert.ok(candidate?.request.safetyIdentifier);
  delete candidate.request.safetyIdentifier;
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(id)).submission, 'unknown');
});

test('a candidate that has failed is found by a list with failure_reason as well', async () => {
  fixture.sim.video.settings.listError = 'failure_reason';
  const id = await createUnknown(`${LOST}; fail=InternalServiceError`);
  await fixture.sim.video.clock.advance(13_000);
  assert.equal(upstream()[0]?.status, 'failed');
  await jobs.run('tasks.reconcile');
  fixture.sim.video.settings.listError = 'error';
  assert.equal((await rowOf(id)).submission, 'confirmed');
});

for (const [about, fault] of [
  ['a rate-limited list', 'error=RateLimitExceeded; status=429'],
  ['a failing list', 'fault=500'],
  ['a list that is reset', 'reset'],
  ['an unreadable list', 'html'],
  ['a truncated list', 'truncated'],
] as const)
  test(`${about} only postpones`, async () => {
    const id = await createUnknown();
    fixture.sim.video.next(`on=list; ${fault}`);
    await jobs.run('tasks.reconcile');
    const task = await rowOf(id);
    assert.deepEqual([task.submission, task.status, task.check_attempts], ['unknown', 'queued', 1]);
    assert.ok(Number(task.next_check_at) > Date.now());
    await jobs.run('tasks.reconcile');
    assert.equal((await rowOf(id)).submission, 'confirmed');
  });

// ---------------------------------------------------------------- several submissions of one user

/** The videos of all tasks at the provider are done, so that it reports their parameters. */
const finishAll = () => fixture.sim.video.clock.advance(13_000);
const upstreamOf = async (id: string) => (await rowOf(id)).upstream_id;
/** The provider's tasks, oldest first. */
const upstreamIds = (): string[] =>
  upstream()
    .map(({ id }) => id)
    .reverse();

for (const [about, variant, one, other] of [
  ['duration', 'EP', { duration: 4 }, { duration: 12 }],
  ['resolution', 'EP', { resolution: '480p' }, { resolution: '720p' }],
  ['ratio', 'EP', { ratio: '16:9' }, { ratio: '9:16' }],
  ['audio', 'EP', { generate_audio: true }, { generate_audio: false }],
  ['last frame', 'EP', { return_last_frame: true }, {}],
  ['seed', 'A', { seed: 7 }, { seed: 8 }],
  ['time to expiry', 'A', { execution_expires_after: 3_600 }, { execution_expires_after: 7_200 }],
  ['search', 'A', { tools: [{ type: 'web_search' }] }, {}],
] as const)
  test(`two unknown submissions of one user that differ in ${about} are told apart`, async () => {
    fixture.sim.video.settings.returnsExpiry = 'execution_expires_after' in one;
    const ids = [await createUnknown(LOST, { variant, ...one }), await createUnknown(LOST, { variant, ...other })];
    await finishAll();
    await jobs.run('tasks.reconcile');
    assert.deepEqual(await Promise.all(ids.map(upstreamOf)), upstreamIds());
  });

test('a submission that never arrived claims no task that contradicts it', async () => {
  const [lost, arrived] = [
    await createUnknown('status=503', { duration: 4 }),
    await createUnknown(LOST, { duration: 9 }),
  ];
  await finishAll();
  await jobs.run('tasks.reconcile');
  assert.deepEqual([await upstreamOf(lost), await upstreamOf(arrived)], [null, upstreamIds()[0]]);
  assert.equal((await rowOf(lost)).candidates, null);
});

test('what is certain of one submission makes another one certain', async () => {
  const open = await createUnknown(LOST, { ratio: 'adaptive', duration: 4 });
  const exact = await createUnknown(LOST, { ratio: '16:9', duration: 4 });
  Object.assign(upstream()[1]?.outcome ?? {}, { ratio: '1:1' });
  await finishAll();
  await jobs.run('tasks.reconcile');
  assert.deepEqual([await upstreamOf(open), await upstreamOf(exact)], upstreamIds());
});

test('options in the prompt replace parameters, so that these tell nothing apart', async () => {
  const content = [textItem(`A lighthouse --rs 720p [sim:${LOST}]`)];
  const [first, second] = [await createUnknown(LOST, { content }), await createUnknown(LOST, { resolution: '720p' })];
  await finishAll();
  await jobs.run('tasks.reconcile');
  assert.deepEqual([await upstreamOf(first), await upstreamOf(second)], [null, null]);
  assert.equal(logged('task.reconciliation_ambiguous', first)[0]?.candidates, 2);
});

test('a video that differs from every request is bound when only one submission can have made it', async () => {
  const id = await createUnknown(`${LOST}; duration=7`, { duration: 4 });
  await finishAll();
  await jobs.run('tasks.reconcile');
  assert.equal(await upstreamOf(id), upstreamIds()[0]);
});

test('the list is read back to the time of the submission, beyond its first page', async () => {
  const id = await createUnknown();
  const [mine] = upstream();
  assert.ok(mine);
  fixture.sim.video.settings.queueLimit = 1_000;
  const { account, request, plan } = mine;
  for (let n = 0; n < 520; n += 1)
    fixture.sim.video.tasks.create({ account, plan, faults: [], request: { ...request, safetyIdentifier: 'other' } });
  await jobs.run('tasks.reconcile');
  assert.equal(await upstreamOf(id), mine.id);
});

// ---------------------------------------------------------------- the operator

interface Open {
  readonly task: string;
  readonly held: string;
  readonly parameters: object;
  readonly candidates: readonly { upstream_task: string; status: string; parameters: object; differs: string[] }[];
}
const admin = adminApi(() => fixture.gateway.url);
const listOpen = async () => (await admin<{ data: Open[] }>('GET', '/submissions')).body.data;
const audited = (id: string) =>
  db.selectFrom('audit').select(['action', 'after']).where('subject', '=', `task:${id}`).execute();

test('the operator sees equal candidates side by side, and one assignment settles the other submission', async () => {
  const ids = [await createUnknown(LOST, { duration: 6 }), await createUnknown(LOST, { duration: 6 })];
  await finishAll();
  await jobs.run('tasks.reconcile');
  const open = await listOpen();
  assert.deepEqual(
    open.map(({ task }) => task),
    ids,
  );
  assert.deepEqual(open[0]?.candidates.map(({ upstream_task }) => upstream_task).sort(), upstreamIds().sort());
  assert.partialDeepStrictEqual(open[0], {
    held: formatted(open[0]?.held),
    parameters: { duration: 6, resolution: '480p' },
    candidates: [{ status: 'succeeded', parameters: { duration: 6, resolution: '480p' }, differs: [] }],
  });
  const [first = '', second = ''] = ids;
  const [mine, other] = upstreamIds();
  const assign = (task: string, upstream_task: unknown) =>
    admin<{ error?: { message: string } }>('POST', `/submissions/${task}/assign`, { upstream_task, reason: 'seen' });
  assert.equal((await assign('task_none', mine)).status, 404);
  assert.equal((await assign(first, 'cgt-unknown')).status, 409);
  await createUnknown(LOST, { key: KEYS.bob });
  assert.match((await assign(first, upstreamIds()[2])).body.error?.message ?? '', /another user/);
  assert.equal((await assign(first, mine)).status, 200);
  assert.match((await assign(second, mine)).body.error?.message ?? '', /another task has it/);
  assert.equal((await assign(first, mine)).status, 404);
  await jobs.run('tasks.reconcile');
  assert.deepEqual([await upstreamOf(first), await upstreamOf(second)], [mine, other]);
  assert.deepEqual(await listOpen(), []);
  assert.deepEqual(await audited(first), [
    { action: 'submission.assigned', after: { reason: 'seen', user: 'ana', upstream_task: mine } },
  ]);
});

const formatted = (amount: string | undefined): string => {
  assert.match(amount ?? '', /^\d+\.\d+$/);
  return amount ?? '';
};

test('commands list, assign and dismiss', async () => {
  const { DATA_DIR, DATABASE_URL, MASTER_KEY } = fixture.gateway.context.config;
  const run = (...args: string[]) => runHere(['task', ...args], { env: { DATA_DIR, DATABASE_URL, MASTER_KEY } });
  const [first, second] = [await createUnknown(), await createUnknown()];
  await jobs.run('tasks.reconcile');
  const [mine = ''] = upstreamIds();
  const { stdout } = await run('list');
  assert.match(stdout, new RegExp(`^${first}\\tana\\t.*"duration":5.*\\n(\\t.*\\n)*\\t${mine}\\tqueued\\t`));
  const failed = await run('assign', first, 'cgt-none');
  assert.deepEqual([failed.code, failed.stderr], [1, 'upstream_task: the account has no such task at the provider.\n']);
  assert.equal((await run('assign', first, mine)).code, 0);
  assert.equal((await run('dismiss', second, '--reason', 'not in the console')).code, 0);
  assert.deepEqual([await upstreamOf(first), (await rowOf(second)).status], [mine, 'failed']);
  assert.deepEqual(await audited(second), [
    { action: 'submission.dismissed', after: { reason: 'not in the console', user: 'ana' } },
  ]);
});

test('a dismissed submission fails, releases its hold, and claims nothing any more', async () => {
  const [lost, arrived] = [await createUnknown('status=503'), await createUnknown()];
  await jobs.run('tasks.reconcile');
  assert.equal((await listOpen()).length, 2);
  const dismissed = await admin('POST', `/submissions/${lost}/dismiss`, { reason: 'never arrived' });
  assert.deepEqual(dismissed.body, { object: 'submission', task: lost, user: 'ana', outcome: 'dismissed' });
  const { body } = await callVideo(fixture.gateway.url, `${TASKS}/${lost}`);
  assert.deepEqual([body.status, body.error?.code, await isHeld(lost)], ['failed', 'submission_failed', false]);
  await jobs.run('tasks.reconcile');
  assert.equal(await upstreamOf(arrived), upstreamIds()[0]);
  assert.equal((await admin('POST', `/submissions/${lost}/dismiss`, { reason: 'again' })).status, 404);
  assert.deepEqual(
    (await audited(lost)).map(({ action }) => action),
    ['submission.dismissed'],
  );
});

test('a submission with candidates waits for the operator beyond 24 hours, until it expires', async () => {
  const ids = [await createUnknown(), await createUnknown()];
  for (const task of upstream()) Object.assign(task, { createdAt: task.createdAt - 25 * 3_600_000 });
  await age('25 hours');
  await jobs.run('tasks.reconcile');
  assert.deepEqual(
    (await listOpen()).map(({ task }) => task),
    ids,
  );
  assert.ok(await isHeld(ids[0] ?? ''));
  const { next_check_at } = await rowOf(ids[0] ?? '');
  assert.ok(Number(next_check_at) > Date.now());
  await sql`update video_tasks set expires_at = now() - interval '2 hours' where finished_at is null`.execute(db);
  await jobs.run('tasks.expire');
  assert.deepEqual([(await rowOf(ids[0] ?? '')).status, await isHeld(ids[0] ?? '')], ['expired', false]);
  assert.deepEqual(await listOpen(), []);
});

test('the time between checks grows from seconds to an hour, and the last check is at 24 hours', async () => {
  const id = await createUnknown('status=503');
  for (const seconds of [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 3_600, 3_600, 3_600]) {
    const begun = Date.now();
    await jobs.run('tasks.reconcile');
    const checkedAt = Number((await rowOf(id)).next_check_at) - seconds * 1_000;
    assert.ok(checkedAt >= begun && checkedAt <= Date.now(), `${seconds} seconds after a check`);
  }
  await age('23 hours 50 minutes');
  await jobs.run('tasks.reconcile');
  const task = await rowOf(id);
  assert.equal(Math.round((Number(task.next_check_at) - Number(task.created_at)) / 1_000), 86_400);
});

test('V 4.2 r3: after 24 hours an unknown task has failed and its hold is released; what appears later is not bound', async () => {
  const id = await createUnknown('status=503');
  await age('23 hours 59 minutes');
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(id)).status, 'queued');
  assert.ok(await isHeld(id));
  await age('2 minutes');
  await jobs.run('tasks.reconcile');
  const { body } = await callVideo(fixture.gateway.url, `${TASKS}/${id}`);
  assert.deepEqual([body.status, body.error?.code], ['failed', 'submission_failed']);
  assert.equal(await isHeld(id), false);
  // The provider's task appears: its time fits.
  await createUnknown(LOST, { key: KEYS.bob });
  const [late] = upstream();
  assert.ok(late);
  const { created_at: created, safety_identifier: safetyIdentifier } = await rowOf(id);
  Object.assign(late, { createdAt: Number(created), request: { ...late.request, safetyIdentifier } });
  await jobs.run('tasks.reconcile');
  assert.equal(await report({ id: late.id, status: 'queued' }, pathOf(1)), 404);
  assert.deepEqual([(await rowOf(id)).status, (await rowOf(id)).upstream_id], ['failed', null]);
});

test('an unreachable provider postpones, and the task fails after 24 hours nevertheless', async () => {
  const id = await createUnknown('status=503', { variant: 'HC' });
  await db.updateTable('video_tasks').set({ account_id: 'account-gone' }).where('id', '=', id).execute();
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(id)).status, 'queued');
  await age('25 hours');
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(id)).status, 'failed');
});
