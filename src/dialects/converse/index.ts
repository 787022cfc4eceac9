/**
 * Converse, the format of Bedrock for all its models. A dialect of providers only: no client speaks it. `src/providers/upstream/clouds/`
 * reads its frames as server-sent events, and gives its errors and exceptions the form of the Messages API.
 */
import type { UpstreamSide } from '../codec.ts';
import { decodeError, fieldNames } from '../messages/index.ts';
import { decodeReply } from './upstream/decode-reply.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { openDecoder } from './upstream/stream-decoder.ts';
import { support } from './upstream/support.ts';
import { readUsage } from './usage.ts';

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
