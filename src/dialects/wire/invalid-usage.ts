/** Detection of invalid usage counts (negative, fractional, not a number). Decoders treat them as not reported, so they are never charged. */
import { isGiven, isObject, maybeCount } from './read.ts';

/** Names of billable counts in all dialects. */
const COUNTED = /(?:^|_)(?:tokens|requests)$|^tokenCount$|TokenCount$|Tokens$/;
/** The dialects nest counts at most this deep. */
const MAX_DEPTH = 4;

/** Describes the first invalid count; undefined if all are valid. Runs for every call, so it tests names only after values. */
export function invalidCount(usage: unknown, depth = MAX_DEPTH): string | undefined {
  if (!isObject(usage) && !Array.isArray(usage)) return undefined;
  const counts = usage as Readonly<Record<string, unknown>>;
  for (const name in counts) {
    const value = counts[name];
    if (maybeCount(value) !== undefined || !isGiven(value)) continue;
    if (typeof value === 'object') {
      const invalid = depth > 1 ? invalidCount(value, depth - 1) : undefined;
      if (invalid !== undefined) return invalid;
    } else if (COUNTED.test(name)) return `${name} is ${typeof value === 'number' ? value : `a ${typeof value}`}`;
  }
  return undefined;
}
