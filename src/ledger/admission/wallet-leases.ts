/**
 * Admission without a database write: a replica leases part of a wallet and reserves from it in memory.
 * Reasons: docs/adr/0006-wallet-leases.md
 */
import { ApiError, type Clock, codeOf, errorFields, fail, type Log, type Nanos } from '../../core/index.ts';
import { ConnectionLost } from '../../platform/db/index.ts';
import { crashPoint } from '../crash-points.ts';
import type { Replica } from '../records/replica.ts';
import type { LeaseState } from '../records/usage-writer.ts';
import { MAX_COST, type UsageRecord } from '../usage-record.ts';
import type { LeaseNeed, LeaseStore, LeaseTake } from './lease-queries.ts';
import { LeaseReturns } from './lease-returns.ts';
import {
  balanceUnavailable,
  free,
  InsufficientBalance,
  type Reservation,
  type Waiter,
  WalletState,
} from './wallet-state.ts';
import { WISH_MS, WISH_TURN_MS } from './wishes.ts';

export interface WalletLeasesOptions {
  readonly store: LeaseStore;
  readonly replica: Pick<Replica, 'id' | 'isTrusted' | 'heartbeat'>;
  /** `isLow`: the wallet has little left, so another replica may need what this call has not spent. */
  readonly append: (record: UsageRecord, isLow: boolean) => void;
  /** A wallet is used, after none was. */
  readonly onUse?: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Ahead, beside what the wallet spent in the last minute.
 * Renewed at a quarter of the calls or half of the minute: what lasts without the database.
 */
const CALLS_AHEAD = 32n;
/** After a lease that was short of that. */
const AHEAD_RETRY_MS = 1_000;
/** A replica returns what a user without calls for this long does not use. */
const IDLE_MS = 15_000;
/** Shorter for a low wallet: another replica may need the money now. */
const LOW_IDLE_MS = 1_000;
/** Clients without money retry in a loop; the database is queried at most this often for each of them. */
const SHORT_MS = 200;
/** Leases of one turn that are taken again after the connection of the statement was lost. */
const LEASE_RETRIES = 2;
/**
 * Leases that are returned at a time when others want them.
 * On a slow database the last one must not wait for all before it; calls need connections too.
 */
const RETURN_LANES = 2;

export class WalletLeases {
  readonly #options: WalletLeasesOptions;
  readonly #returns: LeaseReturns;
  readonly #wallets = new Map<string, WalletState>();
  /** Set once nothing more is leased; resolves when no call is open any more. */
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(options: WalletLeasesOptions) {
    this.#options = options;
    this.#returns = new LeaseReturns(options);
  }

  get isEmpty(): boolean {
    return this.#wallets.size === 0;
  }

