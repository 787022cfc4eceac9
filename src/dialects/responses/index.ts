/** The responses dialect: `/v1/responses` of the OpenAI API, as a server and as a client. */
import type { ReplyForms } from '../hub/types.ts';
import { hasItemFor } from './output-items.ts';

export { compactionClient } from './client/compaction.ts';
export { decodeRequest } from './client/decode-request.ts';
export { encodeReply } from './client/encode-reply.ts';
export { openEncoder } from './client/stream-encoder.ts';
export { decodeError } from './errors.ts';
export { fieldNames, support } from './fields.ts';
export { decodeReply } from './upstream/decode-reply.ts';
export { encodeRequest } from './upstream/encode-request.ts';
export { openDecoder } from './upstream/stream-decoder.ts';
export { readUsage } from './usage.ts';

export const replyForms: ReplyForms = {
  style: 'responses',
  hasHosted: hasItemFor,
  hasImages: true,
  hasAudio: false,
  citesDocuments: true,
  quotes: false,
};
