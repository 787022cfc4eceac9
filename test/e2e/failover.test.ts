// set: load; a PostgreSQL primary that is lost under load
/**
 * A PostgreSQL primary that is killed under load while its synchronous standby takes over: calls go on, and no charge, task or callback is
 * lost or doubled. `npm run soak -- failover` does it many times.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { startSim } from '../../sim/index.ts';
import { findLedgerFaults } from '../../src/ledger/wallets/check.ts';
import { type Db, openDatabase } from '../../src/platform/db/index.ts';
import { Receiver } from '../support/callbacks.ts';
import { LANE_GROUPS, laneSetup } from '../support/fault-lanes.ts';
import { random } from '../support/ledger-process.ts';
import { noPostgresPair, PostgresPair } from '../support/postgres-pair.ts';
import { launch } from '../support/process.ts';
import { SoakLoad } from '../support/soak-load.ts';
import { callVideo, TASKS, taskBody, VIDEO_PRICES, videoSetup } from '../support/video.ts';
import { until } from '../support/wait.ts';

const ROUNDS = Number(process.env.FAILOVER_ROUNDS ?? 1);
/** Load before each kill, so that charges are on their way everywhere. */
const LOAD_MS = 3_000;
const keyOf = (group: string): string => `key-of-the-failover-${group}-000000`;

/** Creates tasks with a callback, each until its outcome is known, as a client with idempotency keys does. */
class TaskLane {
  readonly created: string[] = [];
  refused = 0;
  readonly #url: string;
  readonly #callbackUrl: string;
  readonly #running: Promise<void>;
  #isOver = false;

  constructor(url: string, callbackUrl: string) {
    this.#url = url;
    this.#callbackUrl = callbackUrl;
    this.#running = this.#run();
  }

  stop(): Promise<void> {
    this.#isOver = true;
    return this.#running;
  }

  async #run(): Promise<void> {
    for (let number = 0; !this.#isOver; number += 1) {
      await this.#create(`task-${number}`);
      await pause(1_100);
    }
  }

  async #create(key: string): Promise<void> {
    for (;;) {
      const request = {
        key: keyOf('openai'),
        body: taskBody('EP', { callback_url: this.#callbackUrl }),
        headers: { 'idempotency-key': key },
      };
      const { status, body } = await callVideo(this.#url, TASKS, request);
      if (status === 200 || status === 202) return void this.created.push(String(body.id));
      assert.ok(status === 503 || status === 409, `${status} ${JSON.stringify(body)}`);
      this.refused += 1;
      await pause(500);
    }
  }
}

test('calls, charges, tasks and callbacks survive the loss of the primary database', {
  skip: noPostgresPair,
  timeout: 240_000 + ROUNDS * 120_000,
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'dragoman-failover-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const sim = await startSim({ encoder: false, video: { rateLimits: false, queuedMs: 100, runningMs: 200 } });
  t.after(() => sim.close());
  const receiver = await new Receiver().listen();
  t.after(() => receiver.close());
  const pair = await PostgresPair.start();
  t.after(() => pair.stop());
  const setupFile = join(directory, 'setup.json');
  writeFileSync(setupFile, JSON.stringify(setup(sim.url, sim.video.url)));
  const server = launch(['serve', '--config', setupFile], {
    HOST: '127.0.0.1',
    PORT: '0',
    DEMO: 'off',
    DRAIN_MS: '1000',
    MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
    DATA_DIR: join(directory, 'data'),
    DATABASE_URL: pair.url,
    EGRESS_ALLOW: receiver.origin,
  });
  t.after(() => server.stop());
  const [, url = ''] = await server.until(/Dragoman is ready at (\S+)/);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  t.after(() => agent.destroy());
  const load = new SoakLoad({ urls: () => [url], keyOf, random: random(1), agent, clients: 4, thinkMs: 100 });
  const tasks = new TaskLane(url, `${receiver.origin}/hook`);
  for (let round = 0; round < ROUNDS; round += 1) {
    await pause(LOAD_MS);
    const before = tasks.created.length;
    const { refused } = tasks;
    await pair.killPrimary();
    await until('the outage to be seen', () => tasks.refused > refused);
    await pair.promote();
    await until('new tasks', () => tasks.created.length > before);
    await pair.rebuildStandby();
  }
  await tasks.stop();
  const report = await load.stop([]);
  const { db, close } = openDatabase(pair.url, 2);
  t.after(close);
  await assertTasks(db, tasks.created, receiver);
  await assertCharges(db, report.completed);
  const failures = report.failures.filter((failure) => !failure.startsWith('video:'));
  t.diagnostic(
    `${ROUNDS} failovers: ${JSON.stringify(report.calls)}, ${failures.length} failed; ${tasks.created.length} tasks, ${tasks.refused} answers of 503`,
  );
  assert.deepEqual(failures, []);
});

function setup(url: string, videoUrl: string): object {
  const rows = LANE_GROUPS.map((group) => laneSetup(group, group, [url]));
  const video = videoSetup(videoUrl) as { groups: { id: string }[]; accounts: { group: string }[] };
  const prices = { input: '1', output: '2' };
  return {
    groups: [...rows.map(({ group }) => group), ...video.groups.filter(({ id }) => id === 'ep')],
    accounts: [...rows.flatMap(({ accounts }) => accounts), ...video.accounts.filter(({ group }) => group === 'ep')],
    models: [
      { id: 'demo-image', groups: ['openai'], capabilities: { imageOutput: true }, prices },
      { id: 'demo-*', groups: LANE_GROUPS, prices },
      { id: 'demo-video-2-0-ep', groups: ['ep'], prices: VIDEO_PRICES },
    ],
    users: [{ id: 'ana', email: 'ana@example.test', balance: '1000000' }],
    keys: LANE_GROUPS.map((group) => ({ user: 'ana', group, name: 'failover', key: keyOf(group) })),
  };
}

/** Every task that was acknowledged has ended, was charged once, and its end was announced. */
async function assertTasks(db: Db, created: readonly string[], receiver: Receiver): Promise<void> {
  assert.equal(new Set(created).size, created.length, 'each key made one task');
  const statuses = async (): Promise<Map<string, string>> => {
    const rows = await db.selectFrom('video_tasks').select(['id', 'status']).execute();
    return new Map(rows.map(({ id, status }) => [id, status]));
  };
  await until('the end of all tasks', async () =>
    [...(await statuses()).values()].every((status) => /succeeded|failed|cancelled|expired/.test(status)),
  );
  const ended = await statuses();
  for (const id of created) assert.equal(ended.get(id), 'succeeded', id);
  await until('all callbacks', () =>
    created.every((id) => receiver.deliveries.some(({ body }) => body.includes(id) && body.includes('succeeded'))),
  );
}

/** Every complete reply is charged exactly once, and the ledger adds up. */
async function assertCharges(db: Db, completed: readonly string[]): Promise<void> {
  const count = async (): Promise<number> => {
    const { rows } = await sql<{ found: number }>`
      select count(distinct request_id)::int as found from usage_records where request_id = any(${completed})`.execute(
      db,
    );
    return rows[0]?.found ?? 0;
  };
  await until('a record of every reply', async () => (await count()) === completed.length);
  const { rows: twice } = await sql`
    select request_id from usage_records group by request_id having count(*) > 1`.execute(db);
  assert.deepEqual(twice, []);
  assert.deepEqual(await findLedgerFaults(db), []);
}
