/** What becomes of every optional thing on the way to a responses upstream. Model-dependent losses are reported by the encoder. */
import type { Support } from '../../codec.ts';
import type { HubField } from '../../hub/fields.ts';

export const support: Readonly<Record<HubField, Support>> = {
  // Kept for models that sample; others answer 400 to it, so the encoder leaves it out and says so.
  temperature: 'kept',
  topP: 'kept',
  // The API has no such fields; an answer without them is still the answer that was asked for.
  topK: 'dropped',
  seed: 'dropped',
  presencePenalty: 'dropped',
  frequencyPenalty: 'dropped',
  // Without it the answer would be another one than was asked for.
  logitBias: 'rejected',
  n: 'rejected',
  // An answer on its way through the hub has no place for them.
  logprobs: 'rejected',
  // No field upstream: the pipeline cuts the text.
  stop: 'changed',
  verbosity: 'kept',
  audioOutput: 'rejected',
  // Images come from a hosted tool here, not from a modality.
  imageOutput: 'dropped',
  // Moved to the nearest effort that the model knows.
  reasoning: 'changed',
  structuredOutput: 'kept',
  // Documents are read, but no answer says where in them it found something.
  citations: 'dropped',
  strictTools: 'kept',
  /** Those that the provider also has; the rest are left out, since agents list them always. */
  hostedTools: 'changed',
  maxToolCalls: 'kept',
  // Summaries come back encrypted, and the client carries them.
  compaction: 'kept',
  prewarm: 'kept',
  parallelTools: 'kept',
  allowedTools: 'kept',
  // Keys longer than the upstream takes are hashed.
  cacheKey: 'kept',
  // Other lifetimes, at most four, and only where the model takes explicit marks.
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  // Hashed: upstream accounts are shared, the caller's own ids stay here.
  userId: 'changed',
  metadata: 'kept',
};
