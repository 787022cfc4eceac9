/** Captured bodies: the switch of a key, and reading them. Every look has an audit line. */
import { sql } from 'kysely';
import { type Actor, keyView, lockKey, writeAudit } from '../../access/keys/index.ts';
import { fail, HOUR_MS, type Sealer, type SealLocation } from '../../core/index.ts';
import { type Db, deleteBatch, firstRow } from '../../platform/db/index.ts';
import { CAPTURE } from '../../rules/index.ts';
import type { ShownCapture, ShownKey } from '../../schemas/index.ts';

export type CaptureContent = Pick<ShownCapture, 'request' | 'response'>;

export const captureLocation = (requestId: string): SealLocation => `captures.sealed:${requestId}`;

interface CaptureActor {
  readonly by: Actor;
  readonly now: number;
  /** Keys and calls of other users do not exist for a user. */
  readonly owner?: string | undefined;
}
type CaptureViewer = Omit<CaptureActor, 'now'> & { readonly sealer: Sealer };

export const captureKey = (db: Db, id: string, hours: number, { by, now, owner }: CaptureActor): Promise<ShownKey> =>
  db.transaction().execute(async (tx) => {
    const row = await lockKey(tx, id, owner);
    if (row.revoked_at) throw fail('conflict', 'The key is revoked, so that it has no further calls.');
    const until = hours === 0 ? null : new Date(now + hours * HOUR_MS);
    await tx.updateTable('keys').set({ capture_until: until }).where('id', '=', id).execute();
    await writeAudit(tx, by, {
      action: until ? 'key.capture_started' : 'key.capture_ended',
      subject: `key:${id}`,
      before: { capture_until: row.capture_until },
      after: { capture_until: until },
    });
    return keyView(await lockKey(tx, id), now);
  });

export const isCaptured = async (db: Db, userId: string, requestId: string): Promise<boolean> =>
  (await firstRow(db)`select from captures where user_id = ${userId} and request_id = ${requestId}`) !== undefined;

/** The look is on record before anything is shown. */
export const viewCapture = (db: Db, id: string, { by, owner, sealer }: CaptureViewer) =>
  db.transaction().execute(async (tx): Promise<ShownCapture> => {
    let find = tx.selectFrom('captures').selectAll().where('request_id', '=', id);
    if (owner !== undefined) find = find.where('user_id', '=', owner);
    const row = await find.executeTakeFirst();
    if (!row) throw fail('object_not_found', `No bodies were captured of the request "${id.slice(0, 80)}".`);
    const after = { user: row.user_id, key: row.key_id };
    await writeAudit(tx, by, { action: 'capture.viewed', subject: `request:${id}`, after });
    const content = JSON.parse(sealer.open(row.sealed, captureLocation(id))) as CaptureContent;
    return { object: 'capture', id, at: row.at.toISOString(), ...content };
  });

/** Rows of some megabytes, so that few are deleted at a time. */
const BATCH = 500;

export const expireCaptures = (db: Db): Promise<number> =>
  deleteBatch(db, 'captures', sql`at < now() - ${CAPTURE.retentionDays} * interval '1 day'`, BATCH);
