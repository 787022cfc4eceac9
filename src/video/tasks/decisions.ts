/**
 * Decisions of operators: which task of the provider belongs to a submission whose outcome stayed unknown,
 * or that none does; and what a task in review is charged for.
 */
import { sql } from 'kysely';
import type { Nanos } from '../../core/index.ts';
import { release } from '../../ledger/index.ts';
import { firstRow, type Tx } from '../../platform/db/index.ts';
import type { VideoServices } from '../services.ts';
import { taskError } from '../upstream/errors.ts';
import { endReview } from './apply.ts';
import { bindTask, providerScope } from './bind.ts';
import { settleTask } from './settle.ts';
import { changeStatus } from './status.ts';
import { holdReference, lockTask, reportedOf, type TaskName, type TaskRow, updateTask } from './task.ts';

type DecidedTask =
  | { readonly userId: string }
  /** No task with this id waits for its submission; it may have been decided meanwhile. */
  | 'not_open';

type AssignedTask =
  | DecidedTask
  /** The provider does not have the task. */
  | 'not_at_provider'
  | 'provider_unreachable'
  /** The provider reports another user than that of the task. */
  | 'other_user'
  /** Another task has it already. */
  | 'taken';

export interface Assignment {
  readonly taskId: string;
  readonly upstreamId: string;
  /** Runs in the transaction of the assignment. */
  readonly record: (tx: Tx, userId: string) => Promise<void>;
}

type DecisionServices = Pick<VideoServices, 'db' | 'catalog' | 'secret' | 'provider' | 'publicUrl'>;

/** The provider is asked first. Parameters are not compared: the operator has seen them. */
export async function assignSubmission(
  services: Omit<DecisionServices, 'publicUrl'>,
  { taskId, upstreamId, record }: Assignment,
): Promise<AssignedTask> {
  const { db, catalog, provider } = services;
  const task = await findOpen(db, taskId);
  const account = task && catalog().account(task.account_id);
  if (!task || !account) return 'not_open';
  const found = await provider.get(account, upstreamId);
  if (found.kind !== 'found') return found.kind === 'missing' ? 'not_at_provider' : 'provider_unreachable';
  const { safetyIdentifier } = found.value;
  if (safetyIdentifier !== undefined && safetyIdentifier !== task.safety_identifier) return 'other_user';
  return db.transaction().execute(async (tx): Promise<AssignedTask> => {
    const scope = providerScope(services, account);
    if (!(await bindTask(tx, { task, upstreamId, provider: scope })))
      return (await findOpen(tx, taskId)) ? 'taken' : 'not_open';
    await checkOthers(tx, scope.accountIds);
    await record(tx, task.user_id);
    return { userId: task.user_id };
  });
}

type DismissServices = Omit<DecisionServices, 'db' | 'provider'>;

/** The task fails, its hold is released, and it claims no task of the provider any more. */
export async function dismissSubmission(services: DismissServices, tx: Tx, taskId: string): Promise<DecidedTask> {
  const open = await findOpen(tx, taskId);
  const task = open && (await lockTask(tx, open));
  if (task?.submission !== 'unknown' || task.finished_at !== null) return 'not_open';
  await updateTask(tx, task).set({ dismissed_at: sql<Date>`now()`, candidates: null }).execute();
  const failed = await changeStatus(services, tx, task, { to: 'failed', error: taskError('submission_failed') });
  if (!failed) return 'not_open';
  const account = services.catalog().account(task.account_id);
  if (account) await checkOthers(tx, providerScope(services, account).accountIds);
  return { userId: task.user_id };
}

/** By its id alone: few submissions are unknown, and they have an index. */
const findOpen = (db: DecisionServices['db'], taskId: string): Promise<TaskRow | undefined> =>
  firstRow(db)<TaskRow>`
    select * from video_tasks where submission = 'unknown' and finished_at is null and id = ${taskId}`;

/** What was open may be certain now. One that is locked is being decided itself, and must not be waited for. */
const checkOthers = (tx: Tx, accountIds: readonly string[]) =>
  sql`
    update video_tasks t set next_check_at = now()
    from (
      select user_id, id from video_tasks
      where account_id = any(${accountIds}) and submission = 'unknown' and finished_at is null
      for update skip locked) other
    where t.user_id = other.user_id and t.id = other.id`.execute(tx);

/** The usage to charge at the price in force, or no charge. */
export type ReviewDecision = { readonly tokens: number } | 'release';

type ResolvedReview =
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
    await updateTask(tx, task)
      .set({ usage_tokens: BigInt(tokens) })
      .execute();
  }
  await endReview(tx, task);
  const hold = await firstRow(tx)<{ charged: Nanos }>`
    select coalesce(settled_nanos, 0)::bigint as charged from holds where reference = ${reference}`;
  return { userId: task.user_id, charged: hold?.charged ?? 0n };
}

/** By its id alone: few tasks are in review, and they have an index. */
async function lockReviewed(tx: Tx, taskId: string): Promise<TaskRow | undefined> {
  const name = await firstRow(tx)<TaskName>`
    select user_id, id from video_tasks where review_until is not null and id = ${taskId}`;
  const task = name && (await lockTask(tx, name));
  return task?.review_until === null ? undefined : task;
}
