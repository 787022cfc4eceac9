/**
 * Submission of a task, at most once (V 4.2 r3, r4): the mark `sending` is committed before the first byte.
 * A response that leaves the outcome open makes the task `unknown`; it is reconciled later and never sent again,
 * whatever the variant. Another account is tried only when no byte was sent.
 */
import { sql } from 'kysely';
import { type Account, publicMessage, type Secrets } from '../../catalog/index.ts';
import { ApiError, errorFields } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import type { AccountLease } from '../../providers/pool/index.ts';
import type { VideoServices } from '../services.ts';
import { traitsOf } from '../upstream/adapters.ts';
import type { CreateOutcome } from '../upstream/client.ts';
import { accountFaultOf, rejectionOf } from '../upstream/errors.ts';
import type { CreateMessage } from '../upstream/families/family.ts';
import { withMedia } from './input-media.ts';
import { recordOutcome, recordUnsent } from './outcome.ts';
import { type CreatedTask, keepLease, noAccountError, notSubmitted, type Submission } from './submission.ts';
import { updateTask } from './task.ts';

/** Runs to its end even if the client disconnects: the task and its hold exist. */
export async function submitTask(services: VideoServices, submission: Submission): Promise<CreatedTask> {
  const lease = keepLease(services, submission);
  try {
    return await submitToAny(services, submission);
  } finally {
    void lease.stop();
  }
}

async function submitToAny(services: VideoServices, submission: Submission): Promise<CreatedTask> {
  const accounts = accountsFor(services, submission);
  const tried = new Set<string>();
  for (;;) {
    const use = { model: submission.target.model.upstream };
    const lease = services.pool.lease(
      accounts.filter(({ id }) => !tried.has(id)),
      {},
      use,
    );
    if (!('account' in lease)) return recordUnsent(services, submission, noAccountError(submission, accounts, lease));
    const { account } = lease;
    tried.add(account.id);
    let outcome: CreateOutcome | undefined;
    try {
      outcome = await sendOnce(services, submission, account);
    } catch (error) {
      // The family cannot say it, or media cannot be fetched: nothing was sent.
      if (error instanceof ApiError) return recordUnsent(services, submission, error);
      throw error;
    } finally {
      lease.release(outcome && faultOf(outcome));
    }
    if (!outcome) return recordUnsent(services, submission, notSubmitted());
    if (outcome.kind !== 'not_sent') return recordOutcome(services, { ...submission, account }, outcome);
    services.log.warn('task.not_sent', { task: submission.task.id, account: account.id, reason: outcome.reason });
    await unmarkSending(services, submission);
  }
}

/** The accounts that may run the task: all of the service group, or the one that holds its assets. */
function accountsFor({ catalog }: VideoServices, { target, references }: Submission): readonly Account[] {
  const accounts = catalog()
    .accounts(target.group.id)
    .filter(({ features }) => features.has('video'));
  return references.accountId === undefined ? accounts : accounts.filter(({ id }) => id === references.accountId);
}

/** Undefined when nothing was sent, because the mark could not be set. */
async function sendOnce(services: VideoServices, submission: Submission, account: Account) {
  const message = await messageFor(services, submission, account);
  if (!(await markSending(services, submission, account))) return undefined;
  crashPoint('task.sending');
  const { id: taskId, safety_identifier: endUser } = submission.task;
  const outcome = await services.provider.create(account, { taskId, endUser, ...message });
  crashPoint('task.sent');
  if (outcome.kind !== 'rejected') return outcome;
  const shown = publicMessage(outcome.error.message, secretsOf(services, submission, account));
  return { ...outcome, error: { ...outcome.error, message: shown } };
}

/** What the provider was sent and the caller must not read. */
function secretsOf(services: VideoServices, submission: Submission, account: Account): Secrets {
  const { target, references, task, callbackToken } = submission;
  const path = services.callbackUrlFor(account, callbackToken);
  const values = [path, callbackToken, task.safety_identifier, ...references.upstreamIds.values()];
  return { account, model: target.model, values };
}

/** Throws an `ApiError` for what this provider cannot be asked. */
async function messageFor(services: VideoServices, submission: Submission, account: Account): Promise<CreateMessage> {
  const { target, references, task, callbackToken } = submission;
  const family = traitsOf(account);
  const values = {
    model: account.models.get(target.model.upstream) ?? target.model.upstream,
    callbackUrl: services.callbackUrlFor(account, callbackToken),
    safetyIdentifier: family.takesSafetyIdentifier ? task.safety_identifier : undefined,
    expirySeconds: (family.returnsExpiry && task.sent_expiry) || undefined,
    assets: references.upstreamIds,
  };
  return family.encode(await withMedia(services, submission, account), values, account);
}

/**
 * Committed before anything is sent: after a crash the task counts as possibly submitted, never as unsent. False when
 * the database fails, or when the time for this submission is over and another replica may have decided about the task.
 */
async function markSending({ db, log }: VideoServices, { task, owner }: Submission, account: Account) {
  try {
    const { numUpdatedRows } = await updateTask(db, task)
      .set({ submission: 'sending', account_id: account.id })
      .where('submitter', '=', owner)
      .where('submission', 'in', ['pending', 'sending'])
      .where('submitter_until', '>', sql<Date>`now()`)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  } catch (error) {
    log.error('task.mark_failed', { task: task.id, ...errorFields(error) });
    return false;
  }
}

/**
 * Nothing was sent: a crash before the next account must not leave a task behind that the provider may seem to have.
 */
async function unmarkSending({ db, log }: VideoServices, { task, owner }: Submission): Promise<void> {
  try {
    await updateTask(db, task)
      .set({ submission: 'pending', account_id: null })
      .where('submitter', '=', owner)
      .where('submission', '=', 'sending')
      .execute();
  } catch (error) {
    log.error('task.mark_failed', { task: task.id, ...errorFields(error) });
  }
}

function faultOf(outcome: CreateOutcome): Parameters<AccountLease<Account>['release']>[0] {
  if (outcome.kind === 'not_sent') return { kind: 'unreachable', providerCode: outcome.reason };
  if (outcome.kind === 'unknown') return { kind: 'failed', providerCode: outcome.reason };
  if (outcome.kind === 'accepted') return undefined;
  const { error, retryAfter } = outcome;
  // Content and parameters were examined, so the account works.
  if (['content', 'request'].includes(rejectionOf(error).kind)) return undefined;
  const fault = accountFaultOf(error);
  const waitMs = fault.kind === 'rate_limited' && retryAfter !== undefined ? retryAfter * 1_000 : fault.cooldownMs;
  return { kind: fault.kind, cooldownMs: waitMs, providerCode: error.code };
}
