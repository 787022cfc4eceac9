/**
 * The submission of a task: what it consists of, its lease,
 * the errors of a task that no provider has, and its recovery after a crash.
 */
import { sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import type { Account } from '../../catalog/index.ts';
import { type ApiError, errorFields, fail, overloaded, type Repetition, repeat } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { type Db, firstRow } from '../../platform/db/index.ts';
import type { NoAccount } from '../../providers/pool/index.ts';
import { faultRow } from '../../rules/index.ts';
import { misconfigured } from '../assets/service-group.ts';
import { finishRecord, type IdempotentRequest, removeRecord } from '../idempotency/records.ts';
import type { ResolvedReferences } from '../references.ts';
import type { NeutralRequest, TaskRequest } from '../request/task-request.ts';
import type { VideoServices } from '../services.ts';
import type { VideoTarget } from '../target.ts';
import type { CreateOutcome } from '../upstream/client.ts';
import type { CreateRejection } from '../upstream/errors.ts';
import { discardTask, lockTask, type TaskName, type TaskRow, updateTask } from './task.ts';

/** Takes memory for bytes that a request does not have itself. Throws an error for the caller when there is none. */
export type Reserve = (bytes: number) => void;

/** A checked request on its way to becoming a task. */
export interface Order {
  /** Named in usage reports. */
  readonly operation: 'tasks.create' | 'videos.create';
  readonly key: Key;
  readonly target: VideoTarget;
  readonly request: TaskRequest;
  readonly neutral: NeutralRequest;
  readonly references: ResolvedReferences;
  readonly idempotent: IdempotentRequest | undefined;
  readonly label: string | undefined;
  readonly endUser: string | undefined;
  readonly reserve: Reserve;
}

export interface InsertedTask {
  readonly task: TaskRow;
  /** Owner of the claim: this replica and this request. */
  readonly owner: string;
  /** The secret part of the path at which the provider reports the task. */
  readonly callbackToken: string;
}

/** An order whose task exists and is to be sent to a provider. */
export type Submission = Order & InsertedTask;

/** A task was created (200), or created without confirmation by the provider (202, V 4.2 r3). */
export interface CreatedTask {
  readonly status: 200 | 202;
  readonly task: TaskRow;
}

/**
 * The time in which no other replica takes a submission over.
 * It is short, so that a request whose replica stopped is decided soon, and renewed while the request runs.
 * A replica that loses it nevertheless sends nothing more, and its outcome still counts (outcome.ts).
 */
export const SUBMISSION_LEASE_MS = 30_000;
const RENEW_MS = 5_000;

export const leaseEnd = sql<Date>`now() + ${SUBMISSION_LEASE_MS} * interval '1 millisecond'`;

export function keepLease({ db, clock, log }: VideoServices, { task, owner }: InsertedTask): Repetition {
  const { user_id, id } = task;
  const renew = () =>
    sql`
      with renewed as (
        update video_tasks set submitter_until = ${leaseEnd}
        where user_id = ${user_id} and id = ${id} and submitter = ${owner}
          and submission in ('pending', 'sending') returning id)
      update idempotency_records r set owner_until = ${leaseEnd} from renewed
      where r.user_id = ${user_id} and r.resource_id = renewed.id and r.owner = ${owner}
        and r.finished_at is null`.execute(db);
  const onError = (error: unknown) => log.warn('task.lease_not_renewed', { task: id, ...errorFields(error) });
  return repeat(renew, { clock, intervalMs: RENEW_MS, onError });
}

/** The provider rejected the request, but not its content. */
export function rejectionError(
  { references }: Submission,
  rejection: Exclude<CreateRejection, { kind: 'content' }>,
  { error, retryAfter }: Extract<CreateOutcome, { kind: 'rejected' }>,
): ApiError {
  if (rejection.kind === 'request') {
    return fail(rejection.code, error.message || 'The provider rejected the parameters of the request.');
  }
  if (rejection.kind === 'rate_limited') return atCapacity(retryAfter ?? faultRow('rate_limited').cooldownMs / 1_000);
  if (references.accountId !== undefined) return misconfigured();
  return overloaded('No upstream account can take the task now. Try again later.', 30);
}

/** The provider lost an asset that was active here. The same request then gets 409 before anything is sent (V 7). */
export const assetGone = (id: string): ApiError =>
  fail('asset_invalid', `The asset ${id} no longer exists at the provider. Create a new one.`, { status: 410 });

/** No account can be asked now. */
export function noAccountError(
  { references }: Submission,
  accounts: readonly Account[],
  { reason, retryMs }: NoAccount,
): ApiError {
  if (accounts.length === 0) return references.accountId === undefined ? fail('no_upstream_account') : misconfigured();
  const retryAfter = Math.max(1, Math.ceil(retryMs / 1_000));
  if (reason === 'rate_limited') return atCapacity(retryAfter);
  // Another account has not the assets.
  if (references.accountId !== undefined && reason !== 'full')
    return fail('asset_binding_unavailable', 'The account that holds the assets is not available now.', { retryAfter });
  return overloaded('Every upstream account is at capacity or cooling down. Try again shortly.', retryAfter);
}

/** The submission could not be recorded, so nothing was sent. */
export const notSubmitted = (): ApiError =>
  overloaded('The task could not be submitted. Nothing was created; send it again.', 2);

const atCapacity = (retryAfter: number): ApiError =>
  fail('rate_limit_exceeded', 'The provider is at capacity. Nothing was created; try again later.', { retryAfter });

/**
 * Decides the outcome of one submission whose replica stopped:
 * a task that was not sent is removed, one that may have been sent becomes `unknown` and is reconciled;
 * nothing is ever sent again. No effect while the replica may still be at work.
 */
export const recoverTask = ({ db }: Pick<VideoServices, 'db'>, userId: string, taskId: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const task = await lockTask(tx, { user_id: userId, id: taskId });
    if (!task) return removeRecord(tx, { user_id: userId, id: taskId });
    if (await isAbandoned(tx, task)) await decide(tx, task);
    else if (task.submission === 'confirmed' || task.submission === 'unknown')
      await finishRecord(tx, task, task.submission === 'confirmed' ? 200 : 202);
  });

async function isAbandoned(tx: Db, { submission, submitter_until }: TaskRow): Promise<boolean> {
  if (submission !== 'pending' && submission !== 'sending') return false;
  const row = await firstRow(tx)<{ over: boolean }>`select coalesce(${submitter_until} < now(), true) as over`;
  return row?.over === true;
}

async function decide(tx: Db, task: TaskRow): Promise<void> {
  if (task.submission === 'pending') {
    await discardTask(tx, task);
    await removeRecord(tx, task);
  } else {
    await updateTask(tx, task)
      .set({ submission: 'unknown', submitter: null, submitter_until: null, next_check_at: sql<Date>`now()` })
      .execute();
    await finishRecord(tx, task, 202);
  }
  crashPoint('task.recovering');
}

const BATCH = 100;

/**
 * Recovers abandoned submissions. Each has a transaction of its own: a batch would lock several wallets, in any order.
 */
export async function recoverSubmissions(services: Pick<VideoServices, 'db'>): Promise<number> {
  const { rows: abandoned } = await sql<TaskName>`
    select user_id, id from video_tasks where submission in ('pending', 'sending') and submitter_until < now()
    order by submitter_until limit ${BATCH}`.execute(services.db);
  for (const { user_id, id } of abandoned) await recoverTask(services, user_id, id);
  return abandoned.length;
}
