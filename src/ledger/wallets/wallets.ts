/**
 * Wallets: credits, charges and holds as double-entry bookings.
 * Each operation is one statement, so it also works inside a caller's transaction,
 * and its reference makes it idempotent. Locks are taken in the order hold, wallet, lease,
 * and wallets in the order of their ids, so that operations do not deadlock.
 */
import { type RawBuilder, sql } from 'kysely';
import { codeOf, type Nanos } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { claimsBefore } from './claims.ts';

/** The other account of a wallet's entry: deposits, revenue, corrections by an operator. */
export type HouseAccount = '@funding' | '@revenue' | '@adjustment';

export interface Balance {
  /** What may still be spent. Negative after a charge that the wallet did not cover. */
  readonly available: Nanos;
  /** Set aside by holds and leases. */
  readonly held: Nanos;
}

export interface Movement {
  readonly userId: string;
  readonly nanos: Nanos;
  /** Unique forever: a second movement with the same reference is ignored. */
  readonly reference: string;
  readonly reason: string;
}

/** Adds money to a wallet; from `@revenue` it is a refund. Returns false when the reference was booked before. */
export const credit = (
  db: Db,
  { from = '@funding', ...movement }: Movement & { from?: HouseAccount },
): Promise<boolean> => book(db, movement, { kind: 'credit', house: from });

/** Takes money out of a wallet whatever its balance: corrections, and work that is charged without a hold. */
export const charge = (
  db: Db,
  { to = '@revenue', priceId, ...movement }: Movement & { to?: '@revenue' | '@adjustment'; priceId?: bigint },
): Promise<boolean> => book(db, movement, { kind: 'charge', house: to, priceId });

interface Side {
  readonly kind: 'credit' | 'charge';
  readonly house: HouseAccount;
  readonly priceId?: bigint | undefined;
}

async function book(db: Db, { userId, nanos, reference, reason }: Movement, { kind, house, priceId }: Side) {
  const accounts = kind === 'credit' ? sql`${house}, user_id` : sql`user_id, ${house}`;
  const counter = kind === 'credit' ? 'credits' : 'debits';
  const { done, known } = await run<{ done: boolean; known: boolean }>(
    db,
    sql`with entry as (
          insert into entries (debit, credit, nanos, kind, reference, reason, price_id)
          select ${accounts}, ${nanos}, ${kind}, ${reference}, ${reason}, ${priceId ?? null}
          from wallets where user_id = ${userId}
          on conflict (reference) do nothing returning nanos),
        wallet as (
          update wallets w set ${sql.ref(counter)} = ${sql.ref(`w.${counter}`)} + entry.nanos from entry
          where w.user_id = ${userId} returning 1)
        select exists (select from wallet) as done, exists (select from wallets where user_id = ${userId}) as known`,
  );
  if (!known) throw unknownWallet(userId);
  return done;
}

export interface HoldInput {
  readonly userId: string;
  readonly nanos: Nanos;
  readonly reference: string;
  /** When the work should be over. The ledger check reports a hold that is still open an hour later. */
  readonly checkAfter: Date;
}

export type HoldResult = 'held' | 'repeated' | 'short';

/**
 * Sets money aside, and ends the wish for it. `repeated`: the reference exists or existed.
 * `short`: balance, or wishes before it.
 */
