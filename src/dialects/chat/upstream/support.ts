/** What becomes of every hub field on the way to a chat upstream. Drops that depend on the model are made by the encoder. */
import type { Support } from '../../codec.ts';
import type { HubField } from '../../hub/fields.ts';

export const support = {
  temperature: 'kept',
  topP: 'kept',
  // No such field on this wire.
  topK: 'dropped',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  logitBias: 'kept',
  // The wire has both, but a converted answer holds one choice and no token probabilities: asking would be paying for nothing.
  n: 'rejected',
  logprobs: 'rejected',
  // Four at most; the others, and all of them for models without the field, are cut by the gateway.
  stop: 'kept',
  verbosity: 'kept',
  // Needs a voice and a format that no other dialect names.
  audioOutput: 'rejected',
  imageOutput: 'rejected',
  // Budgets become efforts, efforts become the nearest one that the model knows.
  reasoning: 'changed',
  structuredOutput: 'kept',
  // Documents are read, but no answer says where in them it found something.
  citations: 'dropped',
  strictTools: 'kept',
  /** Those that the provider also has; the rest are left out, since agents list them always. */
  hostedTools: 'changed',
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  // There is no way to fill a cache here without generating.
  prewarm: 'rejected',
  parallelTools: 'kept',
  allowedTools: 'kept',
  cacheKey: 'kept',
  // Breakpoints with other lifetimes, the last four, where the model has them.
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  // Sent as a hash: the caller's own user ids are not the provider's business.
  userId: 'changed',
  // Belongs to stored completions and is rejected without storing, which converted requests never ask for.
  metadata: 'dropped',
} as const satisfies Record<HubField, Support>;