  /** Returns synchronously when the lease covers the maximum cost. Throws or rejects with `insufficient_balance`. */
  admit(userId: string, maxCost: Nanos): Reservation | Promise<Reservation> {
    // Also keeps sums of maximum costs within a bigint of the database.
    if (maxCost > MAX_COST) throw new InsufficientBalance(undefined);
    const wallet = this.#walletOf(userId);
    wallet.typicalMaxCost =
      maxCost > wallet.typicalMaxCost ? maxCost : wallet.typicalMaxCost - (wallet.typicalMaxCost - maxCost) / 8n;
    if (wallet.waiting.length === 0 && this.#covers(wallet, maxCost)) {
      const reservation = this.#reserve(wallet, maxCost);
      this.#leaseAhead(wallet);
      return reservation;
    }
    const { shortUntil } = wallet;
    if (shortUntil && this.#options.clock.elapsed() < shortUntil.until && maxCost - free(wallet) > shortUntil.available)
      throw new InsufficientBalance(free(wallet) + shortUntil.available);
    return new Promise((resolve, reject) => {
      wallet.waiting.push({ maxCost, since: this.#options.clock.elapsed(), resolve, reject });
      this.#lease(wallet);
    });
  }

  /** Records are in the database, and `leases` are the leases after their charges. */
  onFlushed(records: readonly UsageRecord[], leases: readonly LeaseState[]): void {
    for (const record of records) {
      const wallet = this.#wallets.get(record.userId);
      if (wallet) wallet.spent -= record.charge;
    }
    for (const lease of leases) {
      const wallet = this.#wallets.get(lease.userId);
      if (wallet) this.#returns.apply(wallet, lease);
    }
  }

  /** Returns money that idle users do not need; to be called every second or so. */
  async returnIdle(): Promise<void> {
    const now = this.#options.clock.elapsed();
    for (const wallet of [...this.#wallets.values()]) {
      // Unrecorded charges will be drawn from the lease, so nothing is returned before they are recorded.
      if (wallet.spent !== 0n || wallet.isLeasing || wallet.waiting.length > 0) continue;
      if (now - wallet.usedAt < (wallet.isLow ? LOW_IDLE_MS : IDLE_MS)) continue;
      if (wallet.returning > 0n || wallet.isUncertain || free(wallet) > 0n) await this.#returns.run(wallet);
      else if (wallet.open === 0 && wallet.leased === 0n && !wallet.isLeasing) this.#wallets.delete(wallet.userId);
    }
  }

  /** Returns what others have asked for and no call here uses; to be called several times a second. */
  async returnWanted(): Promise<void> {
    const { store, replica } = this.#options;
    if (this.#wallets.size === 0) return;
    const wanted = (await store.wanted(replica.id)).values();
    const lane = async (): Promise<void> => {
      for (const { userId, newest } of wanted) {
        const wallet = this.#walletOf(userId);
        // Every statement that leases learns of wishes, and answers them after it.
        if (!wallet.isLeasing) await this.#returns.runFor(wallet, newest);
      }
    };
    await Promise.all(Array.from({ length: RETURN_LANES }, lane));
  }

  /** This replica was fenced and its leases were returned. Calls in flight continue and are charged as overdraft. */
  onFenced(): void {
    for (const wallet of this.#wallets.values()) {
      wallet.leased = 0n;
      wallet.version = 0n;
      wallet.returning = 0n;
      wallet.answered = 0n;
      wallet.isUncertain = false;
    }
  }

  /**
   * Stops leasing and waits for calls and statements.
   * False when calls are open after `timeoutMs`: their leases must stay.
   */
  async close(timeoutMs: number): Promise<boolean> {
    const closing = Promise.withResolvers<void>();
    this.#closing = closing;
    const cancel = this.#options.clock.after(timeoutMs, () => closing.resolve());
    this.#resolveIfIdle();
    await closing.promise;
    cancel();
    return this.#isIdle();
  }

  #isIdle(): boolean {
    return [...this.#wallets.values()].every((wallet) => wallet.open === 0 && !wallet.isLeasing);
  }

  #resolveIfIdle(): void {
    if (this.#closing && this.#isIdle()) this.#closing.resolve();
  }

  #covers(wallet: WalletState, maxCost: Nanos): boolean {
    return maxCost === 0n || (free(wallet) >= maxCost && this.#options.replica.isTrusted);
  }

  #reserve(wallet: WalletState, maxCost: Nanos): Reservation {
    wallet.open += 1;
    wallet.reserved += maxCost;
    // Not when a call arrives: calls that are rejected must not keep a lease that another replica needs.
    wallet.usedAt = this.#options.clock.elapsed();
    let isOpen = true;
    const end = (): void => {
      if (!isOpen) throw new Error('The reservation has ended already.');
      isOpen = false;
      wallet.open -= 1;
      wallet.reserved -= maxCost;
      wallet.usedAt = this.#options.clock.elapsed();
      this.#resolveIfIdle();
    };
    return {
      settle: (record) => {
        if (record.userId !== wallet.userId)
          throw new Error('The record belongs to another user than the reservation.');
        end();
        wallet.spent += record.charge;
        wallet.spending.add(Number(record.charge), this.#options.clock.elapsed());
        this.#options.append(record, wallet.isLow);
        if (record.charge > maxCost)
          this.#options.log.warn('usage.above_reservation', {
            record: record.id,
            nanos: `${record.charge}`,
            reserved: `${maxCost}`,
          });
      },
      release: end,
    };
  }

  #leaseAhead(wallet: WalletState): void {
    if (wallet.isLow || wallet.isLeasing) return;
    const now = this.#options.clock.elapsed();
    if (now >= wallet.aheadFrom && free(wallet) < fewCalls(wallet) + BigInt(wallet.spending.used(now)) / 2n)
      this.#lease(wallet);
  }

  /** Single flight per wallet: one statement leases for all waiting calls. */
  #lease(wallet: WalletState): void {
    if (wallet.isLeasing) return;
    if (this.#closing) {
      for (const waiter of wallet.waiting.splice(0)) waiter.reject(fail('shutting_down'));
      return;
    }
    wallet.isLeasing = true;
    this.#leaseForWaiting(wallet)
      .catch((error: unknown) => {
        wallet.isUncertain = true;
        wallet.wish = undefined;
        this.#options.log.warn('wallet_lease.failed', { user: wallet.userId, ...errorFields(error) });
        const failure = error instanceof ApiError ? error : balanceUnavailable(error);
        for (const waiter of wallet.waiting.splice(0)) waiter.reject(failure);
      })
      .finally(() => {
        wallet.isLeasing = false;
        if (wallet.waiting.length > 0) this.#lease(wallet);
        this.#resolveIfIdle();
      });
  }

  async #leaseForWaiting(wallet: WalletState): Promise<void> {
    const { store, replica, clock } = this.#options;
    let retries = LEASE_RETRIES;
    do {
      if (!replica.isTrusted) await replica.heartbeat();
      this.#serve(wallet);
      const lastMinute = BigInt(wallet.spending.used(clock.elapsed()));
      const ahead = wallet.typicalMaxCost * CALLS_AHEAD + lastMinute;
      let sum = -free(wallet);
      const needs = wallet.waiting.map(({ maxCost }) => {
        sum += maxCost;
        return sum;
      });
      const taken = await this.#take(wallet, { needs, ahead, recent: lastMinute }).catch(async (error: unknown) => {
        if (!(error instanceof ConnectionLost) || retries === 0) throw error;
        retries -= 1;
        await this.#readLost(wallet);
      });
      this.#serve(wallet);
      if (!taken) continue;
      const { granted, newest } = taken;
      wallet.isLow = free(wallet) < fewCalls(wallet);
      if (granted < (needs.at(-1) ?? 0n) + ahead / 2n) wallet.aheadFrom = clock.elapsed() + AHEAD_RETRY_MS;
      if (granted > 0n) wallet.wish = undefined;
      await this.#returns.answer(wallet, newest);
      if (granted <= 0n) await this.#wishForFirst(wallet);
    } while (wallet.waiting.length > 0 && !this.#closing);
    if (wallet.wish) await store.withdraw({ userId: wallet.userId, owner: replica.id });
    wallet.wish = undefined;
  }

