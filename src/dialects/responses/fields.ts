/** What callers of this dialect call the optional things of a request; some belong to other dialects and keep their usual name. */
import type { HubField } from '../fields.ts';

export const fieldNames: Readonly<Record<HubField, string>> = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  n: 'n',
  logprobs: 'top_logprobs',
  stop: 'stop',
  verbosity: 'text.verbosity',
  audioOutput: 'modalities',
  imageOutput: 'modalities',
  reasoning: 'reasoning',
  structuredOutput: 'text.format',
  maxToolCalls: 'max_tool_calls',
  prewarm: 'prompt_cache_options.prewarm',
  parallelTools: 'parallel_tool_calls',
  allowedTools: 'tool_choice',
  cacheKey: 'prompt_cache_key',
  cacheMarks: 'prompt_cache_breakpoint',
  serviceTier: 'service_tier',
  userId: 'safety_identifier',
  metadata: 'metadata',
};
