/**
 * Open items of an upstream stream. An item gets its hub index with its
 * first content, and is built from exactly the emitted deltas.
 */
import type { DecodeContext } from '../../codec.ts';
import type { HubAnnotation, HubEvent, HubItem, HubPart, JsonObject } from '../../hub/types.ts';
import { uniqueCallId } from '../../wire/ids.ts';
import { maybeCount, maybeString } from '../../wire/read.ts';
import * as items from '../read-output.ts';

export interface StreamState {
  readonly context: DecodeContext;
  /** Hub events of the current push. */
  out: HubEvent[];
  /** Ended items, by hub index. */
  readonly items: HubItem[];
  readonly callIds: Set<string>;
  itemCount: number;
  /** A hosted call that ended and waits for its result, which is an item of its own. */
  waiting?: OpenItem | undefined;
  /** The upstream sent content that can no longer be emitted in order. */
  isInconsistent: boolean;
}

export const openStream = (context: DecodeContext): StreamState => ({
  context,
  out: [],
  items: [],
  callIds: new Set(),
  itemCount: 0,
  isInconsistent: false,
});

export interface OpenItem {
  readonly outputIndex: number;
  /** Hub index, -1 until the `item` event. */
  index: number;
  /** Latest version of the item on the wire. */
  wire: JsonObject;
  /** In the order of arrival; a part gets its hub index with its first text, so empty parts do not count. */
  readonly parts: Part[];
  /** The newest part of each number on the wire. */
  readonly partByKey: Map<string, Part>;
  /** A delta returned to the number of an earlier part, so that the order of the texts is not known. */
  isMixed: boolean;
  args: string;
  callId?: string;
  /** Name of the call in its `item` event. */
  name?: string;
  isEnded: boolean;
}

export type TextKind = 'text' | 'refusal' | 'think';

export interface Part {
  readonly open: OpenItem;
  readonly kind: TextKind;
  key: string;
  index: number;
  text: string;
  /** Its complete text arrived. */
  isDone: boolean;
  /** The end of the complete text, of which no delta has arrived. */
  undelivered: string;
  readonly annotations: HubAnnotation[];
}

/** The number of a part as the wire has it: servers repeat numbers, leave them out, or count other parts too. */
export const partKey = (kind: TextKind, wireIndex: unknown, raw = ''): string =>
  `${kind}${raw}${maybeCount(wireIndex) ?? 0}`;

export const newPart = (open: OpenItem, kind: TextKind, key: string): Part => ({
  open,
  kind,
  key,
  index: -1,
  text: '',
  isDone: false,
  undelivered: '',
  annotations: [],
});

/** A delta that comes after the complete text, which had it. */
export function isLate({ partByKey }: OpenItem, key: string, text: string): boolean {
  const known = partByKey.get(key);
  if (!known?.isDone || text === '' || !known.undelivered.startsWith(text)) return false;
  known.undelivered = known.undelivered.slice(text.length);
  return true;
}

/** The part that a delta continues, or a new one. */
export function growingPart(open: OpenItem, kind: TextKind, key: string): Part {
  const known = open.partByKey.get(key);
  if (!known || known.isDone) return newPart(open, kind, key);
  if (known.index === open.parts.length - 1) return known;
  open.isMixed = true;
  return newPart(open, kind, key);
}

export function addText(state: StreamState, part: Part, text: string): void {
  if (text === '') return;
  const { open } = part;
  if (part.index < 0) {
    part.index = open.parts.length;
    open.parts.push(part);
    open.partByKey.set(part.key, part);
  }
  // Only the last part can grow.
  if (part.index < open.parts.length - 1) {
    state.isInconsistent = true;
    return;
  }
  openItem(state, open);
  part.text += text;
  state.out.push({ kind: part.kind, index: open.index, part: part.index, text });
}

export function addAnnotation(state: StreamState, part: Part, annotation: HubAnnotation): void {
  if (part.index < 0) return;
  part.annotations.push(annotation);
  state.out.push({ kind: 'annotation', index: part.open.index, part: part.index, annotation });
}

