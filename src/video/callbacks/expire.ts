/** Deletion of finished events with their attempts, and of circuits that no attempt has used, one batch per run. */
import { sql } from 'kysely';
import { type Db, deleteBatch } from '../../platform/db/index.ts';
import { CALLBACK_RETENTION_DAYS } from '../../rules/index.ts';

/** Returns how many events it deleted. */
export async function expireCallbacks(db: Db): Promise<number> {
  const age = sql`now() - ${CALLBACK_RETENTION_DAYS} * interval '1 day'`;
  await sql`delete from callback_circuits where updated_at < ${age}`.execute(db);
  return deleteBatch(db, 'callback_events', sql`finished_at < ${age}`);
}
