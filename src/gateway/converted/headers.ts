/** Response headers of converted responses. */
import { idHeaders } from '../../web/index.ts';
import type { CallContext, EncodedFor } from './context.ts';

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A proxy in between must neither collect nor recode a stream.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

export function conversionHeaders(
  { pair, call }: Pick<CallContext, 'pair' | 'call'>,
  { encoded, model }: EncodedFor,
): Record<string, string> {
  return {
    ...idHeaders(call),
    'x-gateway-converted': `${pair.client.dialect}->${pair.upstream.dialect}`,
    'x-gateway-upstream-model': encodeURIComponent(model),
    ...(encoded.dropped.length > 0 && { 'x-gateway-dropped': droppedHeader(encoded.dropped) }),
  };
}

/** Clients and proxies limit the size of a header; a caller may invent any number of field names. */
const DROPPED_CHARS = 4_096;

/** As many names as fit. They may be the caller's own, so they are encoded: a bad header value must not fail a paid response. */
function droppedHeader(fields: readonly string[]): string {
  let names = '';
  for (const field of fields) {
    const name = encodeURIComponent(field.slice(0, DROPPED_CHARS).toWellFormed());
    if (names.length + name.length < DROPPED_CHARS) names += names === '' ? name : `,${name}`;
  }
  return names;
}
