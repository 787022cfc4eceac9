/**
 * Roll-ups of the request log by hour, built from its rows where they could not grow with each batch
 * (`request-writer.ts`). A repeated run changes nothing.
 */
import { sql } from 'kysely';
import { type Clock, DAY_MS, HOUR_MS, utcDay } from '../../core/index.ts';
import { allRows, connect, type Database, type Db, deleteBatch, firstRow } from '../../platform/db/index.ts';
import { BUCKET_BOUNDS_MS, PACKED_CALLS } from './histogram.ts';
import { MAX_MODELS } from './hour-sums.ts';
import { HOUR_LOCK } from './request-writer.ts';

type Client = Awaited<ReturnType<typeof connect>>;

const MAX_HOURS = 48;
/** An hour with very many models is due all the time: its roll-up takes at most this share of the time. */
const MAX_LOAD = 0.05;

export class RequestRollUp {
  readonly #database: Database;
  readonly #clock: Clock;
  /** By hour: not before this time. */
  readonly #waits = new Map<number, number>();

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Returns zero, so that the next run waits for its time: an hour may be due again with the next call. */
  async run(): Promise<number> {
    const rows = await allRows(this.#database.db)<{ hour: number }>`
      select (extract(epoch from hour) / 3600)::int as hour from request_hours_due order by hour limit ${MAX_HOURS}`;
    if (rows.length === 0) return 0;
    // A connection of its own, because a large hour takes longer than statements of the pool may.
    const client = await connect(this.#database.url);
    try {
      for (const { hour } of rows) await this.#buildWhenDue(client, hour);
    } finally {
      await client.end();
    }
    return 0;
  }

  async #buildWhenDue(client: Client, hour: number): Promise<void> {
    const begun = this.#clock.elapsed();
    if ((this.#waits.get(hour) ?? 0) > begun) return;
    await buildHour(client, hour);
    const now = this.#clock.elapsed();
    for (const [waiting, until] of this.#waits) if (until <= now) this.#waits.delete(waiting);
    this.#waits.set(hour, now + (now - begun) / MAX_LOAD);
  }
}

/** Does nothing while calls of the hour are being written; the hour stays due. */
async function buildHour(client: Client, hour: number): Promise<void> {
  await client.query('begin');
  try {
    const lock = 'select pg_try_advisory_xact_lock($1, $2) as locked';
    const { rows } = await client.query<{ locked: boolean }>(lock, [HOUR_LOCK, hour]);
    if (rows[0]?.locked) {
      const period = [new Date(hour * HOUR_MS), new Date((hour + 1) * HOUR_MS)];
      await client.query('delete from request_hours_due where hour = $1', [period[0]]);
      await client.query('delete from request_hours where hour = $1', [period[0]]);
      await client.query('delete from request_fault_hours where hour = $1', [period[0]]);
      await client.query(BUILD_HOUR, [...period, BUCKET_BOUNDS_MS, PACKED_CALLS, MAX_MODELS]);
      await client.query(BUILD_FAULTS, [...period, MAX_MODELS]);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/** Packed, so that reports add histograms as numbers. */
const histogram = (column: string): string =>
  `coalesce(sum(($4::numeric[])[1 + width_bucket(${column}, $3::float8[])]), 0)`;
/** Lines of earlier versions have it only in JSON, beside what cannot be believed. */
const count = (column: string, name: string): string =>
  `coalesce(sum(coalesce(${column}, substring(usage ->> '${name}' from '^\\d{1,9}$')::bigint)), 0)`;

/** The bits of `grouping` are set for names that a level leaves out. */
const LEVEL = `case grouping(group_id, account_name, model_name)
  when 0 then 'all' when 3 then 'group' when 5 then 'account' when 6 then 'model' else 'total' end`;

const BUILD_HOUR = `
  with slice as materialized (select * from requests where at >= $1 and at < $2 and user_id <> ''),
  frequent as (select model from slice where model is not null group by model order by count(*) desc, model limit $5),
  calls as (
    select s.*, coalesce(s.account_id, '') as account_name,
      case when s.model is null then '' when f.model is null then 'other' else s.model end as model_name
    from slice s left join frequent f on f.model = s.model)
  insert into request_hours
  select ${LEVEL}, $1, coalesce(group_id, ''), coalesce(account_name, ''), coalesce(model_name, ''),
    count(*), count(*) filter (where error = 'provider'), count(*) filter (where error = 'ours'),
    count(*) filter (where error = 'caller'), count(*) filter (where outcome = 'client_closed'),
    ${count('input_tokens', 'input')}, ${count('cached_input_tokens', 'cacheRead')}, ${count('output_tokens', 'output')},
    coalesce(sum(nanos), 0), coalesce(sum(cost_nanos), 0), count(*) filter (where nanos > 0 and cost_nanos is null),
    ${histogram('first_byte_ms')}, ${histogram('total_ms')}, ${histogram('added_ms')}, ${histogram('failover_ms')}
  from calls
  group by grouping sets ((group_id, account_name, model_name), (group_id), (account_name), (model_name), ())
  having count(*) > 0`;

const BUILD_FAULTS = `
  with faults as materialized (select * from request_faults where at >= $1 and at < $2),
  frequent as (select model from faults where model is not null group by model order by count(*) desc, model limit $3)
  insert into request_fault_hours
  select $1, group_id, account_id,
    case when c.model is null then '' when f.model is null then 'other' else c.model end as named, kind, count(*)
  from faults c left join frequent f on f.model = c.model
  group by group_id, account_id, named, kind`;

/** Roll-ups are small, and charts compare with last year. */
const ROLL_UP_DAYS = 400;
const BATCH_ROWS = 5_000;
/** Readers that block the drop for longer delay it to the next run; writers wait no longer than this either. */
const LOCK_MS = 500;

/** Removes the oldest day that is more than `days` days before today. Returns the number of removed days. */
export async function removeOldRequests(db: Db, { days, now }: { readonly days: number; readonly now: number }) {
  const cutoff = utcDay(now - days * DAY_MS);
  // A day whose hours wait for their roll-up stays.
  const oldest = await firstRow(db)<{ day: string }>`
    select d.day::text as day from (
      select distinct to_date(substring(tablename from '\\d{4}_\\d\\d_\\d\\d$'), 'YYYY_MM_DD') as day
      from pg_tables where schemaname = 'request_days') d
    where d.day < ${cutoff}::date and not exists (
      select from request_hours_due h
      where h.hour >= d.day::timestamp at time zone 'UTC' and h.hour < (d.day + 1)::timestamp at time zone 'UTC')
    order by d.day limit 1`;
  if (!oldest) return 0;
  const suffix = oldest.day.replaceAll('-', '_');
  await db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(tx);
    for (const parent of ['requests', 'request_faults'])
      await sql`drop table if exists ${sql.table(`request_days.${parent}_${suffix}`)}`.execute(tx);
  });
  return 1;
}

export async function removeOldRollUps(db: Db, now: number): Promise<number> {
  const isOld = sql`hour < ${new Date(now - ROLL_UP_DAYS * DAY_MS)}`;
  const hours = await deleteBatch(db, 'request_hours', isOld, BATCH_ROWS);
  return hours + (await deleteBatch(db, 'request_fault_hours', isOld, BATCH_ROWS));
}
