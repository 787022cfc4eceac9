import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyDatabase } from '../../../test/support/database.ts';
import { makeUser } from '../../../test/support/ledger-process.ts';
import { storeTask } from '../../../test/support/stored-task.ts';
import { migrate, migrateTo, openDatabase } from '../../platform/db/index.ts';
import { claimUpstream, releaseUpstream } from './bind.ts';

test('tasks of earlier versions that share a task of the provider are migrated, and keep it from all others', async () => {
  const own = await emptyDatabase();
  const { db, close } = openDatabase(own.url, 2);
  try {
    await migrateTo(own.url, '0052_task_bounds');
    await makeUser(db, 'ann');
    const bound = { user_id: 'ann', submission: 'confirmed', upstream_id: 'cgt-1' };
    await storeTask(db, { ...bound, id: 'task_1', account_id: 'one' });
    await storeTask(db, { ...bound, id: 'task_2', account_id: 'one' });
    await storeTask(db, { user_id: 'ann', id: 'task_3', account_id: 'two', submission: 'unknown' });
    assert.ok((await migrate(own.url)).run.includes('0053_provider_tasks'));
    const claim = (upstreamId: string, key: string, id = 'task_3') =>
      db.transaction().execute((tx) => {
        const provider = { key: Buffer.from(key), accountIds: ['one', 'two'] };
        return claimUpstream(tx, { task: { user_id: 'ann', id }, upstreamId, provider });
      });
    assert.equal(await claim('cgt-1', 'new credential'), false);
    assert.equal(await claim('cgt-2', 'key'), true);
    assert.equal(await claim('cgt-2', 'key'), true, 'its own again');
    assert.equal(await claim('cgt-2', 'key', 'task_2'), false);
    assert.equal(await claim('cgt-2', 'other provider', 'task_2'), true);
    await db.transaction().execute((tx) => releaseUpstream(tx, { user_id: 'ann', id: 'task_3' }, 'cgt-2'));
    assert.equal(await claim('cgt-2', 'key', 'task_1'), true, 'given up for another one');
  } finally {
    await close();
    await own.drop();
  }
});
