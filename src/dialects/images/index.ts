/** The images API as a dialect of clients: one picture from one text, drawn by a model that otherwise converses. */
import type { ClientSide } from '../codec.ts';
import { type FieldNames, HUB_FIELDS, REQUEST_SECTIONS } from '../hub/fields.ts';
import { decodeRequest } from './decode-request.ts';
import { encodeReply } from './encode-reply.ts';
import { faultIn } from './pictures.ts';
import { openEncoder } from './stream-encoder.ts';

/** Fields that this API lacks have no name, because no request sets them. */
const UNNAMED = Object.fromEntries([...HUB_FIELDS, ...REQUEST_SECTIONS].map((field) => [field, ''])) as FieldNames;

const fieldNames: FieldNames = {
  ...UNNAMED,
  conversation: 'prompt',
  imageOnlyOutput: 'model',
  imageSettings: 'size',
};

export const imagesClient: ClientSide = {
  dialect: 'images',
  fieldNames,
  decodeRequest,
  faultIn,
  encodeReply,
  openEncoder,
  // A client that asked for a picture expects nothing else.
  replyForms: { hasHosted: () => true, hasImages: true, hasAudio: true, citesDocuments: true, quotes: true },
};
