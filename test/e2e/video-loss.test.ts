/**
 * Every answer to the create requests of one user on one model is lost, and the gateway is killed at random points meanwhile. Afterwards
 * each task that the provider reports is bound to the task that ordered it, or is one of several that nobody can tell apart. An operator
 * decides those, and every video is charged. `LOST_ANSWERS=200` sets the number, `LOSS_SEED` the seed; `npm run soak -- loss` runs it.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { Task as UpstreamTask } from '../../sim/video/task.ts';
import type { CrashPoint } from '../../src/ledger/crash-points.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { CrashLane } from '../support/crash-lane.ts';
import { random } from '../support/ledger-process.ts';
import { fewer } from '../support/long-test.ts';
import { callVideo, startVideo, TASKS, taskBody, textItem, type VideoFixture } from '../support/video.ts';
import { endLeases, expectRest, openJobs, unrest, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const LOST_ANSWERS = Number(process.env.LOST_ANSWERS ?? fewer(50, 20));
const SEED = Number(process.env.LOSS_SEED ?? 20_261_117);
/** Orders between two kills. */
const ORDERS_PER_LIFE = 20;
const WIDTH = 4;

let fixture: VideoFixture;
let jobs: VideoJobs;
let lane: CrashLane;
let directory: string;
let db: Db;

before(async () => {
  const video = { clock: 'manual', concurrency: 1_000, queueLimit: 1_000, callbacks: ['dropped'] } as const;
  fixture = await startVideo({ video, env: { ADMIN_TOKEN } });
  jobs = await openJobs(fixture.gateway);
  ({ db } = fixture.gateway.context.database);
  directory = mkdtempSync(join(tmpdir(), 'dragoman-video-loss-'));
  lane = new CrashLane({ directory, name: 'data', databaseUrl: fixture.gateway.database.url });
});
after(async () => {
  await lane.stop();
  await jobs.close();
  await fixture.close();
  rmSync(directory, { recursive: true, force: true });
});

// ---------------------------------------------------------------- orders

const below = random(SEED);
const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T;

interface Order {
  readonly name: string;
  readonly body: Record<string, unknown>;
}

/** Few enough values that some orders are equal. The provider loses the answer to each, and does not always make a task. */
function newOrder(n: number): Order {
  const words = below(10) === 0 ? 'status=503' : pick(['reset; created', 'fault=500; created', 'truncated']);
  const name = `order-${n}`;
  const optional = {
    duration: 4 + below(12),
    resolution: pick(['480p', '720p']),
    ratio: pick(['16:9', '9:16', '1:1', 'adaptive']),
    generate_audio: pick([true, false]),
    return_last_frame: pick([true, false]),
  };
  const given = Object.entries(optional).filter(() => below(5) > 0);
  const content = [textItem(`${name} [sim:${words}]`)];
  return { name, body: { ...taskBody('EP'), ...Object.fromEntries(given), content } };
}

const KILLS: readonly CrashPoint[] = [
  'task.committed',
  'task.sending',
  'task.sent',
  'task.marking_unknown',
  'task.marked_unknown',
];

/** Starts the gateway and sends orders until it is killed, or until there are none. */
async function loseAnswers(orders: Order[]): Promise<void> {
  await lane.start();
  const step = pick(KILLS);
  const isKilled = orders.length > ORDERS_PER_LIFE;
  if (isKilled) await lane.arm(step, ORDERS_PER_LIFE - below(WIDTH));
  const sendOrders = async (): Promise<void> => {
    for (let order = orders.shift(); order; order = orders.shift()) await send(order);
  };
  await Promise.allSettled(Array.from({ length: WIDTH }, sendOrders));
  await (isKilled ? lane.died(step) : lane.stop());
}

async function send({ name, body }: Order): Promise<void> {
  for (;;) {
    const { status, headers } = await callVideo(lane.url, TASKS, { body, headers: { 'idempotency-key': name } });
    if (status !== 429) return assert.equal(status, 202);
    await new Promise((resolve) => setTimeout(resolve, Number(headers.get('retry-after')) * 1_000));
  }
}

// ---------------------------------------------------------------- the truth, from what the test itself sent

/** The order of each of our tasks, by its id. */
async function ordersOfTasks(orders: readonly Order[]): Promise<ReadonlyMap<string, Order>> {
  const byHash = new Map(orders.map((order) => [createHash('sha256').update(order.name).digest('hex'), order]));
  const rows = await db.selectFrom('idempotency_records').select(['key_hash', 'resource_id']).execute();
  return new Map(
    rows.map(({ key_hash, resource_id }) => [String(resource_id), byHash.get(key_hash.toString('hex')) as Order]),
  );
}

/** Compares an order with what the provider shows of a video that is done. */
function contradicts({ body }: Order, { request, outcome }: UpstreamTask): boolean {
  return (
    (body.duration !== undefined && body.duration !== outcome.duration) ||
    (body.resolution !== undefined && body.resolution !== outcome.resolution) ||
    (body.ratio !== 'adaptive' && body.ratio !== outcome.ratio) ||
    (body.generate_audio !== undefined && body.generate_audio !== request.generateAudio) ||
    (body.return_last_frame !== true && request.returnLastFrame)
  );
}

