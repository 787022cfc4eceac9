// set: all; every crash point of assets and groups
/**
 * A gateway process is killed at every crash point of creating and deleting assets and asset groups. The jobs of another replica then
 * bring everything to rest. Afterwards the provider received each creation at most once, our rows and its objects agree, retries
 * return what was promised, and no idempotency record is left open. With `CRASH_SEEDS=1,2,3` each crash point meets both kinds
 * of objects, for each seed; by default they take turns.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { CrashPoint } from '../../src/ledger/crash-points.ts';
import { ASSET_RECONCILIATION } from '../../src/rules/index.ts';
import { ASSETS_PATH, AssetCaller, actions, GROUPS_PATH, SOURCE_URL, type Table } from '../support/assets.ts';
import { CrashLane, killsMs } from '../support/crash-lane.ts';
import { random } from '../support/ledger-process.ts';
import { type ApiResponse, callVideo, startVideo, VIDEO_MODELS, type VideoFixture } from '../support/video.ts';
import { endLeases, openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const SEEDS = process.env.CRASH_SEEDS?.split(',').map(Number) ?? [20_261_116];
const IS_THOROUGH = process.env.CRASH_SEEDS !== undefined;
/** Each has a lane of its own, because a fault waits for the next request of an action. */
const TABLES = ['assets', 'asset_groups'] as const satisfies readonly Table[];
const ACTIONS = { assets: 'CreateAsset', asset_groups: 'CreateAssetGroup' } as const;
const PATHS = { assets: ASSETS_PATH, asset_groups: GROUPS_PATH } as const;

let fixture: VideoFixture;
let jobs: VideoJobs;
let directory: string;
let lanes: Record<Table, CrashLane>;

before(async () => {
  fixture = await startVideo();
  jobs = await openJobs(fixture.gateway);
  const users = SEEDS.flatMap((seed) => TABLES.flatMap((table) => POINTS.map((point) => userOf(seed, table, point))));
  await fixture.gateway.apply({
    users: users.map((id) => ({ id, balance: '10' })),
    keys: users.map((id) => ({ user: id, group: 'openai', name: 'k', key: keyOf(id) })),
  });
  directory = mkdtempSync(join(tmpdir(), 'dragoman-asset-kill-'));
  const { url: databaseUrl } = fixture.gateway.database;
  const laneOf = (name: Table) => new CrashLane({ directory, name, databaseUrl });
  lanes = { assets: laneOf('assets'), asset_groups: laneOf('asset_groups') };
});
after(async () => {
  for (const table of TABLES) await lanes[table].stop();
  await jobs.close();
  await fixture.close();
  rmSync(directory, { recursive: true, force: true });
});

const db = () => fixture.gateway.context.database.db;
/** A user per order. */
const userOf = (seed: number, table: Table, { step }: Point): string =>
  `u-${seed}-${table.replace('_', '-')}-${step.slice('asset.'.length).replace('_', '-')}`;
const keyOf = (user: string): string => `key-of-${user}`.padEnd(40, '0');

// ---------------------------------------------------------------- orders

interface Order {
  readonly user: string;
  readonly table: Table;
  readonly body: object;
  /** The id of the resource, if a response named it. */
  id: unknown;
}

type Flow = (lane: CrashLane, order: Order) => Promise<void>;

interface Point {
  readonly step: CrashPoint;
  readonly flow: Flow;
  /** What the provider does with the request; one of them. */
  readonly faults: readonly string[];
  readonly isDeletion?: true;
}

const UNCLEAR = ['reset; created', 'status=500; created', 'truncated'];
const REJECTED = ['sync_400=InvalidParameter.Foo'];

const dieCreating =
  (step: CrashPoint): Flow =>
  async (lane, order) => {
    await lane.arm(step, 1);
    order.id = (await create(lane.url, order))?.body.id;
    await lane.died(step);
  };

/** One process dies before it sends the request, the next one while a retry recovers the creation. */
const dieRecovering: Flow = async (lane, order) => {
  await dieCreating('asset.committed')(lane, order);
  await endLeases(db(), order.user);
  await lane.start();
  await dieCreating('asset.recovering')(lane, order);
};

const dieDeleting =
  (step: CrashPoint): Flow =>
  async (lane, order) => {
    const created = await create(lane.url, order);
    assert.ok(created && created.status < 300, JSON.stringify(created?.body));
    order.id = created.body.id;
    await lane.arm(step, 1);
    const path = `${PATHS[order.table]}/${String(order.id)}`;
    await callVideo(lane.url, path, { method: 'DELETE', key: keyOf(order.user) }).catch(() => undefined);
    await lane.died(step);
  };

const creating = (faults: readonly string[], ...steps: CrashPoint[]): Point[] =>
  steps.map((step) => ({ step, faults, flow: dieCreating(step) }));
const deleting = (...steps: CrashPoint[]): Point[] =>
  steps.map((step) => ({ step, faults: [''], flow: dieDeleting(step), isDeletion: true }));

const POINTS: readonly Point[] = [
  ...creating([''], 'asset.claimed', 'asset.inserted', 'asset.committed'),
  ...creating(['', ...UNCLEAR, ...REJECTED], 'asset.sent'),
  ...creating([''], 'asset.confirming', 'asset.confirmed'),
  ...creating(UNCLEAR, 'asset.marking_unknown', 'asset.marked_unknown'),
  ...creating(REJECTED, 'asset.discarding', 'asset.discarded'),
  { step: 'asset.recovering', faults: [''], flow: dieRecovering },
  ...deleting('asset.deleting', 'asset.delete_sent', 'asset.deleted'),
];

