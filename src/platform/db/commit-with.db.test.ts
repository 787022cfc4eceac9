import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CompiledQuery, sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { commitWith } from './commit-with.ts';
import { type Database, openDatabase } from './db.ts';
import { prepare } from './prepared.ts';

let own: TestDatabase;
let database: Database;
before(async () => {
  own = await testDatabase();
  // A single connection for jobs, so that each transaction finds it as the one before left it.
  database = openDatabase(own.url, 2);
  await sql`create table numbers (n int)`.execute(database.db);
  await sql`create table positions (lsn pg_lsn)`.execute(database.db);
});
after(async () => {
  await database.close();
  await own.drop();
});

const add = (n: number) => CompiledQuery.raw('insert into numbers values ($1) returning n', [n]);
const numbers = async (): Promise<readonly number[]> =>
  (await sql<{ n: number }>`select n from numbers order by n`.execute(database.db)).rows.map(({ n }) => n);

test('commitWith() commits the work and the statements, and returns their rows', async () => {
  const sum = prepare<{ sum: bigint }>('test_sum', 'select sum(n) from numbers where n < $1');
  const run = (n: number) =>
    commitWith(database.db, async (tx) => {
      await tx.executeQuery(add(n));
      return [add(n + 1), sum.query([100])];
    });
  assert.deepEqual(await run(1), [[{ n: 2 }], [{ sum: 3n }]]);
  assert.deepEqual(await run(10), [[{ n: 11 }], [{ sum: 24n }]]);
  assert.deepEqual(await numbers(), [1, 2, 10, 11]);
});

test('commitWith() rolls everything back when the work, a statement or the commit fails', async () => {
  const known = await numbers();
  const fails = async (expected: RegExp, last: readonly CompiledQuery[], before?: Error): Promise<void> => {
    const run = commitWith(database.db, async (tx) => {
      await tx.executeQuery(add(1_000));
      if (before) throw before;
      return last;
    });
    await assert.rejects(run, expected);
    assert.deepEqual(await numbers(), known);
  };
  await fails(/not now/, [], new Error('not now'));
  await fails(/division by zero/, [add(1_001), CompiledQuery.raw('select 1 / 0'), add(1_002)]);
  await sql`create table owners (id int primary key)`.execute(database.db);
  await sql`create table owned (id int references owners deferrable initially deferred)`.execute(database.db);
  await fails(/foreign key/, [CompiledQuery.raw('insert into owned values (1)')]);
});

test('commitWith() returns when the transaction is durable', async () => {
  // The cluster of the tests does not wait for the disk, unlike one of an operator.
  await sql`set synchronous_commit = on`.execute(database.db);
  for (let n = 0; n < 20; n += 1)
    await commitWith(database.db, async () => [
      CompiledQuery.raw('insert into positions values (pg_current_wal_insert_lsn())'),
    ]);
  const { rows } = await sql<{ are_safe: boolean }>`
    select bool_and(lsn < pg_current_wal_flush_lsn()) as are_safe from positions`.execute(database.db);
  assert.deepEqual(rows, [{ are_safe: true }]);
});
