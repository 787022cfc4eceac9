/** Session affinity: requests of one client session go to the same account, where the prompt cache is warm. */
import { hash } from 'node:crypto';
import type { Affinity } from '../pool/index.ts';
import type { Call } from '../web/index.ts';

/** Headers in which agent CLIs name their session. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id', 'thread-id'] as const;

/** A number in [0, 1), the same for a session on every replica. */
export const sessionHash = (session: string): number =>
  Number.parseInt(hash('sha256', session).slice(0, 12), 16) / 2 ** 48;

export function affinityFromHeaders(call: Call): Affinity {
  const name = SESSION_HEADERS.find((header) => call.header(header) !== undefined);
  return name === undefined ? {} : { hash: sessionHash(call.header(name) ?? '') };
}
