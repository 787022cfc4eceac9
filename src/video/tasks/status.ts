/**
 * Changes of a task's status: status, version, error, hold and announcement in one transaction. A change is compared with the version that its
 * caller read, so that of two concurrent changes exactly one happens.
 */
import { sql } from 'kysely';
import { crashPoint, release } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { canMove, isTerminal, TASK_PROGRESS, type TaskStatus } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import type { TaskError } from '../upstream/errors.ts';
import { announce } from './announce.ts';
import { holdReference, statusOf, type TaskRow } from './task.ts';

export interface StatusChange {
  readonly to: TaskStatus;
  readonly error?: TaskError;
}

/**
 * Moves the task and returns its new row; undefined when another change came first or the move is not legal. A task that ends
 * without success gives its hold back.
 */
export async function changeStatus(
  { publicUrl }: Pick<VideoServices, 'publicUrl'>,
  tx: Db,
  task: TaskRow,
  { to, error }: StatusChange,
): Promise<TaskRow | undefined> {
  if (!canMove(statusOf(task), to)) return undefined;
  const changed = await tx
    .updateTable('video_tasks')
    .set({
      status: to,
      version: task.version + 1,
      progress: TASK_PROGRESS[to] ?? task.progress,
      error: error ? JSON.stringify(error) : null,
      updated_at: sql<Date>`now()`,
      ...(isTerminal(to) && { finished_at: sql<Date>`now()`, next_check_at: null, cancel_requested_at: null }),
    })
    .where('user_id', '=', task.user_id)
    .where('id', '=', task.id)
    .where('version', '=', task.version)
    .returningAll()
    .executeTakeFirst();
  if (!changed) return undefined;
  crashPoint('status.changed');
  if (isTerminal(to) && to !== 'succeeded') await release(tx, holdReference(task.id));
  crashPoint('status.released');
  await announce(tx, changed, publicUrl());
  crashPoint('status.announced');
  return changed;
}
