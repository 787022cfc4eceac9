/**
 * Session affinity: requests of a conversation go to the account where its cache is warm.
 * The name of an application is none.
 */
import { hash } from 'node:crypto';
import { sessionInUserId } from '../dialects/index.ts';
import type { Call } from '../platform/web/index.ts';
import type { Affinity } from '../providers/pool/index.ts';
import type { ClientDialect } from '../rules/index.ts';

const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id', 'thread-id'] as const;

/** Members of a request that may name its conversation, the surest first. */
export const SESSION_MEMBERS = ['prompt_cache_key', 'metadata', 'safety_identifier', 'user'] as const;

/** A number in [0, 1), the same for a session on every replica. */
export const affinityOf = (session: string | undefined): Affinity =>
  session === undefined ? {} : { hash: Number.parseInt(hash('sha256', session).slice(0, 12), 16) / 2 ** 48 };

export const sessionInHeaders = (call: Call): string | undefined =>
  SESSION_HEADERS.map((name) => call.header(name)).find(Boolean);

/** The conversation that the body of a request names. `read` returns the value of a member. */
export function sessionInBody(
  dialect: ClientDialect,
  read: (member: (typeof SESSION_MEMBERS)[number]) => unknown,
): string | undefined {
  if (dialect !== 'messages')
    return (
      textOf(read('prompt_cache_key')) ?? conversationIn(read('safety_identifier')) ?? conversationIn(read('user'))
    );
  // Conversations of one end user share a cache.
  // The pool bounds the load of a session, should all requests have the same id.
  const { user_id: userId } = (read('metadata') ?? {}) as { readonly user_id?: unknown };
  return conversationIn(userId) ?? textOf(userId);
}

const conversationIn = (value: unknown): string | undefined =>
  typeof value === 'string' ? sessionInUserId(value) : undefined;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
