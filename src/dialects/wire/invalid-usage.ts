/** Counts that no honest provider reports. They are read as "not reported", and named here, so that nobody is charged by them. */
import { given, isObject, maybeCount } from './read.ts';

/** Names under which the dialects count something that is paid for. */
const COUNTED = /(?:^|_)(?:tokens|requests)$|^tokenCount$|TokenCount$/;
/** Details of details; nothing is counted deeper. */
const DEPTH = 4;

/** The first count that is none, in words; undefined when all of them can be believed. Runs for every call: names are looked at last. */
export function invalidCount(usage: unknown, depth = DEPTH): string | undefined {
  if (!isObject(usage) && !Array.isArray(usage)) return undefined;
  const counts = usage as Readonly<Record<string, unknown>>;
  for (const name in counts) {
    const value = counts[name];
    if (maybeCount(value) !== undefined || !given(value)) continue;
    if (typeof value === 'object') {
      const odd = depth > 1 ? invalidCount(value, depth - 1) : undefined;
      if (odd !== undefined) return odd;
    } else if (COUNTED.test(name)) return `${name} is ${typeof value === 'number' ? value : `a ${typeof value}`}`;
  }
  return undefined;
}
