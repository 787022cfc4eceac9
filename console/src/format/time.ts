/**
 * Times as text. Dates are ISO 8601 in every language. Days are UTC everywhere; times are UTC, with that of the browser
 * beside it where the reader asks for it.
 */
import { texts } from '../texts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "2 min ago", "in 42 s". */
export function relativeTime(at: string, now: number): string {
  const difference = new Date(at).getTime() - now;
  const size = Math.abs(difference);
  if (Number.isNaN(size)) return at;
  if (size < 5 * SECOND) return texts.time.now;
  const text = ageText(size);
  return difference < 0 ? texts.time.ago(text) : texts.time.ahead(text);
}

/** Without an end: "55 s", "3 min". */
export function ageText(ms: number): string {
  if (ms < MINUTE) return texts.time.seconds(Math.round(ms / SECOND));
  if (ms < HOUR) return texts.time.minutes(Math.round(ms / MINUTE));
  if (ms < 2 * DAY) return texts.time.hours(Math.round(ms / HOUR));
  return texts.time.days(Math.round(ms / DAY));
}

/** 2030-01-31 14:02:11 UTC. */
export function absoluteTime(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** How times in lists are shown. */
export const TIME_MODES = ['ago', 'utc', 'local'] as const;
export type TimeMode = (typeof TIME_MODES)[number];

const offsetMinutes = (date: Date): number => -date.getTimezoneOffset();
const shiftedBy = (date: Date, minutes: number): Date => new Date(date.getTime() + minutes * MINUTE);

/** 2030-01-31 16:02:11 UTC+2, in the zone of the browser. */
export function localTime(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const offset = offsetMinutes(date);
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  const zone = `UTC${offset < 0 ? '-' : '+'}${hours}${minutes > 0 ? `:${String(minutes).padStart(2, '0')}` : ''}`;
  return `${shiftedBy(date, offset).toISOString().slice(0, 19).replace('T', ' ')} ${zone}`;
}

/** True where the browser has no other zone. */
export const isUtc = (at: number | string = Date.now()): boolean => offsetMinutes(new Date(at)) === 0;

/** In UTC, and where the browser has another zone in that too. */
export const bothTimes = (at: string): string =>
  isUtc(at) ? absoluteTime(at) : `${absoluteTime(at)} · ${localTime(at)}`;

/** 01-31 14:02:11, for columns. */
export const columnTime = (at: string, mode: 'utc' | 'local'): string =>
  (mode === 'utc' ? absoluteTime(at) : localTime(at)).slice(5, 19);

/** The value of a field for a time, which has no zone. */
export function fieldTime(at: string | undefined, mode: TimeMode): string {
  const date = new Date(at ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return '';
  return shiftedBy(date, mode === 'local' ? offsetMinutes(date) : 0)
    .toISOString()
    .slice(0, 19);
}

export function timeOfField(value: string, mode: TimeMode): string {
  const date = new Date(mode === 'local' ? value : `${value}Z`);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
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
  if (ms < MINUTE - 5) return `${(ms / SECOND).toFixed(2)} s`;
  const seconds = Math.round(ms / SECOND);
  return texts.time.minutesAnd(Math.floor(seconds / 60), seconds % 60);
}

/** The UTC day so many days before now, as 2030-01-31. */
export const dayBefore = (days: number, now: number): string => new Date(now - days * DAY).toISOString().slice(0, 10);
