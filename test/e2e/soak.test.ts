// set: load; mixed load with faults and kills
/**
 * Mixed load on real processes while one of them is killed: clients see no error but those of the killed sockets and the scripted
 * faults, memory and descriptors stay level, and the ledger adds up. `npm run soak` is the same for minutes.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { findLedgerFaults } from '../../src/ledger/wallets/check.ts';
import { openDatabase } from '../../src/platform/db/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { LANE_GROUPS, laneSetup } from '../support/fault-lanes.ts';
import { random } from '../support/ledger-process.ts';
import { type LoadReport, SoakLoad } from '../support/soak-load.ts';
import {
  growthPerMinute,
  type Outage,
  type ProcessSample,
  type SoakServers,
  sampleProcess,
  startSoakServers,
} from '../support/soak-servers.ts';
import { VIDEO_PRICES, videoSetup } from '../support/video.ts';
import { until } from '../support/wait.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 20);
const SEED = Number(process.env.SOAK_SEED ?? 1);
const CLIENTS = 16;
const THINK_MS = 60;
/** One kill in the short form, one a minute in the long one. */
const KILL_SECONDS = Math.min(60, SECONDS / 2);
/** Compilers and caches grow at first; a shorter run says nothing about the slope. */
const WARM_UP_SECONDS = 120;
const MIN_SLOPE_SECONDS = 300;
const MAX_GROWTH_PER_MINUTE = 1;
const MAX_RSS_MB = 700;
/** Connections that come and go with the load. */
const DESCRIPTOR_SLACK = 16;

let faulty: Sim;
let healthy: Sim;
let database: TestDatabase;
let servers: SoakServers;
const directory = mkdtempSync(join(tmpdir(), 'dragoman-soak-'));
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const keyOf = (group: string): string => `key-of-the-soak-run-${group}-000000`;

before(async () => {
  [faulty, healthy, database] = await Promise.all([
    startSim({ name: 'faulty', encoder: false, video: { rateLimits: false, queuedMs: 100, runningMs: 200 } }),
    startSim({ name: 'healthy', encoder: false, faults: false }),
    testDatabase(),
  ]);
  const setupFile = join(directory, 'setup.json');
  writeFileSync(setupFile, JSON.stringify(setup()));
  servers = await startSoakServers({ directory, databaseUrl: database.url, setupFile });
});
after(async () => {
  agent.destroy();
  await servers?.stop();
  await Promise.all([faulty?.close(), healthy?.close()]);
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
});

function setup(): object {
  const rows = LANE_GROUPS.map((group) => laneSetup(group, group, [faulty.url, healthy.url]));
  const video = videoSetup(faulty.video.url) as { groups: { id: string }[]; accounts: { group: string }[] };
  return {
    groups: [...rows.map(({ group }) => group), ...video.groups.filter(({ id }) => id === 'ep')],
    accounts: [...rows.flatMap(({ accounts }) => accounts), ...video.accounts.filter(({ group }) => group === 'ep')],
    models: [
      {
        id: 'demo-image',
        groups: ['openai'],
        capabilities: { imageOutput: true },
        prices: { input: '1', output: '2' },
      },
      { id: 'demo-*', groups: LANE_GROUPS, prices: { input: '1', output: '2' } },
      { id: 'demo-video-2-0-ep', groups: ['ep'], prices: VIDEO_PRICES },
    ],
    users: [{ id: 'ana', email: 'ana@example.test', balance: '1000000' }],
    keys: LANE_GROUPS.map((group) => ({ user: 'ana', group, name: 'soak', key: keyOf(group) })),
  };
}

test('mixed load with faults and kills leaves no error, no leak and no wrong charge', {
  timeout: (SECONDS + 240) * 1_000,
}, async (t) => {
  const idle = sampleProcess(servers.survivor);
  const load = new SoakLoad({
    urls: servers.urls,
    keyOf,
    random: random(SEED),
    agent,
    clients: CLIENTS,
    thinkMs: THINK_MS,
  });
  const samples: ProcessSample[] = [];
  const outages: Outage[] = [];
  const begun = performance.now();
  const ran = (): number => (performance.now() - begun) / 1_000;
  const sampler = setInterval(() => samples.push(sampleProcess(servers.survivor)), 1_000);
  for (let next = KILL_SECONDS; next < SECONDS; next += KILL_SECONDS) {
    await pause((next - ran()) * 1_000);
    outages.push(await servers.kill());
  }
  await pause(Math.max(0, SECONDS - ran()) * 1_000);
  clearInterval(sampler);
  const report = await load.stop(outages);
  t.diagnostic(
    `seed ${SEED}, ${outages.length} kills, ${report.killed} calls killed, ${report.faults} faults: ${JSON.stringify(report.calls)}`,
  );

  assert.deepEqual(report.failures, []);
  for (const kind of ['unary', 'stream', 'websocket', 'image', 'list']) assert.ok(report.calls[kind], `some ${kind}`);
  assertLevel(idle, samples, t.diagnostic.bind(t));
  agent.destroy();
  await until(
    'the descriptors of an idle server',
    () => sampleProcess(servers.survivor).descriptors <= idle.descriptors + DESCRIPTOR_SLACK,
  );
  await assertCharges(report);
});

function assertLevel(idle: ProcessSample, samples: readonly ProcessSample[], say: (text: string) => void): void {
  const peak = Math.max(...samples.map(({ rssMb }) => rssMb));
  say(`memory ${Math.round(idle.rssMb)} MB idle, ${Math.round(peak)} MB at most`);
  assert.ok(peak < MAX_RSS_MB, `${peak} MB`);
  const start = (samples[0]?.seconds ?? 0) + WARM_UP_SECONDS;
  const warm = samples.filter((sample) => sample.seconds >= start);
  if (SECONDS < MIN_SLOPE_SECONDS) return;
  const growth = growthPerMinute(warm);
  say(`memory grows by ${growth.toFixed(2)} % a minute after ${WARM_UP_SECONDS} s`);
  assert.ok(growth < MAX_GROWTH_PER_MINUTE, `${growth} % a minute`);
  const third = Math.ceil(warm.length / 3);
  const fewest = (some: readonly ProcessSample[]): number => Math.min(...some.map(({ descriptors }) => descriptors));
  const [early, late] = [fewest(warm.slice(0, third)), fewest(warm.slice(-third))];
  say(`descriptors: ${early} early, ${late} late`);
  assert.ok(late <= early + DESCRIPTOR_SLACK, `${early} descriptors became ${late}`);
}

/** Every complete reply is charged exactly once, no request twice, and the ledger adds up. */
async function assertCharges({ completed }: LoadReport): Promise<void> {
  const { db, close } = openDatabase(database.url, 2);
  try {
    const read = async (): Promise<Map<string, number>> => {
      const rows = await db.selectFrom('usage_records').select('request_id').execute();
      const counts = new Map<string, number>();
      for (const { request_id } of rows) counts.set(request_id, (counts.get(request_id) ?? 0) + 1);
      return counts;
    };
    await until('a record of every reply', async () => {
      const counts = await read();
      return completed.every((id) => counts.has(id));
    });
    const twice = [...(await read())].filter(([, count]) => count > 1);
    assert.deepEqual(twice, []);
    assert.deepEqual(await findLedgerFaults(db), []);
  } finally {
    await close();
  }
}
