/**
 * Wallets and entries. Each operation is one statement, so it also works inside a caller's transaction, and happens at most once by
 * its reference. Locks are always taken in the order hold, wallet, lease; several wallets in the order of their ids.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Nanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';

/** The other side of a wallet's entry: money that came in, money earned, corrections by an operator. */
export type HouseAccount = '@funding' | '@revenue' | '@adjustment';

export interface Balance {
  /** What may still be spent; below zero after a charge that nothing covered. */
  readonly available: Nanos;
  /** Set aside by holds and leases. */
  readonly held: Nanos;
}

export type EntryKind = 'credit' | 'charge' | 'settle' | 'excess' | 'usage' | 'overdraft';

/** A line of a statement; `nanos` is negative for what the wallet paid. */
export interface StatementLine {
  readonly id: bigint;
  readonly at: Date;
  readonly kind: EntryKind;
  readonly nanos: Nanos;
  /** After it; what is held is not taken off. */
  readonly balance: Nanos;
  readonly reference: string;
  readonly reason: string;
  readonly priceId: bigint | null;
}

export interface Movement {
  readonly userId: string;
  readonly nanos: Nanos;
  /** Unique for ever: the same reference moves money once. */
  readonly reference: string;
  readonly reason: string;
}

/** Money into a wallet; from `@revenue` it is a refund. False when the reference has been booked before. */
export async function credit(db: Db, movement: Movement & { from?: HouseAccount }): Promise<boolean> {
  const { userId, nanos, reference, reason, from = '@funding' } = movement;
  return book(
    userId,
    await run<Booked>(
      db,
      sql`with entry as (
            insert into entries (debit, credit, nanos, kind, reference, reason)
            select ${from}, user_id, ${nanos}, 'credit', ${reference}, ${reason} from wallets where user_id = ${userId}
            on conflict (reference) do nothing returning nanos),
          wallet as (
            update wallets w set credits = w.credits + entry.nanos from entry where w.user_id = ${userId} returning 1)
          select exists (select from wallet) as done, exists (select from wallets where user_id = ${userId}) as known`,
    ),
  );
}

/** Money out of a wallet, whatever it holds: corrections, and work that is charged without a hold. */
export async function charge(
  db: Db,
  movement: Movement & { to?: '@revenue' | '@adjustment'; priceId?: bigint },
): Promise<boolean> {
  const { userId, nanos, reference, reason, to = '@revenue', priceId = null } = movement;
  return book(
    userId,
    await run<Booked>(
      db,
      sql`with entry as (
            insert into entries (debit, credit, nanos, kind, reference, reason, price_id)
            select user_id, ${to}, ${nanos}, 'charge', ${reference}, ${reason}, ${priceId} from wallets where user_id = ${userId}
            on conflict (reference) do nothing returning nanos),
          wallet as (
            update wallets w set debits = w.debits + entry.nanos from entry where w.user_id = ${userId} returning 1)
          select exists (select from wallet) as done, exists (select from wallets where user_id = ${userId}) as known`,
    ),
  );
}

export interface HoldInput {
  readonly userId: string;
  readonly nanos: Nanos;
  readonly reference: string;
  /** When the work should be over; a hold that is open an hour later is a fault of the ledger. */
  readonly checkAfter: Date;
}

/** `repeated`: the reference is held or was resolved before. Nothing is set aside twice, nor when the balance is short. */
export async function hold(db: Db, { userId, nanos, reference, checkAfter }: HoldInput): Promise<HoldResult> {
  // The wallet is locked before its balance is compared, and the newest version of the row is what gets compared.
  const { done, repeated } = await run<{ done: boolean; repeated: boolean }>(
    db,
    sql`with wallet as (
          select user_id from wallets
          where user_id = ${userId} and (credits - debits - held >= ${nanos} or ${nanos} = 0::bigint)
            and not exists (select from holds where reference = ${reference})
          for no key update),
        made as (
          insert into holds (user_id, reference, nanos, check_after)
          select user_id, ${reference}, ${nanos}, ${checkAfter} from wallet
          on conflict (reference) do nothing returning user_id, nanos),
        counted as (
          update wallets w set held = w.held + made.nanos from made where w.user_id = made.user_id returning 1)
        select exists (select from counted) as done,
          exists (select from wallet) or exists (select from holds where reference = ${reference}) as repeated`,
  );
  return done ? 'held' : repeated ? 'repeated' : 'short';
}
export type HoldResult = 'held' | 'repeated' | 'short';

