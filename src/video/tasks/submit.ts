/**
 * Submission of a task, at most once (V 4.2 r3, r4): the mark `sending` is committed before the first byte. A response that leaves the
 * outcome open makes the task `unknown`; it is reconciled later and never sent again, whatever the variant. Another account is tried
 * only when no byte was sent.
 */
import { sql } from 'kysely';
import type { Account } from '../../catalog/index.ts';
import { type ApiError, errorFields, fail } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import type { NoAccount } from '../../pool/index.ts';
import { faultRow } from '../../rules/index.ts';
import { finishRecord, removeRecord, type StableError } from '../idempotency/records.ts';
import { fillTemplate } from '../request/upstream-template.ts';
import type { VideoServices } from '../services.ts';
import type { CreateOutcome } from '../upstream/client.ts';
import { type CreateRejection, publicMessage, rejectionOf, taskErrorFrom } from '../upstream/errors.ts';
import { discardTask } from './discard.ts';
import type { CreatedTask, InsertedTask, Order } from './order.ts';
import { changeStatus } from './status.ts';
import type { TaskRow } from './task.ts';

export type Submission = Order & InsertedTask;

/** First look at a confirmed task, and at one whose submission is unknown. */
const FIRST_CHECK_MS = 10_000;
const FIRST_RECONCILE_MS = 5_000;

/** Runs to its end even if the client disconnects: the task and its hold exist. */
export async function submitTask(services: VideoServices, submission: Submission): Promise<CreatedTask> {
  const accounts = accountsFor(services, submission);
  const tried = new Set<string>();
  for (;;) {
    const lease = services.pool.lease(accounts.filter(({ id }) => !tried.has(id)));
    if (!('account' in lease)) return giveUp(services, submission, unavailable(submission, accounts, lease));
    const { account } = lease;
    tried.add(account.id);
    await markSending(services, submission, account);
    crashPoint('task.sending');
    const outcome = await services.provider.create(account, bodyFor(services, submission, account));
    crashPoint('task.sent');
    lease.release(faultOf(outcome));
    if (outcome.kind !== 'not_sent') return settleOutcome(services, submission, outcome);
    services.log.warn('task.not_sent', { task: submission.task.id, account: account.id });
  }
}

/** The accounts that may run the task: all of the service group, or the one that holds its assets. */
function accountsFor({ catalog }: VideoServices, { target, references }: Submission): readonly Account[] {
  const accounts = catalog()
    .accounts(target.group.id)
    .filter(({ features }) => features.has('video'));
  return references.accountId === undefined ? accounts : accounts.filter(({ id }) => id === references.accountId);
}

function bodyFor(services: VideoServices, submission: Submission, account: Account): Buffer[] {
  const { target, template, references, task, callbackToken } = submission;
  return fillTemplate(template, {
    model: account.models.get(target.model.upstream) ?? target.model.upstream,
    callbackUrl: services.callbackUrlFor(account, callbackToken),
    safetyIdentifier: task.safety_identifier,
    assets: references.upstreamIds,
  });
}

/** Committed before anything is sent: after a crash the task counts as possibly submitted, never as unsent. */
async function markSending({ db }: VideoServices, { task, owner }: Submission, account: Account): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('video_tasks')
    .set({ submission: 'sending', account_id: account.id })
    .where('user_id', '=', task.user_id)
    .where('id', '=', task.id)
    .where('submitter', '=', owner)
    .where('submission', 'in', ['pending', 'sending'])
    .where('submitter_until', '>', sql<Date>`now()`)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw fail('server_is_overloaded', 'The task took too long to submit; send it again.');
}

const faultOf = (
  outcome: CreateOutcome,
): { kind: 'unreachable' | 'failed' | 'rate_limited' | 'credential' } | undefined => {
  if (outcome.kind === 'not_sent') return { kind: 'unreachable' };
  if (outcome.kind === 'unknown') return { kind: 'failed' };
  if (outcome.kind === 'accepted') return undefined;
  const { kind } = rejectionOf(outcome.error);
  return kind === 'rate_limited' ? { kind: 'rate_limited' } : kind === 'account' ? { kind: 'credential' } : undefined;
};

async function settleOutcome(
  services: VideoServices,
  submission: Submission,
  outcome: Exclude<CreateOutcome, { kind: 'not_sent' }>,
): Promise<CreatedTask> {
  const { log } = services;
  const { task } = submission;
  try {
    if (outcome.kind === 'accepted') return await confirm(services, submission, outcome.upstreamId);
    if (outcome.kind === 'rejected') return await onRejected(services, submission, outcome);
    log.warn('task.submission_unknown', { task: task.id, account: task.account_id, reason: outcome.reason });
    return await markUnknown(services, submission);
  } catch (error) {
    // An error for the caller was decided and recorded. Anything else: the request was sent, so the task stays and is reconciled.
    if (outcome.kind === 'rejected') throw error;
    log.error('task.record_failed', { task: task.id, ...errorFields(error) });
    return { status: 202, task };
  }
}

