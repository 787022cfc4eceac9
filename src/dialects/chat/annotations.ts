/** Web citations: wire offsets count from the start of the content, hub offsets from the start of a text part. */
import type { HubAnnotation, JsonObject } from '../hub/types.ts';
import { compact, maybeCount, maybeObject, maybeString } from '../wire/read.ts';

export function decodeAnnotation(value: unknown, partStart: number): HubAnnotation | undefined {
  const wire = maybeObject(value);
  const note = maybeObject(wire.url_citation);
  const url = maybeString(note.url);
  if (wire.type !== 'url_citation' || !url) return undefined;
  const start = maybeCount(note.start_index);
  const end = maybeCount(note.end_index);
  const within = start !== undefined && end !== undefined && start >= partStart && end >= start;
  return compact({
    start: within ? start - partStart : undefined,
    end: within ? end - partStart : undefined,
    url,
    title: maybeString(note.title) ?? '',
  });
}

/** A citation without offsets covers its whole part, because the wire requires offsets. */
export const encodeAnnotation = (note: HubAnnotation, partStart: number, partLength: number): JsonObject => ({
  type: 'url_citation',
  url_citation: {
    start_index: partStart + (note.start ?? 0),
    end_index: partStart + (note.end ?? partLength),
    title: note.title,
    url: note.url,
  },
});
