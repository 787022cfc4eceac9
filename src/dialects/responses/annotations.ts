/** Citations of web pages and of files. A position in the text is known only for pages and for files of a container. */
import type { HubAnnotation, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeCount, maybeList, maybeString } from '../wire/read.ts';

export function decodeAnnotation(value: unknown): HubAnnotation | undefined {
  if (!isObject(value)) return undefined;
  const title = maybeString(value.title) ?? maybeString(value.filename) ?? '';
  const start = maybeCount(value.start_index) ?? maybeCount(value.index);
  const place = { start, end: maybeCount(value.end_index) ?? start };
  const url = value.type === 'url_citation' ? maybeString(value.url) : undefined;
  if (url !== undefined) return compact({ ...place, url, title });
  const fileId = FILE_TYPES.has(maybeString(value.type) ?? '') ? maybeString(value.file_id) : undefined;
  return fileId === undefined ? undefined : compact({ ...place, url: '', title, document: { fileId } });
}
const FILE_TYPES: ReadonlySet<string> = new Set(['file_citation', 'container_file_citation', 'file_path']);

export const decodeAnnotations = (value: unknown): HubAnnotation[] =>
  maybeList(value).flatMap((annotation) => decodeAnnotation(annotation) ?? []);

/**
 * SDKs require both offsets, so an unknown position becomes an empty
 * span. A document of the request has no file id.
 */
export function encodeAnnotation({ start = 0, end, url, title, document }: HubAnnotation): JsonObject {
  if (!document) return { type: 'url_citation', start_index: start, end_index: end ?? start, url, title };
  const file_id = document.fileId ?? `document_${document.index ?? 0}`;
  return { type: 'file_citation', file_id, filename: title, index: end ?? start };
}
