/** Deletion of expired stored responses, one batch per run. */
import { sql } from 'kysely';
import type { Db } from '../db/index.ts';

const BATCH = 1_000;

export async function expireResponses(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from stored_responses where id in (select id from stored_responses where expires_at <= now() limit ${BATCH})`.execute(
    db,
  );
  return Number(numAffectedRows);
}
