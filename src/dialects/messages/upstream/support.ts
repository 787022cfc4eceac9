/** What becomes of every hub field on the way to a messages upstream. What one model lacks, the encoder reports by itself. */
import type { Support } from '../../codec.ts';
import type { HubField } from '../../hub/fields.ts';

export const support = {
  /** Clamped to 1; models with fixed sampling get none of the three. */
  temperature: 'changed',
  topP: 'kept',
  topK: 'kept',
  seed: 'dropped',
  presencePenalty: 'dropped',
  frequencyPenalty: 'dropped',
  /** Leaving out a bias, a second candidate or log probabilities would answer another question than the one asked. */
  logitBias: 'rejected',
  n: 'rejected',
  logprobs: 'rejected',
  /** Sequences of white space alone are cut by the pipeline, since the provider refuses them. */
  stop: 'kept',
  verbosity: 'dropped',
  audioOutput: 'rejected',
  imageOutput: 'rejected',
  /** An effort, a budget or a mode, whichever the model takes. */
  reasoning: 'changed',
  /** A schema without the keywords that constrained decoding lacks; plain JSON is asked for in words. */
  structuredOutput: 'changed',
  citations: 'kept',
  /** As many as the provider enforces; the others are offered without the promise. */
  strictTools: 'changed',
  /** Those that the provider also has; the rest are left out, since agents list them always. */
  hostedTools: 'changed',
  /** Bounds the web search, the only hosted tool with a bound of its own. */
  maxToolCalls: 'changed',
  compaction: 'dropped',
  prewarm: 'kept',
  parallelTools: 'kept',
  /** Only the allowed tools are sent. */
  allowedTools: 'changed',
  /** There is no such field, but the key still chooses the account, and with it the cache. */
  cacheKey: 'changed',
  /** The last four, short or long. */
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  /** Hashed: the provider needs to tell users apart, not to know them. */
  userId: 'changed',
  metadata: 'dropped',
} as const satisfies Record<HubField, Support>;
