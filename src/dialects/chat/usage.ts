/**
 * Token counts of the chat dialect. `prompt_tokens` includes cached and
 * cache-written tokens, `completion_tokens` reasoning.
 */
import type { HubUsage, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeCount, maybeObject, maybeString } from '../wire/read.ts';
import { tierUsed } from '../wire/service-tiers.ts';
import { cachedMedia, cacheParts, invalidCount } from '../wire/usage.ts';

/** Returns undefined if no usable count was reported, which is not the same as zero. */
export function readUsage(value: unknown): HubUsage | undefined {
  if (!isObject(value)) return undefined;
  const input = maybeCount(value.prompt_tokens);
  const output = maybeCount(value.completion_tokens);
  const invalid = invalidCount(value);
  if (input === undefined && output === undefined && invalid === undefined) return undefined;
  const read = maybeObject(value.prompt_tokens_details);
  const written = maybeObject(value.completion_tokens_details);
  const beside = reasoningBeside(value);
  return compact({
    input: input ?? 0,
    // Compatible servers without the details object use the second name.
    ...cacheParts(
      input ?? 0,
      maybeCount(read.cached_tokens) ?? maybeCount(value.prompt_cache_hit_tokens),
      maybeCount(read.cache_write_tokens),
    ),
    ...cachedMedia(read.cached_tokens_details),
    inputAudio: maybeCount(read.audio_tokens),
    audioSeconds: maybeCount(value.prompt_audio_seconds),
    inputImage: maybeCount(read.image_tokens),
    output: (output ?? 0) + beside,
    reasoning: maybeCount(written.reasoning_tokens) ?? (beside || undefined),
    outputAudio: maybeCount(written.audio_tokens),
    outputImage: maybeCount(written.image_tokens),
    // A research model counts its searches and sources beside its tokens.
    citations: maybeCount(value.citation_tokens),
    searches: maybeCount(value.num_search_queries) || undefined,
    tier: tierUsed(maybeString(value.service_tier)),
    estimated: input === undefined && output === undefined ? true : undefined,
    invalid,
  });
}

/** A research model of Perplexity counts its reasoning beside its completion, and not in the total. */
const reasoningBeside = ({ citation_tokens, num_search_queries, reasoning_tokens }: JsonObject): number =>
  citation_tokens === undefined && num_search_queries === undefined ? 0 : (maybeCount(reasoning_tokens) ?? 0);

export const encodeUsage = (usage: HubUsage): JsonObject => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: compact({
    cached_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite > 0 ? usage.cacheWrite : undefined,
    audio_tokens: usage.inputAudio,
    image_tokens: usage.inputImage,
  }),
  completion_tokens_details: compact({
    reasoning_tokens: usage.reasoning ?? 0,
    audio_tokens: usage.outputAudio,
  }),
});
