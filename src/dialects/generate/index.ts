/** Codec of the generateContent dialect. */
import type { Codec } from '../codec.ts';
import { decodeRequest } from './client/decode-request.ts';
import { encodeReply } from './client/encode-reply.ts';
import { fieldNames } from './client/field-names.ts';
import { openEncoder } from './client/stream-encoder.ts';
import { decodeError } from './errors.ts';
import { decodeReply } from './upstream/decode-reply.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { openDecoder } from './upstream/stream-decoder.ts';
import { support } from './upstream/support.ts';
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
