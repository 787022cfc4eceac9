/**
 * `x-gateway-dropped`: fields that did not reach the provider,
 * under the caller's names; after `reply.`, what did not reach the caller.
 */

/** Clients and proxies limit the size of a header; a caller may invent any number of field names. */
const DROPPED_CHARS = 4_096;

/**
 * As many names as fit. They may be the caller's own,
 * so they are encoded: a bad header value must not fail a paid response.
 */
export function droppedHeaders(fields: readonly string[]): Record<string, string> {
  let names = '';
  for (const field of fields) {
    const name = encodeURIComponent(field.slice(0, DROPPED_CHARS).toWellFormed());
    if (names.length + name.length < DROPPED_CHARS) names += names === '' ? name : `,${name}`;
  }
  return fields.length > 0 ? { 'x-gateway-dropped': names } : {};
}
