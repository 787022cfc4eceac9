/**
 * The chat-completions dialect (G 4.7): clients of `/v1/chat/completions`, and
 * upstream accounts that have no other endpoint.
 */
import type { ReplyForms } from '../hub/types.ts';

export { decodeRequest } from './client/decode-request.ts';
export { encodeReply } from './client/encode-reply.ts';
export { openEncoder } from './client/stream-encoder.ts';
export { decodeError, encodeError } from './errors.ts';
export { fieldNames, support } from './fields.ts';
export { encodeRequest } from './upstream/encode-request.ts';
export { decodeReply, openDecoder } from './upstream/stream-decoder.ts';
export { readUsage } from './usage.ts';

export const replyForms: ReplyForms = {
  hasHosted: () => false,
  hasImages: true,
  hasAudio: true,
  citesDocuments: false,
  quotes: false,
};
