// set: all; an export under load
/** The restore drill: `dragoman export` under load, and `dragoman import` into another database on which a gateway then serves. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { loadPepper, PEPPER_LOCATION } from '../../src/access/keys/index.ts';
import { createSealer, parseMasterKeys } from '../../src/core/index.ts';
import { type Db, migrateTo, openDatabase, readMigrationState } from '../../src/platform/db/index.ts';
import { version } from '../../src/platform/version.ts';
import { FORMAT, FrameWriter } from '../../src/program/backup/frames.ts';
import { BackupError, exportFrames, importFrames } from '../../src/program/backup/index.ts';
import { runHere } from '../support/cli.ts';
import type { CommandResult } from '../support/command.ts';
import { emptyDatabase, type TestDatabase, testDatabase } from '../support/database.ts';
import { startGateway } from '../support/gateway.ts';
import { storeTask } from '../support/stored-task.ts';
import { callVideo, startVideo, TASKS, taskBody, type VideoFixture } from '../support/video.ts';
import { until } from '../support/wait.ts';

const MASTER_KEY = `k1:${'test-master-key-'.repeat(3)}`;
const CLAUDE_KEY = 'key-of-ana-for-claude-000000';
/** A task that was about to be sent at the moment of the export. */
const OPEN_TASK = 'task-about-to-be-sent';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-backup-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const dragoman = (args: readonly string[], database: TestDatabase, env: object = {}): Promise<CommandResult> =>
  runHere(args, { env: { DATA_DIR: join(folder, 'data'), DATABASE_URL: database.url, MASTER_KEY, ...env } });

async function withDb<T>({ url }: TestDatabase, task: (db: Db) => Promise<T>): Promise<T> {
  const { db, close } = openDatabase(url, 2);
  return task(db).finally(close);
}

