/** Sums of old days over all users, for reports. A day is summed when it is over, and again after a record arrived late. */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';

/** Of one run. A day of 10,000 daily sums takes some 20 ms. */
const MAX_DAYS = 20;

/** Returns the number of days that were summed. Yesterday is left out, because many of its records arrive after midnight. */
export async function sumOldDays(db: Db): Promise<number> {
  const { rows } = await sql<{ day: string }>`
    select d::date::text as day
    from generate_series((select min(day) from usage_daily)::timestamp, (now() at time zone 'UTC')::date - 2, interval '1 day') d
    where not exists (select from usage_totals_days where day = d::date) order by d desc limit ${MAX_DAYS}`.execute(db);
  let summed = 0;
  for (const { day } of rows) {
    const { rows: results } = await sql<{ done: boolean }>`select sum_usage_day(${day}::date) as done`.execute(db);
    if (results[0]?.done) summed += 1;
  }
  return summed;
}
