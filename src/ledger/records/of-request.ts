/** The condition that finds the usage records of a request: an index has only those whose time is not near that of the request's id. */
import { type RawBuilder, type Selectable, sql } from 'kysely';
import { requestIdTime } from '../../core/index.ts';
import type { Db, Rows } from '../../platform/db/index.ts';

/** What `is_within_minute` accepts, which rounds to seconds. */
const NEAR_SECONDS = { before: 2, after: 62 };

export const isOfRequest = (id: string): RawBuilder<boolean> =>
  sql`request_id = ${id} and (not is_within_minute(at, request_id)
    or at between ${near(id, -NEAR_SECONDS.before)} and ${near(id, NEAR_SECONDS.after)})`;

const near = (id: string, seconds: number): RawBuilder<unknown> =>
  sql`to_timestamp(${(requestIdTime(id) ?? 0) / 1_000 + seconds}::float8)`;

/**
 * The record of a request that this key made. One part for each index: as one condition, a large user would be read by the index of
 * times, which has the calls of everyone.
 */
export async function recordOfRequest(
  db: Db,
  { id, userId, keyId }: { readonly id: string; readonly userId: string; readonly keyId: string },
): Promise<Selectable<Rows['usage_records']> | undefined> {
  const own = sql`request_id = ${id} and user_id = ${userId} and key_id = ${keyId}`;
  const { rows } = await sql<Selectable<Rows['usage_records']>>`
    (select * from usage_records
     where ${own} and at between ${near(id, -NEAR_SECONDS.before)} and ${near(id, NEAR_SECONDS.after)} limit 1)
    union all
    (select * from usage_records
     where ${own} and not is_within_minute(at, request_id) and at > ${near(id, NEAR_SECONDS.after)} limit 1)
    limit 1`.execute(db);
  return rows[0];
}
