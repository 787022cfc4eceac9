/** What a key, or all keys of a user together, may do: as it is stored, and as the path of a call reads it. */
import { formatNanos, type Nanos, parseNanos } from './money.ts';

/** As stored and shown: amounts are decimal dollars. */
export interface StoredLimits {
  readonly rpm?: number;
  readonly tpm?: number;
  readonly concurrency?: number;
  readonly spend_day?: string;
  readonly spend_month?: string;
}

/** Absent means without limit. */
export interface Limits {
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly spendDay?: Nanos | undefined;
  readonly spendMonth?: Nanos | undefined;
}

/** A key as limits see it; a call must fit both its own limits and those of its user. */
export interface LimitedKey {
  readonly id: string;
  readonly userId: string;
  /** Undefined when there are none at all, so that such calls pass without a look. */
  readonly limits?: Limits | undefined;
  readonly userLimits?: Limits | undefined;
}

export function readLimits(stored: StoredLimits): Limits | undefined {
  const { rpm, tpm, concurrency, spend_day: day, spend_month: month } = stored;
  const spendDay = day === undefined ? undefined : parseNanos(day);
  const spendMonth = month === undefined ? undefined : parseNanos(month);
  const limits = { rpm, tpm, concurrency, spendDay, spendMonth };
  return Object.values(limits).every((limit) => limit === undefined) ? undefined : limits;
}

export const showLimits = ({ rpm, tpm, concurrency, spendDay, spendMonth }: Limits = {}): StoredLimits => ({
  ...(rpm !== undefined && { rpm }),
  ...(tpm !== undefined && { tpm }),
  ...(concurrency !== undefined && { concurrency }),
  ...(spendDay !== undefined && { spend_day: formatNanos(spendDay) }),
  ...(spendMonth !== undefined && { spend_month: formatNanos(spendMonth) }),
});