async function confirm(
  services: VideoServices,
  { task, owner, idempotent }: Submission,
  upstreamId: string,
): Promise<CreatedTask> {
  const confirmed = await services.db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable('video_tasks')
      .set({ submission: 'confirmed', upstream_id: upstreamId, ...checkIn(FIRST_CHECK_MS), ...NO_SUBMITTER })
      .where('user_id', '=', task.user_id)
      .where('id', '=', task.id)
      .where('submission', 'in', ['sending', 'unknown'])
      .returningAll()
      .executeTakeFirstOrThrow();
    if (idempotent) await finishRecord(tx, idempotent, { owner, status: 200 });
    crashPoint('task.confirming');
    return row;
  });
  crashPoint('task.confirmed');
  return { status: 200, task: confirmed };
}

async function markUnknown(services: VideoServices, { task, owner, idempotent }: Submission): Promise<CreatedTask> {
  const unknown = await services.db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable('video_tasks')
      .set({ submission: 'unknown', ...checkIn(FIRST_RECONCILE_MS), ...NO_SUBMITTER })
      .where('user_id', '=', task.user_id)
      .where('id', '=', task.id)
      .where('submission', '=', 'sending')
      .returningAll()
      .executeTakeFirst();
    if (idempotent) await finishRecord(tx, idempotent, { owner, status: 202 });
    crashPoint('task.marking_unknown');
    return row;
  });
  crashPoint('task.marked_unknown');
  return { status: 202, task: unknown ?? task };
}

const NO_SUBMITTER = { submitter: null, submitter_until: null } as const;
const checkIn = (ms: number) => ({ next_check_at: sql<Date>`now() + ${ms} * interval '1 millisecond'` });

type Rejected = Extract<CreateOutcome, { kind: 'rejected' }>;

async function onRejected(services: VideoServices, submission: Submission, rejected: Rejected): Promise<CreatedTask> {
  const rejection = rejectionOf(rejected.error);
  services.log.warn('task.rejected', {
    task: submission.task.id,
    status: rejected.error.status,
    code: rejected.error.code,
    kind: rejection.kind,
  });
  if (rejection.kind === 'content') return failTask(services, submission, rejected);
  const error = errorFor(submission, rejection, rejected);
  return giveUp(services, submission, error, rejection.kind === 'request');
}

function errorFor(
  submission: Submission,
  rejection: Exclude<CreateRejection, { kind: 'content' }>,
  { error, retryAfter }: Rejected,
): ApiError {
  if (rejection.kind === 'request') {
    const message = publicMessage(error.message) || 'The provider rejected the parameters of the request.';
    return fail(rejection.code, message);
  }
  if (rejection.kind === 'rate_limited')
    return fail('rate_limit_exceeded', 'The provider is at capacity. Nothing was created; try again later.', {
      retryAfter: retryAfter ?? faultRow('rate_limited').cooldownMs / 1_000,
    });
  return submission.references.accountId === undefined ? noUsableAccount() : misconfigured();
}

const noUsableAccount = (): ApiError =>
  fail('server_is_overloaded', 'No upstream account can take the task now. Try again later.', { retryAfter: 30 });
const misconfigured = (): ApiError => fail('asset_route_group_misconfigured');

function unavailable(
  { references }: Submission,
  accounts: readonly Account[],
  { reason, retryMs }: NoAccount,
): ApiError {
  if (accounts.length === 0) return references.accountId === undefined ? fail('no_upstream_account') : misconfigured();
  const retryAfter = Math.max(1, Math.ceil(retryMs / 1_000));
  return reason === 'rate_limited'
    ? fail('rate_limit_exceeded', 'The provider is at capacity. Nothing was created; try again later.', { retryAfter })
    : fail('server_is_overloaded', 'Every upstream account is at capacity or cooling down. Try again shortly.', {
        retryAfter,
      });
}

/** No provider has the task: removes it, releases its hold, and frees the key or records the error as stable. */
async function giveUp(
  services: VideoServices,
  { task, owner, idempotent }: Submission,
  error: ApiError,
  isStable = false,
): Promise<never> {
  await services.db.transaction().execute(async (tx) => {
    await discardTask(tx, task);
    if (idempotent && isStable) await finishRecord(tx, idempotent, { owner, status: 400, error: stableError(error) });
    else if (idempotent) await removeRecord(tx, idempotent, owner);
    crashPoint('task.discarding');
  });
  crashPoint('task.discarded');
  throw error;
}

const stableError = ({ code, message, details: { param } }: ApiError): StableError => ({
  code,
  message,
  ...(param !== undefined && { param }),
});

/** The provider rejected the content itself: an ordinary failure of a task that exists (V 4.10 r5). */
async function failTask(services: VideoServices, submission: Submission, { error }: Rejected): Promise<CreatedTask> {
  const { task, owner, idempotent } = submission;
  const failed = await services.db.transaction().execute(async (tx: Db): Promise<TaskRow> => {
    const row = await changeStatus(services, tx, task, { to: 'failed', error: taskErrorFrom(error) });
    if (!row) throw new Error('the status of a task changed while it was submitted');
    await tx
      .updateTable('video_tasks')
      .set({ submission: 'unknown', ...NO_SUBMITTER })
      .where('user_id', '=', task.user_id)
      .where('id', '=', task.id)
      .execute();
    if (idempotent) await finishRecord(tx, idempotent, { owner, status: 200 });
    return row;
  });
  return { status: 200, task: failed };
}
