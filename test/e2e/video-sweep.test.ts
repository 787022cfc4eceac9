// set: sweeps; two thousand live tasks; video-follow.test.ts follows some
/** Many live tasks at one account: pages of the provider's list show them where single reads cannot follow. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from 'kysely';
import type { TaskStatus } from '../../sim/video/task.ts';
import { ACCOUNT_RATES } from '../../src/rules/index.ts';
import { fewer } from '../support/long-test.ts';
import { callVideo, startVideo, TASKS, taskBody, type VideoFixture } from '../support/video.ts';
import { type TestWorkers, testWorkers } from '../support/video-following.ts';
import { expectRest } from '../support/video-jobs.ts';
import { storeTask } from '../support/video-tasks.ts';

const LIVE = fewer(2_000, 600);
const PAGE = 500;

let fixture: VideoFixture;
let workers: TestWorkers;
before(async () => {
  const video = { clock: 'manual', callbacks: ['dropped'], queueLimit: 10_000, concurrency: 10_000 } as const;
  fixture = await startVideo({ video, env: { VIDEO_CREATES_PER_MINUTE: '1000' } });
  workers = testWorkers(fixture.gateway);
});
after(async () => {
  workers.close();
  await fixture.close();
});
const db = () => fixture.gateway.context.database.db;

/** So many tasks that are due here and have the status at the provider, which has made one of them. */
async function liveTasks(count: number, status: TaskStatus): Promise<string[]> {
  const { body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
  const { tasks } = fixture.sim.video;
  const [made] = tasks.all;
  assert.ok(made);
  const { account, request, plan } = made;
  const store = () => {
    const { id: upstreamId } = tasks.create({ account, plan, faults: [], request });
    return storeTask(fixture.gateway, 'ana', { variant: 'EP', upstreamId });
  };
  const ids = [String(body.id), ...(await Promise.all(Array.from({ length: count - 1 }, store)))];
  for (const task of tasks.all) task.status = status;
  await sql`update video_tasks set next_check_at = now() - interval '1 second' where id = any(${ids})`.execute(db());
  return ids;
}

afterEach(async () => {
  for (const { id } of fixture.sim.video.tasks.all) fixture.sim.video.tasks.forget(id);
  await sql`delete from video_tasks`.execute(db());
});

const statuses = async (): Promise<Record<string, number>> => {
  const { rows } = await sql<{ status: string; count: bigint }>`
    select status, count(*) from video_tasks group by status`.execute(db());
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
};

/** What one run of the job asks the provider. */
async function runOnce(): Promise<Record<string, number>> {
  const { requests } = fixture.sim.video.journal;
  const begun = requests.length;
  const follower = workers.worker();
  await follower.run();
  await follower.whenIdle();
  await follower.stop();
  const asked = Object.groupBy(requests.slice(begun), ({ operation }) => operation ?? '');
  return Object.fromEntries(Object.entries(asked).map(([name, all]) => [name, all?.length ?? 0]));
}

test('V 8: successes that a list shows are charged once, like those of single reads', async () => {
  for (let n = 0; n < 130; n += 1) {
    const { status, body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
    assert.equal(status, 200, JSON.stringify(body));
  }
  await fixture.sim.video.clock.advance(60_000);
  await sql`update video_tasks set next_check_at = now() - interval '1 second'`.execute(db());
  const asked = await runOnce();
  assert.deepEqual([await statuses(), asked.list], [{ succeeded: 130 }, 1]);
  const { rows } =
    await sql`select from holds h join video_tasks t on h.reference = 'task:' || t.id where h.state = 'settled'`.execute(
      db(),
    );
  assert.equal(rows.length, 130);
  await expectRest(db(), fixture.sim.video);
});

test(`one run sees all of ${LIVE} live tasks of an account, by pages of its list`, async () => {
  await liveTasks(LIVE, 'running');
  const asked = await runOnce();
  assert.deepEqual(await statuses(), { running: LIVE });
  // A page takes 1.1 seconds, so that 2,000 tasks are seen within 10.
  assert.deepEqual(asked, { get: ACCOUNT_RATES.getsPerSecond, list: Math.ceil(LIVE / PAGE) });
});

test('a few tasks are read one by one', async () => {
  await liveTasks(ACCOUNT_RATES.getsPerSecond + 30, 'running');
  assert.deepEqual(await runOnce(), { get: ACCOUNT_RATES.getsPerSecond });
});

test('without a list, tasks stay due for single reads', async () => {
  const ids = await liveTasks(150, 'running');
  fixture.sim.video.next('on=list; fault=500');
  await runOnce();
  // Of those that were read, some may be due again on a slow machine.
  const due = async () => {
    const { rows } = await sql`select from video_tasks where next_check_at <= now() and status = 'queued'`.execute(
      db(),
    );
    return rows.length;
  };
  const left = ids.length - ACCOUNT_RATES.getsPerSecond;
  assert.deepEqual([await statuses(), await due()], [{ queued: left, running: ids.length - left }, left]);
});

test('polls_per_second of an account replaces the number of the installation', async () => {
  const account = { id: 'account-ep', group: 'ep', base_url: fixture.sim.video.url, api_key: 'sk-simulated-ep' };
  await fixture.gateway.apply({ accounts: [{ ...account, polls_per_second: 70 }] });
  await liveTasks(60, 'running');
  assert.deepEqual(await runOnce(), { get: 60 });
});
