import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { makeUser } from '../../../test/support/ledger-process.ts';
import { storeTask } from '../../../test/support/stored-task.ts';
import { type Database, openDatabase } from '../../platform/db/index.ts';
import { reportedTask } from '../upstream/client.ts';
import { readClaims } from './claims.ts';

let own: TestDatabase;
let database: Database;
before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 2);
});
after(async () => {
  await database.close();
  await own.drop();
});

test('with more than a thousand open submissions nothing is certain, because one that is left out may be the owner', async () => {
  const { db } = database;
  const created_at = new Date(Date.UTC(2026, 10, 15));
  await makeUser(db, 'ann');
  await storeTask(db, { user_id: 'ann', id: 'task_0', account_id: 'one', submission: 'unknown', created_at });
  const copy = (from: number, to: number) =>
    sql`
      insert into video_tasks (user_id, id, key_id, group_id, variant, model, upstream_model, callback_token_hash, safety_identifier,
        parameters, has_video_input, callback_secret_sealed, expires_at, account_id, submission, created_at)
      select user_id, 'task_' || n, key_id, group_id, variant, model, upstream_model, sha256(convert_to(n::text, 'UTF8')), safety_identifier,
        parameters, has_video_input, callback_secret_sealed, expires_at, account_id, submission, created_at
      from video_tasks, generate_series(${from}::int, ${to}::int) n where id = 'task_0'`.execute(db);
  const found = async (): Promise<number | undefined> => {
    const listed = reportedTask({ id: 'cgt-1', status: 'queued', created_at: created_at.getTime() / 1_000 });
    const scope = { accountIds: ['one'], userIds: undefined, hasModel: () => true };
    return (await readClaims(db, scope, listed ? [listed] : []))?.length;
  };
  await copy(1, 999);
  assert.equal(await found(), 1_000);
  await copy(1_000, 1_000);
  assert.equal(await found(), undefined);
});
