/** The audit log: one line per change, written in the transaction of the change. Append-only; lines contain no secrets. */
import { isDeepStrictEqual } from 'node:util';
import { failAt } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';

/**
 * `token`: the admin API; `cli`: a command on the machine; `file`: a configuration applied at start; `person:<id>`: a person who is
 * signed in to the console.
 */
export interface Actor {
  readonly actor: 'token' | 'cli' | 'file' | `person:${string}`;
  readonly requestId?: string;
  readonly address?: string;
  /** Values that members had when the actor read them. When one of them has another value now, the change is refused. */
  readonly expected?: Readonly<Record<string, unknown>> | undefined;
}

/** What happens to each kind of object. */
interface Actions {
  readonly credit: 'booked';
  readonly user: 'created' | 'changed' | 'erasing' | 'erased' | 'exported';
  readonly key: 'created' | 'changed' | 'revoked' | 'rotated' | 'capture_started' | 'capture_ended';
  readonly capture: 'viewed';
  readonly record: 'resolved' | 'dismissed';
  readonly review: 'settled' | 'released';
  readonly submission: 'assigned' | 'dismissed';
  readonly callback: 'redelivered' | 'tested';
  readonly account: 'parked' | 'changed' | 'drained' | 'resumed' | 'tested';
  readonly character: 'created' | 'changed' | 'published' | 'unpublished' | 'preview_changed' | 'deleted';
  readonly config: 'applied';
  readonly group: 'changed';
  readonly model: 'changed';
  readonly price: 'changed';
  readonly database: 'exported' | 'imported';
  readonly prices: 'imported';
  readonly replica: 'removed';
  readonly person: 'created' | 'changed' | 'link_created' | 'password_changed' | 'signed_out';
  readonly token: 'rotated';
  readonly warning: 'created' | 'changed' | 'deleted';
  readonly destination: 'created' | 'changed' | 'deleted' | 'tested';
}

export type AuditAction = { [K in keyof Actions]: `${K}.${Actions[K]}` }[keyof Actions];

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

function expectUnchanged(before: Readonly<Record<string, unknown>>, expected: NonNullable<Actor['expected']>): void {
  for (const [name, value] of Object.entries(expected))
    if (!isSame(before[name] ?? null, value ?? null))
      throw failAt('conflict', name, `is ${JSON.stringify(before[name] ?? null)} now: it was changed meanwhile.`);
}

/** Amounts are numbers in the database and text elsewhere. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(one, other) || (isScalar(one) && isScalar(other) && Number(one) === Number(other));

const isScalar = (value: unknown): boolean => typeof value === 'number' || (typeof value === 'string' && value !== '');
