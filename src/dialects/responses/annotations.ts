/** Citations of web pages. Those of files and containers point into one provider's storage and are left out. */
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
  maybeList(value).flatMap((one) => decodeAnnotation(one) ?? []);

/** Readers parse both offsets as numbers, so an unknown place is an empty span. */
export const encodeAnnotation = (note: HubAnnotation): JsonObject => ({
  type: 'url_citation',
  start_index: note.start ?? 0,
  end_index: note.end ?? note.start ?? 0,
  url: note.url,
  title: note.title,
});
