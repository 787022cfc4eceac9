/** Support of each hub field by Converse. The encoder reports fields that a single model does not support. */
import type { SupportTable } from '../../hub/fields.ts';

export const support = {
  /** Clamped to 1. */
  temperature: 'changed',
  topP: 'kept',
  /** A field of Anthropic's models and of Nova. */
  topK: 'kept',
  seed: 'dropped',
  presencePenalty: 'dropped',
  frequencyPenalty: 'dropped',
  /** Without a bias, further candidates or log probabilities the reply would not be what the client requested. */
  logitBias: 'rejected',
  n: 'rejected',
  logprobs: 'rejected',
  /** The gateway emulates blank sequences. */
  stop: 'kept',
  verbosity: 'dropped',
  audioOutput: 'rejected',
  imageOutput: 'dropped',
  imageOnlyOutput: 'rejected',
  imageSettings: 'dropped',
  /** A field of the model's family. */
  reasoning: 'changed',
  reasoningStyle: 'dropped',
  /** A schema without the keywords that constrained decoding lacks, or an instruction. */
  structuredOutput: 'changed',
  citations: 'kept',
  imageDetail: 'dropped',
  strictTools: 'changed',
  /** Not rejected, because agents always list them. */
  hostedTools: 'changed',
  imageTool: 'dropped',
  /** A text note marks the place. */
  imageHistory: 'dropped',
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  /** The API generates at least one token. */
  prewarm: 'rejected',
  parallelTools: 'dropped',
  /** Only the allowed tools are sent. */
  allowedTools: 'changed',
  /** Not sent. The key still selects the account, and with it the cache. */
  cacheKey: 'changed',
  /** The last four. */
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  userId: 'dropped',
  /** Into the invocation logs. */
  metadata: 'changed',
} as const satisfies SupportTable;