/** Emits arguments, or keeps them until the call has a name. */
export function addArgs(state: StreamState, open: OpenItem, text: string): void {
  if (text === '') return;
  open.args += text;
  if (open.index >= 0) state.out.push({ kind: 'args', index: open.index, text });
}

/** Emits the `item` event once. A call waits for its name, unless `isFinal`: then the name will not come. */
export function openItem(state: StreamState, open: OpenItem, isFinal = false): void {
  if (open.index >= 0 || (state.waiting && items.isSeparateResult(open.wire))) return;
  if (items.isCall(open.wire) && items.nameOf(open.wire) === '') {
    // A client cannot run a call without a name.
    state.isInconsistent ||= isFinal;
    return;
  }
  open.index = state.itemCount++;
  open.name = items.nameOf(open.wire);
  state.out.push({ kind: 'item', index: open.index, item: skeletonOf(open, itemContextOf(state, open)) });
  if (open.args !== '') state.out.push({ kind: 'args', index: open.index, text: open.args });
}

/** Emits the end of the item. An empty message is not emitted at all. */
export function endItem(state: StreamState, open: OpenItem): void {
  const type = maybeString(open.wire.type) ?? '';
  open.isEnded = true;
  if (type === 'message' && open.parts.length === 0) return;
  openItem(state, open, true);
  if (open.index < 0) return items.isSeparateResult(open.wire) ? endWaiting(state, open.wire) : undefined;
  if (items.hasSeparateResult(open.wire)) {
    endWaiting(state);
    state.waiting = open;
    return;
  }
  if (items.isCall(open.wire)) {
    const complete = items.argsOf(open.wire);
    if (open.args === '' || complete.startsWith(open.args)) addArgs(state, open, complete.slice(open.args.length));
  }
  emitEnd(state, open, finishedItem(open, itemContextOf(state, open)));
}

/** Emits the end of the call that waits, with its result if one arrived. */
export function endWaiting(state: StreamState, result?: JsonObject): void {
  const { waiting } = state;
  state.waiting = undefined;
  if (waiting) emitEnd(state, waiting, items.decodeWithResult(waiting.wire, result, state.context.account));
}

function emitEnd(state: StreamState, open: OpenItem, item: HubItem): void {
  state.items[open.index] = item;
  state.out.push({ kind: 'item_end', index: open.index, item });
}

const itemContextOf = ({ context, callIds }: StreamState, open: OpenItem): items.ItemContext => ({
  account: context.account,
  callId: (given) => {
    open.callId ??= uniqueCallId(given, callIds, context.requestId);
    return open.callId;
  },
});

function skeletonOf(open: OpenItem, context: items.ItemContext): HubItem {
  const { wire } = open;
  const type = maybeString(wire.type) ?? '';
  if (type === 'message') return items.messageOf({ phase: wire.phase }, []);
  if (type === 'reasoning') return { kind: 'reasoning', summary: [] };
  if (items.isCall(wire)) return items.callOf(wire, '', context);
  if (type === 'compaction') return { kind: 'compaction' };
  const item = finishedItem(open, context);
  return item.kind === 'server_call'
    ? { kind: 'server_call', id: item.id, tool: item.tool, issuer: item.issuer, status: 'in_progress' }
    : item;
}

function finishedItem(open: OpenItem, context: items.ItemContext): HubItem {
  const { wire, parts } = open;
  const type = maybeString(wire.type) ?? '';
  if (type === 'message') return items.messageOf(wire, parts.map(toHubPart));
  const texts = parts.map((part) => part.text);
  if (type === 'reasoning') return items.reasoningOf(wire, texts, context);
  if (items.isCall(wire)) return { ...items.callOf(wire, open.args, context), ...(open.name && { name: open.name }) };
  return items.decodeOutputItem(wire, context) ?? { kind: 'opaque', issuer: 'responses', raw: wire };
}

function toHubPart({ kind, text, annotations }: Part): HubPart {
  if (kind === 'refusal') return { kind, text };
  return { kind: 'text', text, ...(annotations.length > 0 && { annotations }) };
}
