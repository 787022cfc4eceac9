/** The chat-completions dialect (G 4.7): clients of `/v1/chat/completions`, and upstream accounts that speak nothing else. */
import type { Codec } from '../codec.ts';
import { decodeRequest } from './client/decode-request.ts';
import { fieldNames } from './client/field-names.ts';
import { openEncoder } from './client/stream-encoder.ts';
import { decodeError } from './errors.ts';
import { decodeReply, encodeReply } from './reply.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { openDecoder } from './upstream/stream-decoder.ts';
import { support } from './upstream/support.ts';
import { readUsage } from './usage.ts';

export const chatCodec: Codec = {
  dialect: 'chat',
  client: { decodeRequest, encodeReply, openEncoder, fieldNames },
  upstream: { encodeRequest, decodeReply, openDecoder, decodeError, support: support, readUsage: readUsage },
};
