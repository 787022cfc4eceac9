/** What wishes claim of a wallet (table `wishes`): who came first gets its money first. */

/**
 * How long a wish keeps its place. A live owner looks sooner,
 * even if every statement takes its whole limit (`callMs` in src/platform/db/pool.ts).
 */
export const CLAIM_MS = 20_000;

/** SQL: the wish is not that of a process that is gone. */
export const IS_CURRENT = `seen_at > now() - ${CLAIM_MS} * interval '1 millisecond'`;

/**
 * SQL, a numeric: what the wishes before that of the owner claim,
 * or all of them when it has none. Both are SQL expressions.
 */
export const claimsBefore = (userId: string, owner: string): string => `(
  select coalesce(sum(nanos), 0) from wishes
  where user_id = ${userId} and owner <> ${owner} and ${IS_CURRENT}
    and id < coalesce((select id from wishes where user_id = ${userId} and owner = ${owner}), 9223372036854775807))`;
