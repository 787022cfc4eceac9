/**
 * Our ids for the calls of replies. A provider's may repeat in other replies and at other providers, so that a client
 * gets the provider's with a suffix of ours, and the provider gets its own back.
 */
import type { HubItem, HubRequest } from '../hub/types.ts';
import { digest, isMinted, mintCallId } from '../wire/ids.ts';

const SUFFIX = /_gw[\w-]{12}$/;
/** With the suffix, every dialect takes it. */
const SHORT_ID = /^[a-zA-Z0-9_-]{1,49}$/;

/** Which call of the gateway a reply belongs to, and how many rounds were complete before. */
export interface ReplyPlace {
  readonly requestId: string;
  readonly round: number;
}

/** The same id at the same place always gives the same one. */
export function ownCallId(given: string, { requestId, round }: ReplyPlace): string {
  const seed = `${requestId}/${round}/${given}`;
  return SHORT_ID.test(given) && !isMinted(given) ? `${given}_gw${digest(seed, 12)}` : mintCallId(seed, 0);
}

/** The provider's ids again. Of calls with the same one, only the first gets it, so that each keeps its result. */
export function withProviderCallIds(request: HubRequest): HubRequest {
  if (!request.items.some((item) => item.kind === 'tool_call' && SUFFIX.test(item.callId))) return request;
  const given = new Map<string, string>();
  const taken = new Set<string>();
  for (const item of request.items) {
    if (item.kind !== 'tool_call' || given.has(item.callId)) continue;
    const base = item.callId.replace(SUFFIX, '');
    const id = taken.has(base) ? item.callId : base;
    taken.add(id);
    given.set(item.callId, id);
  }
  const restore = (item: HubItem): HubItem =>
    item.kind === 'tool_call' || item.kind === 'tool_result'
      ? { ...item, callId: given.get(item.callId) ?? item.callId }
      : item;
  return { ...request, items: request.items.map(restore) };
}
