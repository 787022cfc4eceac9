/** The state of one wallet in one replica: its lease, its reservations and the calls that wait for money. */
import { type Nanos, RateWindow } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';

/** The right to make one call. Exactly one of the methods ends it, once. */
export interface Reservation {
  /** Charges the record in full, also above the reserved maximum, and frees the rest. */
  settle(record: UsageRecord): void;
  /** Ends the call without a charge. */
  release(): void;
}

/** A wallet as this replica sees it. free = leased - reserved - spent - returning. */
export interface WalletState {
  readonly userId: string;
  /** The amount in the database, at `version`. */
  leased: Nanos;
  version: bigint;
  /** Number of calls in flight, and the sum of their maximum costs. */
  open: number;
  reserved: Nanos;
  /** Settled, and not in the database yet. */
  spent: Nanos;
  /** Being returned to the wallet. After a failed statement it is unknown whether it arrived. */
  returning: Nanos;
  /** A statement failed that the database may have run, or its version of the lease was another one: `leased` may be wrong. */
  isUncertain: boolean;
  /** Ends with the last return that was begun. Never rejects. */
  lastReturn: Promise<unknown>;
  /** The newest wish of others that the lease was returned for. */
  answered: bigint;
  /** Moving average of recent maximum costs, with a bias to larger ones. */
  typicalMaxCost: Nanos;
  readonly spending: RateWindow;
  readonly waiting: Waiter[];
  isLeasing: boolean;
  /** The wish for money that others have leased: the call that it is for, and when it was made. */
  wish: { readonly waiter: Waiter; readonly at: number } | undefined;
  /** The wallet has little left: nothing is leased ahead of need. */
  isLow: boolean;
  /** The last lease was short of what was wanted ahead: until then, by `clock.elapsed()`, none is taken ahead of need. */
  aheadFrom: number;
  /** By `clock.elapsed()`, as is `until` below: a clock that is set back must not prolong a rejection. */
  usedAt: number;
  /** The last rejection: until then no statement is sent for a call that needs more than was available. */
  shortUntil: { readonly until: number; readonly available: Nanos } | undefined;
}

export interface Waiter {
  readonly maxCost: Nanos;
  /** When it came, by `clock.elapsed()`. */
  readonly since: number;
  resolve(reservation: Reservation): void;
  reject(error: Error): void;
}

export const createWalletState = (userId: string): WalletState => ({
  userId,
  leased: 0n,
  version: 0n,
  open: 0,
  reserved: 0n,
  spent: 0n,
  returning: 0n,
  isUncertain: false,
  lastReturn: Promise.resolve(),
  answered: 0n,
  typicalMaxCost: 0n,
  spending: new RateWindow(),
  waiting: [],
  isLeasing: false,
  wish: undefined,
  isLow: false,
  aheadFrom: 0,
  usedAt: 0,
  shortUntil: undefined,
});

export const free = (wallet: WalletState): Nanos => wallet.leased - wallet.reserved - wallet.spent - wallet.returning;
