/** The period of a list: one that ends now, which a saved view can keep, or times of the reader's own. */
import type { Search } from '../search.ts';

const MINUTE_MS = 60_000;

export const PERIODS = [
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['6h', 'Last 6 hours'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

const UNIT_MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1_440 };

/** The name of a period, `own`, or nothing. */
export const periodOf = ({ range, start, end }: Search): string =>
  PERIODS.find(([name]) => name === range)?.[0] ?? (start !== undefined || end !== undefined ? 'own' : '');

/** The query of the API, which knows only times. */
export function periodQuery(
  search: Search,
  now: number,
): { readonly start?: string | undefined; readonly end?: string | undefined } {
  const period = periodOf(search);
  if (period === '' || period === 'own') return { start: search.start, end: search.end };
  const minutes = Number.parseInt(period, 10) * (UNIT_MINUTES[period.slice(-1)] ?? 0);
  return { start: new Date(now - minutes * MINUTE_MS).toISOString() };
}

/** A period by name and times of one's own exclude each other. */
export const withPeriod = (search: Search, name: string): Search =>
  name === 'range'
    ? { ...search, start: undefined, end: undefined }
    : name === 'start' || name === 'end'
      ? { ...search, range: undefined }
      : search;
