/**
 * Recording of a submission's outcome: task, hold and idempotency record in one transaction.
 * Meanwhile the provider's report may have confirmed the task,
 * and another replica may have taken the submission for abandoned; each submission has one outcome nevertheless.
 */
import { sql } from 'kysely';
import type { Account } from '../../catalog/index.ts';
import { ApiError, errorFields } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { findGoneAsset } from '../assets/refresh.ts';
import { finishRecord, removeRecord, type StableError } from '../idempotency/records.ts';
import type { VideoServices } from '../services.ts';
import type { CreateOutcome } from '../upstream/client.ts';
import { rejectionOf, type TaskError, taskError, taskErrorFrom } from '../upstream/errors.ts';
import { claimUpstream, providerScope, releaseUpstream } from './bind.ts';
import { changeStatus } from './status.ts';
import { assetGone, type CreatedTask, rejectionError, type Submission } from './submission.ts';
import { discardTask, lockTask, type TaskRow, updateTask } from './task.ts';

type SentOutcome = Exclude<CreateOutcome, { kind: 'not_sent' }>;
type Sent = Submission & { readonly account: Account };
type Rejected = Extract<CreateOutcome, { kind: 'rejected' }>;

/** First check of a confirmed task, and of one whose submission is unknown. */
const FIRST_CHECK_MS = 10_000;
const FIRST_RECONCILE_MS = 5_000;

/** Records what the provider made of the request. Throws the error of a rejected one. */
export async function recordOutcome(services: VideoServices, sent: Sent, outcome: SentOutcome): Promise<CreatedTask> {
  const { task } = sent;
  logOutcome(services, sent, outcome);
  const upstream = outcome.kind === 'accepted' ? { upstream_task: outcome.upstreamId } : {};
  const recorded = await record(services, { task: task.id, ...upstream }, () => apply(services, sent, outcome));
  // The request was sent, so the task stays: it is recovered and reconciled.
  return recorded ?? { status: 202, task };
}

/** Records that nothing was sent. Throws the error. */
export async function recordUnsent(services: VideoServices, submission: Submission, error: ApiError) {
  const abandonment = { error, taskError: taskError('submission_failed'), isStable: false };
  const recorded = await record(services, { task: submission.task.id }, () =>
    abandon(services, submission, abandonment),
  );
  if (!recorded) throw error;
  return recorded;
}

/** Attempts to record an outcome: the second one gets another connection to the database. */
const ATTEMPTS = 2;

/** Undefined when the database fails. Errors for the caller are passed on. */
async function record<T>({ log }: VideoServices, fields: Readonly<Record<string, string>>, work: () => Promise<T>) {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1)
    try {
      return await work();
    } catch (error) {
      if (error instanceof ApiError) throw error;
      log.error('task.record_failed', { ...fields, attempt, ...errorFields(error) });
    }
  return undefined;
}

function logOutcome({ log }: VideoServices, { task }: Submission, outcome: SentOutcome): void {
  if (outcome.kind === 'unknown') log.warn('task.submission_unknown', { task: task.id, reason: outcome.reason });
  if (outcome.kind !== 'rejected') return;
  const { status, code } = outcome.error;
  log.warn('task.rejected', { task: task.id, status, code, kind: rejectionOf(outcome.error).kind });
}

function apply(services: VideoServices, submission: Sent, outcome: SentOutcome): Promise<CreatedTask> {
  if (outcome.kind === 'accepted') return confirm(services, submission, outcome.upstreamId);
  return outcome.kind === 'unknown' ? markUnknown(services, submission) : reject(services, submission, outcome);
}

/**
 * The response to the request itself is the best evidence of the provider's id: it replaces one that was found
 * otherwise. An id that another task has says nothing: one video must not be charged twice.
 */
async function confirm(services: VideoServices, submission: Sent, upstreamId: string): Promise<CreatedTask> {
  const { task, idempotent, account } = submission;
  const provider = providerScope(services, account);
  const confirmed = await services.db.transaction().execute(async (tx) => {
    const current = await lockTask(tx, task);
    if (!current) throw new Error('the task was removed while it was submitted');
    const isNews = current.upstream_id !== upstreamId && current.finished_at === null;
    if (isNews && !(await claimUpstream(tx, { task, upstreamId, provider }))) return undefined;
    if (isNews && current.upstream_id !== null) await releaseUpstream(tx, task, current.upstream_id);
    const row = isNews ? await setConfirmed(tx, current, upstreamId) : current;
    if (idempotent) await finishRecord(tx, task, 200);
    crashPoint('task.confirming');
    return row;
  });
  if (!confirmed) {
    services.log.error('task.upstream_id_taken', { task: task.id, account: account.id, upstream_task: upstreamId });
    return markUnknown(services, submission);
  }
  crashPoint('task.confirmed');
  return { status: 200, task: confirmed };
}

