/** What a chat client calls each hub field; losses and refusals are told to it in these words. */
import type { FieldNames } from '../fields.ts';

export const fieldNames: FieldNames = {
  conversation: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  /** Search is the only hosted tool that a client can ask for. */
  hostedTools: 'web_search_options',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  n: 'n',
  logprobs: 'logprobs',
  stop: 'stop',
  verbosity: 'verbosity',
  audioOutput: 'modalities',
  imageOutput: 'modalities',
  reasoning: 'reasoning_effort',
  structuredOutput: 'response_format',
  maxToolCalls: 'max_tool_calls',
  prewarm: 'max_completion_tokens',
  parallelTools: 'parallel_tool_calls',
  allowedTools: 'tool_choice',
  cacheKey: 'prompt_cache_key',
  cacheMarks: 'prompt_cache_breakpoint',
  serviceTier: 'service_tier',
  userId: 'safety_identifier',
  metadata: 'metadata',
};
