/** Response headers of converted responses. */
import { idHeaders } from '../../platform/web/index.ts';
import { droppedHeaders } from '../dropped.ts';
import type { CallContext, EncodedFor } from './context.ts';

/** `omitted`: what the client does not get of the reply. A stream learns of it after its head; see `ClientReply`. */
export function conversionHeaders(
  { pair, call }: Pick<CallContext, 'pair' | 'call'>,
  { encoded, model }: EncodedFor,
  omitted: readonly string[] = [],
): Record<string, string> {
  return {
    ...idHeaders(call),
    'x-gateway-converted': `${pair.client.dialect}->${pair.upstream.dialect}`,
    'x-gateway-upstream-model': encodeURIComponent(model),
    ...droppedHeaders([...encoded.dropped, ...omitted]),
  };
}
