/** The comparison of a call with its spend limits, and the error when it does not fit. */
import { fail, formatNanos, type Nanos } from '../../core/index.ts';
import { type SpentAmounts, spentAmounts } from './spend-counter.ts';
import { fitsLimit, type SpendScope } from './spend-counts.ts';

interface Rejection {
  readonly isSpent: boolean;
  readonly retryAfter: number;
  readonly message: string;
}

/** Throws when the call does not fit. Of several reasons, reports the one that lasts longest. */
export function rejectOverLimit(
  scopes: readonly SpendScope[],
  spent: readonly SpentAmounts[],
  maxCost: Nanos,
  now: number,
): void {
  const rejections = scopes.flatMap((scope, n) =>
    rejectionsOf(scope, spent[n] ?? spentAmounts(scope.counter), maxCost, now),
  );
  const [longest] = rejections.sort((a, b) => b.retryAfter - a.retryAfter);
  if (!longest) return;
  const { isSpent, retryAfter, message } = longest;
  throw fail(isSpent ? 'spend_limit_reached' : 'rate_limit_exceeded', message, { retryAfter });
}

function rejectionsOf(
  { counter, limits }: SpendScope,
  { day, month, reserved }: SpentAmounts,
  maxCost: Nanos,
  now: number,
): Rejection[] {
  const { owner, period } = counter;
  const periods = [
    ['day', limits.spendDay, day, period.dayEnds],
    ['month', limits.spendMonth, month, period.monthEnds],
  ] as const;
  return periods.flatMap(([name, limit, spent, ends]): Rejection[] => {
    if (limit === undefined || fitsLimit(limit, spent + reserved + maxCost)) return [];
    const begin = `Spend limit reached: this ${owner} may spend ${formatNanos(limit)} USD per ${name} (UTC) and has spent ${formatNanos(spent)}`;
    if (spent + maxCost <= limit) {
      const message = `${begin}; the rest is reserved for requests in flight. Please try again in 1s.`;
      return [{ isSpent: false, retryAfter: 1, message }];
    }
    const retryAfter = Math.max(1, Math.ceil((ends - now) / 1_000));
    const next = new Date(ends).toISOString().replace('.000Z', 'Z');
    const message = `${begin}; this request may cost up to ${formatNanos(maxCost)}. The next ${name} begins at ${next}.`;
    return [{ isSpent: true, retryAfter, message }];
  });
}
