/** The state of one wallet in one replica: its lease, its reservations and the calls that wait for money. */
import { ApiError, fail, type Nanos, overloaded, RateWindow } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';

/** The right to make one call. Exactly one of the methods ends it, once. */
export interface Reservation {
  /** Charges the record in full, also above the reserved maximum, and frees the rest. */
  settle(record: UsageRecord): void;
  release(): void;
}

/** A wallet as this replica sees it. free = leased - reserved - spent - returning. */
export class WalletState {
  readonly userId: string;
  /** The amount in the database, at `version`. */
  leased: Nanos = 0n;
  version = 0n;
  /** Number of calls in flight, and the sum of their maximum costs. */
  open = 0;
  reserved: Nanos = 0n;
  spent: Nanos = 0n;
  /** Being returned to the wallet. After a failed statement it is unknown whether it arrived. */
  returning: Nanos = 0n;
  /**
   * A statement failed that the database may have run,
   * or its version of the lease was another one: `leased` may be wrong.
   */
  isUncertain = false;
  /** Ends with the last return that was begun. Never rejects. */
  lastReturn: Promise<unknown> = Promise.resolve();
  answered = 0n;
  /** Moving average of recent maximum costs, with a bias to larger ones. */
  typicalMaxCost: Nanos = 0n;
  readonly spending = new RateWindow();
  readonly waiting: Waiter[] = [];
  isLeasing = false;
  /** The wish for money that others have leased: the call that it is for, and when it was made. */
  wish: { readonly waiter: Waiter; readonly at: number } | undefined;
  /** The wallet has little left: nothing is leased ahead of need. */
  isLow = false;
  /**
   * The last lease was short of what was wanted ahead: until then, by `clock.elapsed()`, none is taken ahead of need.
   */
  aheadFrom = 0;
  /** By `clock.elapsed()`, as is `until` below: a clock that is set back must not prolong a rejection. */
  usedAt = 0;
  /** The last rejection: until then no statement is sent for a call that needs more than was available. */
  shortUntil: { readonly until: number; readonly available: Nanos } | undefined;

  constructor(userId: string) {
    this.userId = userId;
  }
}

export interface Waiter {
  readonly maxCost: Nanos;
  /** When it came, by `clock.elapsed()`. */
  readonly since: number;
  resolve(reservation: Reservation): void;
  reject(error: Error): void;
}

export const free = (wallet: WalletState): Nanos => wallet.leased - wallet.reserved - wallet.spent - wallet.returning;

export class InsufficientBalance extends ApiError {
  /** What the balance covers, reservations of other calls deducted; undefined when it was not read. */
  readonly available: Nanos | undefined;

  constructor(available: Nanos | undefined, message?: string, param?: string) {
    const { code, message: usual } = fail('insufficient_balance');
    super(code, message ?? usual, param === undefined ? {} : { param });
    this.available = available;
  }
}

/** The rejection of a call when it stays unknown in time whether the balance covers it. */
export const balanceUnavailable = (cause?: unknown): ApiError =>
  overloaded('The balance is temporarily unavailable; retry shortly.', 1, cause);
