/**
 * Opaque values inside a request: whose they are, the request without them, and the request with those put back that a client
 * dialect has no slot for. Reasoning goes with its value; it never becomes visible text.
 */
import type { HubItem, HubPart, HubRequest, Opaque } from './hub.ts';

/** Marks of the accounts whose values the request carries, most recent first. */
export function carriedAccounts(request: HubRequest): string[] {
  const marks = request.items.flatMap((item) =>
    opaquesOf(item).flatMap((opaque) => (opaque.account === undefined ? [] : [opaque.account])),
  );
  return [...new Set(marks.reverse())];
}

export const carriesOpaque = (request: HubRequest): boolean => request.items.some((item) => opaquesOf(item).length > 0);

/** For the one retry after an upstream has rejected a value: better a turn without its thoughts than no turn. */
export const withoutOpaque = (request: HubRequest): HubRequest => ({
  ...request,
  items: request.items.filter((item) => item.kind !== 'reasoning').map(stripped),
});

function opaquesOf(item: HubItem): Opaque[] {
  if (item.kind === 'reasoning' || item.kind === 'compaction') return item.opaque ? [item.opaque] : [];
  if (item.kind === 'tool_call') return item.signature ? [item.signature] : [];
  if (item.kind === 'message')
    return item.parts.flatMap((part) => ('signature' in part && part.signature ? [part.signature] : []));
  return [];
}

function stripped(item: HubItem): HubItem {
  if (item.kind === 'tool_call') {
    const { signature: _, ...rest } = item;
    return rest;
  }
  return item.kind === 'message' ? { ...item, parts: item.parts.map(unsigned) } : item;
}

function unsigned(part: HubPart): HubPart {
  if (part.kind !== 'text' && part.kind !== 'image') return part;
  const { signature: _, ...rest } = part;
  return rest;
}

/** What must stand before (or on) a tool call when the conversation comes back. */
export interface Remembered {
  /** Before the words that the assistant said ahead of the call. */
  readonly ahead: readonly HubItem[];
  /** Directly before the call. */
  readonly before: readonly HubItem[];
  readonly signature?: Opaque;
}

/** The opaque values of an answer, by the id of the call they belong to. */
export function rememberedOf(items: readonly HubItem[]): Map<string, Remembered> {
  const found = new Map<string, Remembered>();
  let ahead: HubItem[] = [];
  let before: HubItem[] = [];
  for (const item of items) {
    if (item.kind === 'reasoning' && item.opaque) before.push(item);
    if (item.kind === 'message') {
      ahead.push(...before);
      before = [];
    }
    if (item.kind !== 'tool_call') continue;
    if (ahead.length + before.length > 0 || item.signature)
      found.set(item.callId, { ahead, before, ...(item.signature && { signature: item.signature }) });
    ahead = [];
    before = [];
  }
  return found;
}

/** The request with remembered values back in their places; calls that carry their own are left alone. */
export function recall(request: HubRequest, lookUp: (callId: string) => Remembered | undefined): HubRequest {
  const knownOf = (n: number): Remembered | undefined => {
    const item = request.items[n];
    if (item?.kind !== 'tool_call' || item.signature) return undefined;
    const known = lookUp(item.callId);
    return known && known.before.length > 0 && carriesReasoning(request.items[n - 1]) ? undefined : known;
  };
  const items = request.items.flatMap((item, n): HubItem[] => {
    if (isSaid(item)) return [...(knownOf(n + 1)?.ahead ?? []), item];
    const known = knownOf(n);
    if (item.kind !== 'tool_call' || !known) return [item];
    const ahead = isSaid(request.items[n - 1]) ? [] : known.ahead;
    return [...ahead, ...known.before, known.signature ? { ...item, signature: known.signature } : item];
  });
  return items.length === request.items.length && items.every((item, n) => item === request.items[n])
    ? request
    : { ...request, items };
}

const isSaid = (item: HubItem | undefined): boolean => item?.kind === 'message' && item.role === 'assistant';

const carriesReasoning = (item: HubItem | undefined): boolean =>
  item?.kind === 'reasoning' && item.opaque !== undefined;
