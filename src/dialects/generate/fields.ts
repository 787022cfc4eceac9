/** What a generateContent client calls each optional request field. */
import type { HubField } from '../fields.ts';

export const fieldNames: Readonly<Record<HubField, string>> = {
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  seed: 'generationConfig.seed',
  presencePenalty: 'generationConfig.presencePenalty',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  logitBias: 'generationConfig.logitBias',
  n: 'generationConfig.candidateCount',
  logprobs: 'generationConfig.responseLogprobs',
  stop: 'generationConfig.stopSequences',
  verbosity: 'generationConfig.verbosity',
  audioOutput: 'generationConfig.responseModalities',
  imageOutput: 'generationConfig.responseModalities',
  reasoning: 'generationConfig.thinkingConfig',
  structuredOutput: 'generationConfig.responseJsonSchema',
  maxToolCalls: 'maxToolCalls',
  prewarm: 'generationConfig.maxOutputTokens',
  parallelTools: 'toolConfig.parallelTools',
  allowedTools: 'toolConfig.functionCallingConfig.allowedFunctionNames',
  cacheKey: 'cachedContent',
  cacheMarks: 'cachedContent',
  serviceTier: 'serviceTier',
  userId: 'userId',
  metadata: 'labels',
};
