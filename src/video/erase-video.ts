/**
 * What the erasure of a user does to video: cancels queued tasks, deletes assets and groups at their providers,
 * and clears tasks that have ended, whose rows stay for the ledger. A run takes a batch, and may be repeated.
 */
import { sql } from 'kysely';
import type { ErasedUser } from '../access/people/index.ts';
import { ApiError } from '../core/index.ts';
import { deleteBatch } from '../platform/db/index.ts';
import { VARIANT_SHEETS, type VideoVariant } from '../rules/index.ts';
import { deleteRow } from './assets/delete.ts';
import type { RowOf, Table } from './assets/rows.ts';
import { accountOf } from './assets/service-group.ts';
import type { VideoServices } from './services.ts';
import { deleteTask } from './tasks/delete.ts';
import type { TaskRow } from './tasks/task.ts';

/** The provider takes ten requests per second. */
const BATCH = 100;

type Forget = (task: TaskRow) => Promise<void>;

/** `forget` removes mirrored results. Returns how many objects were left at providers. */
export async function eraseVideo(services: VideoServices, user: ErasedUser, forget: Forget): Promise<number> {
  const { rows: open } = await sql<TaskRow>`
    select * from video_tasks where user_id = ${user.userId} and finished_at is null
    limit ${BATCH}`.execute(services.db);
  for (const task of open) if (task.status === 'queued') await unlessRefused(deleteTask(services, task));
  await clearTasks(services, user.userId, forget);
  // Assets of an open task are in use.
  if (open.length > 0) return 0;
  return (await deleteObjects(services, 'assets', user)) + (await deleteObjects(services, 'asset_groups', user));
}

/** A task that cannot be cancelled goes on to its end. */
const unlessRefused = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  });

async function clearTasks({ db }: VideoServices, userId: string, forget: Forget): Promise<void> {
  await sql`
    update video_tasks set callback_url = null where user_id = ${userId} and callback_url is not null`.execute(db);
  await sql`delete from callback_defaults where user_id = ${userId}`.execute(db);
  for (let more = true; more; ) {
    const { rows } = await sql<TaskRow>`
      select * from video_tasks t
      where user_id = ${userId} and finished_at is not null and safety_identifier <> '' and not exists (
        select from holds h where h.reference = 'task:' || t.id and h.state in ('held', 'review'))
      limit ${BATCH}`.execute(db);
    for (const task of rows) await forget(task);
    await sql`
      update video_tasks set safety_identifier = '', result_url = null, last_frame_url = null, candidates = null,
        error = error || '{"message": ""}', label = null, callback_secret_sealed = '',
        deleted_at = coalesce(deleted_at, now())
      where user_id = ${userId} and id = any(${rows.map(({ id }) => id)})`.execute(db);
    more = rows.length === BATCH;
  }
}

/**
 * New ones first: another job repeats deletions that have begun.
 * Assets go before their group, which would take their rows with it.
 */
async function deleteObjects<T extends Table>(services: VideoServices, table: T, user: ErasedUser): Promise<number> {
  const { db, log } = services;
  const own = sql`user_id = ${user.userId} and (${table === 'assets'} or not exists (
    select from assets a where a.user_id = ${user.userId} and a.asset_group_id = ${sql.ref(`${table}.id`)}))`;
  await deleteBatch(db, table, sql`${own} and status = 'deleted'`);
  const { rows } = await sql<RowOf[T]>`
    select * from ${sql.table(table)} where ${own} and status <> 'deleted'
    order by status in ('deleting', 'delete_failed'), created_at limit ${BATCH}`.execute(db);
  let left = 0;
  for (const row of rows) {
    const { isDeletable } = VARIANT_SHEETS[row.variant as VideoVariant].assets;
    if (isDeletable && !user.isOverdue && accountOf(services, row)) {
      await unlessRefused(deleteRow(services, table, row));
      continue;
    }
    await deleteBatch(db, table, sql`${own} and id = ${row.id}`);
    if (row.upstream_id === null) continue;
    left += 1;
    log.warn('erasure.object_left', { table, id: row.id, account: row.account_id, upstream_id: row.upstream_id });
  }
  return left;
}
