/**
 * Segments: consecutive entries that were verified together, with sums and a digest.
 * They are verified again in turn, which finds changes of old entries.
 */
import { type RawBuilder, sql } from 'kysely';
import { allRows, firstRow, type Tx } from '../../platform/db/index.ts';

export interface Checkpoint {
  /** The last entry of the last segment. */
  readonly entryId: bigint;
  /** Every entry up to this one is committed or will never be. */
  readonly settledId: bigint;
  readonly newestId: bigint;
  readonly holdsUntil: Date;
}

/** Entries of a segment: read in some 50 ms, and the most that a statement of an account reads to find a balance. */
export const SEGMENT_ENTRIES = 20_000;

export async function readCheckpoint(tx: Tx): Promise<Checkpoint> {
  const row = await firstRow(tx)<Checkpoint>`
    select entry_id as "entryId", holds_until as "holdsUntil",
      case when ${isMarkSettled} then next_entry_id else entry_id end as "settledId",
      coalesce((select max(id) from entries), 0) as "newestId"
    from ledger_checkpoint`;
  if (!row) throw new Error('The row of ledger_checkpoint is missing.');
  return row;
}

/** Remembers the newest entry. It may become part of a segment when every transaction that is running now has ended. */
export async function markNewest(tx: Tx, { entryId, settledId }: Checkpoint): Promise<void> {
  // A mark that is not used up stays: with a new one at each check,
  // one long transaction after another would stop all progress.
  if (settledId - entryId >= BigInt(SEGMENT_ENTRIES)) return;
  await sql`
    update ledger_checkpoint set next_entry_id = coalesce((select max(id) from entries), 0),
      next_transaction = pg_snapshot_xmax(pg_current_snapshot())::text::bigint, marked_at = now()
    where ${isMarkSettled}`.execute(tx);
}

/**
 * An entry gets its id a moment before its transaction is visible to others,
 * so the mark also has to be some seconds old.
 */
const isMarkSettled = sql`(
  pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= next_transaction
  and marked_at < now() - interval '10 seconds')`;

/**
 * Makes the next segment from the oldest entries behind the checkpoint and returns its last entry;
 * undefined when there are too few.
 */
export async function addSegment(tx: Tx, { entryId, settledId }: Checkpoint): Promise<bigint | undefined> {
  if (settledId - entryId < BigInt(SEGMENT_ENTRIES)) return undefined;
  const { rows } = await sql<{ last: bigint | null; entries: bigint }>`
    select max(id) as last, count(*) as entries from (
      select id from entries where id > ${entryId} and id <= ${settledId} order by id
      limit ${SEGMENT_ENTRIES}) next`.execute(tx);
  const last = rows[0]?.last;
  if (typeof last !== 'bigint' || rows[0]?.entries !== BigInt(SEGMENT_ENTRIES)) return undefined;
  await sql`
    with segment as materialized (select * from entries where id > ${entryId} and id <= ${last}),
    sums as (
      select account, sum(credits)::bigint as credits, sum(debits)::bigint as debits, sum(beyond)::bigint as beyond
      from (${accountAmounts('segment')}) amounts group by account),
    total as (
      insert into ledger_sums as s (account, credits, debits, beyond) select * from sums
      on conflict (account) do update set credits = s.credits + excluded.credits, debits = s.debits + excluded.debits,
        beyond = s.beyond + excluded.beyond
      returning s.account, s.credits, s.debits),
    balances as (
      insert into ledger_balances (account, last_id, nanos) select account, ${last}, credits - debits from total),
    added as (
      insert into ledger_segments (last_id, first_id, entries, nanos, digest, first_at, last_at)
      select ${last}, ${entryId + 1n}, ${SEGMENT_FACTS} from segment)
    update ledger_checkpoint set entry_id = ${last}`.execute(tx);
  return last;
}

/** The amounts of entries by the wallet that they belong to. `beyond` is what was charged above a hold or lease. */
export const accountAmounts = (table: string): RawBuilder<unknown> => sql`
  select case when kind = 'credit' then credit else debit end as account,
    case when kind = 'credit' then nanos else 0 end as credits,
    case when kind = 'credit' then 0 else nanos end as debits,
    case when kind in ('excess', 'overdraft', 'charge') then nanos else 0 end as beyond
  from ${sql.table(table)}`;

const SEGMENT_FACTS = sql`
  count(*), sum(nanos)::bigint,
  bit_xor(hashtextextended(concat_ws('|',
    id, debit, credit, nanos, kind, reference, hold_id, price_id, extract(epoch from created_at)), 0)),
  min(created_at), max(created_at)`;

export interface FaultySegment {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Verifies the segments that were not verified for longest, and those that were found faulty. Returns the faulty ones.
 */
export async function verifySegments(tx: Tx, count: number): Promise<readonly FaultySegment[]> {
  await verify(
    tx,
    sql`(select last_id from ledger_segments where is_faulty order by last_id limit ${count})
        union (select last_id from ledger_segments order by verified_at limit ${count})`,
  );
  return allRows(tx)<FaultySegment>`
    select first_id as first, last_id as last from ledger_segments where is_faulty order by last_id
    limit 1000`;
}

/** Verifies the segment after `last`. Returns its last entry, or undefined behind the newest segment. */
export async function verifyNext(tx: Tx, last: bigint): Promise<bigint | undefined> {
  const { rows } = await sql<{ last: bigint }>`
    select last_id as last from ledger_segments where last_id > ${last} order by last_id limit 1`.execute(tx);
  const next = rows[0]?.last;
  if (next !== undefined) await verify(tx, sql`select ${next}::bigint as last_id`);
  return next;
}

async function verify(tx: Tx, chosen: RawBuilder<unknown>): Promise<void> {
  await sql`
    with chosen as (${chosen}),
    found as (
      select s.last_id, facts.* from chosen join ledger_segments s using (last_id), lateral (
        select ${SEGMENT_FACTS} from entries where id between s.first_id and s.last_id
      ) facts (entries, nanos, digest, first_at, last_at))
    update ledger_segments s set verified_at = clock_timestamp(),
      is_faulty = (s.entries, s.nanos, s.digest, s.first_at, s.last_at)
        is distinct from (f.entries, f.nanos, f.digest, f.first_at, f.last_at)
    from found f where s.last_id = f.last_id`.execute(tx);
}
