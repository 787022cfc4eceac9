/** Rates of public price lists as text: decimals without float arithmetic, factors, and single rates for comparison. */
import type { z } from 'zod';
import { formatNanos, parseNanos } from '../../core/index.ts';
import { lacksOutput, type Prices } from '../../schemas/index.ts';

/** Decimal dollars by rate name, as in the configuration. */
export type ListedRates = z.infer<typeof Prices>;

/** A member of `ListedRates`: an amount, a table of amounts, or a list or table of rates. */
type Listed = string | number | readonly Listed[] | { readonly [name: string]: Listed };

export type ListedPrice =
  | { readonly windows: readonly ListedWindow[]; readonly remarks: readonly string[] }
  | { readonly skip: string };

export interface ListedLimits {
  readonly context: number | undefined;
  readonly maxOutput: number | undefined;
}

export interface ListedWindow {
  readonly from?: string;
  readonly rates: ListedRates;
}

const DECIMALS = 9;

/**
 * The shortest decimal text of the number, with the point moved left by `places`. Works on text, because float
 * arithmetic is inexact.
 */
export function decimalOf(number: number, places = 0): string {
  const [digits = '', exponent = '0'] = String(number).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = Number(exponent) - places;
  const all = `${whole}${fraction}`.padStart(1 - shift + fraction.length, '0');
  const point = all.length - fraction.length + shift;
  const left = all
    .slice(0, Math.max(point, 0))
    .padEnd(point, '0')
    .replace(/^0+(?=\d)/, '');
  const right = all.slice(Math.max(point, 0)).replace(/0+$/, '');
  return `${left || '0'}${right && `.${right}`}`;
}

/** A decimal times a whole number, rounded up to the nine places that an amount can have. */
export function amountOf(decimal: string, times = 1n): string {
  const [whole = '', fraction = ''] = decimal.split('.');
  const scaled = BigInt(`${whole}${fraction}`) * times * 10n ** BigInt(DECIMALS);
  const unit = 10n ** BigInt(fraction.length);
  return formatNanos((scaled + unit - 1n) / unit);
}

/** Rounds products up, so that a factor never makes a rate cheaper than the exact one. */
export function multiplyRates(rates: ListedRates, ppm: bigint): ListedRates {
  const multiply = (value: Listed): Listed => {
    if (typeof value === 'number') return value;
    if (typeof value === 'string') return formatNanos(((parseNanos(value) ?? 0n) * ppm + 999_999n) / 1_000_000n);
    if (Array.isArray(value)) return value.map(multiply);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, multiply(member)]));
  };
  return multiply(rates as Listed) as ListedRates;
}

/** Every single rate by a name for people, such as `input above 200000` or `tiers.priority.input`. */
export function singleRates(rates: unknown, path = ''): Map<string, string> {
  const all = new Map<string, string>();
  for (const [name, value] of Object.entries((rates ?? {}) as Record<string, Listed>)) {
    if (typeof value === 'string') all.set(path + name, value);
    else if (name === 'steps' && Array.isArray(value))
      for (const { above, ...step } of value as readonly { above: number }[])
        for (const [rate, amount] of singleRates(step, path)) all.set(`${rate} above ${above}`, amount);
    else if (typeof value === 'object')
      for (const [rate, amount] of singleRates(value, `${path}${name}.`)) all.set(rate, amount);
  }
  return all;
}

/** A list gives no price of output for models that write nothing, such as those of embeddings. */
export function withOutput(rates: ListedRates): { readonly rates: ListedRates; readonly remarks: readonly string[] } {
  if (!lacksOutput(rates)) return { rates, remarks: [] };
  return { rates: { ...rates, output: '0' }, remarks: ['the list has no price of output, which is imported as 0'] };
}
