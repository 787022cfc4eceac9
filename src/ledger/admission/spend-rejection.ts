/** The comparison of a call with its spend limits, and the error when it does not fit. */
import { fail, formatNanos, type Nanos } from '../../core/index.ts';
import { fitsLimit, limitIn, PERIODS, type SpendScope, type SpentAmounts, spentAmounts } from './spend-counts.ts';

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
  const longest = rejections.reduce<Rejection | undefined>(
    (last, one) => (last && last.retryAfter >= one.retryAfter ? last : one),
    undefined,
  );
  if (!longest) return;
  const { isSpent, retryAfter, message } = longest;
  // A limit for life ends with a change of the operator only.
  const when = Number.isFinite(retryAfter) ? { retryAfter } : {};
  throw fail(isSpent ? 'spend_limit_reached' : 'rate_limit_exceeded', message, when);
}

function rejectionsOf({ counter, limits }: SpendScope, given: SpentAmounts, maxCost: Nanos, now: number): Rejection[] {
  const { reserved, ...amounts } = given;
  const { owner, period } = counter;
  const ends = { day: period.dayEnds, month: period.monthEnds, total: undefined };
  return PERIODS.flatMap((name): Rejection[] => {
    const limit = limitIn(limits, name);
    const spent = amounts[name];
    if (limit === undefined || fitsLimit(limit, spent + reserved + maxCost)) return [];
    const over = name === 'total' ? 'in all' : `per ${name} (UTC)`;
    const begin =
      `Spend limit reached: this ${owner} may spend ${formatNanos(limit)} USD ${over} ` +
      `and has spent ${formatNanos(spent)}`;
    if (spent + maxCost <= limit) {
      const message = `${begin}; the rest is reserved for requests in flight. Please try again in 1s.`;
      return [{ isSpent: false, retryAfter: 1, message }];
    }
    const cost = `this request may cost up to ${formatNanos(maxCost)}`;
    const end = ends[name];
    if (end === undefined)
      return [{ isSpent: true, retryAfter: Number.POSITIVE_INFINITY, message: `${begin}; ${cost}.` }];
    const retryAfter = Math.max(1, Math.ceil((end - now) / 1_000));
    const next = new Date(end).toISOString().replace('.000Z', 'Z');
    return [{ isSpent: true, retryAfter, message: `${begin}; ${cost}. The next ${name} begins at ${next}.` }];
  });
}
