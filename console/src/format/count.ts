/** Counts and shares as text, in the notation of the language. */
import { locale } from '../language.ts';

const COUNT = new Intl.NumberFormat(locale);
const COMPACT = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });

export const countText = (count: number): string => COUNT.format(count);
export const compactText = (count: number): string => COMPACT.format(count);

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytesText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  for (; size >= 1024 && unit < UNITS.length - 1; unit += 1) size /= 1024;
  return `${countText(Number(size.toFixed(size < 10 && unit > 0 ? 1 : 0)))} ${UNITS[unit]}`;
}

/** A share above zero never shows as 0%. */
export function shareText(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.01) return '<0.01%';
  return `${percent % 100 === 0 ? percent : percent.toFixed(percent < 10 ? 2 : 1)}%`;
}

/** English only; other languages have texts of their own. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;
