/** Real-person authorization sessions: their operations and jobs, bound once. */

import type { Key } from '../../access/keys/index.ts';
import { fail } from '../../core/index.ts';
import type { OpenWork } from '../../platform/db/index.ts';
import { VIDEO_WORK } from '../open-work.ts';
import type { VideoServices } from '../services.ts';
import { type ReturnedSession, SessionChecker } from './check.ts';
import { createSession, recoverSessions, type SessionInput } from './create.ts';
import { expireSessions, removeEndedSessions } from './expire.ts';
import { findSession, isSessionId, sessionStatusOf, sessionView } from './session.ts';

export interface SessionView {
  readonly session: object;
  /** No outcome yet, so that polling makes sense. */
  readonly isOpen: boolean;
}

export interface Sessions {
  create(key: Key, input: SessionInput): Promise<object>;
  /** Throws `authorization_session_not_found`, alike for missing and foreign sessions, or `authorization_session_expired`. */
  get(key: Key, id: string): Promise<SessionView>;
  /** The browser of the person came back on a secret path; undefined when no session has it. */
  onReturn(secret: string): Promise<ReturnedSession | undefined>;
}

interface Job {
  readonly name: string;
  readonly everyMs: number;
  readonly needs?: OpenWork;
  run(): Promise<number>;
}

export function createSessions(services: VideoServices): {
  readonly sessions: Sessions;
  readonly jobs: readonly Job[];
} {
  const { db } = services;
  const checker = new SessionChecker(services);
  const sessions: Sessions = {
    create: (key, input) => createSession(services, key, input),
    async get(key, id) {
      const session = isSessionId(id) ? await findSession(db, { user_id: key.userId, id }) : undefined;
      if (!session) throw fail('authorization_session_not_found');
      const status = sessionStatusOf(session);
      if (status === 'expired') throw fail('authorization_session_expired');
      return {
        session: sessionView(services, session, ['pending', 'verifying']),
        isOpen: status === 'pending' || status === 'verifying',
      };
    },
    onReturn: (secret) => checker.onReturn(secret),
  };
  const jobs: readonly Job[] = [
    { name: 'sessions.check', everyMs: 1_000, needs: VIDEO_WORK.sessions, run: () => checker.run().then(() => 0) },
    { name: 'sessions.recover', everyMs: 30_000, needs: VIDEO_WORK.sessions, run: () => recoverSessions(services) },
    { name: 'sessions.expire', everyMs: 10_000, needs: VIDEO_WORK.sessions, run: () => expireSessions(db) },
    { name: 'sessions.remove', everyMs: 600_000, run: () => removeEndedSessions(db) },
  ];
  return { sessions, jobs };
}
