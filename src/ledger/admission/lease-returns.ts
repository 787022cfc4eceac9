/**
 * Returns of leases: what no call uses goes back to the wallet.
 * Statements fail, or arrive late; no money may be lost or returned twice by that.
 */
import { errorFields, type Log } from '../../core/index.ts';
import { crashPoint } from '../crash-points.ts';
import type { Replica } from '../records/replica.ts';
import type { LeaseState } from '../records/usage-writer.ts';
import type { LeaseStore } from './lease-queries.ts';
import { balanceUnavailable, free, type WalletState } from './wallet-state.ts';

export interface LeaseReturnsOptions {
  readonly store: LeaseStore;
  readonly replica: Pick<Replica, 'id'>;
  readonly log: Log;
}

/** Of a lease that changes meanwhile: each attempt that finds this out is followed by one that reads it. */
const ATTEMPTS = 4;

export class LeaseReturns {
  readonly #options: LeaseReturnsOptions;

  constructor(options: LeaseReturnsOptions) {
    this.#options = options;
  }

  /**
   * Answers a new wish of another owner, even with a wish of its own:
   * the database grants in the order of the wishes, not of the replies.
   */
  async answer(wallet: WalletState, newest: bigint | undefined): Promise<boolean> {
    if (newest === undefined || newest <= wallet.answered || wallet.leased === 0n) return false;
    return this.runFor(wallet, newest);
  }

  /**
   * Returns what is free for the wishes up to this one.
   * False when the lease changed again and again: others will ask again.
   */
  async runFor(wallet: WalletState, wish: bigint): Promise<boolean> {
    wallet.isLow = true;
    for (let left = ATTEMPTS; left > 0; left -= 1)
      if (await this.run(wallet, wish)) {
        wallet.answered = wish;
        return true;
      }
    return false;
  }

  /**
   * Waits for a return that is under way, and finds out what became of one that failed.
   * Throws while it is unknown where that money is.
   */
  async settle(wallet: WalletState): Promise<void> {
    await wallet.lastReturn;
    if (isUnclear(wallet)) await this.run(wallet);
    if (isUnclear(wallet)) throw balanceUnavailable();
  }

  /**
   * Returns what is free; true when all of it is returned.
   * One at a time, so that no result is taken for that of a later one.
   */
  run(wallet: WalletState, answer?: bigint): Promise<boolean> {
    const result = wallet.lastReturn.then(() => this.#runNext(wallet, answer));
    wallet.lastReturn = result;
    return result;
  }

  /**
   * Only from the known version, so that a late statement changes nothing.
   * If the lease may differ, it is only read, which also counts the version up.
   */
  async #runNext(wallet: WalletState, answer: bigint | undefined): Promise<boolean> {
    const { store, replica, log } = this.#options;
    const { userId } = wallet;
    const replicaId = replica.id;
    const isRead = isUnclear(wallet);
    const unused = free(wallet);
    if (!isRead && unused > 0n) wallet.returning = unused;
    const returned = isRead
      ? { nanos: 0n, version: undefined, answer: undefined }
      : { nanos: wallet.returning, version: wallet.version, answer };
    try {
      const lease = await store.giveBack({ userId, replicaId, ...returned });
      if (replicaId !== replica.id) return false;
      crashPoint('lease.returned');
      wallet.isUncertain = !lease && !isRead;
      if (wallet.isUncertain) return false;
      wallet.returning = 0n;
      if (lease) this.apply(wallet, lease);
      return !isRead;
    } catch (error) {
      log.warn('wallet_lease.failed', { user: userId, ...errorFields(error) });
      return false;
    }
  }

  /** Ignores results from before this replica was fenced, and results that arrive out of order. */
  apply(wallet: WalletState, { replicaId, nanos, version }: LeaseState): void {
    if (replicaId !== this.#options.replica.id || version <= wallet.version) return;
    wallet.leased = nanos;
    wallet.version = version;
  }
}

const isUnclear = ({ returning, isUncertain }: WalletState): boolean => returning > 0n || isUncertain;
