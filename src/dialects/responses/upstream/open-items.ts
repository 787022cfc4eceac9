/**
 * The items of a stream while they grow: gives each its hub index when it first has something to say, keeps what was told so
 * far, and builds the finished item from exactly that.
 */
import type { DecodeContext } from '../../codec.ts';
import type { HubAnnotation, HubEvent, HubItem, HubPart, JsonObject } from '../../hub/types.ts';
import { freshCallId } from '../../wire/ids.ts';
import { maybeCount, maybeString } from '../../wire/read.ts';
import { argsOf, callOf, decodeOutputItem, isCall, messageOf, nameOf, reasoningOf, type Seat } from '../read-output.ts';

export interface StreamState {
  readonly context: DecodeContext;
  out: HubEvent[];
  /** Ended items, by hub index. */
  readonly items: HubItem[];
  readonly callIds: Set<string>;
  opened: number;
  /** Something was told that cannot be put where it belongs any more. */
  confused: boolean;
}

export const openStream = (context: DecodeContext): StreamState => ({
  context,
  out: [],
  items: [],
  callIds: new Set(),
  opened: 0,
  confused: false,
});

export interface Open {
  /** `output_index` of the wire. */
  readonly place: number;
  /** Hub index, -1 until the item is told. */
  index: number;
  /** The item as the wire last told it. */
  wire: JsonObject;
  readonly parts: Map<string, Part>;
  args: string;
  callId?: string;
  /** The name under which a call was told. */
  name?: string;
  ended: boolean;
}

interface Part {
  readonly open: Open;
  readonly kind: 'text' | 'refusal' | 'think';
  readonly key: string;
  number: number;
  text: string;
  readonly notes: HubAnnotation[];
}

/** The part an event speaks of. It counts only once it has text: parts that stay empty leave no trace. */
export function partFor(open: Open, kind: Part['kind'], place: unknown, raw = ''): Part {
  const key = `${kind}${raw}${maybeCount(place) ?? 0}`;
  return open.parts.get(key) ?? { open, kind, key, number: -1, text: '', notes: [] };
}

export function addText(tale: StreamState, part: Part, text: string): void {
  if (text === '') return;
  const { open } = part;
  if (part.number < 0) {
    part.number = open.parts.size;
    open.parts.set(part.key, part);
  }
  // Parts follow each other: one that another has followed cannot grow.
  if (part.number < open.parts.size - 1) {
    tale.confused = true;
    return;
  }
  openItem(tale, open);
  part.text += text;
  tale.out.push({ kind: part.kind, index: open.index, part: part.number, text });
}

/** Tells the rest of a text that is known whole. One that does not continue what was told is not believed. */
export function fillText(tale: StreamState, part: Part, whole: string): void {
  if (whole.length > part.text.length && whole.startsWith(part.text))
    addText(tale, part, whole.slice(part.text.length));
}

export function addNote(tale: StreamState, part: Part, annotation: HubAnnotation): void {
  if (part.number < 0) return;
  part.notes.push(annotation);
  tale.out.push({ kind: 'annotation', index: part.open.index, part: part.number, annotation });
}

/** Arguments that come before the call has a name wait for it. */
export function addArgs(tale: StreamState, open: Open, text: string): void {
  if (text === '') return;
  open.args += text;
  if (open.index >= 0) tale.out.push({ kind: 'args', index: open.index, text });
}

/** Tells the item's skeleton. A call without a name is held back; with `force` the name will not come any more. */
export function openItem(tale: StreamState, open: Open, force = false): void {
  if (open.index >= 0) return;
  const type = maybeString(open.wire.type) ?? '';
  if (isCall(type) && nameOf(open.wire) === '') {
    // Nobody could run a call without a name.
    tale.confused ||= force;
    return;
  }
  open.index = tale.opened++;
  open.name = nameOf(open.wire);
  tale.out.push({ kind: 'item', index: open.index, item: skeleton(open, seatOf(tale, open)) });
  if (open.args !== '') tale.out.push({ kind: 'args', index: open.index, text: open.args });
}

/** Ends the item with what was told of it; a message without words never was. */
export function endItem(tale: StreamState, open: Open): void {
  const type = maybeString(open.wire.type) ?? '';
  open.ended = true;
  if (type === 'message' && open.parts.size === 0) return;
  openItem(tale, open, true);
  if (open.index < 0) return;
  if (isCall(type)) {
    const whole = argsOf(open.wire);
    if (open.args === '' || whole.startsWith(open.args)) addArgs(tale, open, whole.slice(open.args.length));
  }
  const item = closed(open, seatOf(tale, open));
  tale.items[open.index] = item;
  tale.out.push({ kind: 'item_end', index: open.index, item });
}

const seatOf = ({ context, callIds }: StreamState, open: Open): Seat => ({
  context,
  callId: (given) => {
    open.callId ??= freshCallId(given, callIds, context.requestId);
    return open.callId;
  },
});

function skeleton(open: Open, seat: Seat): HubItem {
  const { wire } = open;
  const type = maybeString(wire.type) ?? '';
  if (type === 'message') return messageOf({ phase: wire.phase }, []);
  if (type === 'reasoning') return { kind: 'reasoning', summary: [] };
  if (isCall(type)) return callOf(wire, '', seat);
  if (type === 'compaction') return { kind: 'compaction' };
  const item = closed(open, seat);
  return item.kind === 'server_call'
    ? { kind: 'server_call', id: item.id, tool: item.tool, issuer: item.issuer, status: 'in_progress' }
    : item;
}

function closed(open: Open, seat: Seat): HubItem {
  const { wire } = open;
  const parts = [...open.parts.values()];
  const type = maybeString(wire.type) ?? '';
  if (type === 'message') return messageOf(wire, parts.map(partOf));
  if (type === 'reasoning')
    return reasoningOf(
      wire,
      parts.map((part) => part.text),
      seat,
    );
  if (isCall(type)) return { ...callOf(wire, open.args, seat), ...(open.name && { name: open.name }) };
  return decodeOutputItem(wire, seat) ?? { kind: 'opaque', issuer: 'responses', raw: wire };
}

function partOf({ kind, text, notes }: Part): HubPart {
  if (kind === 'refusal') return { kind, text };
  return { kind: 'text', text, ...(notes.length > 0 && { annotations: notes }) };
}