export async function hold(db: Db, { userId, nanos, reference, checkAfter }: HoldInput): Promise<HoldResult> {
  // With `for no key update`, PostgreSQL compares the balance again on the newest row version once it has the lock.
  const { done, repeated } = await run<{ done: boolean; repeated: boolean }>(
    db,
    sql`with wish as (select ${reference}::text as owner),
        wallet as (
          select user_id from wallets
          where user_id = ${userId} and (credits - debits - held - ${CLAIMS_BEFORE} >= ${nanos} or ${nanos} = 0::bigint)
            and not exists (select from holds where reference = ${reference})
          for no key update),
        inserted as (
          insert into holds (user_id, reference, nanos, check_after)
          select user_id, ${reference}, ${nanos}, ${checkAfter} from wallet
          on conflict (reference) do nothing returning user_id, nanos),
        counted as (
          update wallets w set held = w.held + i.nanos from inserted i where w.user_id = i.user_id returning w.user_id),
        fulfilled as (delete from wishes w using counted where w.user_id = counted.user_id and w.owner = ${reference})
        select exists (select from counted) as done,
          exists (select from wallet) or exists (select from holds where reference = ${reference}) as repeated`,
  );
  if (done) return 'held';
  return repeated ? 'repeated' : 'short';
}

const CLAIMS_BEFORE = sql.raw(claimsBefore('wallets.user_id', '(select owner from wish)'));

export interface Settlement {
  /** False when the hold was settled or released before, or never existed. */
  readonly settled: boolean;
  /** Charged above the hold, as a separate entry that raises an alarm. */
  readonly excess: Nanos;
}

/** Ends a hold with a charge: charges `nanos` in full and frees the rest. */
export async function settle(
  db: Db,
  reference: string,
  { nanos, reason, priceId = null }: { nanos: Nanos; reason: string; priceId?: bigint | null },
): Promise<Settlement> {
  return run<Settlement>(
    db,
    sql`with hold as (
          update holds set state = 'settled', settled_nanos = ${nanos}, resolved_at = now()
          where reference = ${reference} and state in ('held', 'review') returning id, user_id, nanos),
        wallet as (
          update wallets w set held = w.held - hold.nanos, debits = w.debits + ${nanos} from hold
          where w.user_id = hold.user_id returning 1),
        entry as (
          insert into entries (debit, credit, nanos, kind, reference, hold_id, price_id, reason)
          select hold.user_id, '@revenue', part.nanos, part.kind, part.kind || ':' || ${reference}::text,
            hold.id, ${priceId}, ${reason}
          from hold, lateral (values
            ('settle', least(hold.nanos, ${nanos})),
            ('excess', ${nanos} - hold.nanos)) part (kind, nanos)
          where part.nanos > 0 returning kind, nanos)
        select exists (select from wallet) as settled,
          coalesce((select nanos from entry where kind = 'excess'), 0::bigint) as excess`,
  );
}

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

/** Keeps a hold open for work that is done but whose cost is not known yet. */
export async function review(db: Db, reference: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('holds')
    .set({ state: 'review' })
    .where('reference', '=', reference)
    .where('state', '=', 'held')
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function readBalance(db: Db, userId: string): Promise<Balance> {
  const { credits, debits, held } = await readWallet(db, userId);
  return { available: credits - debits - held, held };
}

export async function readWallet(db: Db, userId: string) {
  const wallet = await db
    .selectFrom('wallets')
    .select(['credits', 'debits', 'held'])
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (!wallet) throw unknownWallet(userId);
  return wallet;
}

export const unknownWallet = (userId: string): Error => new Error(`User ${userId} has no wallet.`);

/**
 * `hold` and `settle` lock in opposite orders: of two for one reference PostgreSQL aborts one as a deadlock,
 * which has changed nothing and is retried.
 */
async function run<T>(db: Db, query: RawBuilder<unknown>, attempt = 1): Promise<T> {
  try {
    const { rows } = await query.execute(db);
    const [row] = rows;
    if (row === undefined) throw new Error('A ledger statement returned no row.');
    return row as T;
  } catch (error) {
    // Inside a transaction the deadlock aborts all of it, so only its owner can retry.
    if (!isDeadlock(error) || db.isTransaction || attempt === MAX_ATTEMPTS) throw error;
    return run(db, query, attempt + 1);
  }
}

const MAX_ATTEMPTS = 5;
const isDeadlock = (error: unknown): boolean => codeOf(error) === '40P01';
