/** Races of creates with the same Idempotency-Key, and of deletes, on two replicas. `LAWS_RUNS` multiplies the rounds. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Db } from '../../src/platform/db/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { fewer } from '../support/long-test.ts';
import { runs } from '../support/properties.ts';
import {
  type ApiResponse,
  callVideo,
  startVideo,
  TASKS,
  taskBody,
  textItem,
  type VideoFixture,
} from '../support/video.ts';
import { expectRest, makeDue, openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const ROUNDS = fewer(runs(8), 2);
const TWINS = 50;

let fixture: VideoFixture;
let other: TestGateway;
let jobs: VideoJobs;
let db: Db;

before(async () => {
  fixture = await startVideo({ video: { queuedMs: 3_600_000, queueLimit: 10_000 } });
  ({ db } = fixture.gateway.context.database);
  await fixture.gateway.apply({ users: users(), keys: users().flatMap(({ id }) => keysOf(id)) });
  other = await startGateway({ database: fixture.gateway.database });
  jobs = await openJobs(other);
});
after(async () => {
  await expectRest(db, fixture.sim.video);
  await jobs.close();
  await other.stop();
  await fixture.close();
});

/** A user per round, because limits are per user and minute. */
const users = () => Array.from({ length: 2 * ROUNDS + 30 }, (_, n) => ({ id: `racer-${n}`, balance: '1000' }));
const keyOf = (user: string, n: number): string => `key-of-${user}-number-${n}`.padEnd(32, '0');
const keysOf = (user: string) => [1, 2].map((n) => ({ user, group: 'openai', name: `key ${n}`, key: keyOf(user, n) }));

let usersTaken = 0;
const nextUser = (): string => {
  usersTaken += 1;
  return `racer-${usersTaken - 1}`;
};

const urls = (): string[] => [fixture.gateway.url, other.url];
const order = (user: string, words = '') => textItem(`An order of ${user}. ${words && `[sim:${words}]`}`);
const tasksOf = (user: string) => db.selectFrom('video_tasks').selectAll().where('user_id', '=', user).execute();
const createsOf = (user: string) =>
  fixture.sim.video.journal.creates.filter(({ summary }) => summary?.prompt.startsWith(`An order of ${user}.`)).length;

/** Sends the same create many times at once. The callback decides which key and replica each uses. */
async function raceCreates(choose: (n: number) => { readonly key: number; readonly replica: number }): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const user = nextUser();
    const body = taskBody('EP', { content: [order(user, `slow=${(round % 4) * 10}`)] });
    const send = (n: number): Promise<ApiResponse> => {
      const { key, replica } = choose(n);
      const headers = { 'idempotency-key': `order of ${user}` };
      return callVideo(urls()[replica] ?? '', TASKS, { body, headers, key: keyOf(user, key) });
    };
    const responses = await Promise.all(Array.from({ length: TWINS }, (_, n) => send(n)));
    const ids = new Set(responses.filter(({ status }) => status === 200).map(({ body: { id } }) => id));
    const rest = responses.filter(({ status }) => status !== 200);
    assert.equal(ids.size, 1, JSON.stringify(rest[0]?.body));
    for (const { status, headers, body: error } of rest) {
      assert.deepEqual([status, error.error?.code], [409, 'idempotency_in_progress']);
      assert.equal(headers.get('x-should-retry'), 'true');
    }
    const [task, ...more] = await tasksOf(user);
    assert.deepEqual([task?.id, more], [[...ids][0], []]);
    assert.equal(createsOf(user), 1, 'one upstream create');
    assert.deepEqual((await send(0)).body.id, task?.id);
  }
}

test(`V 8: ${TWINS} identical creates at once make one task and one upstream create (${ROUNDS} rounds)`, () =>
  raceCreates(() => ({ key: 1, replica: 0 })));

test(`V 8: ${TWINS} identical creates at once with two keys on two replicas make one task (${ROUNDS} rounds)`, () =>
  raceCreates((n) => ({ key: 1 + (n % 2), replica: (n >> 1) % 2 })));

test('V 8: different requests with one key at once make one task; the others conflict', async () => {
  const user = nextUser();
  const responses = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      callVideo(urls()[n % 2] ?? '', TASKS, {
        body: taskBody('EP', { content: [order(user)], duration: 4 + n }),
        headers: { 'idempotency-key': 'one' },
        key: keyOf(user, 1),
      }),
    ),
  );
  assert.equal(responses.filter(({ status }) => status === 200).length, 1);
  for (const { status, body } of responses)
    if (status !== 200) assert.deepEqual([status, body.error?.code], [409, 'idempotency_conflict']);
  assert.equal((await tasksOf(user)).length, 1);
});