const setConfirmed = (tx: Db, { user_id, id, cancel_requested_at }: TaskRow, upstreamId: string): Promise<TaskRow> =>
  updateTask(tx, { user_id, id })
    .set({
      submission: 'confirmed',
      upstream_id: upstreamId,
      // A cancellation that was requested meanwhile can be sent now.
      ...checkIn(cancel_requested_at === null ? FIRST_CHECK_MS : 0),
      ...NO_SUBMITTER,
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/**
 * The response is 202 even if the provider's report has confirmed the task meanwhile:
 * it must not depend on which came first.
 */
async function markUnknown({ db }: VideoServices, { task, idempotent }: Submission): Promise<CreatedTask> {
  const unknown = await db.transaction().execute(async (tx) => {
    const row = await updateTask(tx, task)
      .set({ submission: 'unknown', ...checkIn(FIRST_RECONCILE_MS), ...NO_SUBMITTER })
      .where('submission', '=', 'sending')
      .returningAll()
      .executeTakeFirst();
    if (idempotent) await finishRecord(tx, task, 202);
    crashPoint('task.marking_unknown');
    return row;
  });
  crashPoint('task.marked_unknown');
  return { status: 202, task: unknown ?? task };
}

const NO_SUBMITTER = { submitter: null, submitter_until: null } as const;
const checkIn = (ms: number) => ({ next_check_at: sql<Date>`now() + ${ms} * interval '1 millisecond'` });

async function reject(services: VideoServices, submission: Submission, rejected: Rejected): Promise<CreatedTask> {
  const rejection = rejectionOf(rejected.error);
  const taskError = taskErrorFrom(rejected.error);
  if (rejection.kind === 'content') return failTask(services, submission, taskError);
  const { task, references } = submission;
  const gone =
    rejection.kind === 'request' ? await findGoneAsset(services, task.user_id, references.assetIds) : undefined;
  if (gone !== undefined) return abandon(services, submission, { error: assetGone(gone), taskError, isStable: false });
  return abandon(services, submission, {
    error: rejectionError(submission, rejection, rejected),
    taskError,
    isStable: rejection.kind === 'request' && rejection.isTransient !== true,
  });
}

/** The provider rejected the content itself: an ordinary failure of a task that exists (V 4.10 r5). */
async function failTask(
  services: VideoServices,
  { task, idempotent }: Submission,
  error: TaskError,
): Promise<CreatedTask> {
  const failed = await services.db.transaction().execute(async (tx) => {
    await updateTask(tx, task)
      .set({ submission: 'unknown', ...NO_SUBMITTER })
      .where('submission', '=', 'sending')
      .execute();
    const current = await lockTask(tx, task);
    const row = current && (await changeStatus(services, tx, current, { to: 'failed', error }));
    if (idempotent) await finishRecord(tx, task, 200);
    return row ?? current ?? task;
  });
  return { status: 200, task: failed };
}

/** Why no provider has the task: the error of the create request, and of the task should it exist nevertheless. */
interface Abandonment {
  readonly error: ApiError;
  readonly taskError: TaskError;
  /** The same request would get the same error again. */
  readonly isStable: boolean;
}

/**
 * Removes the task, releases its hold, and frees the key or records the error as stable.
 * A task that another replica took for abandoned may be known to the caller by now: it stays and has failed.
 */
async function abandon(
  services: VideoServices,
  { task, idempotent }: Submission,
  { error, taskError, isStable }: Abandonment,
): Promise<CreatedTask> {
  const kept = await services.db.transaction().execute(async (tx) => {
    const current = (await discardTask(tx, task)) ? undefined : await lockTask(tx, task);
    if (idempotent && isStable) await finishRecord(tx, task, 400, stableError(error));
    else if (idempotent) await removeRecord(tx, task);
    crashPoint('task.discarding');
    if (current?.submission !== 'unknown') return current;
    return (await changeStatus(services, tx, current, { to: 'failed', error: taskError })) ?? current;
  });
  crashPoint('task.discarded');
  if (!kept) throw error;
  return { status: 202, task: kept };
}

const stableError = ({ code, message, details: { param } }: ApiError): StableError => ({
  code,
  message,
  ...(param !== undefined && { param }),
});
