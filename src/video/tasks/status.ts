/**
 * Changes of a task's status: status, version, error, hold and announcement in one transaction.
 * A change is compared with the version that its caller read, so that of two concurrent changes exactly one happens.
 */
import { sql } from 'kysely';
import { newId } from '../../core/index.ts';
import { crashPoint, release } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { canMove, isTerminal, TASK_PROGRESS, type TaskStatus } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import type { TaskError } from '../upstream/errors.ts';
import { holdReference, statusOf, type TaskRow, updateTask } from './task.ts';
import { taskView } from './view.ts';

export interface StatusChange {
  readonly to: TaskStatus;
  readonly error?: TaskError;
}

/**
 * Moves the task and returns its new row; undefined when another change came first or the move is not legal.
 * A task that ends without success gives its hold back.
 */
export async function changeStatus(
  { publicUrl }: Pick<VideoServices, 'publicUrl'>,
  tx: Db,
  task: TaskRow,
  { to, error }: StatusChange,
): Promise<TaskRow | undefined> {
  if (!canMove(statusOf(task), to)) return undefined;
  const changed = await updateTask(tx, task)
    .set({
      status: to,
      version: task.version + 1,
      progress: TASK_PROGRESS[to] ?? task.progress,
      error: error ? JSON.stringify(error) : null,
      updated_at: sql<Date>`now()`,
      ...(isTerminal(to) && { finished_at: sql<Date>`now()`, next_check_at: null, cancel_requested_at: null }),
    })
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

/**
 * Inserts the event of the task's present version (V 6), which is delivered later, at least once.
 * Tasks without a callback URL have none.
 */
async function announce(tx: Db, task: TaskRow, publicUrl: string): Promise<void> {
  if (task.callback_url === null || task.callback_types?.includes(task.status) === false) return;
  const eventId = newId('evt');
  await tx
    .insertInto('callback_events')
    .values({
      user_id: task.user_id,
      task_id: task.id,
      version: task.version,
      event_id: eventId,
      url: task.callback_url,
      host: new URL(task.callback_url).host,
      body: Buffer.from(JSON.stringify(eventOf(task, eventId, publicUrl))),
    })
    .execute();
}

/** The body of a callback: the documented members only. The type is the status (V 6 r6). */
function eventOf(task: TaskRow, eventId: string, publicUrl: string): object {
  const { id, model, status, error, created_at, updated_at, content } = taskView(task, publicUrl);
  return {
    event_id: eventId,
    type: status,
    created_at: updated_at,
    data: { id, model, status, error, created_at, updated_at, version: task.version, ...(content && { content }) },
  };
}
