/** Names of the hub fields in this dialect, and what becomes of the optional ones at its providers. */
import { COMMON_NAMES, type FieldNames, type SupportTable, WITHOUT_FIELDS } from '../hub/fields.ts';

export const fieldNames: FieldNames = {
  ...COMMON_NAMES,
  conversation: 'input',
  thoughts: 'input.reasoning',
  imageHistory: 'input.image_generation_call',
  logprobs: 'top_logprobs',
  verbosity: 'text.verbosity',
  imageSettings: 'tools.size',
  reasoning: 'reasoning',
  structuredOutput: 'text.format',
  prewarm: 'prompt_cache_options.prewarm',
};

/** The encoders drop, and report, what only some models lack. */
export const support: SupportTable = {
  // Documents are read but not cited.
  ...WITHOUT_FIELDS,
  verbosity: 'kept',
  reasoningStyle: 'kept',
  structuredOutput: 'kept',
  imageDetail: 'kept',
  strictTools: 'kept',
  imageTool: 'kept',
  maxToolCalls: 'kept',
  prewarm: 'kept',
  parallelTools: 'kept',
  allowedTools: 'kept',
  metadata: 'kept',
  // Reasoning models return 400 for sampling fields; the encoder drops and reports them there.
  temperature: 'kept',
  topP: 'kept',
  // The API lacks this field, so the gateway cuts the text itself.
  stop: 'changed',
  // Images come from a hosted tool, not from a modality: the tool is
  // added, and forced if the client wants nothing else.
  imageOutput: 'changed',
  imageOnlyOutput: 'changed',
  // Aspect ratio and tier become a size in pixels.
  imageSettings: 'changed',
  // Becomes the nearest effort that the model supports.
  reasoning: 'changed',
  // Tools without a counterpart are dropped rather than rejected, because agents always list them.
  hostedTools: 'changed',
  // Only the provider's own image calls can be sent back.
  imageHistory: 'changed',
  // The summary is an encrypted item that the client sends back.
  compaction: 'kept',
  // Keys above the length limit of the API are hashed.
  cacheKey: 'kept',
  // Other lifetimes, at most four breakpoints, and only for models with explicit caching.
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  // Hashed, because user ids of clients must not reach the provider.
  userId: 'changed',
};
