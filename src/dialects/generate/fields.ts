/** Names of the hub fields in this dialect, and what becomes of the optional ones at its providers. */
import { each, words } from '../../rules/index.ts';
import { COMMON_NAMES, type FieldNames, type SupportTable, WITHOUT_FIELDS } from '../hub/fields.ts';

/** Members of `generationConfig` with the name of the hub. */
const settings = (fields: string): Partial<FieldNames> =>
  Object.fromEntries(words(fields).map((field) => [field, `generationConfig.${field}`]));

export const fieldNames: FieldNames = {
  ...COMMON_NAMES,
  conversation: 'contents',
  thoughts: 'contents.thought',
  toolChoice: 'toolConfig',
  imageHistory: 'contents.parts.inlineData',
  ...settings('temperature topP topK seed presencePenalty frequencyPenalty logitBias verbosity'),
  n: 'generationConfig.candidateCount',
  logprobs: 'generationConfig.responseLogprobs',
  stop: 'generationConfig.stopSequences',
  ...each('generationConfig.responseModalities', 'audioOutput imageOutput imageOnlyOutput'),
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
  // Documents are read but not cited. Some models accept a resolution for each image; all others reject it. Prefixes are cached without
  // breakpoints.
  ...WITHOUT_FIELDS,
  ...each('kept', 'temperature topP topK seed presencePenalty frequencyPenalty serviceTier'),
  ...each('changed', 'structuredOutput allowedTools'),
  // The first five are sent upstream; the gateway emulates the others.
  stop: 'changed',
  // For models that generate images; others drop it, or reject it if the client wants nothing else.
  ...each('kept', 'imageOutput imageOnlyOutput imageSettings'),
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
