/** Names of the hub fields in this dialect, for error messages and the list of dropped fields. */
import { COMMON_NAMES, type FieldNames } from '../../hub/fields.ts';

export const fieldNames: FieldNames = {
  ...COMMON_NAMES,
  conversation: 'messages',
  thoughts: 'messages.thinking',
  imageHistory: 'messages',
  stop: 'stop_sequences',
  reasoning: 'thinking',
  reasoningStyle: 'thinking.display',
  structuredOutput: 'output_config.format',
  prewarm: 'max_tokens',
  parallelTools: 'tool_choice.disable_parallel_tool_use',
  cacheBreakpoints: 'cache_control',
  userId: 'metadata.user_id',
};
