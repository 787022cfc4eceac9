/** Names of the hub fields in this dialect, and what becomes of the optional ones at its providers. */
import { COMMON_NAMES, type FieldNames, type SupportTable, WITHOUT_FIELDS } from '../hub/fields.ts';

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

/** The encoders drop, and report, what only some models lack. */
export const support = {
  /** Images have one resolution, chosen by their size. */
  ...WITHOUT_FIELDS,
  topP: 'kept',
  topK: 'kept',
  citations: 'kept',
  prewarm: 'kept',
  parallelTools: 'kept',
  allowedTools: 'changed',
  serviceTier: 'changed',
  /** Clamped to 1. Models with fixed sampling get no sampling fields. */
  temperature: 'changed',
  /** The gateway emulates blank sequences, which the provider rejects. */
  stop: 'kept',
  /** An effort, a budget or a mode, depending on the model. */
  reasoning: 'changed',
  /** A schema without the keywords that constrained decoding lacks; plain JSON becomes an instruction. */
  structuredOutput: 'changed',
  /** Up to the provider's limit; further tools are sent without `strict`. */
  strictTools: 'changed',
  /** Unsupported ones are dropped, not rejected, because agents always list them. */
  hostedTools: 'changed',
  /** An edit of the context, which older models reject. */
  compaction: 'changed',
  /** Limits web search, the only hosted tool with a limit. */
  maxToolCalls: 'changed',
  /** Not sent. The key still selects the account, and with it the cache. */
  cacheKey: 'changed',
  /** The last four. */
  cacheBreakpoints: 'changed',
  /** Hashed: the provider needs to distinguish users, not to identify them. */
  userId: 'changed',
} as const satisfies SupportTable;
