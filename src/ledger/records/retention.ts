/**
 * Single usage records are kept for some months and then go by the month; roll-ups and entries stay for ever. A month goes only when
 * no journal can hold a record of it: a record is told from a repeated one by the row that would be gone.
 */

import { sql } from 'kysely';
import { connect, type Database, type Db } from '../../db/index.ts';
import { REPLICA_LIFETIME_MS } from './replica.ts';

export interface RetentionOptions {
  /** Whole months before the present one; 0 keeps everything. */
  readonly months: number;
  readonly now: number;
}

type Client = Awaited<ReturnType<typeof connect>>;

/** Queries on the parent that hold a lock for longer than this are waited for at another time. */
const LOCK_MS = 2_000;
/** One process at a time. */
const LOCK = 0x6d6f6e74;

/** How many months were removed. */
export async function removeOldMonths(database: Database, { months, now }: RetentionOptions): Promise<number> {
  if (months === 0) return 0;
  const today = new Date(now);
  const cut = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - months));
  // Detaching without holding up those who write is not possible inside a transaction.
  const client = await connect(database.url);
  try {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK]);
    if (!rows[0]?.locked) return 0;
    await client.query(`set lock_timeout = ${LOCK_MS}`);
    let removed = 0;
    // Oldest first, so that what is kept has no holes.
    for (const month of await readMonths(client, cut)) {
      if (await isNeeded(client, month.end)) break;
      await client.query('update usage_kept set since = greatest(since, $1::date)', [month.end]);
      await remove(client, month);
      removed += 1;
    }
    return removed;
  } finally {
    await client.end();
  }
}

interface Month {
  readonly table: string;
  /** The first day after it. */
  readonly end: string;
  readonly state: 'attached' | 'detaching' | 'detached';
}

async function readMonths(client: Client, cut: Date): Promise<Month[]> {
  const { rows } = await client.query<Month>(
    `select c.relname as table, (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month')::date::text as end,
       case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'detaching' else 'attached' end as state
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = 'usage_records'::regclass
     where n.nspname = 'usage_months' and c.relkind = 'r' and c.relname ~ '^usage_\\d{4}_\\d{2}$'
       and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= $1::date
     order by c.relname`,
    [cut.toISOString().slice(0, 10)],
  );
  return rows;
}

/** Somebody has, or may have, records from before that day which are not in the database. */
async function isNeeded(client: Client, end: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from replicas where pending_since < $1::date
       or (started_at < $1::date and (fenced or seen_at < now() - $2 * interval '1 millisecond')) limit 1`,
    [end, REPLICA_LIFETIME_MS],
  );
  return rowCount !== 0;
}

/** Each step leaves something that the next time goes on from. */
async function remove(client: Client, { table, state }: Month): Promise<void> {
  const name = `usage_months."${table}"`;
  if (state === 'attached') await client.query(`alter table usage_records detach partition ${name} concurrently`);
  if (state === 'detaching') await client.query(`alter table usage_records detach partition ${name} finalize`);
  await client.query(`drop table ${name}`);
}

const BATCH = 1_000;

/** Records that were set aside and dealt with; those that nobody has looked at stay. */
export async function removeOldQuarantine(db: Db, { months, now }: RetentionOptions): Promise<number> {
  if (months === 0) return 0;
  const { numAffectedRows = 0n } = await sql`
    delete from usage_quarantine where id in (
      select id from usage_quarantine where resolved_at < ${new Date(now)}::timestamptz - ${months} * interval '1 month'
      limit ${BATCH})`.execute(db);
  return Number(numAffectedRows);
}
