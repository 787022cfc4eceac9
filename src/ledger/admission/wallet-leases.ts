/**
 * Admission without a database write: a replica leases part of a wallet and reserves the bound of each call from it in memory.
 * Leased, reserved and spent are kept so that what all replicas may still spend never exceeds the wallet. Near zero there is
 * nothing to lease ahead: the bound of each call is taken in the database.
 */
import { sql } from 'kysely';
import { ApiError, type Clock, errorFields, fail, type Log, type Nanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import type { OnStep } from '../crash-points.ts';
import type { LeaseState } from '../records/flusher.ts';
import type { Replica } from '../records/replica.ts';
import { chargeOf, type UsageRecord } from '../usage-record.ts';

/** The right to make one call. Ends once, by either. */
export interface Reservation {
  readonly bound: Nanos;
  /** Charges what the call really cost, be it above the bound, and frees the rest. */
  settle(record: UsageRecord): void;
  /** The call cost nothing. */
  release(): void;
}

export interface WalletLeasesOptions {
  readonly db: Db;
  readonly replica: Replica;
  readonly append: (record: UsageRecord) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly onStep?: OnStep | undefined;
}

/** A wallet as this replica sees it. free = leased - reserved - spent - returning. */
interface WalletState {
  readonly userId: string;
  /** As the database has it, at `version`. */
  leased: Nanos;
  version: bigint;
  /** Calls in flight, and the sum of their bounds. */
  open: number;
  reserved: Nanos;
  /** Settled, not in the database yet. */
  spent: Nanos;
  /** On its way back to the wallet; whether it arrived may be unknown. */
  returning: Nanos;
  /** The size of recent bounds, leaning to the larger. */
  typicalMaxCost: Nanos;
  readonly waiting: Waiter[];
  isLeasing: boolean;
  /** The wallet has little left: nothing is kept ahead of need. */
  isScarce: boolean;
  usedAt: number;
  /** The last refusal: until then nothing that needs more is asked for. */
  shortUntil: { readonly until: number; readonly available: Nanos } | undefined;
}

interface Waiter {
  readonly bound: Nanos;
  resolve(reservation: Reservation): void;
  reject(error: Error): void;
}

/** A lease covers this many calls ahead, so that one statement serves that many and more: most give back nearly all of their bound. */
const CALLS_AHEAD = 32n;
/** A million dollars: what no call may cost (usage.ts). Sums of bounds stay within what the database can count. */
const MAX_COST_HELD: Nanos = 10n ** 15n;
/** The part of a wallet that one lease may take ahead of need, so that other replicas find something too. */
const PART = 8n;
/** A replica gives back what a user who has gone quiet does not use. */
const IDLE_MS = 15_000;
/** Of a scarce wallet, another replica may need it at once. */
const SCARCE_IDLE_MS = 1_000;
/** Callers without money ask again and again; the database is asked this rarely for each of them. */
const SHORT_MS = 200;

export class WalletLeases {
  readonly #options: WalletLeasesOptions;
  readonly #shares = new Map<string, WalletState>();
  /** Set once nothing more is leased; resolves when nothing is open any more. */
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(options: WalletLeasesOptions) {
    this.#options = options;
  }

  /** At once when the lease covers the bound, as it mostly does. Throws or rejects with `insufficient_balance`. */
  admit(userId: string, bound: Nanos): Reservation | Promise<Reservation> {
    if (bound > MAX_COST_HELD) throw refusal();
    const share = this.#shareOf(userId);
    share.usedAt = this.#options.clock.now();
    share.typicalMaxCost =
      bound > share.typicalMaxCost ? bound : share.typicalMaxCost - (share.typicalMaxCost - bound) / 8n;
    if (share.waiting.length === 0 && this.#covers(share, bound)) {
      const reservation = this.#reserve(share, bound);
      this.#leaseAhead(share);
      return reservation;
    }
    if (share.shortUntil && share.usedAt < share.shortUntil.until && bound - free(share) > share.shortUntil.available)
      throw refusal();
    return new Promise((resolve, reject) => {
      share.waiting.push({ bound, resolve, reject });
      this.#lease(share);
    });
  }

  /** Records have reached the database, and this is what is leased since. */
  moved(records: readonly UsageRecord[], leases: readonly LeaseState[]): void {
    for (const record of records) {
      const share = this.#shares.get(record.userId);
      if (share) share.spent -= chargeOf(record);
    }
    for (const lease of leases) this.#apply(lease);
  }

  /** Gives back what is not needed; to be called every second or so. */
  async returnIdle(): Promise<void> {
    const now = this.#options.clock.now();
    for (const share of [...this.#shares.values()]) {
      // What is spent but not recorded counts on the lease, so none of it goes back before.
      if (share.spent !== 0n || share.isLeasing || share.waiting.length > 0) continue;
      if (now - share.usedAt < (share.isScarce ? SCARCE_IDLE_MS : IDLE_MS)) continue;
      if (share.returning > 0n || free(share) > 0n) await this.#giveBack(share);
      else if (share.open === 0 && share.leased === 0n && !share.isLeasing) this.#shares.delete(share.userId);
    }
  }

  /** Another process took this one for dead and gave its leases back: calls in flight go on, and are charged as overdraft. */
  onFenced(): void {
    for (const share of this.#shares.values()) {
      share.leased = 0n;
      share.version = 0n;
      share.returning = 0n;
    }
  }

  /**
   * Leases nothing more, and waits until what is on its way has arrived and every call has ended. False when some are still open
   * after so long: what they will cost counts on leases that must then stay.
   */
  async close(ms: number): Promise<boolean> {
    const closing = Promise.withResolvers<void>();
    this.#closing = closing;
    const cancel = this.#options.clock.after(ms, () => closing.resolve());
    this.#resolveIfIdle();
    await closing.promise;
    cancel();
    return this.#isQuiet();
  }

  #isQuiet(): boolean {
    return [...this.#shares.values()].every((share) => share.open === 0 && !share.isLeasing);
  }

  #resolveIfIdle(): void {
    if (this.#closing && this.#isQuiet()) this.#closing.resolve();
  }

  #covers(share: WalletState, bound: Nanos): boolean {
    return bound === 0n || (free(share) >= bound && this.#options.replica.isTrusted);
  }

  #reserve(share: WalletState, bound: Nanos): Reservation {
    share.open += 1;
    share.reserved += bound;
    let isOpen = true;
    const end = (): void => {
      if (!isOpen) throw new Error('A reservation ends once.');
      isOpen = false;
      share.open -= 1;
      share.reserved -= bound;
      share.usedAt = this.#options.clock.now();
      this.#resolveIfIdle();
    };
    return {
      bound,
      settle: (record) => {
        if (record.userId !== share.userId) throw new Error('A record of another user cannot settle a reservation.');
        end();
        const nanos = chargeOf(record);
        share.spent += nanos;
        this.#options.append(record);
        if (nanos > bound)
          this.#options.log.warn('usage.above_reservation', {
            record: record.id,
            nanos: `${nanos}`,
            bound: `${bound}`,
          });
      },
      release: end,
    };
  }

  #leaseAhead(share: WalletState): void {
    if (!share.isScarce && free(share) < (share.typicalMaxCost * CALLS_AHEAD) / 4n) this.#lease(share);
  }

  /** One request at a time per wallet; it speaks for all who wait. */
  #lease(share: WalletState): void {
    if (share.isLeasing) return;
    if (this.#closing) {
      for (const waiter of share.waiting.splice(0)) waiter.reject(fail('shutting_down'));
      return;
    }
    share.isLeasing = true;
    this.#leaseAll(share)
      .catch((error: unknown) => {
        this.#options.log.warn('wallet_lease.failed', { user: share.userId, ...errorFields(error) });
        const sentence = 'The balance cannot be looked up at the moment.';
        const failure =
          error instanceof ApiError ? error : fail('server_is_overloaded', sentence, { retryAfter: 1, cause: error });
        for (const waiter of share.waiting.splice(0)) waiter.reject(failure);
      })
      .finally(() => {
        share.isLeasing = false;
        if (share.waiting.length > 0) this.#lease(share);
        this.#resolveIfIdle();
      });
  }

  async #leaseAll(share: WalletState): Promise<void> {
    const { replica, clock } = this.#options;
    do {
      if (!replica.isTrusted) await replica.beat();
      this.#serve(share);
      const ahead = share.typicalMaxCost * CALLS_AHEAD;
      // What the first waiter lacks, the first two, the first three ...
      let sum = -free(share);
      const needs = share.waiting.map(({ bound }) => {
        sum += bound;
        return sum;
      });
      const answer = await this.#take(share, needs, ahead);
      const needed = needs.at(-1) ?? 0n;
      share.isScarce = answer.granted < needed + ahead / 4n;
      this.#serve(share);
      if (answer.granted > 0n || share.waiting.length === 0) continue;
      share.shortUntil = { until: clock.now() + SHORT_MS, available: answer.available };
      const limit = free(share) + answer.available;
      const isOut = (waiter: Waiter): boolean => waiter.bound > limit;
      const out = share.waiting.filter(isOut);
      share.waiting.splice(0, share.waiting.length, ...share.waiting.filter((waiter) => !isOut(waiter)));
      for (const waiter of out) waiter.reject(refusal());
    } while (share.waiting.length > 0 && !this.#closing);
  }

  #serve(share: WalletState): void {
    for (let first = share.waiting[0]; first && this.#covers(share, first.bound); first = share.waiting[0]) {
      share.waiting.shift();
      first.resolve(this.#reserve(share, first.bound));
    }
  }

  /**
   * With plenty: all that is needed and something ahead, though no more than a part of the wallet. Otherwise exactly what the
   * first so many waiters need, so that nothing is left lying here that another replica could use.
   */
  async #take(
    share: WalletState,
    needs: readonly Nanos[],
    ahead: Nanos,
  ): Promise<{ granted: Nanos; available: Nanos }> {
    const { db, replica, onStep } = this.#options;
    const needed = needs.at(-1) ?? 0n;
    // In whole bounds: with half of one left over here and there, several replicas would refuse what all together could pay.
    const unit = share.typicalMaxCost > 0n ? share.typicalMaxCost : 1n;
    const statement = (replicaId: string) => sql<Taken>`
      with wallet as (
        select user_id, credits - debits - held as available from wallets where user_id = ${share.userId} for no key update),
      grant_ as (
        select user_id, available,
          case when available / ${PART} > ${needed}::bigint
            then ${needed}::bigint + least(${ahead}::bigint, available / ${PART} - ${needed}::bigint) / ${unit} * ${unit}
            else coalesce((select max(need) from unnest(${needs.map(String)}::bigint[]) need where need <= available and need > 0), 0)
          end as granted
        from wallet),
      lease as (
        insert into leases as l (user_id, replica_id, nanos) select user_id, ${replicaId}, granted from grant_ where granted > 0
        on conflict (user_id, replica_id) do update set nanos = l.nanos + excluded.nanos, version = l.version + 1
        returning l.user_id, l.nanos, l.version),
      counted as (
        update wallets w set held = w.held + g.granted from grant_ g where w.user_id = g.user_id and g.granted > 0)
      select g.granted, g.available, l.nanos, l.version from grant_ g left join lease l using (user_id)`;
    let replicaId = replica.id;
    const { rows } = await statement(replicaId)
      .execute(db)
      .catch(async (error: unknown) => {
        // The row of this replica is gone: it has been taken for dead.
        if (!isForeignKey(error)) throw error;
        await replica.beat();
        replicaId = replica.id;
        return statement(replicaId).execute(db);
      });
    const [taken] = rows;
    if (!taken) throw new Error(`There is no wallet of ${share.userId}.`);
    onStep?.('lease.taken');
    if (taken.nanos !== null && taken.version !== null)
      this.#apply({ replicaId, userId: share.userId, nanos: taken.nanos, version: taken.version });
    return taken;
  }

  /** Only if nothing changed since: an answer that was lost is then harmless, whenever its statement ran. */
  async #giveBack(share: WalletState): Promise<void> {
    const { db, replica, log, onStep } = this.#options;
    const isUnsure = share.returning > 0n;
    if (!isUnsure) share.returning = free(share);
    const nanos = isUnsure ? 0n : share.returning;
    const replicaId = replica.id;
    try {
      const { rows } = await sql<LeaseState>`
        with wallet as (select user_id from wallets where user_id = ${share.userId} for no key update),
        lease as (
          update leases l set nanos = l.nanos - ${nanos}, version = l.version + 1 from wallet
          where l.user_id = wallet.user_id and l.replica_id = ${replicaId}
            and (l.version = ${share.version} or ${isUnsure}) returning l.user_id, l.nanos, l.version),
        counted as (
          update wallets w set held = w.held - ${nanos} from lease where w.user_id = lease.user_id)
        select ${replicaId}::text as "replicaId", user_id as "userId", nanos, version from lease`.execute(db);
      if (replicaId !== replica.id) return;
      onStep?.('lease.returned');
      // Nothing came back: something changed meanwhile, and what it was is asked next time.
      if (rows.length === 0 && !isUnsure) return;
      share.returning = 0n;
      for (const lease of rows) this.#apply(lease);
    } catch (error) {
      // What was on its way stays out of use; the next try asks what became of it, which also outdates this one.
      log.warn('wallet_lease.failed', { user: share.userId, ...errorFields(error) });
    }
  }

  /** An answer from before this process was taken for dead is about leases that are another's now. */
  #apply({ replicaId, userId, nanos, version }: LeaseState): void {
    if (replicaId !== this.#options.replica.id) return;
    const share = this.#shares.get(userId);
    if (!share || version <= share.version) return;
    share.leased = nanos;
    share.version = version;
  }

  #shareOf(userId: string): WalletState {
    const known = this.#shares.get(userId);
    if (known) return known;
    const share: WalletState = {
      userId,
      leased: 0n,
      version: 0n,
      open: 0,
      reserved: 0n,
      spent: 0n,
      returning: 0n,
      typicalMaxCost: 0n,
      waiting: [],
      isLeasing: false,
      isScarce: false,
      usedAt: 0,
      shortUntil: undefined,
    };
    this.#shares.set(userId, share);
    return share;
  }
}

interface Taken {
  readonly granted: Nanos;
  readonly available: Nanos;
  readonly nanos: Nanos | null;
  readonly version: bigint | null;
}

const free = (share: WalletState): Nanos => share.leased - share.reserved - share.spent - share.returning;

const refusal = (): ApiError => fail('insufficient_balance');

const isForeignKey = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '23503';
