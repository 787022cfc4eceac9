/** The chat-completions dialect (G 4.7): clients of `/v1/chat/completions`, and upstream accounts that speak nothing else. */
import type { Codec } from '../codec.ts';
import { decodeRequest } from './decode-request.ts';
import { openDecoder } from './decoder.ts';
import { encodeRequest } from './encode-request.ts';
import { openEncoder } from './encoder.ts';
import { decodeError } from './errors.ts';
import { fate } from './fate.ts';
import { fieldNames } from './fields.ts';
import { decodeReply, encodeReply } from './reply.ts';
import { decodeUsage } from './usage.ts';

export const chatCodec: Codec = {
  dialect: 'chat',
  client: { decodeRequest, encodeReply, openEncoder, fieldNames },
  upstream: { encodeRequest, decodeReply, openDecoder, decodeError, fate, readUsage: decodeUsage },
};
