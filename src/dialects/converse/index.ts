/**
 * Converse, Bedrock's format for all its models; no client speaks it.
 * `src/providers/upstream/clouds/` gives its frames and errors the form of the Messages API.
 */
import type { SupportTable } from '../hub/fields.ts';
import { support as messagesSupport } from '../messages/index.ts';

export { decodeError, fieldNames } from '../messages/index.ts';
export { encodeRequest } from './upstream/encode-request.ts';
export { decodeReply, openDecoder } from './upstream/stream-decoder.ts';
export { readUsage } from './usage.ts';

/** That of the Messages API, apart from these. The encoder reports what a single model lacks. */
export const support: SupportTable = {
  ...messagesSupport,
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  parallelTools: 'dropped',
  userId: 'dropped',
  /** The API generates at least one token. */
  prewarm: 'rejected',
  /** Into the invocation logs. */
  metadata: 'changed',
};
