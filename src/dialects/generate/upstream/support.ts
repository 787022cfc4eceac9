/** Support of each hub field by generateContent upstreams. */
import type { SupportTable } from '../../hub/fields.ts';

export const support: SupportTable = {
  temperature: 'kept',
  topP: 'kept',
  topK: 'kept',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  // No such field. Without the bias the reply could contain tokens that the client banned.
  logitBias: 'rejected',
  // The hub carries one candidate; further ones would be billed and discarded.
  n: 'rejected',
  // The provider has them, but the hub cannot carry them.
  logprobs: 'rejected',
  // The first five are sent upstream; the gateway emulates the others.
  stop: 'changed',
  verbosity: 'dropped',
  // The reply would be charged, but the hub cannot carry its recording.
  audioOutput: 'rejected',
  // For models that generate images; others drop it, or reject it if the client wants nothing else.
  imageOutput: 'kept',
  imageOnlyOutput: 'kept',
  imageSettings: 'kept',
  // A level or a budget, depending on the model.
  reasoning: 'changed',
  reasoningStyle: 'dropped',
  structuredOutput: 'changed',
  // The provider reads documents but does not return citations for them.
  citations: 'dropped',
  // Some models accept a resolution for each part; all others reject it.
  imageDetail: 'dropped',
  // One mode for all functions.
  strictTools: 'changed',
  // Unsupported ones are dropped, not rejected, because agents always list them.
  hostedTools: 'changed',
  // Becomes the image modality, with the size as aspect ratio and tier. Other options of the tool are dropped.
  imageTool: 'changed',
  // As inline data; a call without its result is dropped.
  imageHistory: 'changed',
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  // No request can fill the cache without generating output.
  prewarm: 'rejected',
  parallelTools: 'dropped',
  allowedTools: 'changed',
  // Not sent. The key keeps the conversation on one account, and with it on one cache.
  cacheKey: 'changed',
  // The provider caches prefixes automatically and has no breakpoints.
  cacheBreakpoints: 'dropped',
  serviceTier: 'kept',
  userId: 'dropped',
  metadata: 'dropped',
};
