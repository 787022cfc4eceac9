/**
 * What one delta of an assistant message adds to the answer, as hub events: a row per member of the delta. A whole message
 * is one large delta, so unary answers run through the same rows. Chunks, terminals and transport are not its business.
 */
import type { DecodeContext } from '../../codec.ts';
import type { HubAnnotation, HubEvent, HubMessage, HubStop, JsonObject, Opaque } from '../../hub/types.ts';
import { freshCallId } from '../../wire/ids.ts';
import { isObject, maybeCount, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { decodeAnnotation } from '../annotations.ts';

/** The answer so far. */
export interface ReplyState {
  readonly context: DecodeContext;
  /** The next hub index. */
  next: number;
  thought: { readonly index: number; text: string } | undefined;
  message: { readonly index: number; readonly parts: Piece[] } | undefined;
  readonly calls: Call[];
  readonly callIds: Set<string>;
  /** Calls by what the wire addresses them with: mostly an index, for some servers only the id. */
  readonly slots: Map<number | string, Call>;
  lastSlot: number | string;
  /** UTF-16 units of content so far; annotations count from its beginning, our parts from theirs. */
  said: number;
  refusal: string;
}

interface Piece {
  readonly kind: 'text' | 'refusal';
  readonly from: number;
  text: string;
  readonly annotations: HubAnnotation[];
}
interface Call {
  /** Unset until the name is known, since an item cannot be announced without it. */
  index: number | undefined;
  /** As the wire gave it; empty when it gave none. */
  id: string;
  callId: string;
  name: string;
  readonly form: 'function' | 'custom';
  args: string;
  signature: Opaque | undefined;
  ended: boolean;
}

export const openReply = (context: DecodeContext): ReplyState => ({
  context,
  next: 0,
  thought: undefined,
  message: undefined,
  calls: [],
  callIds: new Set(),
  slots: new Map(),
  lastSlot: 0,
  said: 0,
  refusal: '',
});

type Row = (value: unknown, answer: ReplyState, out: HubEvent[], delta: JsonObject) => void;

/** In the order in which they belong when one delta has several. Annotations go before calls, which close the text. */
const ROWS = {
  reasoning_content: (value, answer, out) => think(maybeString(value), answer, out),
  // Another server's name for the same; a few send both.
  reasoning: (value, answer, out, delta) => {
    if (!maybeString(delta.reasoning_content)) think(maybeString(value), answer, out);
  },
  content: (value, answer, out) => say('text', textOf(value), answer, out),
  refusal: (value, answer, out) => say('refusal', textOf(value), answer, out),
  annotations: (value, answer, out) => {
    for (const note of maybeList(value)) annotate(note, answer, out);
  },
  tool_calls: (value, answer, out) => {
    for (const entry of maybeList(value)) if (isObject(entry)) readCall(entry, answer, out);
  },
  /** The only call of an answer in the form before tools. */
  function_call: (value, answer, out) => readCall({ index: LEGACY_SLOT, function: value }, answer, out),
} as const satisfies Record<string, Row>;
const ROW_LIST: readonly (readonly [string, Row])[] = Object.entries(ROWS);
const LEGACY_SLOT = 1_000_000;

export function readDelta(delta: JsonObject, answer: ReplyState, out: HubEvent[]): void {
  for (const [name, row] of ROW_LIST) {
    const value = delta[name];
    if (value !== undefined && value !== null) row(value, answer, out, delta);
  }
}

/** Ends whatever is open. False when a call never got a name, which nobody could execute. */
export function closeReply(answer: ReplyState, stop: HubStop, out: HubEvent[]): boolean {
  if (answer.calls.some((call) => call.index === undefined)) return false;
  const cut = stop === 'length' && answer.message?.index === answer.next - 1;
  endThought(answer, out);
  endMessage(answer, out, cut);
  for (const call of answer.calls) endCall(call, out);
  return true;
}

// ---------------------------------------------------------------- thoughts and text

function think(text: string | undefined, answer: ReplyState, out: HubEvent[]): void {
  if (!text) return;
  endMessage(answer, out);
  if (!answer.thought) {
    answer.thought = { index: answer.next++, text: '' };
    out.push({ kind: 'item', index: answer.thought.index, item: { kind: 'reasoning', summary: [] } });
  }
  answer.thought.text += text;
  out.push({ kind: 'think', index: answer.thought.index, part: 0, text });
}

function endThought(answer: ReplyState, out: HubEvent[]): void {
  if (!answer.thought) return;
  const { index, text } = answer.thought;
  answer.thought = undefined;
  out.push({ kind: 'item_end', index, item: { kind: 'reasoning', summary: [text] } });
}

/** Content is text, or for some servers a list of text parts. */
const textOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : maybeList(value)
        .map((part) => maybeString(maybeObject(part).text) ?? '')
        .join('');

function say(kind: Piece['kind'], text: string, answer: ReplyState, out: HubEvent[]): void {
  if (text === '') return;
  endThought(answer, out);
  if (!answer.message) {
    answer.message = { index: answer.next++, parts: [] };
    const skeleton: HubMessage = { kind: 'message', role: 'assistant', parts: [] };
    out.push({ kind: 'item', index: answer.message.index, item: skeleton });
  }
  const { index, parts } = answer.message;
  let piece = parts.at(-1);
  if (piece?.kind !== kind) {
    piece = { kind, from: answer.said, text: '', annotations: [] };
    parts.push(piece);
  }
  piece.text += text;
  if (kind === 'text') answer.said += text.length;
  else answer.refusal += text;
  out.push({ kind, index, part: parts.length - 1, text });
}

function annotate(value: unknown, answer: ReplyState, out: HubEvent[]): void {
  const part = answer.message?.parts.findLastIndex((one) => one.kind === 'text') ?? -1;
  const piece = answer.message?.parts[part];
  if (!answer.message || !piece) return;
  const annotation = decodeAnnotation(value, piece.from);
  if (!annotation) return;
  piece.annotations.push(annotation);
  out.push({ kind: 'annotation', index: answer.message.index, part, annotation });
}

function endMessage(answer: ReplyState, out: HubEvent[], cut = false): void {
  if (!answer.message) return;
  const { index, parts } = answer.message;
  answer.message = undefined;
  const item: HubMessage = {
    kind: 'message',
    role: 'assistant',
    parts: parts.map(partOf),
    ...(cut && { incomplete: true }),
  };
  out.push({ kind: 'item_end', index, item });
}

function partOf({ kind, text, annotations }: Piece): HubMessage['parts'][number] {
  if (kind === 'refusal') return { kind, text };
  return annotations.length > 0 ? { kind, text, annotations } : { kind, text };
}

// ---------------------------------------------------------------- calls

function readCall(entry: JsonObject, answer: ReplyState, out: HubEvent[]): void {
  const custom = isObject(entry.custom);
  const body = maybeObject(custom ? entry.custom : entry.function);
  const name = maybeString(body.name) ?? '';
  const call = callFor(entry, name, custom, answer, out);
  const signature = maybeString(maybeObject(maybeObject(entry.extra_content).google).thought_signature);
  if (signature) call.signature = signed(signature, answer.context);
  const text = argsOf(custom ? body.input : body.arguments);
  call.args += text;
  if (call.index === undefined) announce(call, name, answer, out);
  else if (text !== '') out.push({ kind: 'args', index: call.index, text });
}

/** The call that an entry continues, or a new one. */
function callFor(entry: JsonObject, name: string, custom: boolean, answer: ReplyState, out: HubEvent[]): Call {
  const id = maybeString(entry.id) ?? '';
  const slot = maybeCount(entry.index) ?? (id || answer.lastSlot);
  answer.lastSlot = slot;
  const known = answer.slots.get(slot);
  if (known && !isAnother(known, id, name)) {
    if (known.index === undefined && known.id === '') known.id = id;
    return known;
  }
  if (known) endCall(known, out);
  const call: Call = {
    index: undefined,
    id,
    callId: '',
    name: '',
    form: custom ? 'custom' : 'function',
    args: '',
    signature: undefined,
    ended: false,
  };
  answer.calls.push(call);
  answer.slots.set(slot, call);
  return call;
}

/** Some servers send every call under index 0: a different id tells them apart, or a different name where ids are missing. */
const isAnother = (known: Call, id: string, name: string): boolean =>
  known.index !== undefined && (id !== '' && known.id !== '' ? id !== known.id : name !== '' && name !== known.name);

function announce(call: Call, name: string, answer: ReplyState, out: HubEvent[]): void {
  if (name === '') return;
  endThought(answer, out);
  endMessage(answer, out);
  call.name = name;
  call.index = answer.next++;
  call.callId = freshCallId(call.id, answer.callIds, answer.context.requestId);
  const { callId, form, signature } = call;
  const item = { kind: 'tool_call', callId, name, form, args: '', ...(signature && { signature }) } as const;
  out.push({ kind: 'item', index: call.index, item });
  if (call.args !== '') out.push({ kind: 'args', index: call.index, text: call.args });
}

/** Free text stays as it is; a function without arguments has none, which is `{}`. */
function endCall(call: Call, out: HubEvent[]): void {
  if (call.index === undefined || call.ended) return;
  call.ended = true;
  if (call.args === '' && call.form === 'function') {
    call.args = '{}';
    out.push({ kind: 'args', index: call.index, text: call.args });
  }
  const { callId, name, form, args, signature } = call;
  const item = { kind: 'tool_call', callId, name, form, args, ...(signature && { signature }) } as const;
  out.push({ kind: 'item_end', index: call.index, item });
}

/** Text, or for some servers the object itself. */
const argsOf = (value: unknown): string => (isObject(value) ? JSON.stringify(value) : (maybeString(value) ?? ''));

/** Compatible endpoints of the generate-content side put its thought signature on the call. */
const signed = (data: string, { account }: DecodeContext): Opaque => ({
  issuer: 'generate-content',
  kind: 'thought',
  ...(account !== undefined && { account }),
  data,
});
