/** Removal of a task that no provider has: its hold is released in the same transaction, and its id was never a task of the caller. */
import type { Db } from '../../db/index.ts';
import { release } from '../../ledger/index.ts';
import { holdReference } from './task.ts';

/** False when the task is gone or was confirmed meanwhile. */
export async function discardTask(tx: Db, { user_id, id }: { user_id: string; id: string }): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('video_tasks')
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('submission', 'in', ['pending', 'sending'])
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await release(tx, holdReference(id));
  return true;
}
