/** Where spending is counted: in this process alone, in the primary of a worker, or in Redis. */
import { randomUUID } from 'node:crypto';
import type { Clock, Limits, MaybePromise, Nanos } from '../../core/index.ts';
import {
  counterName,
  periodAt,
  type SpendCounter,
  type SpentAmounts,
  spentAmounts,
  startPeriod,
} from './spend-counter.ts';

export interface SpendCounts {
  /**
   * Sets the maximum cost of a call aside, or returns the amounts of each scope when the call does not fit. Rejects when nothing can be
   * counted.
   */
  reserve(scopes: readonly SpendScope[], maxCost: Nanos): MaybePromise<SpendHold | readonly SpentAmounts[]>;
}

/** A key or a user with a spend limit. */
export interface SpendScope {
  readonly counter: SpendCounter;
  readonly limits: Limits;
}

/** Money set aside for one call; ends once, with the cost of the call. */
export interface SpendHold {
  end(cost: Nanos): void;
}

/** A reservation with what this process knows of its scopes. Amounts are text, because JSON has no bigint. */
export interface SpendQuestion {
  /** Id of the hold. */
  readonly id: string;
  readonly maxCost: string;
  /** Days since 1970. */
  readonly day: number;
  /** Months since year 0. */
  readonly month: number;
  readonly scopes: readonly {
    readonly name: string;
    readonly limitDay: string | undefined;
    readonly limitMonth: string | undefined;
    readonly day: string;
    readonly month: string;
  }[];
}

/** Counts in this process. The other two keep its counters up to date, so that they can ask it when nothing else responds. */
export class LocalSpend implements SpendCounts {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reserve(scopes: readonly SpendScope[], maxCost: Nanos): SpendHold | readonly SpentAmounts[] {
    this.#startPeriods(scopes);
    const spent = scopes.map(({ counter }) => spentAmounts(counter));
    const isFitting = scopes.every(({ limits: { spendDay, spendMonth } }, n) => {
      const { day = 0n, month = 0n, reserved = 0n } = spent[n] ?? {};
      return fitsLimit(spendDay, day + reserved + maxCost) && fitsLimit(spendMonth, month + reserved + maxCost);
    });
    return isFitting ? this.add(scopes, maxCost) : spent;
  }

  /** Sets the amount aside without a check, because the call is already admitted. */
  add(scopes: readonly SpendScope[], maxCost: Nanos): SpendHold {
    for (const { counter } of scopes) counter.reserved += maxCost;
    return {
      end: () => {
        for (const { counter } of scopes) counter.reserved -= maxCost;
      },
    };
  }

  question(scopes: readonly SpendScope[], maxCost: Nanos): SpendQuestion {
    const { day, month } = periodAt(this.#startPeriods(scopes));
    return {
      id: randomUUID(),
      maxCost: String(maxCost),
      day,
      month,
      scopes: scopes.map(({ counter, limits }) => {
        const spent = spentAmounts(counter);
        return {
          name: counterName(counter.owner, counter.id),
          limitDay: limits.spendDay?.toString(),
          limitMonth: limits.spendMonth?.toString(),
          day: String(spent.day),
          month: String(spent.month),
        };
      }),
    };
  }

  #startPeriods(scopes: readonly SpendScope[]): number {
    const now = this.#clock.now();
    for (const { counter } of scopes) startPeriod(counter, now);
    return now;
  }
}

export const fitsLimit = (limit: Nanos | undefined, amount: Nanos): boolean => limit === undefined || amount <= limit;

/** A hold that ends here and where others count. */
export const bothHolds = (one: SpendHold, other: SpendHold): SpendHold => ({
  end: (cost) => {
    one.end(cost);
    other.end(cost);
  },
});
