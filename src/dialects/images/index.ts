/** The images API as a dialect of clients: one picture from one text, drawn by a model that otherwise converses. */
import type { ClientSide } from '../codec.ts';
import { decodeRequest } from './decode-request.ts';
import { encodeReply } from './encode-reply.ts';
import { fieldNames } from './field-names.ts';
import { faultIn } from './missing-picture.ts';
import { openEncoder } from './stream-encoder.ts';

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
