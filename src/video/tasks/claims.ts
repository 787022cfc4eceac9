/**
 * Which of our submissions the provider's tasks belong to.
 * Each unbound task of the provider belongs to one submission that was sent and not confirmed;
 * a submission may have none, because it never arrived. Whatever follows from that for certain is a pair.
 */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';
import type { ReportedTask } from '../upstream/client.ts';
import type { ProviderScope } from './bind.ts';
import { type Claimant, creationWindow, differencesOf, isPossible } from './candidate.ts';
import { forcedPairs } from './forced-pairs.ts';
import type { TaskRow } from './task.ts';

export type SubmissionClaim = Claimant &
  Pick<TaskRow, 'user_id' | 'id' | 'account_id' | 'upstream_model' | 'status' | 'submission'>;

export interface ClaimPair {
  readonly claim: SubmissionClaim;
  readonly candidate: ReportedTask;
}

/** Submissions considered at once. With more, nothing is certain: one that is left out may be the owner. */
const MAX_CLAIMS = 1_000;
/** Candidates considered at once. Those that are left out make fewer pairs certain, and none wrong. */
const MAX_CANDIDATES = 500;

export interface ClaimScope {
  readonly accountIds: readonly string[];
  /** Undefined: of all users. */
  readonly userIds: readonly string[] | undefined;
  /** Whether the submission asked the provider for the listed model. */
  readonly hasModel: (claim: SubmissionClaim) => boolean;
}

/**
 * The submissions that can own one of the candidates. Tasks that were given up count,
 * unless an operator has decided about them. A task that was certainly not sent is `pending` or was removed.
 * Must be read after the candidates: one that is sent later owns none of them. Undefined when there are too many.
 */
export async function readClaims(
  db: Db,
  { accountIds, userIds, hasModel }: ClaimScope,
  candidates: readonly ReportedTask[],
): Promise<readonly SubmissionClaim[] | undefined> {
  const times = candidates.flatMap(({ createdAt }) => createdAt ?? []);
  if (times.length === 0) return [];
  const atEpoch = creationWindow({ created_at: new Date(0) });
  const owner = userIds ? sql`and t.user_id = any(${userIds})` : sql``;
  const { rows } = await sql<SubmissionClaim>`
    select t.user_id, t.id, t.account_id, t.upstream_model, t.status, t.submission, t.created_at,
      t.safety_identifier, t.parameters, t.has_video_input, t.callback_token_hash, t.sent_expiry
    from video_tasks t
    where t.account_id = any(${accountIds}) ${owner}
      and t.upstream_id is null and t.submission in ('sending', 'unknown')
      and (t.finished_at is null or (t.error ->> 'code' = 'submission_failed' and t.dismissed_at is null))
      and t.created_at between to_timestamp(${Math.min(...times) - atEpoch.to})
        and to_timestamp(${Math.max(...times) - atEpoch.from})
    limit ${MAX_CLAIMS + 1}`.execute(db);
  return rows.length > MAX_CLAIMS ? undefined : rows.filter(hasModel);
}

/**
 * The candidates that belong to no task of ours yet.
 * Must be read after the claims: one that is confirmed meanwhile is seen here.
 */
export async function unboundOf(db: Db, { key, accountIds }: ProviderScope, candidates: readonly ReportedTask[]) {
  const ids = candidates.map(({ id }) => id);
  const { rows } = await sql<{ upstream_id: string }>`
    select upstream_id from video_tasks where account_id = any(${accountIds}) and upstream_id = any(${ids})
    union all select upstream_id from provider_tasks where provider = ${key} and upstream_id = any(${ids})`.execute(db);
  const bound = new Set(rows.map(({ upstream_id }) => upstream_id));
  return candidates.filter(({ id }) => !bound.has(id)).slice(0, MAX_CANDIDATES);
}

/** `open` are candidates that can belong to several submissions. */
export function matchClaims(claims: readonly SubmissionClaim[], candidates: readonly ReportedTask[]) {
  const owned = candidates
    .map((candidate) => ({ candidate, owners: ownersOf(claims, candidate) }))
    .filter(({ owners }) => owners.length > 0);
  const forced = forcedPairs(owned.map(({ owners }) => owners));
  const pairs: ClaimPair[] = [];
  const open: ReportedTask[] = [];
  for (const [at, { candidate }] of owned.entries()) {
    const claim = claims[forced[at] ?? -1];
    if (claim) pairs.push({ claim, candidate });
    else open.push(candidate);
  }
  return { pairs, open };
}

/** A candidate that contradicts every submission is one that the provider changed: then only user and time count. */
function ownersOf(claims: readonly SubmissionClaim[], candidate: ReportedTask): readonly number[] {
  const possible = claims.flatMap((claim, at) => (isPossible(claim, candidate) ? [at] : []));
  const fitting = possible.filter((at) => differencesOf(claims[at] as SubmissionClaim, candidate).length === 0);
  return fitting.length > 0 ? fitting : possible;
}
