/** Deletion of finished events with their attempts, and of circuits that no attempt has used, one batch per run. */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';
import { CALLBACK_RETENTION_DAYS } from '../../rules/index.ts';

const BATCH = 1_000;

/** Returns how many events it deleted. */
export async function expireCallbacks(db: Db): Promise<number> {
  const age = sql`now() - ${CALLBACK_RETENTION_DAYS} * interval '1 day'`;
  const { numAffectedRows = 0n } = await sql`
    delete from callback_events e using (
      select user_id, event_id from callback_events where finished_at < ${age} limit ${BATCH} for update skip locked) old
    where e.user_id = old.user_id and e.event_id = old.event_id`.execute(db);
  await sql`delete from callback_circuits where updated_at < ${age}`.execute(db);
  return Number(numAffectedRows);
}
