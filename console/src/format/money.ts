/**
 * Amounts as text. The API's decimal strings are never turned into floating-point numbers. Both languages write them
 * alike.
 */

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;
const MINUS = '−';

interface Parts {
  readonly sign: string;
  readonly whole: string;
  readonly fraction: string;
}

function partsOf(amount: string): Parts | undefined {
  const match = DECIMAL.exec(amount);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = ''] = match;
  const isZero = /^0*$/.test(whole + fraction);
  return { sign: sign && !isZero ? MINUS : '', whole, fraction: fraction.replace(/0+$/, '') };
}

/** Every significant decimal, at least two: "1234.5" becomes $1,234.50. Other text is returned as it is. */
export function exactMoney(amount: string): string {
  const parts = partsOf(amount);
  if (!parts) return amount;
  return `${parts.sign}$${withSeparators(parts.whole)}.${parts.fraction.padEnd(2, '0')}`;
}

/** How many decimals `exactMoney` shows. */
export const decimalsOf = (amount: string | null | undefined): number =>
  amount ? (exactMoney(amount).split('.')[1]?.length ?? 0) : 0;

/** Two decimals for tiles, rounded half up. An amount that is not zero never shows as $0.00. */
export function roundMoney(amount: string): string {
  const parts = partsOf(amount);
  if (!parts) return amount;
  const { sign, whole, fraction } = parts;
  const thousandths = BigInt(`${whole}${fraction.padEnd(3, '0').slice(0, 3)}`);
  const cents = (thousandths + 5n) / 10n;
  if (cents === 0n && (thousandths > 0n || fraction !== '')) return `${sign === '' ? '<' : `>${sign}`}$0.01`;
  const text = cents.toString().padStart(3, '0');
  return `${cents === 0n ? '' : sign}$${withSeparators(text.slice(0, -2))}.${text.slice(-2)}`;
}

export const isNegative = (amount: string): boolean => partsOf(amount)?.sign === MINUS;

/** For the scale of a chart only; the text beside it is exact. */
export const chartValue = (amount: string): number => Number(amount);

/** `a - b`, exact. */
export function subtractMoney(a: string, b: string): string {
  const [left, right] = [scaled(a), scaled(b)];
  const difference = left - right;
  const digits = (difference < 0n ? -difference : difference).toString().padStart(SCALE + 1, '0');
  const fraction = digits.slice(-SCALE).replace(/0+$/, '');
  return `${difference < 0n ? '-' : ''}${digits.slice(0, -SCALE)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The API has at most 15 decimals. */
const SCALE = 15;

function scaled(amount: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = DECIMAL.exec(amount) ?? [];
  const value = BigInt(whole + fraction.slice(0, SCALE).padEnd(SCALE, '0'));
  return sign ? -value : value;
}

const withSeparators = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ',');
