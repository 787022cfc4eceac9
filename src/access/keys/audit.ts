/**
 * The audit log: one line per change, written in the transaction of the change. Append-only; lines contain no secrets.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { failAt } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';

/**
 * `token`: the admin API; `cli`: a command on the machine; `file`: a configuration applied at start; `person:<id>`: one
 * who is signed in.
 */
export interface Actor {
  readonly actor: 'token' | 'cli' | 'file' | `person:${string}`;
  readonly requestId?: string;
  readonly address?: string;
  /**
   * Values that members had when the actor read them. When one of them has another value now, the change is refused.
   */
  readonly expected?: Readonly<Record<string, unknown>> | undefined;
}

export type AuditAction =
  | 'account.changed'
  | 'account.drained'
  | 'account.parked'
  | 'account.resumed'
  | 'account.tested'
  | 'callback.redelivered'
  | 'callback.tested'
  | 'capture.viewed'
  | 'character.changed'
  | 'character.created'
  | 'character.deleted'
  | 'character.preview_changed'
  | 'character.published'
  | 'character.unpublished'
  | 'config.applied'
  | 'credit.booked'
  | 'database.exported'
  | 'database.imported'
  | 'destination.changed'
  | 'destination.created'
  | 'destination.deleted'
  | 'destination.tested'
  | 'group.changed'
  | 'key.capture_ended'
  | 'key.capture_started'
  | 'key.changed'
  | 'key.created'
  | 'key.revoked'
  | 'key.rotated'
  | 'model.changed'
  | 'object.deleted'
  | 'person.changed'
  | 'person.created'
  | 'person.link_created'
  | 'person.password_changed'
  | 'person.signed_out'
  | 'price.changed'
  | 'prices.imported'
  | 'record.dismissed'
  | 'record.resolved'
  | 'replica.removed'
  | 'review.released'
  | 'review.settled'
  | 'submission.assigned'
  | 'submission.dismissed'
  | 'token.rotated'
  | 'user.changed'
  | 'user.created'
  | 'user.erased'
  | 'user.erasing'
  | 'user.exported'
  | 'warning.changed'
  | 'warning.created'
  | 'warning.deleted';

export interface AuditLine {
  readonly action: AuditAction;
  /** `user:ana`, `key:key_...`, `model:openai/gpt-5`, `config`. */
  readonly subject: string;
  readonly before?: object;
  readonly after?: object;
}

/** `tx` must be the transaction of the change, so that no change is stored without its line. */
export async function writeAudit(tx: Db, by: Actor, { action, subject, before, after }: AuditLine): Promise<void> {
  if (before && by.expected) expectUnchanged(JSON.parse(JSON.stringify(before)), by.expected);
  const { actor, requestId = null, address = null } = by;
  const [was = null, is = null] = [before && JSON.stringify(before), after && JSON.stringify(after)];
  await sql`
    insert into audit (actor, action, subject, before, after, request_id, address)
    values (${actor}, ${action}, ${subject}, ${was}, ${is}, ${requestId}, ${address})`.execute(tx);
}

function expectUnchanged(before: Readonly<Record<string, unknown>>, expected: NonNullable<Actor['expected']>): void {
  for (const [name, value] of Object.entries(expected))
    if (!isSame(before[name] ?? null, value ?? null))
      throw failAt('conflict', name, `is ${JSON.stringify(before[name] ?? null)} now: it was changed meanwhile.`);
}

/** Amounts are numbers in the database and text elsewhere. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(one, other) || (isScalar(one) && isScalar(other) && Number(one) === Number(other));

const isScalar = (value: unknown): boolean => typeof value === 'number' || (typeof value === 'string' && value !== '');
