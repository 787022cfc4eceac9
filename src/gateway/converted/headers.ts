/**
 * Response headers of converted responses, and what they name:
 * fields that were dropped, content that the client's dialect has no form for.
 */
import { type HubReply, omittedFrom } from '../../dialects/index.ts';
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

export function omittedFromReply(
  { call, pair }: Pick<CallContext, 'call' | 'pair'>,
  reply: Pick<HubReply, 'items' | 'omitted'>,
): string[] {
  const names = new Set(omittedFrom(reply, pair.client.replyForms).map((name) => `reply.${name}`));
  if (names.size > 0) call.trace.dropped = [...new Set([...(call.trace.dropped ?? []), ...names])];
  return [...names];
}
