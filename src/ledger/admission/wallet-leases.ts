/**
 * Admission without a database write: a replica leases part of a wallet and reserves the maximum cost of each call from it in memory.
 * All replicas together never admit more than the wallet holds. When the wallet is low, each call is leased for separately.
 * Reasons: docs/adr/0006-wallet-leases.md
 */
import { ApiError, type Clock, errorFields, fail, type Log, type Nanos } from '../../core/index.ts';
import { crashPoint } from '../crash-points.ts';
import type { Replica } from '../records/replica.ts';
import type { LeaseState } from '../records/usage-writer.ts';
import { MAX_COST, type UsageRecord } from '../usage-record.ts';
import { InsufficientBalance } from './insufficient-balance.ts';
import type { LeaseNeed } from './lease-grant.ts';
import type { LeaseStore, LeaseTake } from './lease-queries.ts';
import { createWalletState, free, type Reservation, type WalletState } from './wallet-state.ts';

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
 * A lease covers this many calls ahead, and what its wallet spent in the last minute. It is renewed when a quarter of the calls, or half of
 * the minute is left: that is what a user keeps while the database is away. One statement serves even more calls, because most use little
 * of their maximum.
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
/** How often a replica checks whether others need what it has leased, and how often those check whether it was returned. */
export const RETURN_WANTED_MS = 250;
/** The most that a call waits for other replicas: two of their turns and the statements. */
const ASK_TURNS = 4;

export class WalletLeases {
  readonly #options: WalletLeasesOptions;
  readonly #wallets = new Map<string, WalletState>();
  /** Set once nothing more is leased; resolves when no call is open any more. */
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(options: WalletLeasesOptions) {
    this.#options = options;
  }

