/** Token usage of the responses dialect. `input_tokens` includes cache reads and writes, `output_tokens` includes reasoning. */
import { type HubItem, type HubUsage, type JsonObject, NO_USAGE } from '../hub/types.ts';
import { invalidCount } from '../wire/invalid-usage.ts';
import { compact, isObject, maybeCount, maybeObject, maybeString } from '../wire/read.ts';
import { tierForClient, tierUsed } from '../wire/service-tiers.ts';

/** Decodes the usage of a finished response. Missing usage is marked as estimated, so that it is not billed as zero. */
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
    // Only image endpoints report image tokens.
    inputImage: maybeCount(input.image_tokens),
    output: maybeCount(usage.output_tokens) ?? 0,
    reasoning: maybeCount(output.reasoning_tokens),
    outputImage: maybeCount(output.image_tokens),
    searches: searchesOf(response, items),
    tier: tierUsed(maybeString(response.service_tier)),
    invalid: invalidCount(usage),
  });
}

function searchesOf(response: JsonObject, items: readonly HubItem[]): number | undefined {
  const reported = maybeCount(maybeObject(maybeObject(response.tool_usage).web_search).num_requests);
  if (reported !== undefined) return reported;
  const seen = items.filter((item) => item.kind === 'server_call' && item.tool === 'web_search').length;
  return seen > 0 ? seen : undefined;
}

/** Writes every count, because strict SDKs require them all. */
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

const ttlSplit = (total: number, long: number): JsonObject => ({
  ttl_30m_tokens: Math.max(0, total - long),
  ttl_12h_tokens: long,
});

export const encodeTier = (tier: string | undefined): string => tierForClient(tier) ?? 'default';

export const readUsage = (usage: unknown): HubUsage | undefined =>
  isObject(usage) ? decodeUsage({ usage }, []) : undefined;
