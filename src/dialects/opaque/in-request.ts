/**
 * Opaque values in a request: finds, removes and restores them.
 * Reasoning goes with its value; it never becomes visible text.
 */
import type { HubItem, HubPart, HubRequest, HubServerCall, HubText, Opaque } from '../hub/types.ts';
import { digest } from '../wire/ids.ts';

/** Returns the tags of the accounts that issued the values in the request, most recent first. */
export function accountTagsIn(request: HubRequest): string[] {
  const tags = opaquesIn(request).flatMap(({ account }) => account ?? []);
  return [...new Set(tags.reverse())];
}

export const hasOpaque = (request: HubRequest): boolean => request.items.some((item) => opaquesOf(item).length > 0);

export const opaquesIn = (request: HubRequest): Opaque[] => request.items.flatMap(opaquesOf);

/** For the one retry after an upstream rejected a value: the turn loses its reasoning instead of failing. */
export const withoutOpaque = (request: HubRequest): HubRequest =>
  withItems(
    request,
    request.items.filter((item) => item.kind !== 'reasoning').map((item) => stripSignatures(item, () => true)),
  );

/** Removes the values that an upstream rejected before, and the reasoning that belongs to them. */
export const withoutRejected = (request: HubRequest, isRejected: (opaque: Opaque) => boolean): HubRequest =>
  withItems(
    request,
    request.items
      .filter((item) => item.kind !== 'reasoning' || !item.opaque || !isRejected(item.opaque))
      .map((item) => (opaquesOf(item).some(isRejected) ? stripSignatures(item, isRejected) : item)),
  );

const withItems = (request: HubRequest, items: readonly HubItem[]): HubRequest => ({
  ...request,
  items,
  ...(items.length < request.items.length && { omitsThoughts: true }),
});

function opaquesOf(item: HubItem): Opaque[] {
  if (item.kind === 'reasoning' || item.kind === 'compaction') return item.opaque ? [item.opaque] : [];
  if (item.kind === 'tool_call') return item.signature ? [item.signature] : [];
  if (item.kind === 'server_call') return [item.opaque, item.image?.signature].filter((opaque) => opaque !== undefined);
  if (item.kind === 'message')
    return item.parts.flatMap((part) => ('signature' in part && part.signature ? [part.signature] : []));
  return [];
}

function stripSignatures(item: HubItem, isRejected: (opaque: Opaque) => boolean): HubItem {
  if (item.kind === 'tool_call' && item.signature && isRejected(item.signature)) {
    const { signature: _, ...rest } = item;
    return rest;
  }
  if (item.kind === 'server_call') return stripServerCall(item, isRejected);
  return item.kind === 'message'
    ? { ...item, parts: item.parts.map((part) => stripSignature(part, isRejected)) }
    : item;
}

/** Without its opaque form, a provider gets the call as text. */
function stripServerCall(item: HubServerCall, isRejected: (opaque: Opaque) => boolean): HubServerCall {
  const { opaque, image, ...rest } = item;
  return {
    ...rest,
    ...(image && { image: stripSignature(image, isRejected) }),
    ...(opaque && !isRejected(opaque) && { opaque }),
  };
}

function stripSignature<P extends HubPart>(part: P, isRejected: (opaque: Opaque) => boolean): P {
  if (!('signature' in part) || !part.signature || !isRejected(part.signature)) return part;
  const { signature: _, ...rest } = part;
  return rest as P;
}

/** Opaque values to put back when a later request repeats a tool call, or a text, of a reply. */
export interface OpaqueForCall {
  /** Reasoning that belongs before the assistant's text that precedes the call. */
  readonly beforeText: readonly HubItem[];
  /** Reasoning that belongs directly before the call. */
  readonly beforeCall: readonly HubItem[];
  readonly signature?: Opaque;
  /** For a text instead of a call: the parts it consisted of, with their signatures. */
  readonly signedTexts?: readonly SignedText[];
}
interface SignedText {
  readonly chars: number;
  readonly signature?: Opaque;
}

/** Texts have no id, so a hash of the text is the key. */
const textKey = (text: string): string => `text:${digest(text, 26)}`;

