/** The messages dialect: what a client of it may say and hear, and how a provider that speaks it is asked. */
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

export { decodeCountRequest } from './client/decode-request.ts';
export { encodeError } from './errors.ts';

export const messagesCodec: Codec = {
  dialect: 'messages',
  client: { decodeRequest, encodeReply, openEncoder, fieldNames },
  upstream: { encodeRequest, decodeReply, openDecoder, decodeError, support: support, readUsage },
};
