/** The statements that change leases on a wallet. Each locks the wallet before the leases. */
import { sql } from 'kysely';
import type { Nanos } from '../../core/index.ts';
import { type Db, firstRow, prepare } from '../../platform/db/index.ts';
import type { LeaseState } from '../records/usage-writer.ts';
import { claimsBefore, IS_CURRENT } from '../wallets/claims.ts';
import { unknownWallet } from '../wallets/wallets.ts';
import { type Outlook, type WishInput, wish, withdrawWish } from './wishes.ts';

export interface LeaseNeed {
  /** What the first waiting call needs, the first two, the first three, and so on. Empty when none waits. */
  readonly needs: readonly Nanos[];
  readonly ahead: Nanos;
  /**
   * Amounts ahead are multiples of this.
   * Fractions on several replicas would add up to calls that none of them can admit.
   */
  readonly unit: Nanos;
  /** What this replica spends from the wallet in the time that leases must last without the database. */
  readonly recent: Nanos;
}

/** The part of a wallet that one lease may take ahead of need, so that other replicas find something too. */
export const PART = 8n;
/** The same up to what the replica spent lately: replicas that share a wallet also share its spending. */
export const RECENT_PART = 2n;

export interface TakeInput extends LeaseNeed {
  readonly userId: string;
  readonly replicaId: string;
}

export interface LeaseTake {
  readonly granted: Nanos;
  readonly lease: LeaseState | undefined;
  /** The newest wish of another owner. While there is one, nothing is granted ahead of need. */
  readonly newest: bigint | undefined;
}

/** Where leases are kept: the database, or the memory of a simulation. */
export interface LeaseStore {
  take(input: TakeInput): Promise<LeaseTake>;
  giveBack(input: ReturnInput): Promise<LeaseState | undefined>;
  wish(input: WishInput): Promise<Outlook>;
  withdraw(wish: Pick<WishInput, 'userId' | 'owner'>): Promise<void>;
  wanted(replicaId: string): Promise<WantedLease[]>;
}

export const databaseLeases = (db: Db): LeaseStore => ({
  take: (input) => takeLease(db, input),
  giveBack: (input) => returnLease(db, input),
  wish: (input) => wish(db, input),
  withdraw: (of) => withdrawWish(db, of),
  wanted: (replicaId) => wantedLeases(db, replicaId),
});

/**
 * Takes the amount of `grantOf`, computed under the lock of the wallet, of what is left after earlier wishes.
 * Ends the wish of the replica.
 */
export async function takeLease(db: Db, input: TakeInput): Promise<LeaseTake> {
  const { userId, replicaId, needs, ahead, unit, recent } = input;
  const [row] = await selectTaken(db, [userId, replicaId, needs, needs.at(-1) ?? 0n, ahead, unit, recent]);
  if (!row) throw unknownWallet(userId);
  const { granted, nanos, version } = row;
  return {
    granted,
    lease: nanos === null || version === null ? undefined : { replicaId, userId, nanos, version },
    newest: row.newest ?? undefined,
  };
}

interface TakenRow {
  readonly granted: Nanos;
  readonly newest: bigint | null;
  readonly nanos: Nanos | null;
  readonly version: bigint | null;
}

const selectTaken = prepare<TakenRow>(
  'lease_take',
  `with wallet as (
    select user_id, credits - debits - held as available from wallets where user_id = $1 for no key update),
  others as (select max(id) as newest from wishes where user_id = $1 and owner <> $2 and ${IS_CURRENT}),
  part as (
    select case when newest is null
        then greatest(available / ${PART}, least($7::bigint, available / ${RECENT_PART})) else 0 end as part,
      available - ${claimsBefore('$1', '$2')} as unclaimed, newest
    from wallet, others),
  grant_ as (
    select user_id, newest,
      case when part > $4::bigint then $4::bigint + least($5::bigint, part - $4::bigint) / $6::bigint * $6::bigint
        else coalesce((select max(need) from unnest($3::bigint[]) need where need <= unclaimed and need > 0), 0)
      end as granted
    from wallet, part),
  lease as (
    insert into leases as l (user_id, replica_id, nanos) select user_id, $2, granted from grant_ where granted > 0
    on conflict (user_id, replica_id) do update set nanos = l.nanos + excluded.nanos, version = l.version + 1
    returning l.user_id, l.nanos, l.version),
  counted as (
    update wallets w set held = w.held + g.granted from grant_ g where w.user_id = g.user_id and g.granted > 0),
  fulfilled as (
    delete from wishes w using grant_ g where w.user_id = g.user_id and w.owner = $2 and g.granted > 0)
  select g.granted, g.newest, l.nanos, l.version from grant_ g left join lease l using (user_id)`,
);

export interface ReturnInput {
  readonly userId: string;
  readonly replicaId: string;
  readonly nanos: Nanos;
  /** Returns only from this version of the lease; undefined for any version. */
  readonly version: bigint | undefined;
  /** The newest wish that the replica knew when it computed what no call uses, if it returns all of that. */
  readonly answer: bigint | undefined;
}

/**
 * Returns money to the wallet, and counts the version up.
 * The result is undefined when the lease has another version or is gone.
 */
async function returnLease(db: Db, input: ReturnInput): Promise<LeaseState | undefined> {
  const { userId, replicaId, nanos, version, answer } = input;
  const isVersion = version === undefined ? sql`` : sql`and l.version = ${version}`;
  const answered = answer === undefined ? sql`` : sql`, is_wanted = false, answered = greatest(l.answered, ${answer})`;
  return firstRow(db)<LeaseState>`
    with wallet as (select user_id from wallets where user_id = ${userId} for no key update),
    lease as (
      update leases l set nanos = l.nanos - ${nanos}, version = l.version + 1 ${answered} from wallet
      where l.user_id = wallet.user_id and l.replica_id = ${replicaId} ${isVersion}
      returning l.user_id, l.nanos, l.version),
    counted as (
      update wallets w set held = w.held - ${nanos} from lease where w.user_id = lease.user_id)
    select ${replicaId}::text as "replicaId", user_id as "userId", nanos, version from lease`;
}

export interface WantedLease {
  readonly userId: string;
  /** The newest wish for the wallet; zero when the one that asked is gone. */
  readonly newest: bigint;
}

const MAX_WANTED = 1_000;

const wantedLeases = (db: Db, replicaId: string): Promise<WantedLease[]> => selectWanted(db, [replicaId]);

/** Several times a second while there are calls. */
const selectWanted = prepare<WantedLease>(
  'leases_wanted',
  `select user_id as "userId", coalesce((select max(id) from wishes w where w.user_id = l.user_id), 0) as newest
   from leases l where replica_id = $1 and is_wanted limit ${MAX_WANTED}`,
);

/**
 * How much one lease takes; `takeLease` computes the same, and a test compares the two.
 * All of the need and some ahead within an eighth of what is available, or half for recent spending.
 * Else the first needs that fit, so that none is stranded.
 */
export function grantOf(available: Nanos, { needs, ahead, unit, recent }: LeaseNeed): Nanos {
  const needed = needs.at(-1) ?? 0n;
  const part = max(available / PART, min(recent, available / RECENT_PART));
  if (part > needed) return needed + (min(ahead, part - needed) / unit) * unit;
  return needs.reduce((top, need) => (need <= available && need > top ? need : top), 0n);
}

const max = (a: Nanos, b: Nanos): Nanos => (a > b ? a : b);
const min = (a: Nanos, b: Nanos): Nanos => (a < b ? a : b);
