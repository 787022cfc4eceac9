/**
 * The checks of the ledger: of what is new, in bounded passes against verified sums,
 * and of every entry. They never repair anything.
 */
import { sql } from 'kysely';
import { ADVISORY_LOCK, allRows, type Db, openDatabase, type Tx } from '../../platform/db/index.ts';
import * as segments from './segments.ts';

/** Advisory lock: one process at a time checks. "ledg" in ASCII. */
const LOCK = 0x6c656467;
/** A backlog of more than these is made into segments first, over several passes. */
const MAX_NEW_ENTRIES = 10n * BigInt(segments.SEGMENT_ENTRIES);
/** Of one pass. Five million entries are verified again every hour or so. */
const SEGMENTS_ADDED = 10;
const SEGMENTS_VERIFIED = 5;
const HOLDS_CHECKED = 20_000;
const MAX_FAULTS = 1_000;

export interface LedgerFault {
  readonly fault: string;
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** Counters differ from the entries. An operator must find the cause before correcting them by hand. */
export class LedgerError extends Error {
  readonly faults: readonly LedgerFault[];
  constructor(faults: readonly LedgerFault[]) {
    const lines = faults
      .slice(0, 20)
      .map(({ fault, subject, expected, found }) => `${fault}: ${subject} (expected ${expected}, found ${found})`);
    super(`The ledger does not add up.\n  ${lines.join('\n  ')}`);
    this.faults = faults;
  }
}

export interface LedgerPass {
  readonly faults: readonly LedgerFault[];
  /** There are more new entries than one pass may read, so the wallets were not compared. */
  readonly isBehind: boolean;
  readonly hasMore: boolean;
}

/** Returns undefined while another process checks. */
export function checkNewEntries(db: Db): Promise<LedgerPass | undefined> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(${ADVISORY_LOCK}, ${LOCK}) as locked`.execute(tx);
    return rows[0]?.locked ? runPass(tx) : undefined;
  });
}

/**
 * Compares before it adds segments, so that their entries were compared once as new ones,
 * with the holds that they belong to.
 */
async function runPass(tx: Tx): Promise<LedgerPass> {
  const checkpoint = await segments.readCheckpoint(tx);
  const isBehind = checkpoint.newestId - checkpoint.entryId > MAX_NEW_ENTRIES;
  const faults = isBehind ? [] : [...(await compareWallets(tx, checkpoint)), ...(await compareHolds(tx, checkpoint))];
  const last = await addSegments(tx, checkpoint);
  await segments.markNewest(tx, { ...checkpoint, entryId: last });
  const changed = last === 0n ? [] : await segments.verifySegments(tx, SEGMENTS_VERIFIED);
  return {
    faults: [...faults, ...changed.map(changedFault)],
    isBehind,
    hasMore: isBehind && last > checkpoint.entryId,
  };
}

async function addSegments(tx: Tx, checkpoint: segments.Checkpoint): Promise<bigint> {
  let { entryId } = checkpoint;
  for (let n = 0; n < SEGMENTS_ADDED; n += 1) {
    const last = await segments.addSegment(tx, { ...checkpoint, entryId });
    if (last === undefined) break;
    entryId = last;
  }
  return entryId;
}

/** One statement, so that wallets, entries, holds and leases are of one moment. */
const compareWallets = (tx: Tx, { entryId }: segments.Checkpoint): Promise<readonly LedgerFault[]> =>
  allRows(tx)<LedgerFault>`
    with
      fresh as (select * from entries where id > ${entryId}),
      sums as (
        select account as user_id, sum(credits) as credits, sum(debits) as debits, sum(beyond) as beyond
        from (select * from ledger_sums union all ${segments.accountAmounts('fresh')}) amounts group by account),
      open_holds as (select user_id, sum(nanos) as nanos from holds where state in ('held', 'review') group by user_id),
      leased as (select user_id, sum(nanos) as nanos from leases group by user_id),
      compared as (
        select w.user_id, w.credits, w.debits, w.held,
          coalesce(s.credits, 0) as entry_credits, coalesce(s.debits, 0) as entry_debits,
          coalesce(s.beyond, 0) as beyond, coalesce(h.nanos, 0) + coalesce(l.nanos, 0) as set_aside
        from wallets w
        left join sums s using (user_id)
        left join open_holds h using (user_id)
        left join leased l using (user_id))
    select 'wallet.credits is not the sum of its entries' as fault, user_id as subject,
      entry_credits as expected, credits as found
      from compared where credits <> entry_credits
    union all
    select 'wallet.debits is not the sum of its entries', user_id, entry_debits, debits
      from compared where debits <> entry_debits
    union all
    select 'wallet.held is not the sum of its holds and leases', user_id, set_aside, held
      from compared where held <> set_aside
    union all
    select 'a wallet was overspent beyond what was recorded as such', user_id, -beyond, credits - debits - held
      from compared where credits - debits - held < -beyond
    union all
    select 'entries of an unknown wallet', s.user_id, 0, s.credits + s.debits
      from sums s left join wallets w using (user_id) where w.user_id is null
    union all
    select 'wallets and house do not sum to zero', '', 0, t.nanos from (
      select coalesce((select sum(credits - debits) from wallets), 0)
        - coalesce((select sum(credits - debits) from sums), 0) as nanos) t
      where t.nanos <> 0
    union all
    select * from (
      select 'a hold is overdue', reference, 0, nanos from holds
      where state = 'held' and check_after < now() - interval '1 hour' limit ${MAX_FAULTS}) overdue
    limit ${MAX_FAULTS}`;

interface HoldFault extends LedgerFault {
  readonly id: bigint;
}

/**
 * Compares resolved, changed and disagreeing holds with their entries.
 * The last minute is left out: its transactions may still run.
 */
async function compareHolds(tx: Tx, { entryId, holdsUntil }: segments.Checkpoint): Promise<readonly LedgerFault[]> {
  const { rows: resolved } = await sql<{ count: bigint; until: Date | null }>`
    select count(*), max(resolved_at) as until from (${resolvedHolds(holdsUntil)}) resolved`.execute(tx);
  const { rows: faults } = await sql<HoldFault>`
    with suspects as (delete from ledger_suspects returning hold_id),
    chosen as (
      select id from (${resolvedHolds(holdsUntil)}) resolved
      union select hold_id from entries where id > ${entryId} and hold_id is not null
      union select hold_id from suspects)
    select h.id, case when h.state = 'settled' then 'a settled hold was not charged what it says'
        else 'a hold that was not settled was charged' end as fault,
      h.reference as subject, coalesce(h.settled_nanos, 0) as expected, coalesce(p.nanos, 0) as found
    from chosen join holds h using (id), lateral (
      select sum(e.nanos) as nanos, count(*) filter (where e.kind = 'settle') as settles
      from entries e where e.hold_id = h.id) p
    where (h.state = 'settled' and (h.settled_nanos <> coalesce(p.nanos, 0) or p.settles > 1))
      or (h.state <> 'settled' and p.nanos is not null)
    limit ${MAX_FAULTS}`.execute(tx);
  if (faults.length > 0)
    await tx
      .insertInto('ledger_suspects')
      .values(faults.map(({ id }) => ({ hold_id: id })))
      .execute();
  const isPart = resolved[0]?.count === BigInt(HOLDS_CHECKED);
  await sql`
    update ledger_checkpoint set checked_at = now(),
      holds_until = ${isPart ? resolved[0]?.until : sql`greatest(holds_until, now() - interval '1 minute')`}`.execute(
    tx,
  );
  return faults.map(({ fault, subject, expected, found }) => ({ fault, subject, expected, found }));
}

const resolvedHolds = (since: Date) => sql`
  select id, resolved_at from holds where resolved_at >= ${since} and resolved_at < now() - interval '1 minute'
  order by resolved_at limit ${HOLDS_CHECKED}`;

const changedFault = ({ first, last }: segments.FaultySegment): LedgerFault => ({
  fault: 'entries were changed, added or removed after they had been verified',
  subject: `entries ${first} to ${last}`,
  expected: '',
  found: '',
});

/** Minutes are enough for tens of millions of entries. */
const FULL_CHECK_MS = 3_600_000;

/** Checks every entry, over connections of its own because that may take minutes. */
export async function checkAllEntries(url: string): Promise<readonly LedgerFault[]> {
  const own = openDatabase(url, 1, { statementMs: FULL_CHECK_MS });
  try {
    const faults = await findLedgerFaults(own.db);
    const inTransaction = <T>(task: (tx: Tx) => Promise<T>): Promise<T> => own.db.transaction().execute(task);
    let last: bigint | undefined = 0n;
    // One short transaction each: the check of new entries waits for the lock of a segment.
    while (last !== undefined) last = await inTransaction((tx) => segments.verifyNext(tx, last ?? 0n));
    const changed = await inTransaction((tx) => segments.verifySegments(tx, 1));
    return [...faults, ...changed.map(changedFault)];
  } finally {
    await own.close();
  }
}

/** Recomputes every counter from the entries, which takes seconds per million of them. */
export const findLedgerFaults = (db: Db): Promise<LedgerFault[]> =>
  allRows(db)<LedgerFault>`select * from ledger_faults() limit 1000`;

export async function checkLedger(db: Db): Promise<void> {
  const faults = await findLedgerFaults(db);
  if (faults.length > 0) throw new LedgerError(faults);
}
