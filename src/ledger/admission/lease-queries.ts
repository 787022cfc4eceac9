/** The statements that change leases on a wallet. Each locks the wallet before the leases. */
import { sql } from 'kysely';
import type { Nanos } from '../../core/index.ts';
import { type Db, prepare } from '../../db/index.ts';
import { TRUST_MS } from '../records/replica.ts';
import type { LeaseState } from '../records/usage-writer.ts';
import { unknownWallet } from '../wallets/wallets.ts';
import { type LeaseNeed, PART, RECENT_PART } from './lease-grant.ts';

export interface TakeInput extends LeaseNeed {
  readonly userId: string;
  readonly replicaId: string;
}

export interface LeaseTake {
  readonly granted: Nanos;
  readonly available: Nanos;
  /** The lease after the grant; undefined when nothing was granted. */
  readonly lease: LeaseState | undefined;
}

/** Where leases are kept: the database, or the memory of a simulation. */
export interface LeaseStore {
  take(input: TakeInput): Promise<LeaseTake>;
  giveBack(input: ReturnInput): Promise<LeaseState | undefined>;
  ask(input: AskInput): Promise<Nanos>;
  wanted(replicaId: string): Promise<string[]>;
}

export const databaseLeases = (db: Db): LeaseStore => ({
  take: (input) => takeLease(db, input),
  giveBack: (input) => returnLease(db, input),
  ask: (input) => askForLeases(db, input),
  wanted: (replicaId) => wantedLeases(db, replicaId),
});

/** Takes money from the wallet into the lease. The amount is that of `grantOf`, computed while the wallet is locked. */
export async function takeLease(db: Db, input: TakeInput): Promise<LeaseTake> {
  const { userId, replicaId, needs, ahead, unit, recent } = input;
  const needed = needs.at(-1) ?? 0n;
  const { rows } = await sql<{ granted: Nanos; available: Nanos; nanos: Nanos | null; version: bigint | null }>`
    with wallet as (
      select user_id, credits - debits - held as available from wallets where user_id = ${userId} for no key update),
    part as (
      select greatest(available / ${PART}, least(${recent}::bigint, available / ${RECENT_PART})) as part from wallet),
    grant_ as (
      select user_id, available,
        case when part > ${needed}::bigint
          then ${needed}::bigint + least(${ahead}::bigint, part - ${needed}::bigint) / ${unit} * ${unit}
          else coalesce((select max(need) from unnest(${needs.map(String)}::bigint[]) need where need <= available and need > 0), 0)
        end as granted
      from wallet, part),
    lease as (
      insert into leases as l (user_id, replica_id, nanos) select user_id, ${replicaId}, granted from grant_ where granted > 0
      on conflict (user_id, replica_id) do update set nanos = l.nanos + excluded.nanos, version = l.version + 1
      returning l.user_id, l.nanos, l.version),
    counted as (
      update wallets w set held = w.held + g.granted from grant_ g where w.user_id = g.user_id and g.granted > 0)
    select g.granted, g.available, l.nanos, l.version from grant_ g left join lease l using (user_id)`.execute(db);
  const [row] = rows;
  if (!row) throw unknownWallet(userId);
  const { granted, available, nanos, version } = row;
  return {
    granted,
    available,
    lease: nanos === null || version === null ? undefined : { replicaId, userId, nanos, version },
  };
}

export interface ReturnInput {
  readonly userId: string;
  readonly replicaId: string;
  readonly nanos: Nanos;
  /** Returns only from this version of the lease; undefined for any version. */
  readonly version: bigint | undefined;
}

/** Returns money to the wallet, and counts the version up. The result is undefined when the lease has another version or is gone. */
async function returnLease(db: Db, input: ReturnInput): Promise<LeaseState | undefined> {
  const { userId, replicaId, nanos, version } = input;
  const isVersion = version === undefined ? sql`` : sql`and l.version = ${version}`;
  const { rows } = await sql<LeaseState>`
    with wallet as (select user_id from wallets where user_id = ${userId} for no key update),
    lease as (
      update leases l set nanos = l.nanos - ${nanos}, version = l.version + 1, is_wanted = false from wallet
      where l.user_id = wallet.user_id and l.replica_id = ${replicaId} ${isVersion}
      returning l.user_id, l.nanos, l.version),
    counted as (
      update wallets w set held = w.held - ${nanos} from lease where w.user_id = lease.user_id)
    select ${replicaId}::text as "replicaId", user_id as "userId", nanos, version from lease`.execute(db);
  return rows[0];
}

export interface AskInput {
  readonly userId: string;
  /** The replica that asks; null to ask all. */
  readonly replicaId: string | null;
  /** What its call lacks. Nothing is asked for when the other replicas have less than that altogether. */
  readonly missing: Nanos;
  /** False to only look at what was asked for before and is not returned yet. */
  readonly isFirst: boolean;
}

/** Asks the other live replicas to return what they do not use. Returns how much they may return at most. */
export async function askForLeases(db: Db, { userId, replicaId, missing, isFirst }: AskInput): Promise<Nanos> {
  const others = sql`
    select l.replica_id, l.nanos from leases l join replicas r on r.id = l.replica_id
    where l.user_id = ${userId} and l.replica_id is distinct from ${replicaId} and l.nanos > 0 ${isFirst ? sql`` : sql`and l.is_wanted`}
      and not r.fenced and r.seen_at > now() - ${TRUST_MS} * interval '1 millisecond'`;
  const { rows } = await sql<{ nanos: Nanos }>`
    with wallet as (select user_id from wallets where user_id = ${userId} for no key update),
    others as (${others}),
    total as (select coalesce(sum(nanos), 0)::bigint as nanos from others),
    asked as (
      update leases l set is_wanted = true from wallet, others o, total t
      where l.user_id = wallet.user_id and l.replica_id = o.replica_id and not l.is_wanted and t.nanos >= ${missing})
    select nanos from total where nanos >= ${missing}`.execute(db);
  return rows[0]?.nanos ?? 0n;
}

/** Most users whose leases are looked at in one turn. */
const MAX_WANTED = 1_000;

/** The users whose leases other replicas have asked for. */
const wantedLeases = async (db: Db, replicaId: string): Promise<string[]> =>
  (await selectWanted(db, [replicaId])).map(({ user_id }) => user_id);

/** Several times a second while there are calls. */
const selectWanted = prepare<{ user_id: string }>(
  'leases_wanted',
  `select user_id from leases where replica_id = $1 and is_wanted limit ${MAX_WANTED}`,
);
