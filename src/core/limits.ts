/** Rate and spend limits of a key or a user: the stored form and the parsed form. */
import { formatNanos, type Nanos, parseNanos } from './money.ts';

/** The form in the database and the admin API; amounts are decimal dollars. */
export interface StoredLimits {
  readonly rpm?: number;
  readonly tpm?: number;
  readonly concurrency?: number;
  readonly spend_day?: string;
  readonly spend_month?: string;
  /** Of keys only: for their whole life. */
  readonly spend_total?: string;
}

/** The parsed form. An absent member means no limit. */
export interface Limits {
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly spendDay?: Nanos | undefined;
  readonly spendMonth?: Nanos | undefined;
  readonly spendTotal?: Nanos | undefined;
}

/** A key with its limits. A request must fit the limits of the key and of its user. */
export interface LimitedKey {
  readonly id: string;
  /** The first of the keys that this one replaces: they share what is spent. `id` by default. */
  readonly spendId?: string | undefined;
  readonly userId: string;
  /** Undefined when the key has no limit at all, so that its requests skip the limiter. */
  readonly limits?: Limits | undefined;
  readonly userLimits?: Limits | undefined;
}

export function readLimits(stored: StoredLimits): Limits | undefined {
  const { rpm, tpm, concurrency, spend_day: day, spend_month: month, spend_total: total } = stored;
  const nanosOf = (text: string | undefined): Nanos | undefined => (text === undefined ? undefined : parseNanos(text));
  const spend = { spendDay: nanosOf(day), spendMonth: nanosOf(month), spendTotal: nanosOf(total) };
  const limits = { rpm, tpm, concurrency, ...spend };
  return Object.values(limits).every((limit) => limit === undefined) ? undefined : limits;
}

export const showLimits = ({ rpm, tpm, concurrency, spendDay, spendMonth, spendTotal }: Limits = {}): StoredLimits => ({
  ...(rpm !== undefined && { rpm }),
  ...(tpm !== undefined && { tpm }),
  ...(concurrency !== undefined && { concurrency }),
  ...(spendDay !== undefined && { spend_day: formatNanos(spendDay) }),
  ...(spendMonth !== undefined && { spend_month: formatNanos(spendMonth) }),
  ...(spendTotal !== undefined && { spend_total: formatNanos(spendTotal) }),
});
