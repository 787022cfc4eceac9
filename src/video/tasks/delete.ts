/**
 * DELETE of a task (V 3, V 4.5): cancels a queued task or removes the record of a finished one, as the variant allows.
 * A cancellation is recorded before the provider is asked,
 * so that it is not forgotten when the provider cannot be reached.
 */
import { sql } from 'kysely';
import { fail } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { deletionOf, sheetOf, type VideoVariant } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { taskError } from '../upstream/errors.ts';
import { changeStatus } from './status.ts';
import { findTask, lockTask, statusOf, type TaskName, type TaskRow, updateTask } from './task.ts';

export async function deleteTask(services: VideoServices, task: TaskRow): Promise<void> {
  const action = deletionOf(sheetOfTask(services, task), statusOf(task));
  if (action === 'remove') return removeTask(services, task);
  if (action !== 'cancel') throw fail(action);
  const requested = await requestCancellation(services, task);
  if (requested) return cancelUpstream(services, requested);
  // The task has left the queue since it was read; a task never returns there, so this ends.
  const current = await findTask(services.db, task.user_id, task.id);
  if (!current) throw fail('task_not_found');
  return deleteTask(services, current);
}

const sheetOfTask = ({ catalog }: VideoServices, { group_id, variant, model }: TaskRow) =>
  sheetOf(variant as VideoVariant, catalog().resolve(group_id, model)?.line.overrides, model);

/** Hides the task from its owner. The row stays for the ledger and the operator. */
async function removeTask({ db }: VideoServices, task: TaskRow): Promise<void> {
  await updateTask(db, task)
    .set({ deleted_at: sql<Date>`now()` })
    .where('finished_at', 'is not', null)
    .where('deleted_at', 'is', null)
    .execute();
}

/** Returns the row as it is now; undefined when the task is no longer queued. */
async function requestCancellation({ db }: VideoServices, task: TaskRow): Promise<TaskRow | undefined> {
  const requested = await updateTask(db, task)
    .set({ cancel_requested_at: sql<Date>`coalesce(cancel_requested_at, now())` })
    .where('status', '=', 'queued')
    .returningAll()
    .executeTakeFirst();
  crashPoint('task.cancel_requested');
  return requested;
}

/**
 * Asks the provider now if the task is known there. Without a clear response the request stays recorded:
 * a job sends it again once the provider can be reached or the task is known.
 */
export async function cancelUpstream(
  services: Pick<VideoServices, 'db' | 'catalog' | 'provider' | 'publicUrl'>,
  task: Pick<TaskRow, 'user_id' | 'id' | 'group_id' | 'account_id' | 'upstream_id'>,
): Promise<void> {
  const account = services.catalog().account(task.account_id, task.group_id);
  if (!account || task.upstream_id === null) return;
  // We may be behind the provider, and its DELETE removes the result of a task that has ended.
  let found = await services.provider.get(account, task.upstream_id);
  if (found.kind === 'found' && found.value.status === 'queued') {
    const outcome = await services.provider.cancel(account, task.upstream_id);
    crashPoint('task.cancel_sent');
    if (outcome === 'cancelled') return markCancelled(services, task);
    if (outcome === 'failed') return;
    found = await services.provider.get(account, task.upstream_id);
  }
  if (found.kind !== 'found') return;
  if (found.value.status === 'cancelled') return markCancelled(services, task);
  await withdrawCancellation(services, task, found.value.status === 'running');
  throw fail('task_not_cancellable');
}

type MoveServices = Pick<VideoServices, 'db' | 'publicUrl'>;

async function markCancelled(services: MoveServices, task: TaskName): Promise<void> {
  await services.db.transaction().execute(async (tx) => {
    const current = await lockTask(tx, task);
    if (current) await changeStatus(services, tx, current, { to: 'cancelled', error: taskError('task_cancelled') });
    crashPoint('task.cancelling');
  });
  crashPoint('task.cancelled');
}

async function withdrawCancellation(services: MoveServices, task: TaskName, isRunning: boolean): Promise<void> {
  await services.db.transaction().execute(async (tx) => {
    const current = await updateTask(tx, task)
      .set({ cancel_requested_at: null, next_check_at: sql<Date>`now()` })
      .where('finished_at', 'is', null)
      .returningAll()
      .executeTakeFirst();
    if (current && isRunning) await changeStatus(services, tx, current, { to: 'running' });
    crashPoint('task.cancel_withdrawing');
  });
}
