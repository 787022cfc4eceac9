// set: all; every crash point of the journal
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../test/support/database.ts';
import { type CrashPlan, inParallel, makeUser, metering } from '../../test/support/ledger-process.ts';
import { type Database, type Db, openDatabase } from '../platform/db/index.ts';
import type { CrashPoint } from './crash-points.ts';
import { checkLedger } from './wallets/check.ts';
import { readBalance } from './wallets/wallets.ts';

let own: TestDatabase;
let database: Database;
let db: Db;
let home: string;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  db = database.db;
  home = mkdtempSync(join(tmpdir(), 'dragoman-crash-'));
});
after(async () => {
  await database.close();
  await own.drop();
  rmSync(home, { recursive: true, force: true });
});

const OPENING = 1_000n;
const COST = 7n;
const CALLS = 12;

interface End {
  readonly signal: string | null;
  /** Ids of records that were reported as written. */
  readonly written: readonly string[];
  readonly output: string;
}

const PROGRAM = fileURLToPath(new URL('../../test/support/ledger-process.ts', import.meta.url));

function crash(plan: Pick<CrashPlan, 'dataDir' | 'userId' | 'point' | 'nth'>): Promise<End> {
  const program: CrashPlan = { ...plan, url: own.url, calls: CALLS, maxCost: '50', cost: String(COST) };
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(program)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  return new Promise((resolve) => {
    child.on('close', (_, signal) => {
      const written = [...output.matchAll(/^written (\S+)$/gm)].map((match) => match[1] ?? '');
      resolve({ signal, written, output: `${output}${errors}` });
    });
  });
}

/** Starts a new process, then checks that every written record is charged and none is charged twice. */
async function expectExactCharges(
  dataDir: string,
  userId: string,
  written: readonly string[],
  maxCalls: number,
): Promise<void> {
  const next = await metering({ db, dataDir });
  await next.close();
  await checkLedger(db);
  const rows = await db.selectFrom('usage_records').select(['id', 'nanos']).where('user_id', '=', userId).execute();
  const recorded = new Set(rows.map(({ id }) => id));
  for (const id of written) assert.ok(recorded.has(id), `${id} was written and is lost`);
  assert.ok(rows.length <= maxCalls);
  const charged = BigInt(rows.length) * COST;
  assert.deepEqual(await readBalance(db, userId), { available: OPENING - charged, held: 0n });
  const { rows: sums } = await sql<{ entries: bigint; daily: bigint }>`
    select (select coalesce(sum(nanos), 0)::bigint from entries where debit = ${userId}) as entries,
      (select coalesce(sum(nanos), 0)::bigint from usage_daily where user_id = ${userId}) as daily`.execute(db);
  assert.deepEqual(sums, [{ entries: charged, daily: charged }]);
  assert.deepEqual(readdirSync(join(dataDir, 'journal')), []);
  assert.deepEqual(await db.selectFrom('leases').selectAll().where('user_id', '=', userId).execute(), []);
}

/** Crash points, and how often each is reached before the process dies. */
const POINTS: readonly (readonly [CrashPoint, readonly number[]])[] = [
  ['lease.taken', [1, 2]],
  ['lease.returned', [1]],
  ['record.appended', [1, 7]],
  ['journal.writing', [1, 8]],
  ['journal.written', [1, 6]],
  ['journal.rotated', [1, 3]],
  ['journal.removing', [1, 2]],
  ['flush.begun', [1, 2]],
  ['flush.recorded', [1, 2]],
  ['flush.committed', [1, 2]],
];

test('Metering charges a call exactly or not at all when the process is killed at any crash point', async (t) => {
  const runs = POINTS.flatMap(([point, times]) => times.map((nth) => ({ point, nth })));
  const ends: string[] = [];
  await inParallel(2, runs.length, async (n) => {
    const run = runs[n];
    if (!run) return;
    const { point, nth } = run;
    const dataDir = join(home, `run${n}`);
    const userId = await makeUser(db, `crash${n}`, OPENING);
    const end = await crash({ dataDir, userId, point, nth });
    assert.equal(end.signal, 'SIGKILL', `${point} was not reached ${nth} times: ${end.output}`);
    ends.push(`${point} x${nth}: ${end.written.length} written`);
    await expectExactCharges(dataDir, userId, end.written, CALLS);
  });
  t.diagnostic(ends.join(', '));
});

test('Metering recovers both journals when the recovering process is killed as well', async () => {
  const points: readonly CrashPoint[] = [
    'recover.claimed',
    'flush.begun',
    'flush.recorded',
    'flush.committed',
    'recover.replayed',
    'recover.removed',
  ];
  await inParallel(2, points.length, async (n) => {
    const dataDir = join(home, `twice${n}`);
    const userId = await makeUser(db, `twice${n}`, OPENING);
    const first = await crash({ dataDir, userId, point: 'journal.written', nth: 4 });
    const second = await crash({ dataDir, userId, point: points[n] as CrashPoint, nth: 1 });
    assert.equal(second.signal, 'SIGKILL', second.output);
    await expectExactCharges(dataDir, userId, [...first.written, ...second.written], 2 * CALLS);
  });
});

test('Metering recovers each journal once when several processes start at once', async () => {
  const dataDir = join(home, 'many');
  const userId = await makeUser(db, 'many', OPENING);
  const ends = [];
  for (let n = 0; n < 3; n += 1) ends.push(await crash({ dataDir, userId, point: 'journal.written', nth: n + 3 }));
  const nexts = await Promise.all(Array.from({ length: 4 }, () => metering({ db, dataDir })));
  for (const next of nexts) await next.close();
  const written = ends.flatMap((end) => end.written);
  await expectExactCharges(dataDir, userId, written, 3 * CALLS);
});
