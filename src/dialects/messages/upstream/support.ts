/** Support of each hub field by messages upstreams. The encoder reports fields that a single model does not support. */
import type { SupportTable } from '../../hub/fields.ts';

export const support = {
  /** Clamped to 1. Models with fixed sampling get no sampling fields. */
  temperature: 'changed',
  topP: 'kept',
  topK: 'kept',
  seed: 'dropped',
  presencePenalty: 'dropped',
  frequencyPenalty: 'dropped',
  /** Without a bias, further candidates or log probabilities the reply would not be what the client requested. */
  logitBias: 'rejected',
  n: 'rejected',
  logprobs: 'rejected',
  /** The gateway emulates blank sequences, which the provider rejects. */
  stop: 'kept',
  verbosity: 'dropped',
  audioOutput: 'rejected',
  /** Replies are text. A client that accepts text gets it; one that asks for images only would get nothing it can use. */
  imageOutput: 'dropped',
  imageOnlyOutput: 'rejected',
  imageSettings: 'dropped',
  /** An effort, a budget or a mode, depending on the model. */
  reasoning: 'changed',
  reasoningStyle: 'dropped',
  /** A schema without the keywords that constrained decoding lacks; plain JSON becomes an instruction. */
  structuredOutput: 'changed',
  citations: 'kept',
  /** Images have one resolution, chosen by their size. */
  imageDetail: 'dropped',
  /** Up to the provider's limit; further tools are sent without `strict`. */
  strictTools: 'changed',
  /** Unsupported ones are dropped, not rejected, because agents always list them. */
  hostedTools: 'changed',
  /** Dropped like hosted tools without a counterpart; a request that forces it is rejected. */
  imageTool: 'dropped',
  /** Assistant turns cannot hold images; a text note marks the place. */
  imageHistory: 'dropped',
  /** Limits web search, the only hosted tool with a limit. */
  maxToolCalls: 'changed',
  compaction: 'dropped',
  prewarm: 'kept',
  parallelTools: 'kept',
  /** Only the allowed tools are sent. */
  allowedTools: 'changed',
  /** Not sent. The key still selects the account, and with it the cache. */
  cacheKey: 'changed',
  /** The last four. */
  cacheBreakpoints: 'changed',
  serviceTier: 'changed',
  /** Hashed: the provider needs to distinguish users, not to identify them. */
  userId: 'changed',
  metadata: 'dropped',
} as const satisfies SupportTable;
