/** End of a review by an operator: a charge for the tokens on the provider's bill, or the release of the hold. */
import { sql } from 'kysely';
import type { Nanos } from '../../core/index.ts';
import { release } from '../../ledger/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import type { VideoServices } from '../services.ts';
import { endReview } from './apply.ts';
import { settleTask } from './settle.ts';
import { holdReference, lockTask, reportedOf, type TaskRow, updateTask } from './task.ts';

/** The usage to charge at the price in force, or no charge. */
export type ReviewDecision = { readonly tokens: number } | 'release';

export type ResolvedReview =
  | { readonly userId: string; readonly charged: Nanos }
  /** No task with this id is in review; it may have been settled meanwhile. */
  | 'not_in_review'
  /** The model of the task has no video price. Nothing changed. */
  | 'no_price';

export async function resolveReview(
  services: Pick<VideoServices, 'catalog' | 'clock' | 'log'>,
  tx: Tx,
  taskId: string,
  decision: ReviewDecision,
): Promise<ResolvedReview> {
  const task = await lockReviewed(tx, taskId);
  if (!task) return 'not_in_review';
  const reference = holdReference(task.id);
  if (decision === 'release') await release(tx, reference);
  else {
    const { tokens } = decision;
    if (!(await settleTask(services, tx, task, { tokens, reported: reportedOf(task) }))) return 'no_price';
    await saveUsage(tx, task, tokens);
  }
  await endReview(tx, task);
  const { settled_nanos } = await tx
    .selectFrom('holds')
    .select('settled_nanos')
    .where('reference', '=', reference)
    .executeTakeFirstOrThrow();
  return { userId: task.user_id, charged: settled_nanos ?? 0n };
}

/** By its id alone: few tasks are in review, and they have an index. */
async function lockReviewed(tx: Tx, taskId: string): Promise<TaskRow | undefined> {
  const { rows } = await sql<{ user_id: string; id: string }>`
    select user_id, id from video_tasks where review_until is not null and id = ${taskId}`.execute(tx);
  const task = rows[0] && (await lockTask(tx, rows[0]));
  return task?.review_until === null ? undefined : task;
}

const saveUsage = (tx: Tx, task: TaskRow, tokens: number) =>
  updateTask(tx, task)
    .set({ usage_tokens: BigInt(tokens) })
    .execute();
