/** Codec of the messages dialect. */
import { hasBlocksFor } from '../claude/server-tools.ts';
import type { Codec } from '../codec.ts';
import { decodeRequest } from './client/decode-request.ts';
import { encodeReply } from './client/encode-reply.ts';
import { openEncoder } from './client/stream-encoder.ts';
import { decodeError } from './errors.ts';
import { fieldNames, support } from './fields.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { decodeReply, openDecoder } from './upstream/stream-decoder.ts';
import { readUsage } from './usage.ts';

export { decodeCountRequest } from './client/decode-request.ts';
export { decodeError, decodeStreamError, encodeError } from './errors.ts';
export { fieldNames, support } from './fields.ts';
export { alignWithCalls } from './stop-reason.ts';

export const messagesCodec: Codec = {
  client: {
    dialect: 'messages',
    fieldNames,
    decodeRequest,
    encodeReply,
    openEncoder,
    replyForms: {
      style: 'messages',
      hasHosted: hasBlocksFor,
      hasImages: false,
      hasAudio: false,
      citesDocuments: true,
      quotes: true,
    },
  },
  upstream: {
    dialect: 'messages',
    fieldNames,
    support,
    encodeRequest,
    decodeReply,
    openDecoder,
    decodeError,
    readUsage,
  },
};
