/**
 * Signatures of opaque values: an envelope of a client counts only
 * with the one of the gateway, which decides what it binds.
 */
import type { HubEvent, HubItem, HubPart, HubRequest, Opaque } from '../hub/types.ts';
import { withoutRejected } from './in-request.ts';

export type SignOpaque = (opaque: Opaque) => string;

export function signItem(item: HubItem, sign: SignOpaque): HubItem {
  const signed = (opaque: Opaque): Opaque => ({ ...opaque, mac: sign(opaque) });
  if (item.kind === 'reasoning' || item.kind === 'compaction' || item.kind === 'server_call')
    return item.opaque ? { ...item, opaque: signed(item.opaque) } : item;
  if (item.kind === 'tool_call') return item.signature ? { ...item, signature: signed(item.signature) } : item;
  if (item.kind !== 'message' || !item.parts.some(hasSignature)) return item;
  return {
    ...item,
    parts: item.parts.map((part) => (hasSignature(part) ? { ...part, signature: signed(part.signature) } : part)),
  };
}

export const signEvent = (event: HubEvent, sign: SignOpaque): HubEvent =>
  'item' in event ? { ...event, item: signItem(event.item, sign) } : event;

/** Removes forged values as if they were stale: reasoning goes with its value, everything else stays. */
export function withoutForged(request: HubRequest, isForged: (opaque: Opaque) => boolean): HubRequest {
  const stripped = withoutRejected(request, isForged);
  return { ...stripped, items: stripped.items.map((item) => withoutForgedSummary(item, isForged)) };
}

function withoutForgedSummary(item: HubItem, isForged: (opaque: Opaque) => boolean): HubItem {
  if (item.kind !== 'compaction' || !item.opaque || !isForged(item.opaque)) return item;
  const { opaque: _, ...rest } = item;
  return rest;
}

type SignedPart = HubPart & { readonly signature: Opaque };
const hasSignature = (part: HubPart): part is SignedPart => 'signature' in part && part.signature !== undefined;
