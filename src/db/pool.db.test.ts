import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../test/support/database.ts';
import { longTest } from '../../test/support/long-test.ts';
import { TcpRelay } from '../../test/support/tcp-relay.ts';
import { until } from '../../test/support/wait.ts';
import { type Database, openDatabase } from './db.ts';
import { DatabaseUnavailable } from './pool.ts';
import { prepare } from './prepared.ts';

const ALL_CONNECTIONS = 17;
/** Those of background work. */
const CONNECTIONS = 12;
const LIMITS = { connectMs: 1_500, statementMs: 1_500, callMs: 300, idleMs: 0, probeMs: 300 };

let own: TestDatabase;
let relay: TcpRelay;
let database: Database;

before(async () => {
  own = await testDatabase();
});
beforeEach(async () => {
  relay = await TcpRelay.start(own.url);
  database = openDatabase(relay.url, ALL_CONNECTIONS, LIMITS);
});
afterEach(async () => {
  await database.close();
  await relay.close();
});
after(() => own.drop());

const answer = (db = database.db): Promise<number> =>
  sql<{ one: number }>`select 1 as one`.execute(db).then(({ rows }) => rows[0]?.one ?? 0);

/** Opens every connection of the pool. */
async function fill(): Promise<void> {
  await Promise.all(Array.from({ length: CONNECTIONS }, () => sql`select pg_sleep(0.2)`.execute(database.db)));
  assert.equal(relay.openConnections, CONNECTIONS);
}

async function msOf(task: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await task();
  return performance.now() - begun;
}

test('pool replaces idle connections that have gone silent, while new ones work', async () => {
  await fill();
  relay.silenceOpen();
  const ms = await msOf(() => Promise.all(Array.from({ length: 30 }, () => answer())));
  assert.ok(ms < 2_000, `${Math.round(ms)} ms`);
});

longTest('a transaction whose connection went silent does not keep its locks', async () => {
  const other = openDatabase(own.url, ALL_CONNECTIONS, { ...LIMITS, statementMs: 10_000 });
  await sql`create table locked as select 1 as n`.execute(other.db);
  try {
    const update = sql`update locked set n = n + 1`;
    const cutOff = database.db.transaction().execute(async (tx) => {
      await update.execute(tx);
      relay.silenceOpen();
      await update.execute(other.db);
    });
    await assert.rejects(cutOff, DatabaseUnavailable);
    const { rows } = await sql<{ n: number }>`select n from locked`.execute(other.db);
    assert.deepEqual(rows, [{ n: 2 }]);
  } finally {
    await other.close();
  }
});

longTest('pool cuts connections that go silent during a statement, and uses new ones', async () => {
  await fill();
  const running = Array.from({ length: CONNECTIONS }, () =>
    sql`select pg_sleep(0.5)`.execute(database.db).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  await until('the statements to run', async () => {
    const other = openDatabase(own.url, 1);
    const { rows } = await sql`select 1 from pg_stat_activity where query like '%pg_sleep(0.5)%' and state = 'active'
      and pid <> pg_backend_pid() and datname = current_database()`.execute(other.db);
    await other.close();
    return rows.length === CONNECTIONS;
  });
  relay.silenceOpen();
  for (const error of await Promise.all(running)) assert.ok(error instanceof DatabaseUnavailable, String(error));
  assert.equal(await answer(), 1);
});

test('background work and calls cannot take the connections of each other', async () => {
  // Without the short limits of the other tests: a slow machine needs longer for so many connections.
  const patient = openDatabase(own.url, ALL_CONNECTIONS);
  /** Runs four statements per connection of `busy`, and returns how many of them end before one of `other`. */
  const endedBefore = async (other: Database['db'], busy: Database['db'], connections: number): Promise<number> => {
    let ended = 0;
    const statements = Array.from({ length: 4 * connections }, async () => {
      await sql`select pg_sleep(0.1)`.execute(busy);
      ended += 1;
    });
    await answer(other);
    const before = ended;
    await Promise.all(statements);
    return before;
  };
  const ofCalls = ALL_CONNECTIONS - CONNECTIONS;
  const jobs = await endedBefore(patient.forCalls, patient.db, CONNECTIONS);
  const calls = await endedBefore(patient.db, patient.forCalls, ofCalls);
  await patient.close();
  // The statement would be the last one if it had to wait for a connection of the others.
  assert.ok(jobs < 3 * CONNECTIONS && calls < 3 * ofCalls, `${jobs} jobs and ${calls} calls ended before`);
});

test('a statement that a call waits for fails sooner than one of a job', async () => {
  const ms = await msOf(() =>
    assert.rejects(sql`select pg_sleep(10)`.execute(database.forCalls), { name: 'DatabaseUnavailable' }),
  );
  assert.ok(ms < 1_000, `${Math.round(ms)} ms`);
  await assert.rejects(sql`select pg_sleep(10)`.execute(database.db), { name: 'DatabaseUnavailable', code: '57014' });
});

test('pool rejects while the server is silent, and recovers by itself', async () => {
  await fill();
  relay.silenceAll();
  const ms = await msOf(() => assert.rejects(answer(database.forCalls), { name: 'DatabaseUnavailable' }));
  assert.ok(ms < 4_000, `${Math.round(ms)} ms`);
  relay.resume();
  assert.equal(await until('the pool to recover', () => answer(database.forCalls).catch(() => 0)), 1);
});

test('pool reports a refused connection as unavailable, and an invalid statement as it is', async () => {
  const closed = openDatabase('postgres://user@127.0.0.1:9/none', 1, LIMITS);
  await assert.rejects(answer(closed.db), { name: 'DatabaseUnavailable', code: 'ECONNREFUSED' });
  await closed.close();
  await assert.rejects(sql`select nothing_like_this`.execute(database.db), { name: 'error', code: '42703' });
  // The transaction ends with the error of its statement.
  await assert.rejects(
    database.db.transaction().execute((tx) => sql`select 1 / 0`.execute(tx)),
    { code: '22012' },
  );
});

test('close ends although every connection is silent', async () => {
  await fill();
  relay.silenceAll();
  const ms = await msOf(() => database.close());
  assert.ok(ms < 3_000, `${Math.round(ms)} ms`);
  await until('the sockets to be closed', () => relay.openConnections === 0);
  database = openDatabase(own.url, 1);
});

test('a connection prepares a statement once, and never behind a pooler', async () => {
  const double = prepare<{ n: number }>('double', 'select $1::int * 2 as n');
  const preparedIn = (opened: Database): Promise<unknown[]> =>
    opened.db.transaction().execute(async (tx) => {
      for (const n of [1, 2]) assert.deepEqual(await double(tx, [n]), [{ n: 2 * n }]);
      return (await sql`select name, generic_plans + custom_plans as runs from pg_prepared_statements`.execute(tx))
        .rows;
    });
  assert.deepEqual(await preparedIn(database), [{ name: 'double', runs: 2n }]);
  const pooled = openDatabase(relay.url, ALL_CONNECTIONS, LIMITS, own.url);
  try {
    assert.deepEqual(await preparedIn(pooled), []);
  } finally {
    await pooled.close();
  }
});
