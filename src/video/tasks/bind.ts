/**
 * Binding of tasks to the provider's tasks that they created. Of all tasks at one address and credential,
 * one at most has a task of the provider, whatever its account, group and replica: `provider_tasks` is unique by both.
 */
import { sql } from 'kysely';
import { type Account, providerIdentity } from '../../catalog/index.ts';
import { hmac } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { firstRow, type Tx } from '../../platform/db/index.ts';
import { finishRecord } from '../idempotency/records.ts';
import type { VideoServices } from '../services.ts';
import { traitsOf } from '../upstream/adapters.ts';
import type { TaskRow } from './task.ts';

/** Where tasks of the provider are unique. */
export interface ProviderScope {
  /** A fingerprint of address and credential that tells nothing without the secret of the installation. */
  readonly key: Buffer;
  /**
   * Accounts that may see the same tasks. They find tasks of earlier versions,
   * and those of an account whose credential has changed.
   */
  readonly accountIds: readonly string[];
}

type ScopeServices = Pick<VideoServices, 'catalog' | 'secret'>;

/** An upstream that does not name users may list the tasks of all credentials at its address. */
export function providerScope({ catalog, secret }: ScopeServices, account: Account): ProviderScope {
  const nameOf = (one: Account): string =>
    providerIdentity(traitsOf(account).takesSafetyIdentifier ? one : { ...one, credential: '' });
  const name = nameOf(account);
  const sharing = catalog()
    .allAccounts()
    .filter((one) => nameOf(one) === name);
  return { key: hmac(secret, `provider:${name}`), accountIds: [account.id, ...sharing.map(({ id }) => id)] };
}

export interface Binding {
  readonly task: Pick<TaskRow, 'user_id' | 'id'>;
  readonly upstreamId: string;
  readonly provider: ProviderScope;
}

/** False when another task has the provider's task. The task must be locked. */
export async function claimUpstream(tx: Tx, { task, upstreamId, provider }: Binding): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into provider_tasks as claimed (provider, upstream_id, user_id, task_id)
    select ${provider.key}, ${upstreamId}, ${task.user_id}, ${task.id}
    where not exists (
      select from video_tasks b where b.account_id = any(${provider.accountIds}) and b.upstream_id = ${upstreamId}
        and (b.user_id, b.id) <> (${task.user_id}, ${task.id}))
    on conflict (provider, upstream_id) do update set task_id = claimed.task_id
      where claimed.user_id = ${task.user_id} and claimed.task_id = ${task.id}`.execute(tx);
  return numAffectedRows > 0n;
}

/** The task gives up a task of the provider that was found for it, for one that it was told of. */
export const releaseUpstream = (tx: Tx, { user_id, id }: Pick<TaskRow, 'user_id' | 'id'>, upstreamId: string) =>
  sql`
    delete from provider_tasks
    where user_id = ${user_id} and task_id = ${id} and upstream_id = ${upstreamId}`.execute(tx);

/** False when the submission has ended meanwhile, or another task has the provider's id. */
export async function bindTask(tx: Tx, binding: Binding): Promise<boolean> {
  const { task, upstreamId } = binding;
  // Locks nothing of a task that is confirmed already: a check that skips it would come late.
  const open = await firstRow(tx)`
    select from video_tasks
    where user_id = ${task.user_id} and id = ${task.id} and submission in ('sending', 'unknown') and finished_at is null
    for update`;
  if (!open || !(await claimUpstream(tx, binding))) return false;
  await sql`
    update video_tasks set submission = 'confirmed', upstream_id = ${upstreamId},
      submitter = null, submitter_until = null,
      next_check_at = now(), check_attempts = 0, candidates = null
    where user_id = ${task.user_id} and id = ${task.id}`.execute(tx);
  await finishRecord(tx, task, 200);
  crashPoint('task.binding');
  return true;
}
