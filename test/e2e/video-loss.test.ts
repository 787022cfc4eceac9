// set: all; kills servers while the answers to create requests are lost
/**
 * Every answer to the create requests of one user on one model is lost, and the gateway is killed at random points meanwhile. Afterwards
 * each task that the provider reports is bound to the task that ordered it. Where the provider does not return the expiry that it was sent,
 * it may be one of several that nobody can tell apart. An operator decides those, and every video is charged. `LOST_ANSWERS=200` sets the
 * number, `LOSS_SEED` the seed; `npm run soak -- loss` runs it.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
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
const EQUAL_ORDERS = Number(process.env.LOST_ANSWERS ?? fewer(200, 20));
const CHAOS_ORDERS = Number(process.env.CHAOS_ORDERS ?? fewer(100, 30));
const SEED = Number(process.env.LOSS_SEED ?? 20_261_117);
/** Orders between two kills. */
const ORDERS_PER_LIFE = 20;
const WIDTH = 4;

let fixture: VideoFixture;
let jobs: VideoJobs;
let lane: CrashLane;
let directory: string;
let db: Db;

beforeEach(async () => {
  const scale = { concurrency: 1_000, queueLimit: 1_000 };
  const video = { clock: 'manual', callbacks: ['dropped'], returnsExpiry: false, ...scale } as const;
  fixture = await startVideo({ video, env: { ADMIN_TOKEN } });
  jobs = await openJobs(fixture.gateway);
  ({ db } = fixture.gateway.context.database);
  directory = mkdtempSync(join(tmpdir(), 'dragoman-video-loss-'));
  lane = new CrashLane({ directory, name: 'data', databaseUrl: fixture.gateway.database.url });
});
afterEach(async () => {
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

const equalOrder = (n: number): Order => {
  const name = `order-${n}`;
  const words = n % 10 === 0 ? 'status=503' : pick(['reset; created', 'fault=500; created', 'truncated']);
  return { name, body: { ...taskBody('EP'), content: [textItem(`${name} [sim:${words}]`)] } };
};

/** What the provider does with an order: mostly its work, otherwise anything but a limit of rates, which would stop all orders after it. */
const CHAOS = [
  ...['', '', '', 'slow=50', 'on=get; fault=500; times=2', 'backwards', 'on=get; html; times=1'],
  ...['reset; created', 'fault=500; created', 'truncated', 'eof_mid', 'status=503'],
  ...[
    'fail=InternalServiceError',
    'fail=OutputVideoSensitiveContentDetected',
    'error=InputTextSensitiveContentDetected',
  ],
];
const chaoticOrder = (n: number): Order => {
  const name = `order-${n}`;
  return { name, body: { ...taskBody('EP'), content: [textItem(`${name} [sim:${pick(CHAOS)}]`)] } };
};

const KILLS: readonly CrashPoint[] = [
  'task.committed',
  'task.sending',
  'task.sent',
  'task.marking_unknown',
  'task.marked_unknown',
];

/** Starts the gateway and sends orders until it is killed, or until there are none. */
async function loseAnswers(orders: Order[], perLife = ORDERS_PER_LIFE, sendOne = sendLost): Promise<void> {
  await lane.start([], { VIDEO_CREATES_PER_MINUTE: '6000' });
  // Only some of other orders have no answer.
  const step = pick(sendOne === sendLost ? KILLS : KILLS.slice(0, 3));
  const isKilled = orders.length > perLife;
  if (isKilled) await lane.arm(step, perLife - below(WIDTH));
  const sendOrders = async (): Promise<void> => {
    for (let order = orders.shift(); order; order = orders.shift()) await sendOne(order);
  };
  await Promise.allSettled(Array.from({ length: WIDTH }, sendOrders));
  await (isKilled ? lane.died(step) : lane.stop());
}

const send = ({ name, body }: Order) => callVideo(lane.url, TASKS, { body, headers: { 'idempotency-key': name } });
async function sendLost(order: Order): Promise<void> {
  assert.equal((await send(order)).status, 202);
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
  await checkAll(LOST_ANSWERS);
  await fixture.sim.video.clock.advance(13_000);
  await checkAll(LOST_ANSWERS);

  const orderOf = await ordersOfTasks(orders);
  const tasks = await db.selectFrom('video_tasks').selectAll().execute();
  const videos = fixture.sim.video.tasks.all;
  const owners = ownersOf(orders);
  const claimants = tasks.map(({ id }) => orderOf.get(id) as Order);
  const bound = new Map(tasks.flatMap((task) => (task.upstream_id === null ? [] : [[task.upstream_id, task]])));
  for (const video of videos) {
    const task = bound.get(video.id);
    if (task) assert.equal(orderOf.get(task.id)?.name, owners.get(video)?.name, `${video.id} is bound to a wrong task`);
    else assert.ok(isInterchangeable(video, owners, claimants), `${owners.get(video)?.name} is certain and not bound`);
  }

  const open = await decideRest(orderOf, owners);
  await jobs.run('tasks.reconcile');
  await expectCharged();
  t.diagnostic(
    `${LOST_ANSWERS} orders, ${tasks.length} tasks, ${videos.length} videos: ${bound.size} found, ${open} decided by the operator`,
  );
});

test(`V 4.2 r3: of ${EQUAL_ORDERS} equal orders with lost answers and three kills each has its own video (seed ${SEED})`, async (t) => {
  fixture.sim.video.settings.returnsExpiry = true;
  const orders = Array.from({ length: EQUAL_ORDERS }, (_, n) => equalOrder(n));
  const left = [...orders];
  let lives = 0;
  for (; left.length > 0; lives += 1) await loseAnswers(left, Math.ceil(EQUAL_ORDERS / 4));
  assert.ok(lives > 3, `${lives - 1} kills`);
  await checkAll(EQUAL_ORDERS);

  const orderOf = await ordersOfTasks(orders);
  const tasks = await db.selectFrom('video_tasks').selectAll().execute();
  const bound = new Map(tasks.flatMap((task) => (task.upstream_id === null ? [] : [[task.upstream_id, task]])));
  for (const [video, order] of ownersOf(orders))
    assert.equal(orderOf.get(bound.get(video.id)?.id ?? '')?.name, order.name, `${video.id} of ${order.name}`);
  const open = tasks.filter(({ upstream_id }) => upstream_id === null);
  assert.deepEqual(
    open.flatMap(({ candidates }) => candidates ?? []),
    [],
    'nothing is left to guess',
  );
  // What never arrived fails after a day.
  await sql`update video_tasks set created_at = created_at - interval '25 hours' where upstream_id is null`.execute(db);
  await checkAll(EQUAL_ORDERS);
  await fixture.sim.video.clock.advance(13_000);
  await expectCharged();
  t.diagnostic(`${tasks.length} tasks, ${bound.size} videos, ${lives - 1} kills, ${open.length} never arrived`);
});

test(`${CHAOS_ORDERS} orders at a provider that misbehaves, with four kills: each video is its order's and charged to the nano (seed ${SEED})`, async (t) => {
  fixture.sim.video.settings.returnsExpiry = true;
  const orders = Array.from({ length: CHAOS_ORDERS }, (_, n) => chaoticOrder(n));
  const left = [...orders];
  const statuses = new Map<number, number>();
  let passedMs = Date.now();
  const sendAny = async (order: Order): Promise<void> => {
    // The time of the provider is that of the gateway, by which a submission and its task are compared.
    const now = Date.now();
    const stepMs = now - passedMs;
    passedMs = now;
    await fixture.sim.video.clock.advance(stepMs);
    const { status } = await send(order);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  let lives = 0;
  for (; left.length > 0; lives += 1) await loseAnswers(left, Math.ceil(CHAOS_ORDERS / 5), sendAny);
  await checkAll(CHAOS_ORDERS);
  await sql`update video_tasks set created_at = created_at - interval '25 hours' where upstream_id is null`.execute(db);
  await checkAll(CHAOS_ORDERS);
  await fixture.sim.video.clock.advance(13_000);
  await untilEnded();

  const orderOf = await ordersOfTasks(orders);
  const rows = await db
    .selectFrom('video_tasks')
    .innerJoin('holds', (join) => join.on(sql<boolean>`holds.reference = 'task:' || video_tasks.id`))
    .select(['video_tasks.id', 'upstream_id', 'status', 'holds.settled_nanos', 'holds.state'])
    .execute();
  const bound = new Map(rows.map((row) => [row.upstream_id, row]));
  let charged = 0;
  for (const [video, order] of ownersOf(orders)) {
    const task = bound.get(video.id);
    assert.equal(orderOf.get(task?.id ?? '')?.name, order.name, `${video.id} of ${order.name}`);
    const isMade = video.plan.failure === undefined;
    // 7 dollars for a million tokens.
    const nanos = isMade ? BigInt(video.outcome.tokens) * 7_000n : null;
    assert.deepEqual([task?.status, task?.settled_nanos], [isMade ? 'succeeded' : 'failed', nanos], order.name);
    charged += isMade ? 1 : 0;
  }
  assert.equal(rows.filter(({ state }) => state === 'settled').length, charged, 'and nothing else is');
  await expectRest(db, fixture.sim.video);
  t.diagnostic(
    `${rows.length} tasks, ${bound.size} ids, ${charged} charged, ${lives - 1} kills, answers ${JSON.stringify([...statuses])}`,
  );
});

/** As a worker does within the first minutes. */
async function checkAll(orders: number): Promise<void> {
  await endLeases(db);
  await jobs.run('tasks.recover');
  for (let n = 0; n < orders; n += ORDERS_PER_LIFE) await jobs.run('tasks.reconcile');
}

/** The order of each video of the provider. */
function ownersOf(orders: readonly Order[]): ReadonlyMap<UpstreamTask, Order> {
  const byName = new Map(orders.map((order) => [order.name, order]));
  return new Map(
    fixture.sim.video.tasks.all.map((video) => [
      video,
      byName.get(video.request.prompt.split(' ')[0] ?? '') ?? assert.fail(video.id),
    ]),
  );
}

/** Every video is charged by its usage, every other task has ended, and the books are right. */
async function expectCharged(): Promise<void> {
  await untilEnded();
  const ends = await db.selectFrom('video_tasks').select(['upstream_id', 'status', 'usage_tokens']).execute();
  const charged = new Map(ends.map(({ upstream_id, usage_tokens }) => [upstream_id, Number(usage_tokens)]));
  for (const { id, outcome } of fixture.sim.video.tasks.all)
    assert.equal(charged.get(id), outcome.tokens, `${id} is not charged`);
  assert.deepEqual(await unrest(db), []);
  await expectRest(db, fixture.sim.video);
}

async function untilEnded(): Promise<void> {
  const isFollowed = async (): Promise<boolean> => {
    await jobs.run('tasks.follow');
    const { rows } = await sql`select from video_tasks where finished_at is null and submission = 'confirmed'`.execute(
      db,
    );
    return rows.length === 0;
  };
  await until('the end of all tasks', isFollowed);
}

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
