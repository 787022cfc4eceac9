/** Support of every optional field by a chat upstream. The encoder drops fields that depend on the model. */
import { type SupportTable, WITHOUT_FIELDS } from '../../hub/fields.ts';

export const support = {
  // The wire has `n` and `logprobs`, which a converted reply cannot hold, and takes documents, which its replies do not cite. Audio needs a
  // voice and a format, which no other dialect has; `metadata` is for stored completions only, and converted requests never store.
  ...WITHOUT_FIELDS,
  temperature: 'kept',
  topP: 'kept',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  logitBias: 'kept',
  // Up to four. The gateway emulates the others, and all of them for models without the field.
  stop: 'kept',
  verbosity: 'kept',
  // Budgets become efforts, efforts the nearest one that the model supports.
  reasoning: 'changed',
  structuredOutput: 'kept',
  imageDetail: 'kept',
  strictTools: 'kept',
  // Web search is kept. Others are dropped and not rejected, because agents list them in every request.
  hostedTools: 'changed',
  parallelTools: 'kept',
  allowedTools: 'kept',
  cacheKey: 'kept',
  // The last four, with other lifetimes, if the model supports breakpoints.
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  // Sent as a hash, so that the provider does not learn the caller's user ids.
  userId: 'changed',
} as const satisfies SupportTable;
