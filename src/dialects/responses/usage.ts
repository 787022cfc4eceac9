/**
 * Token usage. Input includes cache reads and writes, output reasoning; tokens of the
 * image tool (`tool_usage.image_gen`) join the totals and the image tokens.
 */
import { type HubItem, type HubUsage, type JsonObject, NO_USAGE } from '../hub/types.ts';
import { compact, isObject, maybeCount, maybeObject, maybeString } from '../wire/read.ts';
import { tierForClient, tierUsed } from '../wire/service-tiers.ts';
import { cachedMedia, cacheParts, invalidCount } from '../wire/usage.ts';

/** Decodes the usage of a finished response. Missing usage is marked as estimated, so that it is not billed as zero. */
export function decodeUsage(response: JsonObject, items: readonly HubItem[]): HubUsage {
  if (!isObject(response.usage)) return { ...NO_USAGE, estimated: true };
  const usage = response.usage;
  const isEmpty = usage.input_tokens === undefined && usage.output_tokens === undefined;
  const input = maybeObject(usage.input_tokens_details);
  const output = maybeObject(usage.output_tokens_details);
  const images = imageTokensOf(response);
  const whole = (maybeCount(usage.input_tokens) ?? 0) + images.input;
  return compact({
    input: whole,
    ...cacheParts(whole, maybeCount(input.cached_tokens), maybeCount(input.cache_write_tokens)),
    ...cachedMedia(input.cached_tokens_details),
    cacheWriteLong: maybeCount(maybeObject(input.cache_write_tokens_details).ttl_12h_tokens),
    // Image endpoints report image tokens here, responses in `tool_usage`.
    inputImage: sumOf(maybeCount(input.image_tokens), images.inputImage),
    output: (maybeCount(usage.output_tokens) ?? 0) + images.output,
    reasoning: maybeCount(output.reasoning_tokens),
    outputImage: sumOf(maybeCount(output.image_tokens), images.outputImage),
    searches: searchesOf(response, items),
    fileSearches: callsOf(items, 'file_search'),
    tier: tierUsed(maybeString(response.service_tier)),
    models: images === NO_IMAGES ? undefined : [{ model: IMAGE_TOOL, cacheRead: 0, cacheWrite: 0, ...compact(images) }],
    estimated: isEmpty ? true : undefined,
    invalid: invalidCount(usage) ?? invalidCount(response.tool_usage),
  });
}

interface ImageTokens {
  readonly input: number;
  readonly output: number;
  readonly inputImage?: number | undefined;
  readonly outputImage?: number | undefined;
}
/** The tool has a model of its own, which the report does not name. */
const IMAGE_TOOL = 'image_generation';
const NO_IMAGES: ImageTokens = { input: 0, output: 0 };

/**
 * Tokens of the model behind the image tool: prompt as text, output as image,
 * unless details say otherwise. Cached ones have the price of another model.
 */
function imageTokensOf(response: JsonObject): ImageTokens {
  const used = maybeObject(maybeObject(response.tool_usage).image_gen);
  const input = maybeCount(used.input_tokens) ?? 0;
  const output = maybeCount(used.output_tokens) ?? 0;
  if (input + output === 0) return NO_IMAGES;
  return {
    input,
    output,
    inputImage: maybeCount(maybeObject(used.input_tokens_details).image_tokens),
    outputImage: maybeCount(maybeObject(used.output_tokens_details).image_tokens) ?? output,
  };
}

const sumOf = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : one + (other ?? 0);

function searchesOf(response: JsonObject, items: readonly HubItem[]): number | undefined {
  const reported = maybeCount(maybeObject(maybeObject(response.tool_usage).web_search).num_requests);
  if (reported !== undefined) return reported;
  return callsOf(items, 'web_search');
}

function callsOf(items: readonly HubItem[], tool: string): number | undefined {
  const seen = items.filter((item) => item.kind === 'server_call' && item.tool === tool).length;
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

export const readUsage = (usage: unknown, toolUsage?: unknown): HubUsage | undefined =>
  isObject(usage) ? decodeUsage({ usage, tool_usage: toolUsage, service_tier: usage.service_tier }, []) : undefined;
