/** The responses dialect: `/v1/responses` of the OpenAI family, both sides. */
import type { Codec } from '../codec.ts';
import { decodeRequest } from './decode-request.ts';
import { openDecoder } from './decoder.ts';
import { encodeReply } from './encode-reply.ts';
import { encodeRequest } from './encode-request.ts';
import { openEncoder } from './encoder.ts';
import { decodeError } from './errors.ts';
import { fate } from './fate.ts';
import { fieldNames } from './fields.ts';
import { decodeReply } from './reply.ts';
import { readUsage } from './usage.ts';

export const responsesCodec: Codec = {
  dialect: 'responses',
  client: { decodeRequest, encodeReply, openEncoder, fieldNames },
  upstream: { encodeRequest, decodeReply, openDecoder, decodeError, fate, readUsage },
};
