/** The generateContent dialect: what a client of ours may speak and what providers of that style are spoken to in. */
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

export { encodeError } from './errors.ts';
export { type ForeignBody, foreignDialect } from './foreign.ts';

export const generateCodec: Codec = {
  dialect: 'generate',
  client: { decodeRequest, encodeReply, openEncoder, fieldNames },
  upstream: { encodeRequest, decodeReply, openDecoder, decodeError, fate, readUsage },
};