const countOf = async (db: Db, table: string): Promise<number> => {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from ${sql.table(table)}`.execute(db);
  return rows[0]?.n ?? 0;
};

const message = (url: string): Promise<Response> =>
  fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': CLAUDE_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-messages', max_tokens: 20, messages: [{ role: 'user', content: 'x' }] }),
  });

/** Sends text requests and creates video tasks until it is stopped. */
function startLoad(url: string): { calls(): number; stop(): Promise<void> } {
  let calls = 0;
  let isStopped = false;
  const lane = async (send: () => Promise<{ status: number }>, expected: number): Promise<void> => {
    while (!isStopped) {
      assert.equal((await send()).status, expected);
      calls += 1;
    }
  };
  const text = async (): Promise<Response> => {
    const response = await message(url);
    await response.arrayBuffer();
    return response;
  };
  const video = () => callVideo(url, TASKS, { body: taskBody('EP') });
  const lanes = Promise.all([lane(text, 200), lane(text, 200), lane(text, 200), lane(video, 200)]);
  lanes.catch(() => {});
  return {
    calls: () => calls,
    async stop() {
      isStopped = true;
      await lanes;
    },
  };
}

/** A database with configuration, charges, video tasks and wallet leases, and load on it while it is exported. */
async function exportUnderLoad(file: string): Promise<VideoFixture> {
  const fixture = await startVideo({ worker: true, video: { queuedMs: 20, runningMs: 20 } });
  const { gateway, sim } = fixture;
  await gateway.apply({
    groups: [{ id: 'claude', style: 'messages' }],
    accounts: [{ id: 'cl1', group: 'claude', base_url: sim.url, api_key: 'sk-upstream' }],
    models: [{ id: 'demo-messages', groups: ['claude'], prices: { input: '3', output: '15' } }],
    keys: [{ user: 'ana', group: 'claude', name: 'text', key: CLAUDE_KEY }],
  });
  const { db } = gateway.context.database;
  await storeTask(db, {
    user_id: 'ana',
    id: OPEN_TASK,
    submission: 'pending',
    submitter: 'rep_old',
    submitter_until: new Date(Date.now() + 3_600_000),
  });
  const load = startLoad(gateway.url);
  await until(
    'charges and leases',
    async () => (await countOf(db, 'entries')) > 10 && (await countOf(db, 'leases')) > 0,
  );
  const before = load.calls();
  const exported = await dragoman(['export', file], gateway.database);
  assert.equal(exported.code, 0, exported.stderr);
  assert.match(exported.stderr, /rows of \d+ tables are exported[\s\S]*MASTER_KEY/);
  assert.ok(load.calls() > before, 'calls go on during an export');
  await load.stop();
  return fixture;
}

test('an export under load restores into another database on which keys, balances and tasks go on', async () => {
  const file = join(folder, 'full.export');
  const { gateway, sim } = await exportUnderLoad(file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const [audit] = await gateway.context.database.db
    .selectFrom('audit')
    .select('actor')
    .where('action', '=', 'database.exported')
    .execute();
  assert.equal(audit?.actor, 'cli');
  await gateway.stop();
  const target = await emptyDatabase();
  try {
    const bytes = readFileSync(file);
    writeFileSync(join(folder, 'cut.export'), bytes.subarray(0, bytes.length - 200));
    const cut = await dragoman(['import', join(folder, 'cut.export')], target);
    assert.match(cut.stderr, /^Nothing was imported from .*: (?:it is damaged or incomplete|the file ends too early)/);
    assert.equal(cut.code, 1);
    // A refused file leaves the database empty: the next import succeeds.
    const imported = await dragoman(['import', file], target);
    assert.equal(imported.code, 0, imported.stderr);
    assert.match(imported.stderr, /The ledger adds up\.\n/);
    await checkRestored(target, sim);
  } finally {
    await sim.close();
    await target.drop();
  }
});

async function checkRestored(target: TestDatabase, sim: VideoFixture['sim']): Promise<void> {
  const creates = sim.video.journal.creates.length;
  const gateway = await startGateway({ database: target, worker: true });
  const { db } = gateway.context.database;
  try {
    assert.deepEqual((await sql`select * from ledger_faults()`.execute(db)).rows, []);
    const entries = await countOf(db, 'entries');
    assert.ok(entries > 10);
    assert.ok((await countOf(db, 'usage_records')) > 0 && (await countOf(db, 'requests')) > 0);
    // Identity columns continue: a used id would be refused.
    assert.equal((await message(gateway.url)).status, 200);
    await until('a new charge', async () => (await countOf(db, 'entries')) > entries);
    await gateway.apply({ models: [{ id: 'new-model', groups: ['claude'], prices: { input: '1', output: '2' } }] });
    // Nothing is sent again: what was open counts as sent, and what the provider has is followed to its end.
    await sql`update video_tasks set submitter_until = now() - interval '1 second', next_check_at = now()
      where submission in ('sending', 'confirmed')`.execute(db);
    const states = async (): Promise<string[]> => {
      const { rows } = await sql<{ state: string }>`
        select distinct submission || ' ' || status as state from video_tasks order by 1`.execute(db);
      return rows.map(({ state }) => state);
    };
    await until('the end of the tasks', async () => (await states()).join() === 'confirmed succeeded,unknown queued');
    assert.equal(sim.video.journal.creates.length, creates);
  } finally {
    await gateway.stop();
  }
}

/** What a database without load exports, and what its import into another one says. */
const framesOf = ({ url }: TestDatabase): Promise<Buffer[]> => {
  const database = openDatabase(url, 2);
  return Array.fromAsync(exportFrames(database, { tables: 0, rows: 0 })).finally(database.close);
};
const importInto = ({ url }: TestDatabase, frames: readonly Buffer[], key = MASTER_KEY): Promise<unknown> => {
  const database = openDatabase(url, 2);
  const chunks = (async function* () {
    yield* frames;
  })();
  return importFrames(database, { chunks, masterKeys: parseMasterKeys(key) ?? [] }).finally(database.close);
};

test('import brings an export of an earlier version to the schema of this one, and refuses what does not fit', async () => {
  const [source, target, current] = [await emptyDatabase(), await emptyDatabase(), await testDatabase()];
  try {
    await withDb(source, async (db) => {
      const { missing } = await readMigrationState(db);
      await migrateTo(source.url, missing.at(-2) ?? '');
      await loadPepper(db, createSealer(parseMasterKeys(MASTER_KEY) ?? []));
      await db.insertInto('users').values({ id: 'ana', email: 'ana@example.test' }).execute();
    });
    const frames = await framesOf(source);
    const replace = (from: string, to: string): Buffer[] =>
      frames.map((frame) => Buffer.from(frame.toString('latin1').replace(from, to), 'latin1'));
    for (const [attempt, expected] of [
      [() => importInto(current, frames), /^it has the schema \w+, and the database already has \w+\. .*new, empty/],
      [() => importInto(target, frames, `k1:${'another-key-'.repeat(3)}`), /another master key\. Set MASTER_KEY/],
      [() => importInto(target, frames.slice(0, 1)), /^the file ends too early$/],
      [() => importInto(target, replace('ana@example', 'ann@example')), /checksum is wrong/],
      [() => importInto(target, replace('\tana@', '\t\tna@')), /^the file is damaged: PostgreSQL says/],
      [() => importInto(target, [...frames, Buffer.from('x')]), /bytes after its end/],
    ] as const)
      await assert.rejects(attempt, (error) => error instanceof BackupError && expected.test(error.message));
    await importInto(target, frames);
    await withDb(target, async (db) => {
      assert.deepEqual((await readMigrationState(db)).missing, []);
      assert.equal(await countOf(db, 'wallets'), 1);
    });
    await assert.rejects(importInto(target, await framesOf(target)), /the database is not empty: .*users.* have rows/);
  } finally {
    for (const database of [source, target, current]) await database.drop();
  }
});

test('import refuses an export of a newer version, and any other file, with a sentence', async () => {
  const target = await emptyDatabase();
  const header = {
    format: FORMAT,
    format_version: 1,
    dragoman: '99.0.0',
    exported_at: '2099-01-01T00:00:00Z',
    migrations: ['9999_later'],
    pepper: createSealer(parseMasterKeys(MASTER_KEY) ?? []).seal('x', PEPPER_LOCATION),
    partitions: [],
  };
  const text = join(folder, 'text');
  writeFileSync(text, 'not an export');
  try {
    await assert.rejects(importInto(target, [new FrameWriter().json('header', header)]), {
      message: `Dragoman 99.0.0 wrote it, with the migration 9999_later, which this version ${version} lacks. Import it with Dragoman 99.0.0 or later`,
    });
    await assert.rejects(importInto(target, [Buffer.from('not an export')]), /the file is damaged/);
    const imported = await dragoman(['import', text], target);
    assert.match(imported.stderr, /^Nothing was imported from .*: it is damaged or incomplete, or not an export\.$/m);
    assert.equal(imported.code, 1);
    const exported = await dragoman(['export', text], target);
    assert.match(exported.stderr, /text exists already\. Choose another name/);
    await assert.rejects(framesOf(target), /the database is empty/);
  } finally {
    await target.drop();
  }
});
