// set: all; every crash point of following a task
/**
 * A replica with its worker is killed at every crash point of following, settling, announcing and cancelling a video task, while
 * another replica works on the same database. Afterwards each task is charged exactly or not at all, no hold is left open, and
 * every change of status is announced with the next version. With `CRASH_SEEDS=1,2,3` it runs for each seed.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Sim } from '../../sim/index.ts';
import type { CrashPoint } from '../../src/ledger/crash-points.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { CrashLane, inLanes, killsMs } from '../support/crash-lane.ts';
import { random } from '../support/ledger-process.ts';
import {
  callVideo,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  type TestVariant,
  taskBody,
  textItem,
  type VideoFixture,
} from '../support/video.ts';
import { type TestWorkers, testWorkers } from '../support/video-following.ts';
import { until } from '../support/wait.ts';

const SEEDS = process.env.CRASH_SEEDS?.split(',').map(Number) ?? [20_261_117];
const LANES = 2;
/** Most points are reached with the first few. */
const MAX_TASKS = 200;
/** How long a task stays in one state at the provider: until the test moves the provider's clock. */
const LONG_MS = 3_600_000;
const HOOK = 'https://hooks.example.com/video';
/** 480p, 16:9, 5 seconds, at 7 dollars per million tokens. */
const COST = BigInt(Math.floor((864 * 496 * (24 * 5 + 1)) / 1024)) * 7_000n;

type Flow = (replicas: Replicas, run: Run) => Promise<void>;

interface Run {
  readonly step: CrashPoint;
  readonly user: string;
  readonly below: (limit: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
}

const SUCCEEDS = ['running=60', 'backwards', 'queued=1;running=1', 'callbacks=duplicated'];
const REVIEWS = ['usage_after=400', 'usage_after=900'];
const FAILS = [
  'fail=InternalServiceError',
  'fail=OutputVideoSensitiveContentDetected',
  'fail=QuotaExceeded;fail_in=queued',
];
const ANY = [...SUCCEEDS, ...REVIEWS, ...FAILS];

/** Creates tasks until the process dies looking at one of them. The other replica takes some of them first. */
const dieFollowing =
  (triggers: readonly string[]): Flow =>
  async (replicas, run) => {
    await replicas.arm(run.step, 1);
    for (let tasks = 0; replicas.isAlive; tasks += 1) {
      assert.ok(tasks < MAX_TASKS, `${run.step} is not reached`);
      await replicas.create(run, run.pick(triggers));
      await pause(run.below(80));
      await replicas.makeDue(run.user);
      if (run.below(3) === 0) await replicas.workers.round();
      await replicas.untilTaken(run.user);
    }
    await replicas.died(run.step);
  };

/** The process dies while a caller cancels a task that has this status at the provider. */
const dieCancelling =
  (status: 'queued' | 'running', trigger: string): Flow =>
  async (replicas, run) => {
    const id = await replicas.create(run, trigger, 'A');
    await until(`a task that is ${status}`, async () => (await replicas.statusOf(id)) === status);
    await replicas.arm(run.step, 1);
    const request = { method: 'DELETE', key: keyOf(run.user) };
    await callVideo(replicas.url, `${TASKS}/${id}`, request).catch(() => undefined);
    await replicas.died(run.step);
    // If it was not cancelled, it ends now.
    await replicas.sim.video.clock.advance(LONG_MS);
  };

const following = (triggers: readonly string[], ...steps: CrashPoint[]) =>
  steps.map((step) => ({ step, flow: dieFollowing(triggers) }));
const cancelling = (status: 'queued' | 'running', trigger: string, ...steps: CrashPoint[]) =>
  steps.map((step) => ({ step, flow: dieCancelling(status, trigger) }));

const POINTS: readonly { readonly step: CrashPoint; readonly flow: Flow }[] = [
  ...following(ANY, 'follow.taken', 'follow.asked', 'follow.locked', 'follow.saved', 'follow.moved', 'follow.settled'),
  ...following(ANY, 'follow.applying', 'follow.applied', 'status.changed', 'status.announced'),
  ...following(FAILS, 'status.released'),
  ...following([...SUCCEEDS, ...REVIEWS], 'settle.priced', 'settle.charged', 'settle.recorded'),
  ...cancelling('queued', `queued=${LONG_MS}`, 'task.cancel_requested', 'task.cancel_sent', 'task.cancelling'),
  ...cancelling('queued', `queued=${LONG_MS}`, 'task.cancelled'),
  // Already runs at the provider, which did not report it.
  ...cancelling('running', `queued=1;running=${LONG_MS};callbacks=dropped`, 'task.cancel_withdrawing'),
];

/** The process that is killed, and another replica in this process, on a database of their own. */
class Replicas extends CrashLane {
  readonly workers: TestWorkers;
  readonly #fixture: VideoFixture;

  constructor(fixture: VideoFixture, name: string) {
    super({ directory, name, databaseUrl: fixture.gateway.database.url, worker: true });
    this.#fixture = fixture;
    this.workers = testWorkers(fixture.gateway);
  }

  get sim(): Sim {
    return this.#fixture.sim;
  }

