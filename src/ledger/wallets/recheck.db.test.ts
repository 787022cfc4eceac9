import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FAR_FUTURE, makeUser } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { explain, statementsOf } from '../../../test/support/plan.ts';
import { until } from '../../../test/support/wait.ts';
import { createLog } from '../../core/index.ts';
import { ADVISORY_LOCK, connect, type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import { type AlarmFinder, alarm, checkAlarms, LEDGER_CHECKS, readAlarms } from '../alarms.ts';
import { checkAllEntries, checkLedger, checkNewEntries, type LedgerPass } from './check.ts';
import { SEGMENT_ENTRIES } from './segments.ts';
import { charge, hold, settle } from './wallets.ts';

let own: TestDatabase;
let database: Database;
let db: Db;

beforeEach(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  db = database.db;
});
afterEach(async () => {
  await database.close();
  await own.drop();
});

const execute = (text: string) => sql.raw(text).execute(db);

async function pass(): Promise<LedgerPass> {
  // Marks have to be some seconds old.
  await execute("update ledger_checkpoint set marked_at = now() - interval '1 minute'");
  const result = await checkNewEntries(db);
  assert.ok(result, 'no other process checks');
  return result;
}
const faultsOf = async (): Promise<string[]> =>
  (await pass()).faults.map(({ fault, subject }) => `${fault}: ${subject}`);

/** Books charges of 1 nano each, with their sum on the wallets. */
async function addEntries(count: number, users: readonly string[]): Promise<void> {
  await execute(`
    insert into entries (debit, credit, nanos, kind, reference, reason)
    select (array['${users.join("','")}'])[n % ${users.length} + 1], '@revenue', 1, 'charge', 'charge:' || gen_random_uuid(), 'test'
    from generate_series(1, ${count}) n`);
  await execute(`update wallets w set debits = (select count(*) from entries where debit = w.user_id)`);
}

/** Transactions of other test files delay segments too. */
const untilSegments = (count: number) =>
  until(`${count} segments`, async () => {
    assert.deepEqual(await faultsOf(), []);
    return (await segments()) === count;
  });

const segments = async (): Promise<number> =>
  (await db.selectFrom('ledger_segments').select('last_id').execute()).length;

test('the check of new entries names each kind of fault', async () => {
  const userId = await makeUser(db, 'zed', 1_000n);
  await hold(db, { userId, nanos: 100n, reference: 'task:z1', checkAfter: FAR_FUTURE });
  await hold(db, { userId, nanos: 50n, reference: 'task:z2', checkAfter: FAR_FUTURE });
  await settle(db, 'task:z2', { nanos: 20n, reason: 'test' });
  assert.deepEqual(await faultsOf(), []);
  const cases: readonly (readonly [change: string, undo: string, expected: RegExp])[] = [
    ['update wallets set credits = credits + 1', 'update wallets set credits = credits - 1', /wallet\.credits/],
    ['update wallets set debits = debits + 1', 'update wallets set debits = debits - 1', /wallet\.debits/],
    ['update wallets set held = held + 1', 'update wallets set held = held - 1', /wallet\.held/],
    ['update wallets set held = held + 5000', 'update wallets set held = held - 5000', /overspent/],
    [
      "update holds set settled_nanos = 21 where reference = 'task:z2'",
      "update holds set settled_nanos = 20 where reference = 'task:z2'",
      /not charged what it says/,
    ],
    [
      "update holds set state = 'released', settled_nanos = null where reference = 'task:z2'",
      "update holds set state = 'settled', settled_nanos = 20 where reference = 'task:z2'",
      /not settled was charged/,
    ],
    [
      "update holds set check_after = now() - interval '2 hours' where reference = 'task:z1'",
      "update holds set check_after = now() where reference = 'task:z1'",
      /overdue/,
    ],
  ];
  for (const [change, undo, expected] of cases) {
    await execute(change);
    assert.match((await faultsOf()).join('\n'), expected, change);
    await execute(undo);
    assert.deepEqual(await faultsOf(), [], undo);
  }
});

test('a settled hold that was not charged is found although no entry names it, and stays reported', async () => {
  const userId = await makeUser(db, 'hal', 1_000n);
  await hold(db, { userId, nanos: 50n, reference: 'task:h1', checkAfter: FAR_FUTURE });
  await execute(`update wallets set held = 0 where user_id = 'hal'`);
  await execute(`update holds set state = 'settled', settled_nanos = 20, resolved_at = now() - interval '2 minutes'`);
  for (let n = 0; n < 3; n += 1) assert.match((await faultsOf()).join(), /not charged what it says: task:h1/);
  await execute(`update holds set state = 'released', settled_nanos = null`);
  assert.deepEqual(await faultsOf(), []);
});