  /** Whether the statement ran is in the lease. It may still run later: then the version of the lease says so. */
  async #readLost(wallet: WalletState): Promise<void> {
    wallet.isUncertain = true;
    await this.#returns.settle(wallet);
  }

  /** Wishes for what the first waiting call lacks. Rejects calls once no replica can return enough for them. */
  async #wishForFirst(wallet: WalletState): Promise<void> {
    const { store, replica, clock } = this.#options;
    const { userId } = wallet;
    for (let first = wallet.waiting[0]; first && !this.#closing; first = wallet.waiting[0]) {
      // What it has returned may be there again, or may not have left.
      await this.#returns.settle(wallet);
      this.#serve(wallet);
      if (wallet.waiting[0] !== first) continue;
      if (clock.elapsed() - first.since > WISH_MS) {
        wallet.waiting.shift();
        first.reject(balanceUnavailable());
        continue;
      }
      const isNew = wallet.wish?.waiter !== first;
      const { at } = (isNew ? undefined : wallet.wish) ?? { at: clock.elapsed() };
      wallet.wish = { waiter: first, at };
      const unused = free(wallet);
      const outlook = await store.wish({ userId, owner: replica.id, nanos: first.maxCost, unused, isNew });
      if (outlook.isFull) throw balanceUnavailable();
      this.#serve(wallet);
      rejectAbove(wallet, unused + outlook.payable, at);
      if (!outlook.isPayable) {
        wallet.wish = undefined;
        // Since the wish was made, money may have become free where it was answered early.
        wallet.shortUntil = { until: at + SHORT_MS, available: outlook.payable };
        return;
      }
      // After an answer it needs more of the wallet.
      if (await this.#returns.answer(wallet, outlook.newest)) continue;
      if (outlook.isReady) return;
      await pause(clock, WISH_TURN_MS);
    }
  }

  #serve(wallet: WalletState): void {
    for (let first = wallet.waiting[0]; first && this.#covers(wallet, first.maxCost); first = wallet.waiting[0]) {
      wallet.waiting.shift();
      first.resolve(this.#reserve(wallet, first.maxCost));
    }
  }

  async #take(wallet: WalletState, need: Omit<LeaseNeed, 'unit'>): Promise<LeaseTake> {
    const { store, replica } = this.#options;
    const { userId, typicalMaxCost } = wallet;
    const unit = typicalMaxCost > 0n ? typicalMaxCost : 1n;
    const take = () => store.take({ userId, replicaId: replica.id, ...need, unit });
    const result = await take().catch(async (error: unknown) => {
      // The row of this replica is gone because it was fenced and removed; the heartbeat registers a new id.
      if (!isForeignKeyViolation(error)) throw error;
      await replica.heartbeat();
      return take();
    });
    crashPoint('lease.taken');
    if (result.lease) this.#returns.apply(wallet, result.lease);
    return result;
  }

  #walletOf(userId: string): WalletState {
    const known = this.#wallets.get(userId);
    if (known) return known;
    const wallet = new WalletState(userId);
    this.#wallets.set(userId, wallet);
    if (this.#wallets.size === 1) this.#options.onUse?.();
    return wallet;
  }
}

const fewCalls = (wallet: WalletState): Nanos => (wallet.typicalMaxCost * CALLS_AHEAD) / 4n;

const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

/** Those that came after `asked` may be paid for by money that became free since then. */
function rejectAbove(wallet: WalletState, limit: Nanos, asked: number): void {
  const isPayable = ({ maxCost, since }: Waiter): boolean => maxCost <= limit || since > asked;
  const rejected = wallet.waiting.filter((waiter) => !isPayable(waiter));
  wallet.waiting.splice(0, wallet.waiting.length, ...wallet.waiting.filter(isPayable));
  for (const waiter of rejected) waiter.reject(new InsufficientBalance(limit));
}

const isForeignKeyViolation = (error: unknown): boolean => codeOf(error) === '23503';
