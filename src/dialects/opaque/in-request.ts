/**
 * Opaque values inside a request: whose they are, the request without them, and the request with those put back that a client
 * dialect has no slot for. Reasoning goes with its value; it never becomes visible text.
 */
import type { HubItem, HubPart, HubRequest, HubText, Opaque } from '../hub/types.ts';
import { digest } from '../wire/ids.ts';

/** Marks of the accounts whose values the request carries, most recent first. */
export function accountTagsIn(request: HubRequest): string[] {
  const marks = request.items.flatMap((item) =>
    opaquesOf(item).flatMap((opaque) => (opaque.account === undefined ? [] : [opaque.account])),
  );
  return [...new Set(marks.reverse())];
}

export const hasOpaque = (request: HubRequest): boolean => request.items.some((item) => opaquesOf(item).length > 0);

export const opaquesIn = (request: HubRequest): Opaque[] => request.items.flatMap(opaquesOf);

/** For the one retry after an upstream has rejected a value: better a turn without its thoughts than no turn. */
export const withoutOpaque = (request: HubRequest): HubRequest => ({
  ...request,
  items: request.items.filter((item) => item.kind !== 'reasoning').map((item) => stripped(item, () => true)),
});

/** Without those that are known to be rejected; the thoughts that belong to them go too. */
export const withoutOpaques = (request: HubRequest, isRejected: (opaque: Opaque) => boolean): HubRequest => ({
  ...request,
  items: request.items
    .filter((item) => item.kind !== 'reasoning' || !item.opaque || !isRejected(item.opaque))
    .map((item) => (opaquesOf(item).some(isRejected) ? stripped(item, isRejected) : item)),
});

function opaquesOf(item: HubItem): Opaque[] {
  if (item.kind === 'reasoning' || item.kind === 'compaction') return item.opaque ? [item.opaque] : [];
  if (item.kind === 'tool_call') return item.signature ? [item.signature] : [];
  if (item.kind === 'message')
    return item.parts.flatMap((part) => ('signature' in part && part.signature ? [part.signature] : []));
  return [];
}

function stripped(item: HubItem, isGone: (opaque: Opaque) => boolean): HubItem {
  if (item.kind === 'tool_call' && item.signature && isGone(item.signature)) {
    const { signature: _, ...rest } = item;
    return rest;
  }
  return item.kind === 'message' ? { ...item, parts: item.parts.map((part) => unsigned(part, isGone)) } : item;
}

function unsigned(part: HubPart, isGone: (opaque: Opaque) => boolean): HubPart {
  if ((part.kind !== 'text' && part.kind !== 'image') || !part.signature || !isGone(part.signature)) return part;
  const { signature: _, ...rest } = part;
  return rest;
}

/** What must stand before (or on) a tool call when the conversation comes back. */
export interface OpaqueForCall {
  /** Before the words that the assistant said ahead of the call. */
  readonly ahead: readonly HubItem[];
  /** Directly before the call. */
  readonly before: readonly HubItem[];
  readonly signature?: Opaque;
  /** For words instead of a call: the pieces they were said in, and what signs each. */
  readonly pieces?: readonly Piece[];
}
interface Piece {
  readonly chars: number;
  readonly signature?: Opaque;
}

/** Words have no id: those of an answer are found by what they say. */
const wordsId = (words: string): string => `words:${digest(words, 26)}`;

/** The opaque values of an answer, by the id of the call or the words that they belong to. */
export function opaqueByCall(items: readonly HubItem[]): Map<string, OpaqueForCall> {
  const found = new Map<string, OpaqueForCall>();
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
  const texts = items.flatMap((item) => (item.kind === 'message' ? item.parts.filter(isText) : []));
  if (texts.some(({ signature }) => signature)) {
    const pieces = texts.map(({ text, signature }) => ({ chars: text.length, ...(signature && { signature }) }));
    found.set(wordsId(texts.map(({ text }) => text).join('')), { ahead: [], before: [], pieces });
  }
  return found;
}

const isText = (part: HubPart): part is HubText => part.kind === 'text';

/**
 * The request with remembered values back in their places; calls that carry their own are left alone. Words are looked up only
 * where a provider signs them, since it means to digest every one of them.
 */
export function restoreOpaque(
  request: HubRequest,
  lookUp: (id: string) => OpaqueForCall | undefined,
  signsWords: boolean,
): HubRequest {
  const knownOf = (n: number): OpaqueForCall | undefined => {
    const item = request.items[n];
    if (item?.kind !== 'tool_call' || item.signature) return undefined;
    const known = lookUp(item.callId);
    return known && known.before.length > 0 && carriesReasoning(request.items[n - 1]) ? undefined : known;
  };
  const items = request.items.flatMap((item, n): HubItem[] => {
    if (isSaid(item)) return [...(knownOf(n + 1)?.ahead ?? []), signsWords ? signedAgain(item, lookUp) : item];
    const known = knownOf(n);
    if (item.kind !== 'tool_call' || !known) return [item];
    const ahead = isSaid(request.items[n - 1]) ? [] : known.ahead;
    return [...ahead, ...known.before, known.signature ? { ...item, signature: known.signature } : item];
  });
  return items.length === request.items.length && items.every((item, n) => item === request.items[n])
    ? request
    : { ...request, items };
}

function signedAgain(item: HubItem, lookUp: (id: string) => OpaqueForCall | undefined): HubItem {
  if (item.kind !== 'message' || !item.parts.every((part) => isText(part) && !part.signature)) return item;
  const words = item.parts.map((part) => (isText(part) ? part.text : '')).join('');
  const pieces = words === '' ? undefined : lookUp(wordsId(words))?.pieces;
  if (!pieces) return item;
  let at = 0;
  const parts = pieces.map(({ chars, signature }): HubText => {
    at += chars;
    return { kind: 'text', text: words.slice(at - chars, at), ...(signature && { signature }) };
  });
  return { ...item, parts };
}

const isSaid = (item: HubItem | undefined): boolean => item?.kind === 'message' && item.role === 'assistant';

const carriesReasoning = (item: HubItem | undefined): boolean =>
  item?.kind === 'reasoning' && item.opaque !== undefined;
