// set: sweeps; crash points of a family without a list; video-crash.test.ts has those of all
/**
 * A gateway process is killed at crash points of a task at Veo, where nothing can be listed. Afterwards no order was sent twice, each is
 * charged for its seconds or not at all, and the books add up.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { VEO, VeoSim } from '../../sim/veo/veo-sim.ts';
import type { CrashPoint } from '../../src/ledger/crash-points.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { CrashLane, killsMs } from '../support/crash-lane.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { callVideo, KEYS, TASKS, textItem } from '../support/video.ts';
import { endLeases, openJobs, unrest, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const MODEL = 'veo-3.1-generate-preview';
/** With the status of the task in the end: one that was sent, and whose answer is lost, has none to be found by. */
const CREATING: readonly (readonly [CrashPoint, 'succeeded' | 'failed' | undefined])[] = [
  ['task.committed', undefined],
  ['task.sent', 'failed'],
  ['task.confirming', 'failed'],
  ['task.confirmed', 'succeeded'],
];
const FOLLOWING: readonly CrashPoint[] = ['follow.moved', 'settle.charged', 'follow.applying'];

let veo: VeoSim;
let gateway: TestGateway;
let jobs: VideoJobs;
const directory = mkdtempSync(join(tmpdir(), 'dragoman-veo-kill-'));
const lanes: CrashLane[] = [];

before(async () => {
  veo = await new VeoSim().start();
  gateway = await startGateway({
    setup: {
      groups: [
        { id: 'openai', style: 'responses' },
        { id: 'gemini', style: 'video', variant: 'A', name: 'Gemini' },
      ],
      accounts: [
        { id: 'oa1', group: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-upstream' },
        { id: 'gemini-1', group: 'gemini', adapter: 'veo', base_url: veo.url, api_key: VEO.apiKey },
      ],
      models: [{ id: MODEL, groups: ['gemini'], prices: { per_video_second: '0.5' } }],
      users: [{ id: 'ana', email: 'ana@example.test', balance: '1000' }],
      keys: [{ user: 'ana', group: 'openai', name: 'one', key: KEYS.ana }],
    },
  });
  jobs = await openJobs(gateway);
});
after(async () => {
  for (const lane of lanes) await lane.stop();
  await jobs.close();
  await gateway.stop();
  veo.close();
  rmSync(directory, { recursive: true, force: true });
});

const db = () => gateway.context.database.db;
const create = (url: string, order: string) =>
  callVideo(url, TASKS, {
    body: { model: MODEL, content: [textItem(order)], duration: 4 },
    headers: { 'idempotency-key': order },
  });
const sentOf = (order: string): number =>
  veo.calls('create').filter(({ body }) => JSON.stringify(body).includes(`"${order}"`)).length;

function laneOf(name: string, worker: boolean): CrashLane {
  const lane = new CrashLane({ directory, name, databaseUrl: gateway.database.url, worker });
  lanes.push(lane);
  return lane;
}

/** Another replica brings everything to rest; a day passes for what stays unknown. */
async function comeToRest(): Promise<void> {
  await until('rest', async () => {
    await endLeases(db());
    await sql`update video_tasks set created_at = now() - interval '25 hours' where submission = 'unknown'`.execute(
      db(),
    );
    for (const job of ['tasks.recover', 'tasks.reconcile', 'tasks.follow']) await jobs.run(job);
    const { rows } = await sql`select from video_tasks where finished_at is null`.execute(db());
    return rows.length === 0 && (await unrest(db())).length === 0;
  });
  await checkLedger(db());
}

test('a task at Veo is sent at most once and charged at most once, whenever a process dies', {
  timeout: killsMs(CREATING.length + FOLLOWING.length),
}, async () => {
  const creating = laneOf('creating', false);
  for (const [step] of CREATING) {
    await creating.start();
    await creating.arm(step, 1);
    await create(creating.url, `order of ${step}`).catch(() => undefined);
    await creating.died(step);
  }
  for (const step of FOLLOWING) {
    assert.equal((await create(gateway.url, `order of ${step}`)).status, 200);
    await laneOf(step, true).dieStarting(step);
  }
  await comeToRest();
  for (const [step, status] of CREATING) {
    const { rows } = await sql<{ status: string }>`
      select t.status from video_tasks t join idempotency_records r on r.resource_id = t.id
      where r.key_hash = sha256(${`order of ${step}`}::bytea)`.execute(db());
    assert.equal(rows[0]?.status, status, step);
    assert.equal(sentOf(`order of ${step}`), status === undefined ? 0 : 1, step);
  }
  for (const step of FOLLOWING) assert.equal(sentOf(`order of ${step}`), 1, step);
  const { rows } = await sql<{ state: string; settled: string | null; tasks: string }>`
    select h.state, h.settled_nanos::text as settled, count(*)::text as tasks
    from holds h where h.reference like 'task:%' group by 1, 2 order by 1`.execute(db());
  assert.deepEqual(rows, [
    { state: 'released', settled: null, tasks: '3' },
    { state: 'settled', settled: '2000000000', tasks: String(FOLLOWING.length + 1) },
  ]);
});
