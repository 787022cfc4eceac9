/** Expiry of real-person authorization sessions (V 3), and removal of those that ended without a group. */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';
import { SESSION_KEPT_DAYS } from '../../rules/index.ts';

/** Writes down that sessions have expired, and drops their secrets. A session that is due in the future has not expired. */
export async function expireSessions(db: Db, batch = 1_000): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update authorization_sessions set status = 'expired', upstream_token_sealed = null, link_sealed = null,
      next_check_at = null, updated_at = expires_at
    where ctid in (
      select ctid from authorization_sessions
      where next_check_at <= now() and expires_at <= now() and upstream_token_sealed is not null
      order by next_check_at limit ${batch} for update skip locked)`.execute(db);
  return Number(numAffectedRows);
}

export async function removeEndedSessions(db: Db, batch = 1_000): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from authorization_sessions where ctid in (
      select ctid from authorization_sessions
      where status in ('failed', 'expired') and updated_at <= now() - ${SESSION_KEPT_DAYS} * interval '1 day'
      order by updated_at limit ${batch} for update skip locked)`.execute(db);
  return Number(numAffectedRows);
}
