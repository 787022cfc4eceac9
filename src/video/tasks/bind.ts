/** Binding of an open submission to the provider's task that it created. Of two tasks, one at most is bound to a task of the provider. */
import { sql } from 'kysely';
import type { Account, Catalog } from '../../catalog/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { finishRecordOf } from '../idempotency/records.ts';
import { traitsOf } from '../upstream/adapters.ts';
import type { TaskRow } from './task.ts';

/** Ids of the accounts that may see the same tasks: an upstream that does not name users may list those of all accounts at its address. */
export function accountsSharing(catalog: Catalog, account: Account): readonly string[] {
  if (traitsOf(account).takesSafetyIdentifier) return [account.id];
  const sharing = catalog.allAccounts().filter(({ baseUrl }) => baseUrl === account.baseUrl);
  return sharing.map(({ id }) => id);
}

export interface Binding {
  readonly task: Pick<TaskRow, 'user_id' | 'id'>;
  readonly upstreamId: string;
  /** Accounts whose tasks may have the provider's task already. */
  readonly accountIds: readonly string[];
}

/** False when the submission has ended meanwhile, or another task has the provider's id. */
export async function bindTask(tx: Tx, { task, upstreamId, accountIds }: Binding): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`video.bind:${upstreamId}`}, 0))`.execute(tx);
  const { numAffectedRows = 0n } = await sql`
    update video_tasks t set submission = 'confirmed', upstream_id = ${upstreamId}, submitter = null, submitter_until = null,
      next_check_at = now(), check_attempts = 0, candidates = null
    where t.user_id = ${task.user_id} and t.id = ${task.id} and t.submission in ('sending', 'unknown') and t.finished_at is null
      and not exists (select from video_tasks b where b.account_id = any(${accountIds}) and b.upstream_id = ${upstreamId})`.execute(
    tx,
  );
  if (numAffectedRows > 0n) await finishRecordOf(tx, task.user_id, task.id, 200);
  crashPoint('task.binding');
  return numAffectedRows > 0n;
}
