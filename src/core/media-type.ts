/** Media types of HTTP headers. They are case-insensitive, and their parameters do not matter here. */

/** `Application/JSON; charset=utf-8` -> `application/json`; empty without a header. */
export const mediaTypeOf = (contentType: string | undefined): string =>
  contentType === undefined ? '' : (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

export const EVENT_STREAM = 'text/event-stream';

export const isEventStream = (contentType: string | undefined): boolean =>
  mediaTypeOf(contentType).startsWith(EVENT_STREAM);

/** Also types such as `application/problem+json`. */
export const isJsonType = (contentType: string | undefined): boolean => /\bjson\b/.test(mediaTypeOf(contentType));
