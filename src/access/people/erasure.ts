/**
 * The erasure of a user: what it removes, how far it is, and its beginning, which ends every access and removes names in one transaction.
 * A job then erases content (`erase-job.ts`). The ledger and the sums of usage stay, under the id of the user.
 */
import { sql } from 'kysely';
import { fail } from '../../core/index.ts';
import { balanceReport } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { ShownErasure } from '../../schemas/index.ts';
import { type Actor, writeAudit } from '../keys/index.ts';

type Counts = Record<string, number>;

async function count(db: Db, userId: string, what: 'erasure_counts' | 'erasure_waits'): Promise<Counts> {
  const { rows } = await sql<Counts>`select * from ${sql.raw(what)}(${userId})`.execute(db);
  return rows[0] ?? {};
}

export const countWaits = (db: Db, userId: string): Promise<Counts> => count(db, userId, 'erasure_waits');

/** Of a user who is not erased: what an erasure would remove. */
export async function readErasure(db: Db, userId: string): Promise<ShownErasure> {
  const row = await db
    .selectFrom('users')
    .leftJoin('erasures', 'erasures.user_id', 'users.id')
    .select(['counts', 'left_at_providers', 'requested_at', 'finished_at'])
    .where('users.id', '=', userId)
    .executeTakeFirst();
  if (!row) throw fail('object_not_found', `There is no user "${userId.slice(0, 80)}".`);
  return {
    object: 'erasure',
    user: userId,
    state: row.finished_at ? 'finished' : row.requested_at ? 'running' : 'preview',
    erases: (row.counts as Counts | null) ?? (await count(db, userId, 'erasure_counts')),
    waits_for: await countWaits(db, userId),
    left_at_providers: row.left_at_providers ?? 0,
    balance: await balanceReport(db, userId),
    requested_at: row.requested_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

/** Changes nothing when the erasure has begun already. */
export const beginErasure = (db: Db, userId: string, by: Actor): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const user = await tx.selectFrom('users').selectAll().where('id', '=', userId).forUpdate().executeTakeFirst();
    if (!user || user.erased_at) return;
    const erases = await count(tx, userId, 'erasure_counts');
    await sql`select begin_erasure(${userId}, ${by.actor}, ${JSON.stringify(erases)}::jsonb)`.execute(tx);
    await writeAudit(tx, by, { action: 'user.erasing', subject: `user:${userId}`, after: { erases } });
  });
