import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { TcpRelay } from '../../../test/support/tcp-relay.ts';
import { HANGING_MS, until } from '../../../test/support/wait.ts';
import { type Database, openDatabase } from './db.ts';
import { DatabaseUnavailable } from './pool.ts';
import { prepare } from './prepared.ts';

const ALL_CONNECTIONS = 17;
/** Those of background work. */
const CONNECTIONS = 12;
/** The pool measures them on a clock that the test moves, so that a slow machine reaches none of them. */
const LIMITS = { connectMs: HANGING_MS, statementMs: HANGING_MS, callMs: 3_000, idleMs: 0, probeMs: 1_000 };

let own: TestDatabase;
let relay: TcpRelay;
let database: Database;
let clock: FakeClock;

before(async () => {
  own = await testDatabase();
});
beforeEach(async () => {
  relay = await TcpRelay.start(own.url);
  clock = new FakeClock();
  database = openDatabase(relay.url, ALL_CONNECTIONS, { ...LIMITS, clock });
});
afterEach(async () => {
  await database.close();
  await relay.close();
});
after(() => own.drop());

const answer = (db = database.db): Promise<number> =>
  sql<{ one: number }>`select 1 as one`.execute(db).then(({ rows }) => rows[0]?.one ?? 0);

/** Opens every connection of a pool: its statements wait until there are as many as connections. */
async function fill(): Promise<void> {
  const filled = holdStatements();
  const statements = Array.from({ length: CONNECTIONS }, () => filled.statement(database.db));
  await until('all connections', async () => (await filled.waiting()) === CONNECTIONS);
  await filled.release();
  await Promise.all(statements);
  assert.equal(relay.openConnections, CONNECTIONS);
}

