// set: all; every crash point of creating a task
/**
 * A gateway process is killed at every crash point of creating, submitting, recovering and cancelling a video task. Another replica
 * receives reports of the provider meanwhile, and then runs the background jobs. Afterwards each order has at most one task, here and at the provider; retries return it; and no
 * hold and no idempotency record is left open. With `CRASH_SEEDS=1,2,3` it runs for each seed.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { CrashPoint } from '../../src/ledger/crash-points.ts';
import { CrashLane, inLanes, killsMs } from '../support/crash-lane.ts';
import { random } from '../support/ledger-process.ts';
import {
  type ApiResponse,
  callVideo,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  taskBody,
  textItem,
  type VideoFixture,
} from '../support/video.ts';
import { endLeases, expectRest, openJobs, unrest, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const SEEDS = process.env.CRASH_SEEDS?.split(',').map(Number) ?? [20_261_116];
const LANES = 2;
/** The jobs of a worker that concern submissions and cancellations. */
const JOBS = ['tasks.recover', 'tasks.reconcile', 'tasks.follow'];

let fixture: VideoFixture;
let jobs: VideoJobs;
let directory: string;
let lanes: CrashLane[];

before(async () => {
  fixture = await startVideo({ video: { queuedMs: 3_600_000 } });
  jobs = await openJobs(fixture.gateway);
  const users = SEEDS.flatMap((seed) => POINTS.map(({ step }) => ({ id: userOf(seed, step), balance: '1000' })));
  const keys = users.map(({ id }) => ({ user: id, group: 'openai', name: 'k', key: keyOf(id) }));
  await fixture.gateway.apply({ users, keys });
  directory = mkdtempSync(join(tmpdir(), 'dragoman-video-kill-'));
  const { url: databaseUrl } = fixture.gateway.database;
  lanes = Array.from({ length: LANES }, (_, n) => new CrashLane({ directory, name: `data${n}`, databaseUrl }));
});
after(async () => {
  for (const lane of lanes) await lane.stop();
  await jobs.close();
  await fixture.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A user per order: its identifier distinguishes the provider's tasks. */
const userOf = (seed: number, step: CrashPoint): string => `u-${seed}-${step.replace('.', '-').replaceAll('_', '-')}`;
const keyOf = (user: string): string => `key-of-${user}`.padEnd(40, '0');

// ---------------------------------------------------------------- orders

interface Order {
  readonly user: string;
  readonly body: Record<string, unknown>;
  /** The id of the task, if a response named it. */
  id: unknown;
}

type Flow = (lane: CrashLane, order: Order) => Promise<void>;

interface Point {
  readonly step: CrashPoint;
  readonly flow: Flow;
  /** What the provider does with the create request; one of them. */
  readonly words: readonly string[];
  /** Only tasks of variant A can be cancelled. */
  readonly isOfA?: true;
}

const ACCEPTED = ['', 'slow=20', 'callbacks=dropped'];
const UNCLEAR = ['reset; created', 'fault=500; created', 'truncated', 'status=503', 'html; created'];
const REJECTED = [
  'sync_400=InvalidParameter.Foo',
  'error=QuotaExceeded; status=429; times=1',
  'error=AccountOverdueError; status=403; times=1',
];

/** The process dies while it creates the task. */
const dieCreating =
  (step: CrashPoint): Flow =>
  async (lane, order) => {
    await lane.arm(step, 1);
    order.id = (await create(lane.url, order))?.body.id;
    await lane.died(step);
  };

/** One process dies before it sends the request, the next one while it recovers the task for a retry. */
const dieRecovering =
  (before: CrashPoint): Flow =>
  async (lane, order) => {
    await dieCreating(before)(lane, order);
    await endLeases(db(), order.user);
    await lane.start();
    await dieCreating('task.recovering')(lane, order);
  };

const dieCancelling =
  (step: CrashPoint): Flow =>
  async (lane, order) => {
    const created = await create(lane.url, order);
    assert.equal(created?.status, 200, JSON.stringify(created?.body));
    order.id = created.body.id;
    await lane.arm(step, 1);
    await callVideo(lane.url, `${TASKS}/${order.id}`, { method: 'DELETE', key: keyOf(order.user) }).catch(
      () => undefined,
    );
    await lane.died(step);
  };

const creating = (words: readonly string[], ...steps: CrashPoint[]): Point[] =>
  steps.map((step) => ({ step, words, flow: dieCreating(step) }));
const cancelling = (...steps: CrashPoint[]): Point[] =>
  steps.map((step) => ({ step, words: [''], flow: dieCancelling(step), isOfA: true }));

const POINTS: readonly Point[] = [
  ...creating(ACCEPTED, 'task.claimed', 'task.held', 'task.inserted', 'task.committed', 'task.sending'),
  ...creating([...ACCEPTED, ...UNCLEAR, ...REJECTED], 'task.sent'),
  ...creating(ACCEPTED, 'task.confirming', 'task.confirmed'),
  ...creating(UNCLEAR, 'task.marking_unknown', 'task.marked_unknown'),
  ...creating(REJECTED, 'task.discarding', 'task.discarded'),
  // The provider's report arrives while the response is lost.
  ...creating(['reset; created', 'fault=500; created', 'hang; created'], 'task.binding'),
  { step: 'task.recovering', words: ACCEPTED, flow: dieRecovering('task.sending') },
  ...cancelling('task.cancel_requested', 'task.cancel_sent', 'task.cancelling'),
];

/** Undefined when the process died before its response was complete. */
const create = (url: string, { user, body }: Order): Promise<ApiResponse | undefined> =>
  callVideo(url, TASKS, { body, key: keyOf(user), headers: { 'idempotency-key': 'order' } }).catch(() => undefined);

// ---------------------------------------------------------------- the other replica brings everything to rest

const db = () => fixture.gateway.context.database.db;
const upstreamOf = (user: string) =>
  fixture.sim.video.tasks.all.filter(({ request }) => request.prompt.startsWith(`An order of ${user}.`));

/** Nothing is under way, and no task is left that the jobs could still bind or cancel. */
async function isAtRest(): Promise<boolean> {
  if ((await unrest(db())).length > 0) return false;
  const open = await db().selectFrom('video_tasks').selectAll().where('finished_at', 'is', null).execute();
  return open.every(
    (task) =>
      task.cancel_requested_at === null && (task.submission === 'confirmed' || upstreamOf(task.user_id).length === 0),
  );
}

async function comeToRest(): Promise<void> {
  await until('rest', async () => {
    await endLeases(db());
    for (const job of JOBS) await jobs.run(job);
    return isAtRest();
  });
}

/** Retries the order at the other replica and compares the task with what was promised before. */
async function expectOneTask({ step, isOfA }: Point, order: Order): Promise<string> {
  const retried = await create(fixture.gateway.url, order);
  assert.ok(retried, step);
  const { status, body } = retried;
  const tasks = await db().selectFrom('video_tasks').selectAll().where('user_id', '=', order.user).execute();
  const about = `${step}: ${status} ${JSON.stringify(body)}`;
  if (status === 400) assert.deepEqual([order.id, tasks], [undefined, []], about);
  else {
    assert.ok(status === 200 || status === 202, about);
    assert.deepEqual(
      tasks.map(({ id }) => id),
      [body.id],
      about,
    );
    assert.equal(body.id, order.id ?? body.id, about);
  }
  const upstream = upstreamOf(order.user);
  assert.ok(upstream.length <= 1, `${about}: created ${upstream.length} times`);
  if (isOfA) assert.deepEqual([tasks[0]?.status, upstream[0]?.status], ['cancelled', 'cancelled'], about);
  return `${step} ${status}/${tasks[0]?.submission ?? '-'}`;
}

for (const seed of SEEDS)
  test(`V 4.2, V 8: each order has one task after SIGKILL at ${POINTS.length} crash points (seed ${seed})`, {
    timeout: killsMs(POINTS.length),
  }, async (t) => {
    const below = random(seed);
    const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T;
    const runs = POINTS.map((point) => {
      const user = userOf(seed, point.step);
      const words = pick(point.words);
      const content = [textItem(`An order of ${user}. ${words && `[sim:${words}]`}`)];
      const order: Order = {
        user,
        body: taskBody(point.isOfA ? 'A' : pick(TEST_VARIANTS), { content }),
        id: undefined,
      };
      // Reports of the provider go to the process that dies, or to the other replica.
      const reportsTo = point.step === 'task.binding' || below(2) === 0 ? {} : { PUBLIC_URL: fixture.gateway.url };
      return { point, order, reportsTo };
    });
    await inLanes(lanes, runs, async (lane, { point, order, reportsTo }) => {
      await lane.stop();
      await lane.start([], reportsTo);
      await point.flow(lane, order);
    });
    await comeToRest();
    const ends = await Promise.all(runs.map(({ point, order }) => expectOneTask(point, order)));
    await until('rest after the retries', isAtRest);
    await expectRest(db(), fixture.sim.video);
    t.diagnostic(`seed ${seed}, ${runs.length} kills (retry/submission): ${ends.join(', ')}`);
  });
