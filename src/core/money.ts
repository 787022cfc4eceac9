/**
 * Money is nano-dollars in a bigint, from the configuration file to the ledger; no float ever holds an amount.
 * Decimal strings are read and printed exactly.
 */

export type Nanos = bigint;

const DECIMALS = 9;
const DECIMAL = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?$/;

/** "1.25" -> 1_250_000_000n; undefined for anything that is not a plain decimal number of at most nine places. */
export function parseNanos(text: string): Nanos | undefined {
  const match = DECIMAL.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = ''] = match;
  const nanos = BigInt(whole) * 10n ** 9n + BigInt(fraction.padEnd(DECIMALS, '0'));
  return sign ? -nanos : nanos;
}

/** 1_250_000_000n -> "1.25". */
export function formatNanos(nanos: Nanos): string {
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${nanos < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction && `.${fraction}`}`;
}

/** A multiplier as parts per million: "1.5" -> 1_500_000. Finer steps than that are refused rather than rounded. */
export function parsePpm(text: string): number | undefined {
  const nanos = parseNanos(text);
  if (nanos === undefined || nanos < 0n || nanos % 1000n !== 0n) return undefined;
  return Number(nanos / 1000n);
}
