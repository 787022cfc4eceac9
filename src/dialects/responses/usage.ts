/** Token counts. Cached and written tokens are inside `input_tokens`, reasoning is inside `output_tokens`. */
import { type HubItem, type HubUsage, type JsonObject, NO_USAGE } from '../hub/types.ts';
import { invalidCount } from '../wire/invalid-usage.ts';
import { compact, isObject, maybeCount, maybeObject, maybeString } from '../wire/read.ts';
import { tierForClient, tierUsed } from '../wire/service-tiers.ts';

/** The usage of a finished response; one that reports none is marked, so that nobody bills zero. */
export function decodeUsage(response: JsonObject, items: readonly HubItem[]): HubUsage {
  if (!isObject(response.usage)) return { ...NO_USAGE, estimated: true };
  const usage = response.usage;
  const input = maybeObject(usage.input_tokens_details);
  const output = maybeObject(usage.output_tokens_details);
  return compact({
    input: maybeCount(usage.input_tokens) ?? 0,
    cacheRead: maybeCount(input.cached_tokens) ?? 0,
    cacheWrite: maybeCount(input.cache_write_tokens) ?? 0,
    cacheWriteLong: maybeCount(maybeObject(input.cache_write_tokens_details).ttl_12h_tokens),
    // Those of the endpoints that make pictures.
    inputImage: maybeCount(input.image_tokens),
    output: maybeCount(usage.output_tokens) ?? 0,
    reasoning: maybeCount(output.reasoning_tokens),
    outputImage: maybeCount(output.image_tokens),
    searches: searchesOf(response, items),
    tier: tierUsed(maybeString(response.service_tier)),
    odd: invalidCount(usage),
  });
}

function searchesOf(response: JsonObject, items: readonly HubItem[]): number | undefined {
  const reported = maybeCount(maybeObject(maybeObject(response.tool_usage).web_search).num_requests);
  if (reported !== undefined) return reported;
  const seen = items.filter((item) => item.kind === 'server_call' && item.tool === 'web_search').length;
  return seen > 0 ? seen : undefined;
}

/** Every count is present: strict clients parse them all. */
export function encodeUsage(usage: HubUsage): JsonObject {
  const long = usage.cacheWriteLong;
  const split = long === undefined ? {} : { cache_write_tokens_details: ttlSplit(usage.cacheWrite, long) };
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite, ...split },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}

const ttlSplit = (written: number, long: number): JsonObject => ({
  ttl_30m_tokens: Math.max(0, written - long),
  ttl_12h_tokens: long,
});

export const encodeTier = (tier: string | undefined): string => tierForClient(tier) ?? 'default';

export const readUsage = (usage: unknown): HubUsage | undefined =>
  isObject(usage) ? decodeUsage({ usage }, []) : undefined;
