/** Tables of known members by operation. */
import { type InferenceOperation, inferenceRow } from '../endpoints.ts';
import type { Dialect } from '../groups.ts';
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

/**
 * Names by which a request names objects of the account, in a body not read otherwise. Those of generate-content are in
 * texts too.
 */
export const OBJECT_NAMES: Readonly<Record<Dialect, readonly string[]>> = {
  messages: ['file_id', 'container'],
  chat: ['file_id'],
  responses: ['item_reference', 'file_id', 'file_ids', 'container', 'container_id', 'vector_store_ids', 'conversation'],
  generate: [],
};

export function objectKindsOf(operation: InferenceOperation, dialect: Dialect): ObjectKinds {
  const { reader, vectors } = inferenceRow(operation);
  if (reader === 'image') return IMAGE_MEMBERS;
  if (reader === 'cache') return CACHE_MEMBERS;
  if (reader === 'interaction') return INTERACTION_MEMBERS;
  return vectors ? (dialect === 'generate' ? EMBED_MEMBERS : EMBEDDING_MEMBERS) : BY_DIALECT[dialect];
}

/**
 * Types of parts that hold media, in all dialects, and what each is said to be. What it is called counts only where its
 * bytes do not tell.
 */
export const MEDIA_TYPES: ReadonlyMap<unknown, 'image' | 'audio' | 'file'> = new Map(
  Object.entries({
    image: 'image',
    image_url: 'image',
    input_image: 'image',
    computer_screenshot: 'image',
    input_audio: 'audio',
    audio_url: 'audio',
    file: 'file',
    input_file: 'file',
    document: 'file',
    container_upload: 'file',
    file_url: 'file',
    document_url: 'file',
    // Frames or a film, of any length.
    video: 'file',
    video_url: 'file',
    input_video: 'file',
    audio: 'file',
  }),
);

/** Members of an image request that a form has too, beside its files. */
export const IMAGE_FORM_FIELDS: ReadonlySet<string> = new Set(
  (IMAGE_MEMBERS.request?.members ?? []).filter((member) => !member.includes(':')),
);
