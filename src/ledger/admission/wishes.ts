/**
 * Wishes for money that replicas have leased and may not use, in an order:
 * of several, who gets it never depends on anybody's speed, and one of them does.
 */
import type { Nanos } from '../../core/index.ts';
import { type Db, prepare } from '../../platform/db/index.ts';
import { SILENT_MS } from '../records/replica.ts';
import { claimsBefore, IS_CURRENT } from '../wallets/claims.ts';
import { unknownWallet } from '../wallets/wallets.ts';

/**
 * How long a call waits for other replicas: twice what a live one takes if each statement takes its limit (`callMs`).
 * Dead ones are not waited for.
 */
export const WISH_MS = 45_000;
/** How often a replica checks whether others need what it has leased. */
export const RETURN_WANTED_MS = 250;
/** How often those look whether it was returned: more often, so that they do not wait for a second turn. */
export const WISH_TURN_MS = RETURN_WANTED_MS / 2;
/** Of one wallet. Beyond this only the holds of one user can come, because a replica has one wish for a wallet. */
const MAX_WISHES = 200;

export interface WishInput {
  readonly userId: string;
  /** A replica, or a name that an attempt to hold has given itself. */
  readonly owner: string;
  /**
   * What it needs altogether. It claims all of that: what its own lease has
   * may go back to the wallet, for the wishes of others.
   */
  readonly nanos: Nanos;
  /** What its own lease has for it. */
  readonly unused?: Nanos;
  /** A new wish, at the end of the order; otherwise the known one. */
  readonly isNew: boolean;
}

export interface Outlook {
  /** What the wallet has, and what it may have once other replicas have answered. */
  readonly available: Nanos;
  readonly payable: Nanos;
  /** Enough may come: the wish stays. When it cannot come, the wish is gone. */
  readonly isPayable: boolean;
  /** Enough is there, also after the wishes before this one. */
  readonly isReady: boolean;
  readonly isFull: boolean;
  readonly newest: bigint | undefined;
}

/**
 * Makes a wish or looks how it stands, and asks live replicas.
 * Wallet and leases are read as of one moment: a lease taken in between must be in one.
 */
export async function wish(db: Db, { userId, owner, nanos, unused = 0n, isNew }: WishInput): Promise<Outlook> {
  const [row] = await selectOutlook(db, [userId, owner, nanos, isNew, nanos - unused]);
  if (!row) throw unknownWallet(userId);
  return { ...row, newest: row.newest ?? undefined };
}

const selectOutlook = prepare<Omit<Outlook, 'newest'> & { newest: bigint | null }>(
  'lease_wish',
  `with wallet as (select user_id from wallets where user_id = $1 for no key update),
  known as (select id from wishes where user_id = $1 and owner = $2 and not $4::boolean),
  others as (select id from wishes where user_id = $1 and owner <> $2 and ${IS_CURRENT}),
  holders as (
    select l.replica_id, l.nanos from leases l join replicas r on r.id = l.replica_id
    where l.user_id = $1 and l.replica_id <> $2 and l.nanos > 0
      and not exists (select from known where id <= l.answered)
      and not r.fenced and r.seen_at > now() - ${SILENT_MS} * interval '1 millisecond'),
  found as (
    select credits - debits - held as available, ${claimsBefore('$1', '$2')} as claimed,
      (select coalesce(sum(nanos), 0)::bigint from holders) as coming, (select max(id) from others) as newest,
      (select count(*) from others) >= ${MAX_WISHES} and not exists (select from known) as is_full
    from wallets where user_id = $1),
  decided as (select *, $5::bigint <= available + coming as is_payable from found),
  wished as (
    insert into wishes as w (user_id, owner, nanos)
    select wallet.user_id, $2, $3::bigint from wallet, decided where is_payable and not is_full
    on conflict (user_id, owner) do update set nanos = excluded.nanos, seen_at = excluded.seen_at,
      id = case when $4 then excluded.id else w.id end),
  asked as (
    update leases l set is_wanted = true from wallet, holders h, decided
    where is_payable and not is_full
      and l.user_id = wallet.user_id and l.replica_id = h.replica_id and not l.is_wanted),
  withdrawn as (
    delete from wishes w using decided where not is_payable and w.user_id = $1 and w.owner = $2),
  swept as (
    delete from wishes w using (
      select owner from wishes where user_id = $1 and owner <> $2 and not ${IS_CURRENT} for update skip locked) gone
    where w.user_id = $1 and w.owner = gone.owner)
  select available, available + coming as payable, is_payable as "isPayable",
    available - claimed >= $5::bigint as "isReady", is_full as "isFull", newest
  from decided`,
);

export async function withdrawWish(db: Db, { userId, owner }: Pick<WishInput, 'userId' | 'owner'>): Promise<void> {
  await db.deleteFrom('wishes').where('user_id', '=', userId).where('owner', '=', owner).execute();
}
