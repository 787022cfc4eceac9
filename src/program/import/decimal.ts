/**
 * Exact arithmetic on decimal text: amounts and ratios of other gateways are decimals or floats, and none may lose a
 * digit on its way.
 */
import { decimalOf } from '../../catalog/setup/index.ts';
import { formatNanos, type Nanos } from '../../core/index.ts';

const NANO_PLACES = 9;

interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

function parse(text: string): Decimal {
  const plain = /e/i.test(text) ? decimalOf(Number(text)) : text.trim();
  const match = /^(-?)(\d*)\.?(\d*)$/.exec(plain);
  if (!match || plain === '') throw new TypeError(`"${text.slice(0, 40)}" is not a decimal number`);
  const [, sign, whole = '', fraction = ''] = match;
  const digits = BigInt(`0${whole}${fraction}`);
  return { digits: sign ? -digits : digits, places: fraction.length };
}

const power = (places: number): bigint => 10n ** BigInt(places);

/** The nearest amount, half away from zero. */
function nearest(numerator: bigint, denominator: bigint): Nanos {
  const size = numerator < 0n ? -numerator : numerator;
  const rounded = (2n * size + denominator) / (2n * denominator);
  return numerator < 0n ? -rounded : rounded;
}

/** The product as an amount with at most nine places. */
export function productOf(...factors: readonly string[]): string {
  const all = factors.map(parse);
  const digits = all.reduce((product, factor) => product * factor.digits, 1n);
  const places = all.reduce((sum, factor) => sum + factor.places, 0);
  return formatNanos(nearest(digits * power(NANO_PLACES), power(places)));
}

/** `amount / unit`, and whether nothing was rounded. */
export function quotientOf(amount: string, unit: string): { readonly nanos: Nanos; readonly isExact: boolean } {
  const [a, b] = [parse(amount), parse(unit)];
  if (b.digits <= 0n) throw new TypeError(`"${unit.slice(0, 40)}" is not a positive number`);
  const numerator = a.digits * power(NANO_PLACES + b.places);
  const denominator = b.digits * power(a.places);
  return { nanos: nearest(numerator, denominator), isExact: numerator % denominator === 0n };
}

export const nanosOf = (text: string): Nanos => quotientOf(text, '1').nanos;