/** Returns the opaque values of a reply, by the call id or text key they belong to. */
export function opaqueByCall(items: readonly HubItem[]): Map<string, OpaqueForCall> {
  const found = new Map<string, OpaqueForCall>();
  let beforeText: HubItem[] = [];
  let beforeCall: HubItem[] = [];
  for (const item of items) {
    if (item.kind === 'reasoning' && item.opaque) beforeCall.push(item);
    if (item.kind === 'message') {
      beforeText.push(...beforeCall);
      beforeCall = [];
    }
    if (item.kind !== 'tool_call') continue;
    if (beforeText.length + beforeCall.length > 0 || item.signature)
      found.set(item.callId, { beforeText, beforeCall, ...(item.signature && { signature: item.signature }) });
    beforeText = [];
    beforeCall = [];
  }
  addTexts(
    items.flatMap((item) => (item.kind === 'message' ? item.parts.filter(isText) : [])),
    found,
  );
  return found;
}

/**
 * Returns the signature of the last text of a reply, which a messages
 * client does not get when nothing follows it, by its text key.
 */
export function opaqueOfLastText(items: readonly HubItem[]): Map<string, OpaqueForCall> {
  const found = new Map<string, OpaqueForCall>();
  const last = items.findLast((item) => item.kind === 'message');
  if (last) addTexts(last.parts.filter(isText), found);
  return found;
}

function addTexts(texts: readonly HubText[], found: Map<string, OpaqueForCall>): void {
  if (!texts.some(({ signature }) => signature)) return;
  const signedTexts = texts.map(({ text, signature }) => ({ chars: text.length, ...(signature && { signature }) }));
  found.set(textKey(texts.map(({ text }) => text).join('')), { beforeText: [], beforeCall: [], signedTexts });
}

const isText = (part: HubPart): part is HubText => part.kind === 'text';

/**
 * Puts remembered values back where calls carry none. `signsText` only for
 * providers that sign text: it hashes every assistant message.
 */
export function restoreOpaque(
  request: HubRequest,
  lookUp: (id: string) => OpaqueForCall | undefined,
  signsText: boolean,
): HubRequest {
  const opaqueFor = (n: number): OpaqueForCall | undefined => {
    const item = request.items[n];
    if (item?.kind !== 'tool_call' || item.signature) return undefined;
    const opaque = lookUp(item.callId);
    return opaque && opaque.beforeCall.length > 0 && carriesReasoning(request.items[n - 1]) ? undefined : opaque;
  };
  const items = request.items.flatMap((item, n): HubItem[] => {
    if (isAssistantMessage(item))
      return [...(opaqueFor(n + 1)?.beforeText ?? []), signsText ? restoreTextSignatures(item, lookUp) : item];
    const opaque = opaqueFor(n);
    if (item.kind !== 'tool_call' || !opaque) return [item];
    const beforeText = isAssistantMessage(request.items[n - 1]) ? [] : opaque.beforeText;
    return [...beforeText, ...opaque.beforeCall, opaque.signature ? { ...item, signature: opaque.signature } : item];
  });
  return items.length === request.items.length && items.every((item, n) => item === request.items[n])
    ? request
    : { ...request, items };
}

/** Puts only the signatures of texts back. */
export const restoreTexts = (request: HubRequest, lookUp: (id: string) => OpaqueForCall | undefined): HubRequest => ({
  ...request,
  items: request.items.map((item) => (isAssistantMessage(item) ? restoreTextSignatures(item, lookUp) : item)),
});

function restoreTextSignatures(item: HubItem, lookUp: (id: string) => OpaqueForCall | undefined): HubItem {
  if (item.kind !== 'message' || !item.parts.every((part) => isText(part) && !part.signature)) return item;
  const text = item.parts.map((part) => (isText(part) ? part.text : '')).join('');
  const signedTexts = text === '' ? undefined : lookUp(textKey(text))?.signedTexts;
  if (!signedTexts) return item;
  let at = 0;
  const parts = signedTexts.map(({ chars, signature }): HubText => {
    at += chars;
    return { kind: 'text', text: text.slice(at - chars, at), ...(signature && { signature }) };
  });
  return { ...item, parts };
}

const isAssistantMessage = (item: HubItem | undefined): boolean =>
  item?.kind === 'message' && item.role === 'assistant';

const carriesReasoning = (item: HubItem | undefined): boolean =>
  item?.kind === 'reasoning' && item.opaque !== undefined;
