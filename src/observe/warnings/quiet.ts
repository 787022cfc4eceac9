/** Quiet hours of a destination, in its time zone. */
import type { QuietHours } from '../../schemas/index.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

/** The end of the quiet hours that `now` is in; undefined outside of them. */
export function quietUntil(quiet: QuietHours, now: number): number | undefined {
  const isQuiet = (at: number): boolean => {
    const minute = minuteOfDay(at, quiet.timezone);
    const [from, to] = [minutesOf(quiet.from), minutesOf(quiet.to)];
    return from < to ? minute >= from && minute < to : minute >= from || minute < to;
  };
  if (!isQuiet(now)) return undefined;
  const to = minutesOf(quiet.to);
  const minutes = (to - minuteOfDay(now, quiet.timezone) + DAY_MINUTES) % DAY_MINUTES;
  let end = Math.floor(now / MINUTE_MS) * MINUTE_MS + minutes * MINUTE_MS;
  // The clock changed within the hours: the end is as much earlier or later.
  const off = ((minuteOfDay(end, quiet.timezone) - to + 1.5 * DAY_MINUTES) % DAY_MINUTES) - DAY_MINUTES / 2;
  end -= off * MINUTE_MS;
  // The time of the end was skipped, so that the hours end with the change.
  while (isQuiet(end)) end += MINUTE_MS;
  return end;
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

function minuteOfDay(at: number, timezone: string): number {
  const time = { timeZone: timezone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return minutesOf(new Intl.DateTimeFormat('en-GB', time).format(at));
}
