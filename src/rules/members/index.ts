/** Tables of known members by operation. */
import { type InferenceOperation, inferenceRow } from '../endpoints.ts';
import type { Dialect } from '../groups.ts';
import { byName } from '../notation.ts';
import { CHAT_MEMBERS, EMBEDDING_MEMBERS } from './chat.ts';
import { CACHE_MEMBERS, EMBED_MEMBERS, GENERATE_MEMBERS, INTERACTION_MEMBERS } from './generate.ts';
import { IMAGE_MEMBERS } from './images.ts';
import type { ObjectKinds } from './kind.ts';
import { MESSAGES_MEMBERS } from './messages.ts';
import { RESPONSES_MEMBERS } from './responses.ts';

export type { ObjectKind, ObjectKinds, ObjectTag } from './kind.ts';

const BY_DIALECT: Readonly<Record<Dialect, ObjectKinds>> = {
  messages: MESSAGES_MEMBERS,
  chat: CHAT_MEMBERS,
  responses: RESPONSES_MEMBERS,
  generate: GENERATE_MEMBERS,
};

/** Names by which a request names objects of the account, in a body not read otherwise. Those of generate-content are in texts too. */
export const OBJECT_NAMES: Readonly<Record<Dialect, readonly string[]>> = {
  messages: ['file_id', 'container'],
  chat: ['file_id'],
  responses: [
    ...['item_reference', 'file_id', 'file_ids', 'container', 'container_id'],
    ...['vector_store_ids', 'conversation'],
  ],
  generate: [],
};

export function objectKindsOf(operation: InferenceOperation, dialect: Dialect): ObjectKinds {
  const { reader, vectors } = inferenceRow(operation);
  if (reader === 'image') return IMAGE_MEMBERS;
  if (reader === 'cache') return CACHE_MEMBERS;
  if (reader === 'interaction') return INTERACTION_MEMBERS;
  return vectors ? (dialect === 'generate' ? EMBED_MEMBERS : EMBEDDING_MEMBERS) : BY_DIALECT[dialect];
}

/** Types of parts that hold media, in all dialects, and what each is said to be. What it is called counts only where its bytes do not tell. */
export const MEDIA_TYPES: ReadonlyMap<unknown, 'image' | 'audio' | 'file'> = byName({
  image: 'image image_url input_image computer_screenshot',
  audio: 'input_audio audio_url',
  // The last four: frames or a film, of any length.
  file: 'file input_file document container_upload file_url document_url video video_url input_video audio',
});

/** Members of an image request that a form has too, beside its files. */
export const IMAGE_FORM_FIELDS: ReadonlySet<string> = new Set(
  (IMAGE_MEMBERS.request?.members ?? []).filter((member) => !member.includes(':')),
);
