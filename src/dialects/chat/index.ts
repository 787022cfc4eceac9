/** The chat-completions dialect (G 4.7): clients of `/v1/chat/completions`, and upstream accounts that have no other endpoint. */
import type { Codec } from '../codec.ts';
import { decodeRequest } from './client/decode-request.ts';
import { encodeReply } from './client/encode-reply.ts';
import { openEncoder } from './client/stream-encoder.ts';
import { decodeError } from './errors.ts';
import { fieldNames, support } from './fields.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { decodeReply, openDecoder } from './upstream/stream-decoder.ts';
import { readUsage } from './usage.ts';

export { encodeError } from './errors.ts';

export const chatCodec: Codec = {
  client: {
    dialect: 'chat',
    fieldNames,
    decodeRequest,
    encodeReply,
    openEncoder,
    replyForms: { hasHosted: () => false, hasImages: true, hasAudio: true, citesDocuments: false, quotes: false },
  },
  upstream: { dialect: 'chat', fieldNames, support, encodeRequest, decodeReply, openDecoder, decodeError, readUsage },
};