  get db(): Db {
    return this.#fixture.gateway.context.database.db;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  async create({ user, pick }: Run, trigger: string, variant: TestVariant = pick(TEST_VARIANTS)): Promise<string> {
    const body = taskBody(variant, { content: [textItem(`[sim:${trigger}]`)], callback_url: HOOK });
    const response = await callVideo(this.#fixture.gateway.url, TASKS, { body, key: keyOf(user) });
    assert.equal(response.status, 200, JSON.stringify(response.body));
    return String(response.body.id);
  }

  /** At the provider. */
  async statusOf(id: string): Promise<string | undefined> {
    const row = await this.db.selectFrom('video_tasks').select('upstream_id').where('id', '=', id).executeTakeFirst();
    return this.sim.video.tasks.get(row?.upstream_id ?? '')?.status;
  }

  makeDue(user: string): Promise<unknown> {
    return sql`update video_tasks set next_check_at = now() - interval '1 second' where user_id = ${user} and next_check_at > now()`.execute(
      this.db,
    );
  }

  /** Waits until a worker has taken every task that is due, or the process is dead. */
  untilTaken(user: string): Promise<unknown> {
    return until('a check', async () => {
      if (!this.isAlive) return true;
      const { rows } = await sql`select from video_tasks where user_id = ${user} and next_check_at <= now()`.execute(
        this.db,
      );
      return rows.length === 0;
    });
  }

  async close(): Promise<void> {
    await this.stop();
    this.workers.close();
    await this.#fixture.close();
  }
}

let directory: string;
let lanes: Replicas[] = [];

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'dragoman-follow-kill-'));
  lanes = await Promise.all(Array.from({ length: LANES }, (_, n) => openReplicas(`data${n}`)));
});
after(async () => {
  for (const lane of lanes) await lane.close();
  rmSync(directory, { recursive: true, force: true });
});

async function openReplicas(name: string): Promise<Replicas> {
  const fixture = await startVideo({ video: { queuedMs: 30, runningMs: 30, concurrency: 1_000 } });
  const users = SEEDS.flatMap((seed) => POINTS.map(({ step }) => ({ id: userOf(seed, step), balance: '1000' })));
  const keys = users.map(({ id }) => ({ user: id, group: 'openai', name: 'k', key: keyOf(id) }));
  await fixture.gateway.apply({ users, keys });
  const replicas = new Replicas(fixture, name);
  await replicas.start();
  return replicas;
}

const userOf = (seed: number, step: CrashPoint): string => `u-${seed}-${step.replace('.', '-').replaceAll('_', '-')}`;
const keyOf = (user: string): string => `key-of-${user}`.padEnd(40, '0');

interface End {
  readonly id: string;
  readonly status: string;
  readonly version: number;
  readonly hold: string;
  readonly charged: bigint;
  readonly records: bigint;
  readonly recorded: bigint;
  readonly versions: readonly number[];
}

async function endsOf(db: Db, user: string): Promise<End[]> {
  const { rows } = await sql<End>`
    select t.id, t.status, t.version, h.state as hold,
      (select coalesce(sum(nanos), 0)::bigint from entries where hold_id = h.id) as charged,
      (select count(*) from usage_records where request_id = t.id) as records,
      (select coalesce(sum(nanos), 0)::bigint from usage_records where request_id = t.id) as recorded,
      array(select version from callback_events e where e.user_id = t.user_id and e.task_id = t.id order by version) as versions
    from video_tasks t join holds h on h.reference = 'task:' || t.id where t.user_id = ${user}`.execute(db);
  return rows;
}

/** The other replica and the restarted one bring every task to its end. */
const endOf = (replicas: Replicas, { user, step }: Run): Promise<End[]> =>
  until(`the end of the tasks at ${step}`, async () => {
    await replicas.makeDue(user);
    await replicas.workers.round();
    const ends = await endsOf(replicas.db, user);
    return ends.every(({ hold }) => hold === 'settled' || hold === 'released') ? ends : undefined;
  });

function expectExact(ends: readonly End[], step: CrashPoint): void {
  assert.ok(ends.length > 0, step);
  for (const { id, status, version, hold, charged, records, recorded, versions } of ends) {
    const about = `${step}: ${id} ${status}`;
    const isCharged = status === 'succeeded';
    assert.equal(hold, isCharged ? 'settled' : 'released', about);
    assert.deepEqual([charged, records, recorded], isCharged ? [COST, 1n, COST] : [0n, 0n, 0n], about);
    assert.ok(['succeeded', 'failed', 'cancelled'].includes(status), about);
    assert.deepEqual(
      versions,
      Array.from({ length: version - 1 }, (_, n) => n + 2),
      about,
    );
  }
}

for (const seed of SEEDS)
  test(`V 3, V 6, V 8: tasks are charged and announced exactly after SIGKILL at ${POINTS.length} points of following (seed ${seed})`, {
    timeout: killsMs(POINTS.length),
  }, async () => {
    const below = random(seed);
    const runs = POINTS.map(({ step, flow }) => ({
      flow,
      run: { step, user: userOf(seed, step), below, pick: <T>(list: readonly T[]): T => list[below(list.length)] as T },
    }));
    await inLanes(lanes, runs, async (replicas, { flow, run }) => {
      await flow(replicas, run);
      await replicas.start();
      expectExact(await endOf(replicas, run), run.step);
    });
    for (const { db } of lanes) await checkLedger(db);
  });
