/** The audit log: one line per change, written in the transaction of the change. Append-only; lines contain no secrets. */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { failAt } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { Words } from '../../rules/index.ts';

/** `token`: the admin API; `cli`: a command on the machine; `file`: a configuration applied at start; `person:<id>`: one who is signed in. */
export interface Actor {
  readonly actor: 'token' | 'cli' | 'file' | `person:${string}`;
  readonly requestId?: string;
  readonly address?: string;
  /** Values that members had when the actor read them. When one of them has another value now, the change is refused. */
  readonly expected?: Readonly<Record<string, unknown>> | undefined;
}

export type AuditAction =
  | Words<'credit.booked capture.viewed config.applied group.changed model.changed price.changed prices.imported'>
  | Words<'replica.removed token.rotated object.deleted'>
  | `account.${Words<'parked changed drained resumed tested'>}`
  | `callback.${Words<'redelivered tested'>}`
  | `character.${Words<'created changed published unpublished preview_changed deleted'>}`
  | `database.${Words<'exported imported'>}`
  | `destination.${Words<'created changed deleted tested'>}`
  | `key.${Words<'created changed revoked rotated capture_started capture_ended'>}`
  | `person.${Words<'created changed link_created password_changed signed_out'>}`
  | `record.${Words<'resolved dismissed'>}`
  | `review.${Words<'settled released'>}`
  | `submission.${Words<'assigned dismissed'>}`
  | `user.${Words<'created changed erasing erased exported'>}`
  | `warning.${Words<'created changed deleted'>}`;

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
