/** Names of the hub fields in this dialect, and what becomes of the optional ones at its providers. */
import { COMMON_NAMES, type FieldNames, type SupportTable, WITHOUT_FIELDS } from '../hub/fields.ts';

export const fieldNames: FieldNames = {
  ...COMMON_NAMES,
  conversation: 'messages',
  thoughts: 'messages.reasoning_content',
  searchTool: 'web_search_options',
  /** Search is the only hosted tool that a chat client can request, besides the image tool. */
  hostedTools: 'web_search_options',
  imageHistory: 'messages.images',
  reasoning: 'reasoning_effort',
  structuredOutput: 'response_format',
  imageDetail: 'image_url.detail',
  strictTools: 'tools.function.strict',
  prewarm: 'max_completion_tokens',
};

/** The encoders drop, and report, what only some models lack. */
export const support = {
  // The wire has `n` and `logprobs`, which a converted reply cannot hold, and takes documents, which
  // its replies do not cite. Audio needs a voice and a format, which no other dialect has;
  // `metadata` is for stored completions only, and converted requests never store.
  ...WITHOUT_FIELDS,
  temperature: 'kept',
  topP: 'kept',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  logitBias: 'kept',
  verbosity: 'kept',
  structuredOutput: 'kept',
  imageDetail: 'kept',
  strictTools: 'kept',
  parallelTools: 'kept',
  allowedTools: 'kept',
  cacheKey: 'kept',
  serviceTier: 'changed',
  // Up to four. The gateway emulates the others, and all of them for models without the field.
  stop: 'kept',
  // Budgets become efforts, efforts the nearest one that the model supports.
  reasoning: 'changed',
  // Web search is kept. Others are dropped and not rejected, because agents list them in every request.
  hostedTools: 'changed',
  // The last four, with other lifetimes, if the model supports breakpoints.
  cacheBreakpoints: 'changed',
  // Sent as a hash, so that the provider does not learn the caller's user ids.
  userId: 'changed',
} as const satisfies SupportTable;
