/** The audit log: one line per change, written in the transaction of the change. Append-only; lines contain no secrets. */
import type { Db } from '../../platform/db/index.ts';

/**
 * `token`: the admin API; `cli`: a command on the machine; `file`: a configuration applied at start; `person:<id>`: a person who is
 * signed in to the console.
 */
export interface Actor {
  readonly actor: 'token' | 'cli' | 'file' | `person:${string}`;
  readonly requestId?: string;
  readonly address?: string;
}

export type AuditAction =
  | 'credit.booked'
  | 'user.created'
  | 'user.changed'
  | 'key.created'
  | 'key.changed'
  | 'key.revoked'
  | 'key.rotated'
  | 'key.capture_started'
  | 'key.capture_ended'
  | 'capture.viewed'
  | 'record.resolved'
  | 'record.dismissed'
  | 'review.settled'
  | 'review.released'
  | 'submission.assigned'
  | 'submission.dismissed'
  | 'callback.redelivered'
  | 'callback.tested'
  | 'account.parked'
  | 'account.changed'
  | 'account.drained'
  | 'account.resumed'
  | 'account.tested'
  | 'character.created'
  | 'character.changed'
  | 'character.published'
  | 'character.unpublished'
  | 'character.preview_changed'
  | 'character.deleted'
  | 'config.applied'
  | 'group.changed'
  | 'model.changed'
  | 'price.changed'
  | 'database.exported'
  | 'database.imported'
  | 'prices.imported'
  | 'replica.removed'
  | 'person.created'
  | 'person.changed'
  | 'person.link_created'
  | 'person.password_changed'
  | 'person.signed_out'
  | 'token.rotated'
  | 'warning.created'
  | 'warning.changed'
  | 'warning.deleted'
  | 'destination.created'
  | 'destination.changed'
  | 'destination.deleted'
  | 'destination.tested';

export interface AuditLine {
  readonly action: AuditAction;
  /** `user:ana`, `key:key_...`, `model:openai/gpt-5`, `config`. */
  readonly subject: string;
  readonly before?: object;
  readonly after?: object;
}

/** `tx` must be the transaction of the change, so that no change is stored without its line. */
export async function writeAudit(tx: Db, by: Actor, { action, subject, before, after }: AuditLine): Promise<void> {
  await tx
    .insertInto('audit')
    .values({
      actor: by.actor,
      action,
      subject,
      before: before === undefined ? null : JSON.stringify(before),
      after: after === undefined ? null : JSON.stringify(after),
      request_id: by.requestId ?? null,
      address: by.address ?? null,
    })
    .execute();
}
