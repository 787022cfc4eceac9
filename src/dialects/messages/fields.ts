/** What this dialect calls each hub field, for telling a caller what was lost or refused. */
import type { FieldNames } from '../fields.ts';

export const fieldNames: FieldNames = {
  conversation: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  hostedTools: 'tools',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop_sequences',
  reasoning: 'thinking',
  structuredOutput: 'output_config.format',
  prewarm: 'max_tokens',
  parallelTools: 'tool_choice.disable_parallel_tool_use',
  allowedTools: 'tool_choice',
  cacheMarks: 'cache_control',
  serviceTier: 'service_tier',
  userId: 'metadata.user_id',
  // A client of this dialect has no way to set the rest; the names only complete the table.
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  n: 'n',
  logprobs: 'logprobs',
  verbosity: 'verbosity',
  audioOutput: 'modalities',
  imageOutput: 'modalities',
  maxToolCalls: 'max_tool_calls',
  cacheKey: 'prompt_cache_key',
  metadata: 'metadata',
};
