/** The state of one wallet in one replica: its lease, its reservations and the calls that wait for money. */
import type { Nanos } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import { RecentSpending } from './recent-spending.ts';

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
  /** A statement that leases failed. The database may have run it, so the lease there may be larger than `leased`. */
  isUncertain: boolean;
  /** Moving average of recent maximum costs, with a bias to larger ones. */
  typicalMaxCost: Nanos;
  readonly spending: RecentSpending;
  readonly waiting: Waiter[];
  isLeasing: boolean;
  /** Waits for other replicas to return what they do not use. */
  isAsking: boolean;
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
  typicalMaxCost: 0n,
  spending: new RecentSpending(),
  waiting: [],
  isLeasing: false,
  isAsking: false,
  isLow: false,
  aheadFrom: 0,
  usedAt: 0,
  shortUntil: undefined,
});

export const free = (wallet: WalletState): Nanos => wallet.leased - wallet.reserved - wallet.spent - wallet.returning;
