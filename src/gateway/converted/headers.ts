/** Response headers of converted responses. */
import { idHeaders } from '../../web/index.ts';
import { droppedHeaders } from '../dropped.ts';
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
    ...droppedHeaders(encoded.dropped),
  };
}
