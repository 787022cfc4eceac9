/** What becomes of each optional request field on the way to generateContent. */
import type { Support } from '../../codec.ts';
import type { HubField } from '../../hub/fields.ts';

export const support: Readonly<Record<HubField, Support>> = {
  temperature: 'kept',
  topP: 'kept',
  topK: 'kept',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  // No such field, and ignoring a ban on words would be a wrong answer, not a lesser one.
  logitBias: 'rejected',
  // The hub carries one answer; asking for several would bill the caller for text that is thrown away.
  n: 'rejected',
  // The provider has the numbers, but an answer on its way through the hub has no place for them.
  logprobs: 'rejected',
  // The first five go upstream, the rest are cut by the pipeline.
  stop: 'changed',
  verbosity: 'dropped',
  audioOutput: 'kept',
  imageOutput: 'kept',
  // A level or a budget, by model.
  reasoning: 'changed',
  structuredOutput: 'changed',
  // Documents are read, but no answer says where in them it found something.
  citations: 'dropped',
  // One mode for all of them.
  strictTools: 'changed',
  /** Those that the provider also has; the rest are left out, since agents list them always. */
  hostedTools: 'changed',
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  // There is no request that only fills the cache.
  prewarm: 'rejected',
  parallelTools: 'dropped',
  allowedTools: 'changed',
  // Not sent: it keeps the conversation on one account, whose own cache then finds the prefix.
  cacheKey: 'changed',
  // The provider caches prefixes by itself and takes no marks.
  cacheBreakpoints: 'dropped',
  serviceTier: 'kept',
  userId: 'dropped',
  metadata: 'dropped',
};
