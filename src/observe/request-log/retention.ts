/** Retention of the request log and of its roll-ups: days are dropped as a whole, roll-ups are deleted in batches. */
import { sql } from 'kysely';
import { type Db, deleteBatch } from '../../platform/db/index.ts';

/** Roll-ups are small, and charts compare with last year. */
const ROLL_UP_DAYS = 400;
const BATCH_ROWS = 5_000;
/** Readers that block the drop for longer delay it to the next run; writers wait no longer than this either. */
const LOCK_MS = 500;

/** Removes the oldest day that is more than `days` days before today. Returns the number of removed days. */
export async function removeOldRequests(db: Db, { days, now }: { readonly days: number; readonly now: number }) {
  const cutoff = new Date(now - days * 86_400_000).toISOString().slice(0, 10);
  // A day whose hours wait for their roll-up stays.
  const { rows } = await sql<{ day: string }>`
    select d.day::text as day from (
      select distinct to_date(substring(tablename from '\\d{4}_\\d\\d_\\d\\d$'), 'YYYY_MM_DD') as day
      from pg_tables where schemaname = 'request_days') d
    where d.day < ${cutoff}::date and not exists (
      select from request_hours_due h
      where h.hour >= d.day::timestamp at time zone 'UTC' and h.hour < (d.day + 1)::timestamp at time zone 'UTC')
    order by d.day limit 1`.execute(db);
  const [oldest] = rows;
  if (!oldest) return 0;
  const suffix = oldest.day.replaceAll('-', '_');
  await db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(tx);
    for (const parent of ['requests', 'request_faults'])
      await sql`drop table if exists ${sql.table(`request_days.${parent}_${suffix}`)}`.execute(tx);
  });
  return 1;
}

/** Returns the number of removed rows. */
export async function removeOldRollUps(db: Db, now: number): Promise<number> {
  const isOld = sql`hour < ${new Date(now - ROLL_UP_DAYS * 86_400_000)}`;
  const hours = await deleteBatch(db, 'request_hours', isOld, BATCH_ROWS);
  return hours + (await deleteBatch(db, 'request_fault_hours', isOld, BATCH_ROWS));
}
