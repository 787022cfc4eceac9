/**
 * Sums of old days over all users, and of old months by user and key, for reports.
 * Made when they are over, and again after a late record.
 */
import { sql } from 'kysely';
import { connect, type Database, type Db } from '../../platform/db/index.ts';

/** Of one run. A month of 200,000 daily sums takes about a second. */
const MAX_MONTHS = 3;
/** Advisory lock: one process at a time sums months. "msum" in ASCII. */
const LOCK = 0x6d73756d;

/** Returns the number of months that were summed. A month waits for two days, because records arrive after its end. */
export async function sumOldMonths(database: Database): Promise<number> {
  // A connection of its own, because a large month takes longer than statements of the pool may.
  const client = await connect(database.url);
  try {
    const { rows: locks } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      LOCK,
    ]);
    if (!locks[0]?.locked) return 0;
    const { rows } = await client.query<{ month: string }>(
      `select m::date::text as month
       from generate_series(date_trunc('month', (select min(day) from usage_daily)::timestamp),
         date_trunc('month', (now() at time zone 'UTC') - interval '2 days') - interval '1 month', interval '1 month') m
       where not exists (select from usage_monthly_months where month = m::date and is_complete)
       order by m desc limit $1`,
      [MAX_MONTHS],
    );
    let summed = 0;
    for (const { month } of rows) {
      const isDone = async (step: 'begin_usage_month' | 'sum_usage_month'): Promise<boolean> => {
        const { rows } = await client.query<{ done: boolean }>(`select ${step}($1::date) as done`, [month]);
        return rows[0]?.done === true;
      };
      if ((await isDone('begin_usage_month')) && (await isDone('sum_usage_month'))) summed += 1;
    }
    return summed;
  } finally {
    await client.end();
  }
}

/** Of one run. A day of 10,000 daily sums takes some 20 ms. */
const MAX_DAYS = 20;

/**
 * Returns the number of days that were summed. Yesterday is left out,
 * because many of its records arrive after midnight.
 */
export async function sumOldDays(db: Db): Promise<number> {
  const { rows } = await sql<{ day: string }>`
    select d::date::text as day
    from generate_series(
      (select min(day) from usage_daily)::timestamp, (now() at time zone 'UTC')::date - 2, interval '1 day') d
    where not exists (select from usage_totals_days where day = d::date) order by d desc limit ${MAX_DAYS}`.execute(db);
  let summed = 0;
  for (const { day } of rows) {
    const { rows: results } = await sql<{ done: boolean }>`select sum_usage_day(${day}::date) as done`.execute(db);
    if (results[0]?.done) summed += 1;
  }
  return summed;
}
