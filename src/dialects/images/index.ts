/** The images API as a dialect of clients: one picture from one text, drawn by a model that otherwise converses. */
import { type FieldNames, HUB_FIELDS, REQUEST_SECTIONS } from '../hub/fields.ts';
import type { ReplyForms } from '../hub/types.ts';

export { decodeRequest } from './decode-request.ts';
export { encodeReply } from './encode-reply.ts';
export { faultIn, picturesIn, sizeOfPicture } from './pictures.ts';
export { openEncoder } from './stream-encoder.ts';

/** Fields that this API lacks have no name, because no request sets them. */
const UNNAMED = Object.fromEntries([...HUB_FIELDS, ...REQUEST_SECTIONS].map((field) => [field, ''])) as FieldNames;

export const fieldNames: FieldNames = {
  ...UNNAMED,
  conversation: 'prompt',
  imageOnlyOutput: 'model',
  imageSettings: 'size',
};

/** A client that asked for a picture expects nothing else. */
export const replyForms: ReplyForms = {
  hasHosted: () => true,
  hasImages: true,
  hasAudio: true,
  citesDocuments: true,
  quotes: true,
};