/** Whether the video could be another order's, with every other video moved to an order that it fits. `owners` is the truth. */
function isInterchangeable(
  video: UpstreamTask,
  owners: ReadonlyMap<UpstreamTask, Order>,
  orders: readonly Order[],
): boolean {
  const videoOf = new Map([...owners].map(([one, order]) => [order, one]));
  const seen = new Set<UpstreamTask>();
  const canMove = (one: UpstreamTask): boolean => {
    seen.add(one);
    return orders.some((order) => {
      if (order === owners.get(one) || contradicts(order, one)) return false;
      const other = videoOf.get(order);
      return other === undefined || other === video || (!seen.has(other) && canMove(other));
    });
  };
  return canMove(video);
}

// ---------------------------------------------------------------- the test

test(`V 4.2 r3: of ${LOST_ANSWERS} lost answers every certain one is found, and no video is lost (seed ${SEED})`, async (t) => {
  const orders = Array.from({ length: LOST_ANSWERS }, (_, n) => newOrder(n));
  const left = [...orders];
  while (left.length > 0) await loseAnswers(left);
  await endLeases(db);
  await jobs.run('tasks.recover');
  const checkAll = async () => {
    for (let n = 0; n < LOST_ANSWERS; n += ORDERS_PER_LIFE) await jobs.run('tasks.reconcile');
  };
  await checkAll();
  await fixture.sim.video.clock.advance(13_000);
  await checkAll();

  const orderOf = await ordersOfTasks(orders);
  const tasks = await db.selectFrom('video_tasks').selectAll().execute();
  const videos = fixture.sim.video.tasks.all;
  const byName = new Map(orders.map((order) => [order.name, order]));
  const owners = new Map(videos.map((video) => [video, byName.get(video.request.prompt.split(' ')[0] ?? '') as Order]));
  const claimants = tasks.map(({ id }) => orderOf.get(id) as Order);
  const bound = new Map(tasks.flatMap((task) => (task.upstream_id === null ? [] : [[task.upstream_id, task]])));
  for (const video of videos) {
    const task = bound.get(video.id);
    if (task) assert.equal(orderOf.get(task.id)?.name, owners.get(video)?.name, `${video.id} is bound to a wrong task`);
    else assert.ok(isInterchangeable(video, owners, claimants), `${owners.get(video)?.name} is certain and not bound`);
  }

  const open = await decideRest(orderOf, owners);
  await jobs.run('tasks.reconcile');
  const isFollowed = async (): Promise<boolean> => {
    await jobs.run('tasks.follow');
    const { rows } = await sql`select from video_tasks where finished_at is null and submission = 'confirmed'`.execute(
      db,
    );
    return rows.length === 0;
  };
  await until('the end of all tasks', isFollowed);
  const ends = await db.selectFrom('video_tasks').select(['upstream_id', 'status', 'usage_tokens']).execute();
  const charged = new Map(ends.map(({ upstream_id, usage_tokens }) => [upstream_id, Number(usage_tokens)]));
  for (const { id, outcome } of videos) assert.equal(charged.get(id), outcome.tokens, `${id} is not charged`);
  assert.deepEqual(await unrest(db), []);
  await expectRest(db, fixture.sim.video);
  t.diagnostic(
    `${LOST_ANSWERS} orders, ${tasks.length} tasks, ${videos.length} videos: ${bound.size} found, ${open} decided by the operator`,
  );
});

/** The operator knows from the provider's console which video is whose. Returns how many decisions that took. */
async function decideRest(
  orderOf: ReadonlyMap<string, Order>,
  owners: ReadonlyMap<UpstreamTask, Order>,
): Promise<number> {
  const admin = adminApi(() => fixture.gateway.url);
  const videoOf = new Map([...owners].map(([video, order]) => [order.name, video.id]));
  for (let decided = 0; ; decided += 1) {
    const { body } = await admin<{ data: { task: string; candidates: { upstream_task: string }[] }[] }>(
      'GET',
      '/submissions?limit=1',
    );
    const [open] = body.data;
    if (!open) return decided;
    const video = videoOf.get(orderOf.get(open.task)?.name ?? '');
    if (video !== undefined) assert.ok(open.candidates.some(({ upstream_task }) => upstream_task === video));
    const reason = 'seen in the console of the provider';
    const decision = video === undefined ? { reason } : { upstream_task: video, reason };
    const { status } = await admin(
      'POST',
      `/submissions/${open.task}/${video === undefined ? 'dismiss' : 'assign'}`,
      decision,
    );
    assert.equal(status, 200);
    await sql`update video_tasks set next_check_at = now() where submission = 'unknown' and finished_at is null`.execute(
      db,
    );
    await jobs.run('tasks.reconcile');
    await jobs.run('tasks.reconcile');
  }
}
