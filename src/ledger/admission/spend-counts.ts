/** Where spending is counted: in this process alone, in the primary of a worker, or in Redis. */
import { randomUUID } from 'node:crypto';
import { type Clock, DAY_MS, type Limits, type MaybePromise, type Nanos } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';

export interface SpendCounts {
  /**
   * Sets the maximum cost aside, or returns the amounts of each scope when it does not fit.
   * Rejects when nothing can be counted.
   */
  reserve(scopes: readonly SpendScope[], maxCost: Nanos): MaybePromise<Reserved>;
}
export type Reserved = SpendHold | readonly SpentAmounts[];

/** Times over which spending is limited; the last is the life of a key. */
export const PERIODS = ['day', 'month', 'total'] as const;
export type SpendPeriod = (typeof PERIODS)[number];

export const inEachPeriod = <T>(amountIn: (period: SpendPeriod) => T): Record<SpendPeriod, T> => ({
  day: amountIn('day'),
  month: amountIn('month'),
  total: amountIn('total'),
});

const LIMIT_NAMES = { day: 'spendDay', month: 'spendMonth', total: 'spendTotal' } as const;
export const limitIn = (limits: Limits, period: SpendPeriod): Nanos | undefined => limits[LIMIT_NAMES[period]];

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
  readonly id: string;
  readonly maxCost: string;
  readonly day: number;
  readonly month: number;
  readonly scopes: readonly {
    readonly name: string;
    readonly limits: Readonly<Record<SpendPeriod, string | undefined>>;
    readonly amounts: Readonly<Record<SpendPeriod, string>>;
  }[];
}

/**
 * Counts in this process. The other two keep its counters up to date,
 * so that they can ask it when nothing else responds.
 */
export class LocalSpend implements SpendCounts {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reserve(scopes: readonly SpendScope[], maxCost: Nanos): Reserved {
    this.#startPeriods(scopes);
    const isFitting = ({ counter, limits }: SpendScope): boolean =>
      fitsLimits((period) => limitIn(limits, period), spentAmounts(counter), maxCost);
    return scopes.every(isFitting) ? this.add(scopes, maxCost) : scopes.map(({ counter }) => spentAmounts(counter));
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
          limits: inEachPeriod((period) => limitIn(limits, period)?.toString()),
          amounts: inEachPeriod((period) => String(spent[period])),
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

export const fitsLimits = (limitOf: (period: SpendPeriod) => Nanos | undefined, spent: SpentAmounts, maxCost: Nanos) =>
  PERIODS.every((period) => fitsLimit(limitOf(period), spent[period] + spent.reserved + maxCost));

export const bothHolds = (one: SpendHold, other: SpendHold): SpendHold => ({
  end: (cost) => {
    one.end(cost);
    other.end(cost);
  },
});

export interface Amounts {
  day: Nanos;
  month: Nanos;
}

export interface SpentAmounts extends Readonly<Amounts> {
  /** In its life; that of the month alone where no limit needs it. */
  readonly total: Nanos;
  readonly reserved: Nanos;
}

export class PeriodAmounts {
  period: Period;
  recorded: Amounts = { day: 0n, month: 0n };
  /** Settled by this replica, and not in what was read of the roll-ups. */
  unrecorded: Amounts = { day: 0n, month: 0n };
  /** Before the current month; counted where a key has a limit for its life. */
  earlier: Nanos = 0n;

  constructor(at: number) {
    this.period = periodAt(at);
  }
}

export class SpendCounter extends PeriodAmounts {
  readonly owner: 'key' | 'user';
  readonly id: string;
  readonly userId: string;
  /** The maximum costs of calls in flight. They count in the period in which the calls end. */
  reserved: Nanos = 0n;
  isLoaded = false;
  /** When `earlier` was last read, by `clock.elapsed()`; undefined where no limit needs it. */
  earlierReadAt: number | undefined;
  /** By `clock.elapsed()`. */
  usedAt = 0;
  /** When the whole month was last read, by `clock.elapsed()`. */
  monthReadAt = Number.NEGATIVE_INFINITY;

  constructor(owner: 'key' | 'user', { id, userId, now }: { id: string; userId: string; now: number }) {
    super(now);
    this.owner = owner;
    this.id = id;
    this.userId = userId;
  }
}

interface Period {
  /** Days since 1970. */
  readonly day: number;
  /** Months since year 0. */
  readonly month: number;
  readonly dayEnds: number;
  readonly monthEnds: number;
}

export const counterName = (owner: SpendCounter['owner'], id: string): string => `${owner}:${id}`;

export function periodAt(at: number): Period {
  const time = new Date(at);
  const day = Math.floor(at / DAY_MS);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return { day, month: year * 12 + month, dayEnds: (day + 1) * DAY_MS, monthEnds: Date.UTC(year, month + 1) };
}

export function startPeriod(counter: PeriodAmounts, at: number): void {
  if (at < counter.period.dayEnds) return;
  const period = periodAt(at);
  counter.recorded.day = 0n;
  counter.unrecorded.day = 0n;
  if (period.month !== counter.period.month) {
    counter.earlier += counter.recorded.month + counter.unrecorded.month;
    counter.recorded.month = 0n;
    counter.unrecorded.month = 0n;
  }
  counter.period = period;
}

/** Adds an amount to the day and the month of the record, if they are the current ones, or to what was before. */
export function addSpent(
  counter: PeriodAmounts,
  kind: 'recorded' | 'unrecorded',
  { at }: UsageRecord,
  nanos: Nanos,
): void {
  startPeriod(counter, at);
  const { day, month } = periodAt(at);
  const amounts = counter[kind];
  if (day === counter.period.day) amounts.day += nanos;
  if (month === counter.period.month) amounts.month += nanos;
  else counter.earlier += nanos;
}

export function spentAmounts({ recorded, unrecorded, earlier, reserved }: SpendCounter): SpentAmounts {
  const month = recorded.month + unrecorded.month;
  return { day: recorded.day + unrecorded.day, month, total: earlier + month, reserved };
}
