/** Converse, Bedrock's format for all its models; no client speaks it. `src/providers/upstream/clouds/` gives its frames and errors the form of the Messages API. */
import type { UpstreamSide } from '../codec.ts';
import type { SupportTable } from '../hub/fields.ts';
import { decodeError, fieldNames, support as messagesSupport } from '../messages/index.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { decodeReply, openDecoder } from './upstream/stream-decoder.ts';
import { readUsage } from './usage.ts';

/** That of the Messages API, apart from these. The encoder reports what a single model lacks. */
const support: SupportTable = {
  ...messagesSupport,
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  /** The API generates at least one token. */
  prewarm: 'rejected',
  parallelTools: 'dropped',
  userId: 'dropped',
  /** Into the invocation logs. */
  metadata: 'changed',
};

export const converseUpstream: UpstreamSide = {
  dialect: 'converse',
  fieldNames,
  support,
  encodeRequest,
  decodeReply,
  openDecoder,
  decodeError,
  readUsage,
};
