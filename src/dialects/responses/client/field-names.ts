/** Names of hub fields in a responses request. */
import { COMMON_NAMES, type FieldNames } from '../../hub/fields.ts';

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
