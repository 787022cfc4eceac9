/**
 * Money amounts as nano-dollars in a bigint, with exact conversion from
 * and to decimal strings. No float ever holds an amount.
 */

export type Nanos = bigint;

const DECIMALS = 9;
const DECIMAL = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?$/;

/** "1.25" -> 1_250_000_000n; undefined unless the text is a plain decimal number with at most nine decimal places. */
export function parseNanos(text: string): Nanos | undefined {
  const match = DECIMAL.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = ''] = match;
  const nanos = BigInt(whole) * 10n ** 9n + BigInt(fraction.padEnd(DECIMALS, '0'));
  return sign ? -nanos : nanos;
}

const ZERO = '0'.charCodeAt(0);

/** 1_250_000_000n -> "1.25". */
export function formatNanos(nanos: Nanos): string {
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(DECIMALS + 1, '0');
  const point = digits.length - DECIMALS;
  // Without a regular expression, because exports format millions of amounts.
  let end = digits.length;
  while (end > point && digits.charCodeAt(end - 1) === ZERO) end -= 1;
  const fraction = end > point ? `.${digits.slice(point, end)}` : '';
  return `${nanos < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`;
}

/** Parses a multiplier into parts per million: "1.5" -> 1_500_000. Rejects finer values instead of rounding them. */
export function parsePpm(text: string): number | undefined {
  const nanos = parseNanos(text);
  if (nanos === undefined || nanos < 0n || nanos % 1000n !== 0n) return undefined;
  return Number(nanos / 1000n);
}