/** Undefined when the process died before its response was complete. */
const create = (url: string, { user, table, body }: Order): Promise<ApiResponse | undefined> =>
  callVideo(url, PATHS[table], { body, key: keyOf(user), headers: { 'idempotency-key': 'order' } }).catch(
    () => undefined,
  );

async function orderOf(user: string, table: Table): Promise<Order> {
  if (table === 'asset_groups')
    return { user, table, body: { name: 'Campaign', model: VIDEO_MODELS.A }, id: undefined };
  const group_id = await new AssetCaller(fixture, keyOf(user)).groupId();
  return { user, table, body: { url: SOURCE_URL, asset_type: 'Image', group_id }, id: undefined };
}

// ---------------------------------------------------------------- the other replica brings everything to rest

const rowsOf = async ({ user, table }: Order): Promise<readonly { id: string; status: string }[]> => {
  const { rows } = await sql<{ id: string; status: string }>`
    select id, status from ${sql.table(table)} where user_id = ${user}`.execute(db());
  return rows;
};

/** Makes every check due, and undecided creations old enough to be given up. */
async function passTime(): Promise<void> {
  await endLeases(db());
  for (const table of TABLES)
    await sql`update ${sql.table(table)} set next_check_at = now() - interval '1 second',
        created_at = created_at - ${ASSET_RECONCILIATION.giveUpSeconds + 1} * interval '1 second'
      where next_check_at is not null`.execute(db());
}

async function isAtRest(): Promise<boolean> {
  const { rows } = await sql`
    select from assets where status in ('creating', 'create_unknown', 'deleting', 'delete_failed')
    union all select from asset_groups where status in ('creating', 'create_unknown', 'deleting', 'delete_failed')`.execute(
    db(),
  );
  return rows.length === 0;
}

const comeToRest = (): Promise<true> =>
  until('rest', async () => {
    await passTime();
    await jobs.run('assets.reconcile');
    return (await isAtRest()) || undefined;
  });

const namesAtProvider = (table: Table): string[] =>
  (table === 'assets' ? fixture.sim.video.assets : fixture.sim.video.groups).all.map(({ name }) => name);
const LIVE = ['processing', 'active'];

/** Retries the order at the other replica and compares the result with what was promised before. */
async function expectOne({ step, isDeletion, faults }: Point, order: Order): Promise<string> {
  const retried = await create(fixture.gateway.url, order);
  assert.ok(retried, step);
  const { status, body } = retried;
  const about = `${step} ${order.table}: ${status} ${JSON.stringify(body)}`;
  const own = (await rowsOf(order)).filter(({ id }) => id !== (order.body as { group_id?: string }).group_id);
  if (status >= 400) assert.ok(status === 400 && faults.includes(REJECTED[0] ?? ''), about);
  else assert.equal(body.id, order.id ?? body.id, about);
  if (order.id !== undefined)
    assert.ok(
      own.some(({ id }) => id === order.id),
      about,
    );
  assert.ok(own.filter(({ status }) => LIVE.includes(status)).length <= 1, about);
  if (isDeletion)
    assert.deepEqual(
      own.map((row) => row.status),
      ['deleted'],
      about,
    );
  return `${step} ${status} ${own.map((row) => row.status).join('+') || '-'}`;
}

async function expectAgreement(table: Table): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where status in ('processing', 'active')`.execute(db());
  assert.deepEqual(
    namesAtProvider(table).sort(),
    rows.map(({ id }) => id).sort(),
    `${table} and the provider's objects`,
  );
  const sent = actions(fixture, ACTIONS[table]).map(({ library }) => library?.name);
  assert.equal(new Set(sent).size, sent.length, `the provider received a ${ACTIONS[table]} twice`);
}

for (const seed of SEEDS)
  test(`V 4.8, V 4.9, V 8: assets and groups survive SIGKILL at ${POINTS.length} crash points (seed ${seed})`, {
    timeout: killsMs(2 * POINTS.length),
  }, async (context) => {
    const below = random(seed);
    const runs: { point: Point; order: Order; fault: string }[] = [];
    for (const [t, table] of TABLES.entries())
      for (const [n, point] of POINTS.entries()) {
        if (!IS_THOROUGH && n % TABLES.length !== t) continue;
        const order = await orderOf(userOf(seed, table, point), table);
        runs.push({ point, order, fault: point.faults[below(point.faults.length)] ?? '' });
      }
    await Promise.all(
      TABLES.map(async (table) => {
        for (const { point, order, fault } of runs.filter((run) => run.order.table === table)) {
          await lanes[table].stop();
          await lanes[table].start();
          if (fault) fixture.sim.video.next(`on=${ACTIONS[table]}; ${fault}`);
          await point.flow(lanes[table], order);
        }
      }),
    );
    await comeToRest();
    const ends: string[] = [];
    for (const { point, order } of runs) ends.push(await expectOne(point, order));
    await comeToRest();
    for (const table of TABLES) await expectAgreement(table);
    const open = await db().selectFrom('idempotency_records').selectAll().where('finished_at', 'is', null).execute();
    assert.deepEqual(open, []);
    context.diagnostic(`seed ${seed}, ${runs.length} kills: ${ends.join(', ')}`);
  });
