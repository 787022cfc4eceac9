/** Token counts of Converse: fresh input, cache reads and cache writes are disjoint, as in the Messages API. */
import type { HubUsage, JsonObject } from '../hub/types.ts';
import { compact, isGiven, isObject, maybeCount, maybeList, maybeObject, maybeString } from '../wire/read.ts';
import { tierUsed } from '../wire/service-tiers.ts';
import { invalidCount } from '../wire/usage.ts';

/** `serviceTier` is its sibling. Without a report the usage is marked as estimated. */
export function decodeUsage(usage: JsonObject | undefined, serviceTier?: unknown): HubUsage {
  const counts = usage ?? {};
  const cacheRead = maybeCount(counts.cacheReadInputTokens) ?? 0;
  const cacheWrite = maybeCount(counts.cacheWriteInputTokens) ?? 0;
  return compact({
    input: (maybeCount(counts.inputTokens) ?? 0) + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    cacheWriteLong: longWrites(counts.cacheDetails) || undefined,
    output: maybeCount(counts.outputTokens) ?? 0,
    tier: tierUsed(maybeString(maybeObject(serviceTier).type)),
    estimated: usage ? undefined : true,
    invalid: invalidCount(counts),
  });
}

const longWrites = (details: unknown): number =>
  maybeList(details)
    .map(maybeObject)
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + (maybeCount(inputTokens) ?? 0), 0);

export const readUsage = (usage: unknown): HubUsage | undefined =>
  isObject(usage) && (isGiven(usage.inputTokens) || isGiven(usage.outputTokens)) ? decodeUsage(usage) : undefined;
