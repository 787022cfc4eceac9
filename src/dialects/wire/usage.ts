/** What token counts of all dialects share: cached parts, and counts that are invalid. */
import { compact, isGiven, isObject, maybeCount, maybeObject } from './read.ts';

export interface CacheParts {
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Media among the cached input, in the form of the two OpenAI dialects. */
export function cachedMedia(details: unknown): { cacheReadAudio?: number; cacheReadImage?: number } {
  const { audio_tokens: audio, image_tokens: image } = maybeObject(details);
  return compact({ cacheReadAudio: maybeCount(audio), cacheReadImage: maybeCount(image) });
}

/**
 * Cached parts never exceed the input together, whatever a server
 * reports (`overlappingCache` in rules/tolerances.ts).
 */
export function cacheParts(input: number, read = 0, write = 0): CacheParts {
  const cacheRead = Math.min(read, input);
  return { cacheRead, cacheWrite: Math.min(write, input - cacheRead) };
}

/** Names of billable counts in all dialects. */
const COUNTED = /(?:^|_)(?:tokens|requests)$|^tokenCount$|TokenCount$|Tokens$/;
/** The dialects nest counts at most this deep. */
const MAX_DEPTH = 4;

/**
 * Describes the first invalid count (negative, fractional, no number), which is never charged;
 * undefined if all are valid. Runs for every call, so it tests names only after values.
 */
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
