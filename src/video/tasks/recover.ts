/**
 * Recovery of submissions whose replica stopped: a task that was not sent is removed, one that may have been sent becomes `unknown` and is
 * reconciled. Nothing is ever sent again.
 */
import { sql } from 'kysely';
import { crashPoint } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { finishRecordOf, removeRecordOf } from '../idempotency/records.ts';
import type { VideoServices } from '../services.ts';
import { discardTask, lockTask, type TaskRow, updateTask } from './task.ts';

/** Decides the outcome of one abandoned submission. No effect while its replica may still be at work. */
export const recoverTask = ({ db }: Pick<VideoServices, 'db'>, userId: string, taskId: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const task = await lockTask(tx, { user_id: userId, id: taskId });
    if (!task) return removeRecordOf(tx, userId, taskId);
    if (await isAbandoned(tx, task)) await decide(tx, task);
    else if (task.submission === 'confirmed' || task.submission === 'unknown')
      await finishRecordOf(tx, userId, taskId, task.submission === 'confirmed' ? 200 : 202);
  });

async function isAbandoned(tx: Db, { submission, submitter_until }: TaskRow): Promise<boolean> {
  if (submission !== 'pending' && submission !== 'sending') return false;
  const { rows } = await sql<{ over: boolean }>`select coalesce(${submitter_until} < now(), true) as over`.execute(tx);
  return rows[0]?.over === true;
}

async function decide(tx: Db, task: TaskRow): Promise<void> {
  if (task.submission === 'pending') {
    await discardTask(tx, task);
    await removeRecordOf(tx, task.user_id, task.id);
  } else {
    await updateTask(tx, task)
      .set({ submission: 'unknown', submitter: null, submitter_until: null, next_check_at: sql<Date>`now()` })
      .execute();
    await finishRecordOf(tx, task.user_id, task.id, 202);
  }
  crashPoint('task.recovering');
}

/** Submissions recovered per run of the job. */
const BATCH = 100;

/** Recovers abandoned submissions. Each has a transaction of its own: a batch would lock several wallets, in any order. */
export async function recoverSubmissions(services: Pick<VideoServices, 'db'>): Promise<number> {
  const abandoned = await services.db
    .selectFrom('video_tasks')
    .select(['user_id', 'id'])
    .where('submission', 'in', ['pending', 'sending'])
    .where('submitter_until', '<', sql<Date>`now()`)
    .orderBy('submitter_until')
    .limit(BATCH)
    .execute();
  for (const { user_id, id } of abandoned) await recoverTask(services, user_id, id);
  return abandoned.length;
}
