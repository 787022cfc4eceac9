/** The generateContent dialect: what a client of ours may speak and what providers of that style are spoken to in. */
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

export { type WrongDialectBody, wrongDialect } from './client/wrong-dialect.ts';
export { encodeError } from './errors.ts';

export const generateCodec: Codec = {
  dialect: 'generate',
  client: { decodeRequest, encodeReply, openEncoder, fieldNames },
  upstream: { encodeRequest, decodeReply, openDecoder, decodeError, support: support, readUsage },
};
