/** Rows of batches at providers: each is taken by one process at a time, whatever the plan of the query. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../../test/support/database.ts';
import { type Database, openDatabase, type Tx } from '../../../platform/db/index.ts';
import { takeDueBatches, takeUnplaced } from './rows.ts';

const BATCHES = 6;
let own: TestDatabase;
let database: Database;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  const { db } = database;
  await sql`insert into users (id) values ('ana')`.execute(db);
  await sql`
    insert into batches (user_id, id, key_id, address, operation, input_file, total, expires_at, kept_until, placing_until)
    select 'ana', 'batch_' || n, 'key', '127.0.0.1', 'chat.create', 'file', 1, now() + interval '1 day', now() + interval '2 days', now() - interval '1 minute'
    from generate_series(1, ${BATCHES}::int) n`.execute(db);
  await sql`
    insert into provider_batches (user_id, reference, batch_id, key_id, operation, group_id, account_id, model, stores, requests, next_check_at)
    select 'ana', 'batch:' || n, 'batch_' || n, 'key', 'chat.create', 'openai', 'oa1', 'm', false, 1, now() - interval '1 minute'
    from generate_series(1, ${BATCHES}::int) n`.execute(db);
});
after(async () => {
  await database?.close();
  await own?.drop();
});

/** With these settings PostgreSQL joins by a loop, which runs a subquery of the update for every row of the table. */
const LOOP_ONLY = ['hashjoin', 'mergejoin', 'hashagg', 'sort', 'material', 'memoize'];

/** What the task takes, in a transaction that is rolled back. */
async function takenByLoop<T>(task: (tx: Tx) => Promise<T>): Promise<{ taken: T; left: Record<string, bigint> }> {
  const results: { taken: T; left: Record<string, bigint> }[] = [];
  const undo = new Error('undo');
  await database.db
    .transaction()
    .execute(async (tx) => {
      for (const name of LOOP_ONLY) await sql`set local ${sql.raw(`enable_${name}`)} = off`.execute(tx);
      const taken = await task(tx);
      const { rows } = await sql<Record<string, bigint>>`
        select (select count(*) from batches where placing_until <= now()) as unplaced,
          (select count(*) from provider_batches where next_check_at <= now()) as due`.execute(tx);
      results.push({ taken, left: rows[0] ?? {} });
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return results[0] ?? assert.fail('no result');
}

test('one batch is taken for its placing, and the others stay for other processes', async () => {
  const { taken, left } = await takenByLoop(takeUnplaced);
  assert.match(taken?.id ?? '', /^batch_\d$/);
  assert.equal(Number(left.unplaced), BATCHES - 1);
});

test('no more batches are taken for a look at the provider than asked for', async () => {
  const { taken, left } = await takenByLoop((tx) => takeDueBatches(tx, 2));
  assert.equal(taken.length, 2);
  assert.equal(Number(left.due), BATCHES - 2);
});