/** Statements that run until they are released. They wait for a lock that another session holds. */
function holdStatements() {
  locks += 1;
  const lock = locks;
  const holder = openDatabase(own.url, 1);
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = holder.db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${lock})`.execute(tx);
    held.resolve();
    await released.promise;
  });
  return {
    async statement(db: Database['db']): Promise<void> {
      await held.promise;
      await sql`select pg_advisory_xact_lock_shared(${lock})`.execute(db);
    },
    async waiting(): Promise<number> {
      const { rows } = await sql<{
        count: bigint;
      }>`select count(*) from pg_locks l join pg_database d on d.oid = l.database
        where locktype = 'advisory' and objid = ${lock} and not granted and datname = current_database()`.execute(
        holder.forCalls,
      );
      return Number(rows[0]?.count);
    },
    async release(): Promise<void> {
      released.resolve();
      await holding;
      await holder.close();
    },
  };
}
let locks = 0;

test('pool replaces idle connections that have gone silent, while new ones work', async () => {
  await fill();
  relay.silenceOpen();
  const answers = Promise.all(Array.from({ length: 30 }, () => answer()));
  await until('all probes', () => relay.unheard.size === CONNECTIONS);
  // The connections that replace them are opened after that moment.
  clock.advance(LIMITS.probeMs + 1);
  assert.deepEqual(new Set(await answers), new Set([1]));
});

longTest('a transaction whose connection went silent does not keep its locks', async () => {
  // PostgreSQL measures how long a transaction waits for its next statement.
  const impatient = openDatabase(relay.url, ALL_CONNECTIONS, { ...LIMITS, statementMs: 1_500, clock });
  const other = openDatabase(own.url, ALL_CONNECTIONS, LIMITS);
  await sql`create table locked as select 1 as n`.execute(other.db);
  try {
    const update = sql`update locked set n = n + 1`;
    const cutOff = impatient.db.transaction().execute(async (tx) => {
      await update.execute(tx);
      relay.silenceOpen();
      await update.execute(other.db);
    });
    const rejected = assert.rejects(cutOff, DatabaseUnavailable);
    await until('the commit, which gets no response', () => relay.unheard.size === 1);
    clock.advance(LIMITS.statementMs);
    await rejected;
    const { rows } = await sql<{ n: number }>`select n from locked`.execute(other.db);
    assert.deepEqual(rows, [{ n: 2 }]);
  } finally {
    await impatient.close();
    await other.close();
  }
});

longTest('pool cuts connections that go silent during a statement, and uses new ones', async () => {
  await fill();
  const held = holdStatements();
  const running = Array.from({ length: CONNECTIONS }, () =>
    held.statement(database.db).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  await until('the statements to run', async () => (await held.waiting()) === CONNECTIONS);
  relay.silenceOpen();
  await held.release();
  // PostgreSQL has a second to report that it cancelled the statement.
  clock.advance(LIMITS.statementMs + 1_001);
  for (const error of await Promise.all(running)) assert.ok(error instanceof DatabaseUnavailable, String(error));
  assert.equal(await answer(), 1);
});

test('a read whose connection goes silent is read on another one, and a change is not made twice', async () => {
  await sql`create table made (n int)`.execute(database.db);
  const trusting = openDatabase(relay.url, ALL_CONNECTIONS, { ...LIMITS, idleMs: HANGING_MS, clock });
  try {
    assert.equal(await answer(trusting.forCalls), 1);
    relay.silenceOpen();
    const read = answer(trusting.forCalls);
    await until('the statement, which gets no response', () => relay.unheard.size === 1);
    // The connections that replace them are opened after that moment.
    clock.advance(LIMITS.callMs + 1);
    assert.equal(await read, 1);
    relay.silenceOpen();
    const change = assert.rejects(sql`insert into made values (1)`.execute(trusting.forCalls), DatabaseUnavailable);
    await until('the change, which gets no response', () => relay.unheard.size === 2);
    clock.advance(LIMITS.callMs + 1);
    await change;
    assert.deepEqual((await sql`select * from made`.execute(trusting.forCalls)).rows, []);
  } finally {
    await trusting.close();
  }
});

test('background work and calls cannot take the connections of each other', async () => {
  const { db, forCalls } = database;
  for (const [busy, other, connections] of [
    [db, forCalls, CONNECTIONS],
    [forCalls, db, ALL_CONNECTIONS - CONNECTIONS],
  ] as const) {
    const held = holdStatements();
    const statements = Array.from({ length: 2 * connections }, () => held.statement(busy));
    await until('all connections to be busy', async () => (await held.waiting()) === connections);
    // It would wait for its time limit if it needed a connection of the others.
    assert.equal(await answer(other), 1);
    await held.release();
    await Promise.all(statements);
  }
});

test('a statement that a call waits for fails sooner than one of a job', async () => {
  const held = holdStatements();
  const [ofCall, ofJob] = [database.forCalls, database.db].map((db) => held.statement(db));
  await until('both to run', async () => (await held.waiting()) === 2);
  clock.advance(LIMITS.callMs);
  await assert.rejects(ofCall ?? assert.fail(), { name: 'DatabaseUnavailable' });
  await held.release();
  await ofJob;
});

test('PostgreSQL cancels a statement of a job that takes too long', async () => {
  const impatient = openDatabase(own.url, 2, { ...LIMITS, statementMs: 200, clock });
  await assert.rejects(sql`select pg_sleep(60)`.execute(impatient.db), { name: 'DatabaseUnavailable', code: '57014' });
  await impatient.close();
});

test('pool rejects while the server is silent, and recovers by itself', async () => {
  const impatient = openDatabase(relay.url, ALL_CONNECTIONS, { ...LIMITS, connectMs: 500, clock });
  relay.silenceAll();
  await assert.rejects(answer(impatient.forCalls), { name: 'DatabaseUnavailable' });
  relay.resume();
  assert.equal(await until('the pool to recover', () => answer(impatient.forCalls).catch(() => 0)), 1);
  await impatient.close();
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
  await database.close();
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
