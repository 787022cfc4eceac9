/**
 * Retention of usage records: whole months; sums stay.
 * Never a month of which a journal may hold a record: it would be charged twice.
 */
import { sql } from 'kysely';
import { connect, type Database, type Db, deleteBatch } from '../../platform/db/index.ts';
import { REPLICA_LIFETIME_MS } from './replica.ts';

export interface RetentionOptions {
  /** Number of whole months to keep before the current one; 0 keeps everything. */
  readonly months: number;
  readonly now: number;
}

type Client = Awaited<ReturnType<typeof connect>>;

/** When readers of the parent table block the detach for longer, it is retried in the next run. */
const LOCK_MS = 2_000;
/** Advisory lock: one process at a time removes months. "mont" in ASCII. */
const LOCK = 0x6d6f6e74;

export async function removeOldMonths(database: Database, { months, now }: RetentionOptions): Promise<number> {
  if (months === 0) return 0;
  const today = new Date(now);
  const cutoff = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - months));
  // `detach concurrently` does not block writers, and is not allowed inside a transaction.
  const client = await connect(database.url);
  try {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK]);
    if (!rows[0]?.locked) return 0;
    await client.query(`set lock_timeout = ${LOCK_MS}`);
    let removed = 0;
    // Oldest first, so that the kept months have no gaps.
    for (const month of await readMonths(client, cutoff)) {
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

async function readMonths(client: Client, cutoff: Date): Promise<Month[]> {
  const { rows } = await client.query<Month>(
    `select c.relname as table, (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month')::date::text as end,
       case when i.inhrelid is null then 'detached'
         when i.inhdetachpending then 'detaching' else 'attached' end as state
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = 'usage_records'::regclass
     where n.nspname = 'usage_months' and c.relkind = 'r' and c.relname ~ '^usage_\\d{4}_\\d{2}$'
       and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= $1::date
     order by c.relname`,
    [cutoff.toISOString().slice(0, 10)],
  );
  return rows;
}

/** A replica has, or may have, records from before that day which are not in the database. */
async function isNeeded(client: Client, end: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from replicas where pending_since < $1::date
       or (started_at < $1::date and (fenced or seen_at < now() - $2 * interval '1 millisecond')) limit 1`,
    [end, REPLICA_LIFETIME_MS],
  );
  return rowCount !== 0;
}

/** Each step can be continued by the next run. */
async function remove(client: Client, { table, state }: Month): Promise<void> {
  const name = `usage_months."${table}"`;
  if (state === 'attached') await client.query(`alter table usage_records detach partition ${name} concurrently`);
  if (state === 'detaching') await client.query(`alter table usage_records detach partition ${name} finalize`);
  await client.query(`drop table ${name}`);
}

/** Removes old quarantined records that an operator has resolved; open ones stay. Returns their number. */
export const removeOldQuarantine = async (db: Db, { months, now }: RetentionOptions): Promise<number> =>
  months === 0
    ? 0
    : deleteBatch(
        db,
        'usage_quarantine',
        sql`resolved_at < ${new Date(now)}::timestamptz - ${months} * interval '1 month'`,
      );
