/** Web page citations. Citations of files and containers are dropped, because they refer to the storage of one provider. */
import type { HubAnnotation, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeCount, maybeList, maybeString } from '../wire/read.ts';

export function decodeAnnotation(value: unknown): HubAnnotation | undefined {
  if (!isObject(value) || value.type !== 'url_citation') return undefined;
  const url = maybeString(value.url);
  if (url === undefined) return undefined;
  return compact({
    start: maybeCount(value.start_index),
    end: maybeCount(value.end_index),
    url,
    title: maybeString(value.title) ?? '',
  });
}

export const decodeAnnotations = (value: unknown): HubAnnotation[] =>
  maybeList(value).flatMap((annotation) => decodeAnnotation(annotation) ?? []);

/** SDKs require both offsets, so an unknown position becomes an empty span. */
export const encodeAnnotation = (annotation: HubAnnotation): JsonObject => ({
  type: 'url_citation',
  start_index: annotation.start ?? 0,
  end_index: annotation.end ?? annotation.start ?? 0,
  url: annotation.url,
  title: annotation.title,
});