export interface Settled {
  /** False when the hold was settled or released before, or never made. */
  readonly settled: boolean;
  /** Charged above the hold, as an entry of its own; somebody should look at it. */
  readonly excess: Nanos;
}

/** The one end of a hold that costs something: charges `nanos` in full and frees the rest. */
export async function settle(
  db: Db,
  reference: string,
  { nanos, reason, priceId = null }: { nanos: Nanos; reason: string; priceId?: bigint | null },
): Promise<Settled> {
  return run<Settled>(
    db,
    sql`with hold as (
          update holds set state = 'settled', settled_nanos = ${nanos}, resolved_at = now()
          where reference = ${reference} and state in ('held', 'review') returning id, user_id, nanos),
        wallet as (
          update wallets w set held = w.held - hold.nanos, debits = w.debits + ${nanos} from hold
          where w.user_id = hold.user_id returning 1),
        entry as (
          insert into entries (debit, credit, nanos, kind, reference, hold_id, price_id, reason)
          select hold.user_id, '@revenue', part.nanos, part.kind, part.kind || ':' || ${reference}::text, hold.id, ${priceId}, ${reason}
          from hold, lateral (values ('settle', least(hold.nanos, ${nanos})), ('excess', ${nanos} - hold.nanos)) part (kind, nanos)
          where part.nanos > 0 returning kind, nanos)
        select exists (select from wallet) as settled,
          coalesce((select nanos from entry where kind = 'excess'), 0::bigint) as excess`,
  );
}

/** The other end of a hold: nothing is charged. */
export async function release(db: Db, reference: string): Promise<boolean> {
  const { done } = await run<{ done: boolean }>(
    db,
    sql`with hold as (
          update holds set state = 'released', resolved_at = now()
          where reference = ${reference} and state in ('held', 'review') returning user_id, nanos),
        wallet as (
          update wallets w set held = w.held - hold.nanos from hold where w.user_id = hold.user_id returning 1)
        select exists (select from wallet) as done`,
  );
  return done;
}

/** The work is done but its cost is not known: the money stays aside until it is. */
export async function review(db: Db, reference: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('holds')
    .set({ state: 'review' })
    .where('reference', '=', reference)
    .where('state', '=', 'held')
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function available(db: Db, userId: string): Promise<Balance> {
  const { credits, debits, held } = await readWallet(db, userId);
  return { available: credits - debits - held, held };
}

async function readWallet(db: Db, userId: string) {
  const wallet = await db
    .selectFrom('wallets')
    .select(['credits', 'debits', 'held'])
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (!wallet) throw new Error(`There is no wallet of ${userId}.`);
  return wallet;
}

export interface StatementQuery {
  /** The id of the last line of the page above. */
  readonly before?: bigint | undefined;
  /** Only what was booked from then on, and before then. */
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
  readonly limit?: number | undefined;
}

/** The first page of it. */
export async function statement(db: Db, userId: string, wish: StatementQuery = {}): Promise<readonly StatementLine[]> {
  for await (const page of statementPages(db, userId, wish)) return page;
  return [];
}

/**
 * Newest first, page after page. The balance after a line is that of the wallet less everything that came later: to be read in one
 * picture, so in a snapshot. Of a history no more is read than what is newer than the page, and that only once.
 */
export async function* statementPages(
  db: Db,
  userId: string,
  { limit = 100, ...wish }: StatementQuery,
): AsyncGenerator<readonly StatementLine[]> {
  const { credits, debits } = await readWallet(db, userId);
  let balance = credits - debits;
  let above: bigint | undefined;
  let { before } = wish;
  for (;;) {
    const lines = await readLines(db, userId, { ...wish, before, limit });
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) return;
    balance -= await sumBetween(db, userId, first.id, above);
    const shown = new Map(lines.map((line) => [line.id, line]));
    const page: StatementLine[] = [];
    // Also of those that the period leaves out.
    for (const { id, nanos } of await movesBetween(db, userId, last.id, first.id)) {
      const line = shown.get(id);
      if (line) page.push({ ...line, balance });
      balance -= nanos;
    }
    yield page;
    if (lines.length < limit) return;
    above = last.id;
    before = last.id;
  }
}

