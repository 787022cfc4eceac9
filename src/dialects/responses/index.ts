/** Codec of the responses dialect: `/v1/responses` of the OpenAI API, as a server and as a client. */
import type { Codec } from '../codec.ts';
import { compactionClient } from './client/compaction.ts';
import { decodeRequest } from './client/decode-request.ts';
import { encodeReply } from './client/encode-reply.ts';
import { openEncoder } from './client/stream-encoder.ts';
import { decodeError } from './errors.ts';
import { fieldNames, support } from './fields.ts';
import { hasItemFor } from './output-items.ts';
import { decodeReply } from './upstream/decode-reply.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { openDecoder } from './upstream/stream-decoder.ts';
import { readUsage } from './usage.ts';

export const responsesCodec: Codec = {
  client: {
    dialect: 'responses',
    fieldNames,
    decodeRequest,
    encodeReply,
    openEncoder,
    replyForms: {
      style: 'responses',
      hasHosted: hasItemFor,
      hasImages: true,
      hasAudio: false,
      citesDocuments: true,
      quotes: false,
    },
  },
  upstream: {
    dialect: 'responses',
    fieldNames,
    support,
    encodeRequest,
    decodeReply,
    openDecoder,
    decodeError,
    readUsage,
  },
};

export { compactionClient };
