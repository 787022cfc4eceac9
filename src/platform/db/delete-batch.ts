/** Deletion in batches: the locks of one statement are short, whatever has piled up. */
import { type RawBuilder, sql } from 'kysely';
import type { Db, Rows } from './rows.ts';

/**
 * Deletes rows of the table, at most `limit`, and returns their number. Rows that another statement holds are left for
 * the next batch.
 */
export async function deleteBatch(
  db: Db,
  table: keyof Rows,
  condition: RawBuilder<unknown>,
  limit = 1_000,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${condition} limit ${limit} for update skip locked))`.execute(db);
  return Number(numAffectedRows);
}
