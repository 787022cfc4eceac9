/**
 * Changes with an Idempotency-Key: a double click, or a retry after a lost answer, gets the reply of the first
 * submission and changes nothing. The key is claimed before the change, and its reply is stored after it: when the
 * server dies in between, it is not known whether the change was made, and a repetition is refused instead of made a
 * second time.
 */
import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Actor, KeySecrets } from '../../access/keys/index.ts';
import { fail, type SealLocation, WrongMasterKey } from '../../core/index.ts';
import { type Db, firstRow, type Row } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { IDEMPOTENCY } from '../../rules/index.ts';

export interface ChangeServices {
  readonly db: Db;
  readonly secrets: KeySecrets;
}

interface Change {
  readonly by: Actor;
  readonly body: unknown;
  readonly make: () => Promise<unknown>;
}

export async function makeOnce(call: Call, { db, secrets }: ChangeServices, { by, body, make }: Change) {
  const key = call.header('idempotency-key');
  if (key === undefined || call.request.method === 'GET') return make();
  if (key.length === 0 || key.length > IDEMPOTENCY.keyBytes)
    throw fail('invalid_request', `Idempotency-Key: expected 1 to ${IDEMPOTENCY.keyBytes} characters.`, {
      param: 'Idempotency-Key',
    });
  const { method = '', url = '' } = call.request;
  const id = hashOf([by.actor, method, call.path, key]);
  const fingerprint = hashOf([url, body]);
  const own = sql`where id = ${id}`;
  if (!(await claim(db, id, fingerprint))) return firstReply(db, own, { fingerprint, secrets });
  let reply: unknown;
  try {
    reply = await make();
  } finally {
    // A change that failed may be tried again. One that answers by itself, as a credit does by its reference, is
    // harmless to repeat.
    if (reply === undefined) await sql`delete from change_replies ${own}`.execute(db);
  }
  if (reply === undefined) return;
  const sealed = secrets.sealer.seal(JSON.stringify(reply), locationOf(id));
  await sql`update change_replies set reply_sealed = ${sealed} ${own}`.execute(db);
  return reply;
}

const hashOf = (parts: readonly unknown[]): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(parts, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)))
    .digest();

const locationOf = (id: Buffer): SealLocation => `change_replies.reply:${id.toString('hex')}`;

async function claim(db: Db, id: Buffer, fingerprint: Buffer): Promise<boolean> {
  await sql`delete from change_replies where created_at < now() - interval '1 day'`.execute(db);
  const claimed = await firstRow(db)`insert into change_replies (id, fingerprint) values (${id}, ${fingerprint})
    on conflict do nothing returning id`;
  return claimed !== undefined;
}

type Repetition = { readonly fingerprint: Buffer } & Pick<ChangeServices, 'secrets'>;

async function firstReply(db: Db, own: RawBuilder<unknown>, { fingerprint, secrets }: Repetition): Promise<unknown> {
  const row = await firstRow(db)<Row<'change_replies'> & { readonly is_old: boolean }>`
    select *, created_at < now() - interval '1 minute' as is_old from change_replies ${own}`;
  // The first submission failed meanwhile, so that another one may follow.
  if (!row || (row.reply_sealed === null && !row.is_old))
    throw fail('idempotency_in_progress', 'The first submission is still running; repeat it in a moment.');
  if (!row.fingerprint.equals(fingerprint))
    throw fail('idempotency_conflict', 'This Idempotency-Key was used for another change; use a new one.');
  if (row.reply_sealed === null) throw fail('conflict', UNKNOWN_OUTCOME);
  try {
    return JSON.parse(secrets.sealer.open(row.reply_sealed, locationOf(row.id)));
  } catch (error) {
    throw error instanceof WrongMasterKey ? fail('conflict', UNKNOWN_OUTCOME) : error;
  }
}

const UNKNOWN_OUTCOME =
  'It is not known whether this change was made before the server stopped; look at the object, then submit it again.';
