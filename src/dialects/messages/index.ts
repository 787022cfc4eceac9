/** The messages dialect. */
import { hasBlocksFor } from '../claude/server-tools.ts';
import type { ReplyForms } from '../hub/types.ts';

export { decodeCountRequest, decodeRequest } from './client/decode-request.ts';
export { encodeReply } from './client/encode-reply.ts';
export { openEncoder } from './client/stream-encoder.ts';
export { decodeError, decodeStreamError, encodeError } from './errors.ts';
export { fieldNames, support } from './fields.ts';
export { alignWithCalls } from './stop-reason.ts';
export { encodeRequest } from './upstream/encode-request.ts';
export { decodeReply, openDecoder } from './upstream/stream-decoder.ts';
export { readUsage } from './usage.ts';

export const replyForms: ReplyForms = {
  style: 'messages',
  hasHosted: hasBlocksFor,
  hasImages: false,
  hasAudio: false,
  citesDocuments: true,
  quotes: true,
};