longTest('old entries become segments, and a later pass reads only newer ones', async (t) => {
  await makeUser(db, 'ida', 10n ** 9n);
  await makeUser(db, 'joe', 10n ** 9n);
  await addEntries(3 * SEGMENT_ENTRIES + 500, ['ida', 'joe']);
  assert.deepEqual(await faultsOf(), []);
  assert.equal(await segments(), 0, 'transactions that ran at the first pass may still add entries');
  await untilSegments(3);
  await charge(db, { userId: 'ida', nanos: 7n, reference: 'later', reason: 'test' });
  await execute('analyze');
  const sent = await statementsOf(pass);
  const client = await connect(own.url);
  try {
    for (const statement of sent.filter(({ text }) => text.includes('fresh as'))) {
      const cost = await explain(client, statement);
      t.diagnostic(`${cost.blocks} blocks, ${cost.ms.toFixed(1)} ms`);
      assert.ok(!cost.scanned.has('entries'), 'entries are read by their index');
    }
  } finally {
    await client.end();
  }
  await execute(`update wallets set debits = debits + 1 where user_id = 'joe'`);
  assert.match((await faultsOf()).join(), /wallet\.debits is not the sum of its entries: joe/);
  await execute(`update wallets set debits = debits - 1 where user_id = 'joe'`);
  await checkLedger(db);
});

test('an entry whose transaction outlasts a pass is counted once', async () => {
  await makeUser(db, 'kim', 10n ** 9n);
  const slow = await connect(own.url);
  await slow.query(`begin;
    insert into entries (debit, credit, nanos, kind, reference, reason) values ('kim', '@revenue', 5, 'charge', 'slow', 'test');
    select pg_advisory_xact_lock(1)`);
  await addEntries(SEGMENT_ENTRIES, ['kim']);
  for (let n = 0; n < 3; n += 1) assert.deepEqual(await faultsOf(), []);
  assert.equal(await segments(), 0, 'the segment waits for the transaction');
  await slow.query(`update wallets set debits = debits + 5 where user_id = 'kim'; commit`);
  await slow.end();
  await untilSegments(1);
});

test('changes of verified entries are found in the background, and at once by the check of all entries', async () => {
  await makeUser(db, 'lou', 10n ** 9n);
  await makeUser(db, 'mia', 10n ** 9n);
  await addEntries(2 * SEGMENT_ENTRIES, ['lou', 'mia']);
  await untilSegments(2);
  assert.deepEqual(await checkAllEntries(own.url), []);
  // The sums of the wallets stay right: only the entries show it.
  const swap = (from: string, to: string) =>
    db.transaction().execute(async (tx) => {
      await sql`alter table entries disable trigger entries_stay`.execute(tx);
      await sql`update entries set reason = ${to}, debit = ${to === 'moved' ? 'mia' : 'lou'}
        where id = (select min(id) from entries where kind = 'charge' and reason = ${from} and debit = ${from === 'moved' ? 'mia' : 'lou'})`.execute(
        tx,
      );
      await sql`alter table entries enable trigger entries_stay`.execute(tx);
    });
  await swap('test', 'moved');
  const all = (await checkAllEntries(own.url)).map(({ fault }) => fault).join('\n');
  assert.match(all, /wallet\.debits/);
  assert.match(all, /changed, added or removed after they had been verified/);
  assert.match((await faultsOf()).join(), /changed, added or removed .*: entries \d+ to \d+/);
  await swap('moved', 'test');
  assert.deepEqual(await faultsOf(), []);
});

test('one process at a time checks, and a check that cannot run for long is an alarm', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const stateOf = async (name: string) => (await readAlarms(db)).find((state) => state.name === name);
  const assertNoneFails = async () => {
    const { count, detail } = (await stateOf('checks_failing')) ?? assert.fail();
    assert.equal(count, 0, detail ?? '');
  };
  // The template of this database may be older than the limit.
  await execute('update ledger_checkpoint set checked_at = now()');
  const other = await connect(own.url);
  await other.query('select pg_advisory_lock($1, $2)', [ADVISORY_LOCK, 0x6c656467]);
  assert.equal(await checkNewEntries(db), undefined);
  await checkAlarms(db, log);
  await assertNoneFails();
  await execute("update ledger_checkpoint set checked_at = now() - interval '16 minutes'");
  await checkAlarms(db, log);
  assert.match((await stateOf('checks_failing'))?.detail ?? '', /^ledger: not completed for 15 minutes$/);
  assert.equal(lines.at(-1)?.alarm, 'checks_failing');
  await other.end();
  await checkAlarms(db, log);
  await assertNoneFails();
});

test('a check that fails is an alarm, hides no other, and leaves its own alarms as they were', async () => {
  const log = createLog('error', { write: () => {} });
  const states = async () => new Map((await readAlarms(db)).map((state) => [state.name, state]));
  await makeUser(db, 'ned', 10n);
  await execute("update wallets set credits = 11 where user_id = 'ned'");
  await checkAlarms(db, log);
  assert.equal((await states()).get('ledger_faults')?.count, 2);
  await execute('alter table ledger_checkpoint rename to ledger_checkpoint_away');
  await execute(`insert into usage_quarantine (id, fault, raw) values ('use_x', 'negative', '{}')`);
  const later: AlarmFinder = async () => [alarm('callbacks_dead', ['evt'], (id) => id)];
  await checkAlarms(db, log, { ...LEDGER_CHECKS, callbacks: later });
  const found = await states();
  assert.match(found.get('checks_failing')?.detail ?? '', /^ledger: 42P01 relation "ledger_checkpoint" does not exist/);
  assert.deepEqual(
    ['ledger_faults', 'usage_quarantined', 'callbacks_dead'].map((name) => found.get(name as 'ledger_faults')?.count),
    [2, 1, 1],
  );
  await execute('alter table ledger_checkpoint_away rename to ledger_checkpoint');
  await execute("update wallets set credits = 10 where user_id = 'ned'");
});
