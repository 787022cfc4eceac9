/** Expiry of stored responses. One that later turns still need is hidden, and goes with the last of them. */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';

const BATCH = 1_000;

const hasLater = sql`exists (select from stored_responses later
  where later.user_id = stored_responses.user_id and later.previous_id = stored_responses.id)`;

/** One batch per run. Returns how many were deleted. */
export async function expireResponses(db: Db): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from stored_responses where expires_at <= now() order by expires_at limit ${BATCH}`.execute(db);
  const due = rows.map(({ id }) => id);
  let deleted = 0;
  // The last turns first: then those before them are the last ones.
  for (let more = due.length > 0; more; ) {
    const { numAffectedRows = 0n } = await sql`
      delete from stored_responses where id = any(${due}::text[]) and expires_at <= now() and not ${hasLater}`.execute(
      db,
    );
    deleted += Number(numAffectedRows);
    more = numAffectedRows > 0n && deleted < due.length;
  }
  if (deleted < due.length)
    await sql`
      update stored_responses set is_hidden = true, expires_at = greatest(now() + interval '1 day', (
        select max(later.expires_at) from stored_responses later
        where later.user_id = stored_responses.user_id and later.previous_id = stored_responses.id))
      where id = any(${due}::text[]) and expires_at <= now() and ${hasLater}`.execute(db);
  return deleted;
}
