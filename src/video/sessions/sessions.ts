/** Real-person authorization sessions: their operations and jobs, bound once. */
import { sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import { fail } from '../../core/index.ts';
import { type Db, deleteBatch, type Job } from '../../platform/db/index.ts';
import { SESSION_KEPT_DAYS } from '../../rules/index.ts';
import { VIDEO_WORK } from '../open-work.ts';
import type { VideoServices } from '../services.ts';
import { findSession, isSessionId, SessionChecker, sessionStatusOf, sessionView } from './check.ts';
import { createSession, recoverSessions, type SessionInput } from './create.ts';

export function createSessions(services: VideoServices) {
  const { db } = services;
  const checker = new SessionChecker(services);
  const sessions = {
    create: (key: Key, input: SessionInput) => createSession(services, key, input),
    /**
     * Throws `authorization_session_not_found`, alike for missing and foreign sessions,
     * or `authorization_session_expired`.
     */
    async get(key: Key, id: string) {
      const session = isSessionId(id) ? await findSession(db, { user_id: key.userId, id }) : undefined;
      if (!session) throw fail('authorization_session_not_found');
      const status = sessionStatusOf(session);
      if (status === 'expired') throw fail('authorization_session_expired');
      return {
        session: sessionView(services, session, ['pending', 'verifying']),
        /** No outcome yet, so that polling makes sense. */
        isOpen: status === 'pending' || status === 'verifying',
      };
    },
    onReturn: (secret: string) => checker.onReturn(secret),
  };
  const jobs: readonly Job[] = [
    { name: 'sessions.check', everyMs: 1_000, needs: VIDEO_WORK.sessions, run: () => checker.run().then(() => 0) },
    { name: 'sessions.recover', everyMs: 30_000, needs: VIDEO_WORK.sessions, run: () => recoverSessions(services) },
    { name: 'sessions.expire', everyMs: 10_000, needs: VIDEO_WORK.sessions, run: () => expireSessions(db) },
    { name: 'sessions.remove', everyMs: 600_000, run: () => removeEndedSessions(db) },
  ];
  return { sessions, jobs };
}

/**
 * Writes down that sessions have expired, and drops their secrets. A session that is due in the future has not expired.
 */
async function expireSessions(db: Db, batch = 1_000): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    with due as materialized (
      select ctid as place from authorization_sessions
      where next_check_at <= now() and expires_at <= now() and upstream_token_sealed is not null
      order by next_check_at limit ${batch} for update skip locked)
    update authorization_sessions s set status = 'expired', upstream_token_sealed = null, link_sealed = null,
      next_check_at = null, updated_at = expires_at
    from due where s.ctid = due.place`.execute(db);
  return Number(numAffectedRows);
}

const removeEndedSessions = (db: Db): Promise<number> =>
  deleteBatch(
    db,
    'authorization_sessions',
    sql`status in ('failed', 'expired') and updated_at <= now() - ${SESSION_KEPT_DAYS} * interval '1 day'`,
  );
