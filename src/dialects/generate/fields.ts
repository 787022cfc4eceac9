/** Names of the hub fields in this dialect, and what becomes of the optional ones at its providers. */
import { COMMON_NAMES, type FieldNames, type SupportTable, WITHOUT_FIELDS } from '../hub/fields.ts';

export const fieldNames: FieldNames = {
  ...COMMON_NAMES,
  conversation: 'contents',
  thoughts: 'contents.thought',
  toolChoice: 'toolConfig',
  imageHistory: 'contents.parts.inlineData',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  seed: 'generationConfig.seed',
  presencePenalty: 'generationConfig.presencePenalty',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  logitBias: 'generationConfig.logitBias',
  verbosity: 'generationConfig.verbosity',
  n: 'generationConfig.candidateCount',
  logprobs: 'generationConfig.responseLogprobs',
  stop: 'generationConfig.stopSequences',
  audioOutput: 'generationConfig.responseModalities',
  imageOutput: 'generationConfig.responseModalities',
  imageOnlyOutput: 'generationConfig.responseModalities',
  imageSettings: 'generationConfig.imageConfig',
  reasoning: 'generationConfig.thinkingConfig',
  reasoningStyle: 'generationConfig.thinkingConfig.includeThoughts',
  structuredOutput: 'generationConfig.responseJsonSchema',
  imageDetail: 'mediaResolution',
  strictTools: 'toolConfig.functionCallingConfig.mode',
  maxToolCalls: 'maxToolCalls',
  compaction: 'contextManagement',
  prewarm: 'generationConfig.maxOutputTokens',
  parallelTools: 'toolConfig.parallelTools',
  allowedTools: 'toolConfig.functionCallingConfig.allowedFunctionNames',
  cacheKey: 'cachedContent',
  cacheBreakpoints: 'cachedContent',
  serviceTier: 'serviceTier',
  userId: 'userId',
  metadata: 'labels',
};

/** The encoders drop, and report, what only some models lack. */
export const support: SupportTable = {
  // Documents are read but not cited. Some models accept a resolution for each
  // image; all others reject it. Prefixes are cached without breakpoints.
  ...WITHOUT_FIELDS,
  temperature: 'kept',
  topP: 'kept',
  topK: 'kept',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  serviceTier: 'kept',
  structuredOutput: 'changed',
  allowedTools: 'changed',
  // The first five are sent upstream; the gateway emulates the others.
  stop: 'changed',
  // For models that generate images; others drop it, or reject it if the client wants nothing else.
  imageOutput: 'kept',
  imageOnlyOutput: 'kept',
  imageSettings: 'kept',
  // A level or a budget, depending on the model.
  reasoning: 'changed',
  // One mode for all functions.
  strictTools: 'changed',
  // Unsupported ones are dropped, not rejected, because agents always list them.
  hostedTools: 'changed',
  // Becomes the image modality, with the size as aspect ratio and tier. Other options of the tool are dropped.
  imageTool: 'changed',
  // As inline data; a call without its result is dropped.
  imageHistory: 'changed',
  // Not sent. The key keeps the conversation on one account, and with it on one cache.
  cacheKey: 'changed',
};
