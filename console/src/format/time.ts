/** Times as text. Absolute times and days are UTC everywhere, never the zone of the browser. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "2 min ago", "in 42 s". */
export function relativeTime(at: string, now: number): string {
  const difference = new Date(at).getTime() - now;
  const size = Math.abs(difference);
  if (Number.isNaN(size)) return at;
  if (size < 5 * SECOND) return 'now';
  const text = sizeText(size);
  return difference < 0 ? `${text} ago` : `in ${text}`;
}

function sizeText(ms: number): string {
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`;
  return `${Math.round(ms / DAY)} days`;
}

/** 2030-01-31 14:02:11 UTC. */
export function absoluteTime(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** 14:02:11 of the UTC day. */
export const clockTime = (at: string): string => absoluteTime(at).slice(11, 19);

/** 0:42, 12:05, 1:02:03; zero when the time is over. */
export function countdownText(until: string, now: number): string {
  const seconds = Math.max(0, Math.ceil((new Date(until).getTime() - now) / SECOND));
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** "2.1 ms", "640 ms", "2.99 s", "1 min 20 s". */
export function durationText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(2)} s`;
  return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / SECOND)} s`;
}

/** The UTC day so many days before now, as 2030-01-31. */
export const dayBefore = (days: number, now: number): string => new Date(now - days * DAY).toISOString().slice(0, 10);