/** Two ordered walks of two indexes, rather than a filter over both that would sort the whole history. */
async function readLines(db: Db, userId: string, { before, start, end, limit }: StatementQuery & { limit: number }) {
  const filters = sql.join(
    [
      sql``,
      ...(before === undefined ? [] : [sql`id < ${before}`]),
      ...(start === undefined ? [] : [sql`created_at >= ${start}`]),
      ...(end === undefined ? [] : [sql`created_at < ${end}`]),
    ],
    sql` and `,
  );
  const side = (column: string) =>
    sql`(select * from entries where ${sql.ref(column)} = ${userId} ${filters} order by id desc limit ${limit})`;
  const { rows } = await sql<Omit<StatementLine, 'balance'>>`
    select id, created_at as at, kind, case when credit = ${userId} then nanos else -nanos end as nanos, reference, reason,
      price_id as "priceId"
    from (${side('debit')} union all ${side('credit')}) own order by id desc limit ${limit}`.execute(db);
  return rows;
}

async function movesBetween(db: Db, userId: string, from: bigint, to: bigint) {
  const { rows } = await sql<{ id: bigint; nanos: Nanos }>`
    select id, nanos from entries where credit = ${userId} and id between ${from} and ${to}
    union all select id, -nanos from entries where debit = ${userId} and id between ${from} and ${to}
    order by id desc`.execute(db);
  return rows;
}

/** Both ends left out; without `before`, up to the newest. */
async function sumBetween(db: Db, userId: string, after: bigint, before: bigint | undefined): Promise<Nanos> {
  const range = before === undefined ? sql`id > ${after}` : sql`id > ${after} and id < ${before}`;
  const { rows } = await sql<{ nanos: Nanos }>`
    select (coalesce((select sum(nanos) from entries where credit = ${userId} and ${range}), 0)
      - coalesce((select sum(nanos) from entries where debit = ${userId} and ${range}), 0))::bigint as nanos`.execute(
    db,
  );
  return rows[0]?.nanos ?? 0n;
}

export interface LedgerFault {
  readonly fault: string;
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** Every counter is something else than its entries say: never to be repaired by hand without knowing why. */
export class LedgerError extends Error {
  readonly faults: readonly LedgerFault[];
  constructor(faults: readonly LedgerFault[]) {
    const lines = faults.slice(0, 20).map((f) => `${f.fault}: ${f.subject} (expected ${f.expected}, found ${f.found})`);
    super(`The ledger does not add up.\n  ${lines.join('\n  ')}`);
    this.faults = faults;
  }
}

/** Re-derives every counter from the entries; answers what differs. */
export async function ledgerFaults(db: Db): Promise<LedgerFault[]> {
  const { rows } = await sql<LedgerFault>`select * from ledger_faults() limit 1000`.execute(db);
  return rows;
}

/** Throws with what differs. */
export async function checkLedger(db: Db): Promise<void> {
  const faults = await ledgerFaults(db);
  if (faults.length > 0) throw new LedgerError(faults);
}

interface Booked {
  readonly done: boolean;
  readonly known: boolean;
}

function book(userId: string, { done, known }: Booked): boolean {
  if (!known) throw new Error(`There is no wallet of ${userId}.`);
  return done;
}

/**
 * A hold takes the wallet first and the row of its reference second, its end the other way round. When both happen for one reference
 * at the same moment PostgreSQL gives up on one of them, and nothing of it has happened: it is simply done again.
 */
async function run<T>(db: Db, statementOf: RawBuilder<unknown>, attempt = 1): Promise<T> {
  try {
    const { rows } = await statementOf.execute(db);
    const [row] = rows;
    if (row === undefined) throw new Error('A statement of the ledger answered nothing.');
    return row as T;
  } catch (error) {
    // Inside a transaction the whole of it is lost, and only its owner can begin again.
    if (!isDeadlock(error) || db.isTransaction || attempt === MAX_ATTEMPTS) throw error;
    return run(db, statementOf, attempt + 1);
  }
}

const MAX_ATTEMPTS = 5;
const isDeadlock = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '40P01';
