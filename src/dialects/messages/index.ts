/** The messages dialect: what a client of it may say and hear, and how a provider that speaks it is asked. */
import type { Codec } from '../codec.ts';
import { decodeRequest } from './decode-request.ts';
import { openDecoder } from './decoder.ts';
import { encodeRequest } from './encode-request.ts';
import { openEncoder } from './encoder.ts';
import { decodeError } from './errors.ts';
import { fate } from './fate.ts';
import { fieldNames } from './fields.ts';
import { decodeReply, encodeReply } from './reply.ts';
import { readUsage } from './usage.ts';

export { decodeCountRequest } from './decode-request.ts';
export { encodeError } from './errors.ts';

export const messagesCodec: Codec = {
  dialect: 'messages',
  client: { decodeRequest, encodeReply, openEncoder, fieldNames },
  upstream: { encodeRequest, decodeReply, openDecoder, decodeError, fate, readUsage },
};