  /** Nothing is leased or in use. */
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
      wallet.waiting.push({ maxCost, resolve, reject });
      this.#lease(wallet);
    });
  }

  /** Records are in the database, and `leases` are the leases after their charges. */
  onFlushed(records: readonly UsageRecord[], leases: readonly LeaseState[]): void {
    for (const record of records) {
      const wallet = this.#wallets.get(record.userId);
      if (wallet) wallet.spent -= record.charge;
    }
    for (const lease of leases) this.#apply(lease);
  }

  /** Returns money that idle users do not need; to be called every second or so. */
  async returnIdle(): Promise<void> {
    const now = this.#options.clock.elapsed();
    for (const wallet of [...this.#wallets.values()]) {
      // Unrecorded charges will be drawn from the lease, so nothing is returned before they are recorded.
      if (wallet.spent !== 0n || wallet.isLeasing || wallet.waiting.length > 0) continue;
      if (now - wallet.usedAt < (wallet.isLow ? LOW_IDLE_MS : IDLE_MS)) continue;
      if (wallet.returning > 0n || wallet.isUncertain || free(wallet) > 0n) await this.#return(wallet);
      else if (wallet.open === 0 && wallet.leased === 0n && !wallet.isLeasing) this.#wallets.delete(wallet.userId);
    }
  }

  /** Returns what other replicas have asked for and no call here uses; to be called several times a second. */
  async returnWanted(): Promise<void> {
    const { store, replica } = this.#options;
    if (this.#wallets.size === 0) return;
    for (const userId of await store.wanted(replica.id)) {
      const wallet = this.#walletOf(userId);
      // Of two replicas that ask each other, both return what they have, and the first to lease again gets it.
      if (wallet.isLeasing && !wallet.isAsking) continue;
      wallet.isLow = true;
      await this.#return(wallet);
      // The first statement may have found a lease whose grant was lost.
      if (free(wallet) > 0n) await this.#return(wallet);
    }
  }

  /** This replica was fenced and its leases were returned. Calls in flight continue and are charged as overdraft. */
  onFenced(): void {
    for (const wallet of this.#wallets.values()) {
      wallet.leased = 0n;
      wallet.version = 0n;
      wallet.returning = 0n;
      wallet.isUncertain = false;
    }
  }

  /**
   * Stops leasing and waits until every call has ended and no statement is running. Returns false when calls are still open after
   * `timeoutMs`: their charges will be drawn from the leases, so the leases must stay.
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
        wallet.spending.add(record.charge, this.#options.clock.elapsed());
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
    if (now >= wallet.aheadFrom && free(wallet) < fewCalls(wallet) + wallet.spending.lastMinute(now) / 2n)
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
    const { replica, clock } = this.#options;
    let turn = 0;
    let isLast = false;
    do {
      if (!replica.isTrusted) await replica.heartbeat();
      this.#serve(wallet);
      const lastMinute = wallet.spending.lastMinute(clock.elapsed());
      const ahead = wallet.typicalMaxCost * CALLS_AHEAD + lastMinute;
      let sum = -free(wallet);
      const needs = wallet.waiting.map(({ maxCost }) => {
        sum += maxCost;
        return sum;
      });
      const { granted, available } = await this.#take(wallet, { needs, ahead, recent: lastMinute });
      this.#serve(wallet);
      wallet.isLow = free(wallet) < fewCalls(wallet);
      if (granted < (needs.at(-1) ?? 0n) + ahead / 2n) wallet.aheadFrom = clock.elapsed() + AHEAD_RETRY_MS;
      if (granted > 0n || wallet.waiting.length === 0) continue;
      const elsewhere = turn < ASK_TURNS ? await this.#ask(wallet, available, turn === 0) : 0n;
      turn += 1;
      // What was asked for may have been returned after the lease was tried.
      if (turn > 1 && elsewhere === 0n && !isLast) {
        isLast = true;
        continue;
      }
      rejectAbove(wallet, free(wallet) + available + elsewhere);
      if (elsewhere > 0n) {
        wallet.isAsking = true;
        await pause(clock, RETURN_WANTED_MS);
        wallet.isAsking = false;
      } else wallet.shortUntil = { until: clock.elapsed() + SHORT_MS, available };
    } while (wallet.waiting.length > 0 && !this.#closing);
  }

  /** Asks the other replicas for what the cheapest waiting call lacks. Returns how much they may still return. */
  #ask(wallet: WalletState, available: Nanos, isFirst: boolean): Promise<Nanos> {
    const { store, replica } = this.#options;
    const minCost = wallet.waiting.reduce((min, { maxCost }) => (maxCost < min ? maxCost : min), MAX_COST);
    const missing = minCost - free(wallet) - available;
    return store.ask({ userId: wallet.userId, replicaId: replica.id, missing, isFirst });
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
    if (result.lease) this.#apply(result.lease);
    return result;
  }

  /**
   * Returns what is free, but only from the known version of the lease: a statement that runs late then changes nothing. After a failed
   * statement `returning` stays set, and the next attempt only reads the lease, which also counts the version up; so does one with
   * nothing to return.
   */
  async #return(wallet: WalletState): Promise<void> {
    const { store, replica, log } = this.#options;
    const { userId } = wallet;
    const replicaId = replica.id;
    const isUnknown = wallet.returning > 0n;
    const unused = free(wallet);
    if (!isUnknown && unused > 0n) wallet.returning = unused;
    try {
      const lease = await store.giveBack({
        userId,
        replicaId,
        nanos: isUnknown ? 0n : wallet.returning,
        version: isUnknown || wallet.returning === 0n ? undefined : wallet.version,
      });
      if (replicaId !== replica.id) return;
      crashPoint('lease.returned');
      // The lease has changed meanwhile; the next attempt reads it.
      if (!lease && !isUnknown && wallet.returning > 0n) return;
      wallet.returning = 0n;
      wallet.isUncertain = false;
      if (lease) this.#apply(lease);
    } catch (error) {
      log.warn('wallet_lease.failed', { user: userId, ...errorFields(error) });
    }
  }

  /** Ignores results from before this replica was fenced, and results that arrive out of order. */
  #apply({ replicaId, userId, nanos, version }: LeaseState): void {
    if (replicaId !== this.#options.replica.id) return;
    const wallet = this.#wallets.get(userId);
    if (!wallet || version <= wallet.version) return;
    wallet.leased = nanos;
    wallet.version = version;
  }

  #walletOf(userId: string): WalletState {
    const known = this.#wallets.get(userId);
    if (known) return known;
    const wallet = createWalletState(userId);
    this.#wallets.set(userId, wallet);
    if (this.#wallets.size === 1) this.#options.onUse?.();
    return wallet;
  }
}

/** A wallet with less than this is low. */
const fewCalls = (wallet: WalletState): Nanos => (wallet.typicalMaxCost * CALLS_AHEAD) / 4n;

const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

function rejectAbove(wallet: WalletState, limit: Nanos): void {
  const rejected = wallet.waiting.filter(({ maxCost }) => maxCost > limit);
  wallet.waiting.splice(0, wallet.waiting.length, ...wallet.waiting.filter(({ maxCost }) => maxCost <= limit));
  for (const waiter of rejected) waiter.reject(new InsufficientBalance(limit));
}

const balanceUnavailable = (cause: unknown): ApiError =>
  fail('server_is_overloaded', 'The balance is temporarily unavailable; retry shortly.', { retryAfter: 1, cause });

const isForeignKeyViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23503';
