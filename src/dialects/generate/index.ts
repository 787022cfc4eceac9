/** Codec of the generateContent dialect. */
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

export const generateCodec: Codec = {
  client: {
    dialect: 'generate',
    fieldNames,
    decodeRequest,
    encodeReply,
    openEncoder,
    replyForms: {
      style: 'generate-content',
      hasHosted: ({ tool }) => tool === 'code_exec',
      hasImages: true,
      hasAudio: true,
      citesDocuments: false,
      quotes: false,
    },
  },
  upstream: {
    dialect: 'generate',
    fieldNames,
    support,
    encodeRequest,
    decodeReply,
    openDecoder,
    decodeError,
    readUsage,
  },
};
