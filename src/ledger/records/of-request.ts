/** The condition that finds the usage records of a request: an index has only those whose time is not near that of the request's id. */
import { type RawBuilder, sql } from 'kysely';
import { requestIdTime } from '../../core/index.ts';

/** What `is_within_minute` accepts, which rounds to seconds. */
const NEAR_SECONDS = { before: 2, after: 62 };

export function isOfRequest(id: string): RawBuilder<boolean> {
  const time = requestIdTime(id);
  const near = (seconds: number): RawBuilder<unknown> => sql`to_timestamp(${(time ?? 0) / 1_000 + seconds}::float8)`;
  return sql`request_id = ${id} and (not is_within_minute(at, request_id)
    or at between ${near(-NEAR_SECONDS.before)} and ${near(NEAR_SECONDS.after)})`;
}
