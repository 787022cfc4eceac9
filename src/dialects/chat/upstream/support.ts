/** Support of every optional field by a chat upstream. The encoder drops fields that depend on the model. */
import type { SupportTable } from '../../hub/fields.ts';

export const support = {
  temperature: 'kept',
  topP: 'kept',
  // No such field on this wire.
  topK: 'dropped',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  logitBias: 'kept',
  // The wire has both, but a converted reply holds one choice and no token probabilities: the client would pay for nothing.
  n: 'rejected',
  logprobs: 'rejected',
  // Up to four. The gateway emulates the others, and all of them for models without the field.
  stop: 'kept',
  verbosity: 'kept',
  // Needs a voice and a format, which no other dialect has.
  audioOutput: 'rejected',
  // No official field asks for images.
  imageOutput: 'dropped',
  imageOnlyOutput: 'rejected',
  imageSettings: 'dropped',
  // Budgets become efforts, efforts the nearest one that the model supports.
  reasoning: 'changed',
  reasoningStyle: 'dropped',
  structuredOutput: 'kept',
  // Documents can be sent, but replies do not cite them.
  citations: 'dropped',
  imageDetail: 'kept',
  strictTools: 'kept',
  // Web search is kept. Others are dropped and not rejected, because agents list them in every request.
  hostedTools: 'changed',
  imageTool: 'dropped',
  // Assistant messages are text.
  imageHistory: 'dropped',
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  // A chat upstream cannot fill a cache without generating.
  prewarm: 'rejected',
  parallelTools: 'kept',
  allowedTools: 'kept',
  cacheKey: 'kept',
  // The last four, with other lifetimes, if the model supports breakpoints.
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  // Sent as a hash, so that the provider does not learn the caller's user ids.
  userId: 'changed',
  // Only allowed for stored completions, and converted requests never store.
  metadata: 'dropped',
} as const satisfies SupportTable;
