/**
 * Authentication of the admin API: by the admin token, read for every call so that a rotation applies at once, or by a
 * session.
 */
import { type Actor, type FailedAttempts, isSameSecret } from '../../access/keys/index.ts';
import { personActor, type SessionGuard } from '../../access/people/index.ts';
import { fail } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';

export interface AdminAuthServices {
  readonly token: () => Promise<string | undefined>;
  readonly attempts: FailedAttempts;
  readonly guard: SessionGuard;
}

export type AdminAuth = (call: Call) => Promise<Actor>;

/** Finds the actor of a call. A request with an `authorization` header is judged by that alone. */
export function adminAuth({ token, attempts, guard }: AdminAuthServices): AdminAuth {
  let reading: Promise<string | undefined> | undefined;
  /** Attempts at the same time share one query, so that guessing cannot occupy the database. */
  const read = (): Promise<string | undefined> => {
    reading ??= token().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  return async (call) => {
    const header = call.header('authorization');
    if (header === undefined && guard.hasCookie(call))
      return personActor(call, await guard.authorize(call, 'operator'));
    const [, given] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? [];
    const expected = given === undefined ? undefined : await read();
    if (given !== undefined && expected !== undefined && isSameSecret(given, expected))
      return { actor: 'token', requestId: call.id, address: call.address };
    return attempts.reject(call.address, fail('invalid_admin_token', REJECTED));
  };
}

const REJECTED = 'Send the admin token as "Authorization: Bearer <token>"; API keys are not accepted here.';
