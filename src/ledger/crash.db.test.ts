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
import { type Database, type Db, openDatabase } from '../db/index.ts';
import type { CrashPoint } from './crash-points.ts';
import { available, checkLedger } from './wallets/wallets.ts';

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
  readonly safe: readonly string[];
  readonly output: string;
}

const PROGRAM = fileURLToPath(new URL('../../test/support/ledger-process.ts', import.meta.url));

function crash(plan: Pick<CrashPlan, 'dataDir' | 'userId' | 'step' | 'nth'>): Promise<End> {
  const whole: CrashPlan = { ...plan, url: own.url, calls: CALLS, bound: '50', cost: String(COST) };
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(whole)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let complaint = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    complaint += chunk;
  });
  return new Promise((resolve) => {
    child.on('close', (_, signal) => {
      const safe = [...output.matchAll(/^safe (\S+)$/gm)].map((match) => match[1] ?? '');
      resolve({ signal, safe, output: `${output}${complaint}` });
    });
  });
}

/** A new process begins; afterwards every promise has been kept and nothing was charged twice. */
async function expectWhole(dataDir: string, userId: string, safe: readonly string[], mostCalls: number): Promise<void> {
  const next = await metering({ db, dataDir });
  await next.close();
  await checkLedger(db);
  const rows = await db.selectFrom('usage_records').select(['id', 'nanos']).where('user_id', '=', userId).execute();
  const recorded = new Set(rows.map(({ id }) => id));
  for (const id of safe) assert.ok(recorded.has(id), `${id} was safe and is lost`);
  assert.ok(rows.length <= mostCalls);
  const charged = BigInt(rows.length) * COST;
  assert.deepEqual(await available(db, userId), { available: OPENING - charged, held: 0n });
  const { rows: sums } = await sql<{ entries: bigint; daily: bigint }>`
    select (select coalesce(sum(nanos), 0)::bigint from entries where debit = ${userId}) as entries,
      (select coalesce(sum(nanos), 0)::bigint from usage_daily where user_id = ${userId}) as daily`.execute(db);
  assert.deepEqual(sums, [{ entries: charged, daily: charged }]);
  assert.deepEqual(readdirSync(join(dataDir, 'journal')), []);
  assert.deepEqual(await db.selectFrom('leases').selectAll().where('user_id', '=', userId).execute(), []);
}

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

test('killed at any step, a call is charged exactly or not at all, and what was promised is kept', async (t) => {
  const runs = POINTS.flatMap(([step, times]) => times.map((nth) => ({ step, nth })));
  const ends: string[] = [];
  await inParallel(2, runs.length, async (n) => {
    const run = runs[n];
    if (!run) return;
    const { step, nth } = run;
    const dataDir = join(home, `run${n}`);
    const userId = await makeUser(db, `crash${n}`, OPENING);
    const end = await crash({ dataDir, userId, step, nth });
    assert.equal(end.signal, 'SIGKILL', `${step} was not reached ${nth} times: ${end.output}`);
    ends.push(`${step} x${nth}: ${end.safe.length} safe`);
    await expectWhole(dataDir, userId, end.safe, CALLS);
  });
  t.diagnostic(ends.join(', '));
});

test('killed while bringing home what another left, the next one brings home both', async () => {
  const steps: readonly CrashPoint[] = [
    'recover.claimed',
    'flush.begun',
    'flush.recorded',
    'flush.committed',
    'recover.replayed',
    'recover.retired',
  ];
  await inParallel(2, steps.length, async (n) => {
    const dataDir = join(home, `twice${n}`);
    const userId = await makeUser(db, `twice${n}`, OPENING);
    const first = await crash({ dataDir, userId, step: 'journal.written', nth: 4 });
    const second = await crash({ dataDir, userId, step: steps[n] as CrashPoint, nth: 1 });
    assert.equal(second.signal, 'SIGKILL', second.output);
    await expectWhole(dataDir, userId, [...first.safe, ...second.safe], 2 * CALLS);
  });
});

test('several processes that begin at once bring home each leftover once', async () => {
  const dataDir = join(home, 'many');
  const userId = await makeUser(db, 'many', OPENING);
  const ends = [];
  for (let n = 0; n < 3; n += 1) ends.push(await crash({ dataDir, userId, step: 'journal.written', nth: n + 3 }));
  const nexts = await Promise.all(Array.from({ length: 4 }, () => metering({ db, dataDir })));
  for (const next of nexts) await next.close();
  const safe = ends.flatMap((end) => end.safe);
  await expectWhole(dataDir, userId, safe, 3 * CALLS);
});
