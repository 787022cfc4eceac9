/** Spend counters that several processes share: in Redis for all servers, or in the primary for the workers of one machine. */
import type { Nanos } from '../../core/index.ts';
import type { SpentAmounts } from './spend-counter.ts';

/** A key or a user with its limits, and its totals as the replica knows them. */
export interface SharedSpendScope {
  readonly owner: 'key' | 'user';
  readonly id: string;
  readonly userId: string;
  readonly limitDay: Nanos | undefined;
  readonly limitMonth: Nanos | undefined;
  readonly day: Nanos;
  readonly month: Nanos;
}

export interface SpendRequest {
  /** Id of the hold. */
  readonly id: string;
  readonly maxCost: Nanos;
  /** Days since 1970. */
  readonly day: number;
  /** Months since year 0. */
  readonly month: number;
  readonly scopes: readonly SharedSpendScope[];
}

export interface SharedSpendHold {
  end(cost: Nanos): void;
}

export interface SharedSpendLimits {
  /** False while the counters cannot be reached; each process then decides by its own. */
  readonly isUp: boolean;
  /**
   * Returns a hold, or the amounts of each scope when the call does not fit. Rejects with `Unavailable` to reject the call, and with any
   * other error to let this process decide alone.
   */
  reserve(request: SpendRequest): Promise<SharedSpendHold | readonly SpentAmounts[]>;
  /** A hold of a call that this process admitted. `mayExist` is false when the shared counters do not know the hold yet. */
  trackHold(request: SpendRequest, mayExist?: boolean): SharedSpendHold;
}
