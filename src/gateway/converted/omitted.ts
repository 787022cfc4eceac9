/** Content of a reply that the client's dialect has no form for: named in `x-gateway-dropped` and in the request log. */
import { type HubReply, omittedFrom } from '../../dialects/index.ts';
import type { CallContext } from './context.ts';

/** Returns each name once. */
export function omittedFromReply(
  { call, pair }: Pick<CallContext, 'call' | 'pair'>,
  reply: Pick<HubReply, 'items' | 'omitted'>,
): string[] {
  const names = new Set(omittedFrom(reply, pair.client.replyForms).map((name) => `reply.${name}`));
  if (names.size > 0) call.trace.dropped = [...new Set([...(call.trace.dropped ?? []), ...names])];
  return [...names];
}
