/** What one key or one user has spent in the current UTC day and calendar month, as this replica counts it. */
import type { Nanos } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';

export interface Amounts {
  day: Nanos;
  month: Nanos;
}

export interface SpentAmounts {
  readonly day: Nanos;
  readonly month: Nanos;
  /** Set aside for calls in flight. */
  readonly reserved: Nanos;
}

export interface PeriodAmounts {
  period: Period;
  /** In the roll-ups. */
  recorded: Amounts;
  /** Settled by this replica, and not in what was read of the roll-ups. */
  unrecorded: Amounts;
}

export interface SpendCounter extends PeriodAmounts {
  readonly owner: 'key' | 'user';
  readonly id: string;
  readonly userId: string;
  /** The maximum costs of calls in flight. They count in the period in which the calls end. */
  reserved: Nanos;
  isLoaded: boolean;
  /** By `clock.elapsed()`. */
  usedAt: number;
  /** When the whole month was last read, by `clock.elapsed()`. */
  monthReadAt: number;
}

/** The day and month of a moment, and when they end. */
interface Period {
  /** Days since 1970. */
  readonly day: number;
  /** Months since year 0. */
  readonly month: number;
  readonly dayEnds: number;
  readonly monthEnds: number;
}

const DAY_MS = 86_400_000;

export const createCounter = (
  owner: SpendCounter['owner'],
  { id, userId, now }: { id: string; userId: string; now: number },
): SpendCounter => ({
  owner,
  id,
  userId,
  period: periodAt(now),
  recorded: { day: 0n, month: 0n },
  unrecorded: { day: 0n, month: 0n },
  reserved: 0n,
  isLoaded: false,
  usedAt: 0,
  monthReadAt: Number.NEGATIVE_INFINITY,
});

export const counterName = (owner: SpendCounter['owner'], id: string): string => `${owner}:${id}`;

export function periodAt(at: number): Period {
  const time = new Date(at);
  const day = Math.floor(at / DAY_MS);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return { day, month: year * 12 + month, dayEnds: (day + 1) * DAY_MS, monthEnds: Date.UTC(year, month + 1) };
}

/** Resets the amounts of a day or month that has ended. */
export function startPeriod(counter: PeriodAmounts, at: number): void {
  if (at < counter.period.dayEnds) return;
  const period = periodAt(at);
  counter.recorded.day = 0n;
  counter.unrecorded.day = 0n;
  if (period.month !== counter.period.month) {
    counter.recorded.month = 0n;
    counter.unrecorded.month = 0n;
  }
  counter.period = period;
}

/** Adds an amount to the day and the month of the record, if they are the current ones. */
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
}

export const spentAmounts = ({ recorded, unrecorded, reserved }: SpendCounter): SpentAmounts => ({
  day: recorded.day + unrecorded.day,
  month: recorded.month + unrecorded.month,
  reserved,
});