test('the balance is never held twice: of twenty creates at once as many succeed as it covers', async () => {
  const user = 'poor-racer';
  const key = keyOf(user, 1);
  const tokens = Math.ceil((864 * 496 * (24 * 5 + 1)) / 1024);
  const balance = (BigInt(tokens) * 7_000n * 3n).toString().padStart(10, '0');
  const dollars = `${balance.slice(0, -9)}.${balance.slice(-9)}`;
  await fixture.gateway.apply({ users: [{ id: user, balance: dollars }], keys: [keysOf(user)[0]] });
  const body = taskBody('EP', { content: [order(user)] });
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, n) => callVideo(urls()[n % 2] ?? '', TASKS, { body, key })),
  );
  const statuses = responses.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array(3).fill(200), ...Array(17).fill(402)]);
  assert.equal(createsOf(user), 3);
});

// ---------------------------------------------------------------- deletes

const remove = (user: string, id: string, replica = 0) =>
  callVideo(urls()[replica] ?? '', `${TASKS}/${id}`, { method: 'DELETE', key: keyOf(user, 1) });
const createA = (user: string, words = '') =>
  callVideo(fixture.gateway.url, TASKS, {
    body: taskBody('A', { content: [order(user, words)] }),
    key: keyOf(user, 1),
  });
const upstreamStatus = (user: string): string | undefined =>
  fixture.sim.video.tasks.all.find((task) => task.request.prompt.startsWith(`An order of ${user}.`))?.status;
const deletesOf = (upstreamId: string | null | undefined) =>
  fixture.sim.video.journal.requests.filter(
    ({ operation, path }) => operation === 'delete' && path.endsWith(`/${upstreamId}`),
  );

/** Follows the task of the user, in the background of the job, until it has the status. */
const followUntil = (user: string, status: string) =>
  until(`${user} is ${status}`, async () => {
    await jobs.run('tasks.follow');
    const [task] = await tasksOf(user);
    return task?.status === status ? task : undefined;
  });

test('V 3: a DELETE while the task is being created gives 204, and the task is cancelled once it is known', async () => {
  for (const slow of [30, 100, 300]) {
    const user = nextUser();
    const creating = createA(user, `slow=${slow}`);
    const task = await until('the task', async () => (await tasksOf(user))[0]);
    assert.equal((await remove(user, task.id, 1)).status, 204);
    const created = await creating;
    assert.deepEqual([created.status, created.body.id], [200, task.id]);
    const cancelled = await followUntil(user, 'cancelled');
    assert.equal(upstreamStatus(user), 'cancelled');
    assert.equal(deletesOf(cancelled.upstream_id).length, 1);
  }
});

test('V 3: two DELETEs of a queued task at once give 204 and cancel it once', async () => {
  for (let round = 0; round < 10; round += 1) {
    const user = nextUser();
    const id = String((await createA(user)).body.id);
    const responses = await Promise.all([0, 1].map((replica) => remove(user, id, replica)));
    assert.deepEqual(
      responses.map(({ status }) => status),
      [204, 204],
    );
    const [task] = await tasksOf(user);
    assert.deepEqual([task?.status, task?.version, upstreamStatus(user)], ['cancelled', 2, 'cancelled']);
    const done = deletesOf(task?.upstream_id).filter(({ status }) => status === 200);
    assert.equal(done.length, 1, 'the provider cancelled once');
  }
});

test('V 3: a DELETE of a task whose submission is unknown gives 204; the cancellation is sent once the task is known', async () => {
  const user = nextUser();
  const { status, body } = await createA(user, 'reset; created; callbacks=dropped');
  assert.equal(status, 202);
  assert.equal((await remove(user, String(body.id))).status, 204);
  const [before] = await tasksOf(user);
  assert.deepEqual([before?.status, before?.submission, upstreamStatus(user)], ['queued', 'unknown', 'queued']);
  assert.ok(before?.cancel_requested_at);
  await jobs.run('tasks.follow');
  assert.equal(upstreamStatus(user), 'queued', 'nothing can be sent without the id');
  await jobs.run('tasks.reconcile');
  await followUntil(user, 'cancelled');
  assert.equal(upstreamStatus(user), 'cancelled');
});

test('V 3: a DELETE of a task that the provider never got ends with submission_failed', async () => {
  const user = nextUser();
  const { body } = await createA(user, 'status=503');
  assert.equal((await remove(user, String(body.id))).status, 204);
  await db
    .updateTable('video_tasks')
    .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
    .where('user_id', '=', user)
    .execute();
  await jobs.run('tasks.reconcile');
  const [task] = await tasksOf(user);
  assert.deepEqual([task?.status, task?.cancel_requested_at], ['failed', null]);
});

test('V 3: a cancellation that the provider does not answer is sent again by the worker', async () => {
  const user = nextUser();
  const id = String((await createA(user)).body.id);
  fixture.sim.video.next('on=delete; fault=500');
  assert.equal((await remove(user, id)).status, 204);
  assert.equal(upstreamStatus(user), 'queued');
  await makeDue(db);
  await followUntil(user, 'cancelled');
});
