/**
 * Reader of deltas into hub events, one reader per member. A unary reply
 * is one large delta. Chunks and ends are not its concern.
 */
import type { DecodeContext } from '../../codec.ts';
import type { HubAnnotation, HubEvent, HubMessage, HubStop, JsonObject, Opaque } from '../../hub/types.ts';
import { uniqueCallId } from '../../wire/ids.ts';
import { compact, isObject, joinedTexts, maybeCount, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { decodeAnnotation } from '../annotations.ts';
import { citationsOf, type Source } from './sources.ts';
import { type SplitContent, ThinkTagSplitter } from './think-tags.ts';

/** The reply so far. */
export interface ReplyState {
  readonly context: DecodeContext;
  nextIndex: number;
  thought: { readonly index: number; text: string } | undefined;
  /** Undefined for servers that never put reasoning into the content. */
  readonly tags: ThinkTagSplitter | undefined;
  message: { readonly index: number; readonly parts: TextPart[] } | undefined;
  readonly calls: Call[];
  readonly callIds: Set<string>;
  /** Calls by the key the wire uses: usually an index, for some servers only the id. */
  readonly slots: Map<number | string, Call>;
  lastSlot: number | string;
  /** On the wire, before the text that they are about. */
  readonly earlyAnnotations: unknown[];
  /** Beside the reply; the text is complete before its marks are looked for. */
  sources: readonly Source[];
  /** Sources came, and no text that could cite them was left. */
  hasLostSources: boolean;
  /**
   * UTF-16 units of content so far. Wire annotations count from the
   * start of the content, hub annotations from their part.
   */
  contentLength: number;
  refusal: string;
  /** Base64 of a spoken reply. */
  audio: string;
}

interface TextPart {
  readonly kind: 'text' | 'refusal';
  readonly start: number;
  text: string;
  readonly annotations: HubAnnotation[];
}
interface Call {
  /** Unset until the name is known, because the `item` event needs it. */
  index: number | undefined;
  /** The id on the wire; empty if missing. */
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
  nextIndex: 0,
  thought: undefined,
  tags: context.thinkTags ? new ThinkTagSplitter() : undefined,
  message: undefined,
  calls: [],
  callIds: new Set(),
  slots: new Map(),
  lastSlot: 0,
  earlyAnnotations: [],
  sources: [],
  hasLostSources: false,
  contentLength: 0,
  refusal: '',
  audio: '',
});

type MemberReader = (value: unknown, reply: ReplyState, out: HubEvent[], delta: JsonObject) => void;

/** In the order to apply when one delta has several members. Annotations precede calls, which end the text. */
const MEMBER_READERS = {
  reasoning_content: (value, reply, out) => addThought(maybeString(value), reply, out),
  // Some servers use this name, a few send both.
  reasoning: (value, reply, out, delta) => {
    if (!maybeString(delta.reasoning_content)) addThought(maybeString(value), reply, out);
  },
  // The same reasoning in pieces with a type, of which some are encrypted.
  reasoning_details: (value, reply, out, delta) => {
    if (maybeString(delta.reasoning_content) || maybeString(delta.reasoning)) return;
    for (const detail of maybeList(value).map(maybeObject))
      addThought(maybeString(detail.text) ?? maybeString(detail.summary), reply, out);
  },
  content: (value, reply, out) => addContent(value, reply, out),
  refusal: (value, reply, out) => {
    endTags(reply, out);
    addText('refusal', joinedTexts(value), reply, out);
  },
  /** The transcript is the text of a spoken reply. */
  audio: (value, reply, out) => {
    const { transcript, data } = maybeObject(value);
    addText('text', maybeString(transcript) ?? '', reply, out);
    reply.audio += maybeString(data) ?? '';
  },
  annotations: (value, reply, out) => {
    for (const note of maybeList(value)) addAnnotation(note, reply, out);
  },
  tool_calls: (value, reply, out) => {
    for (const entry of maybeList(value)) {
      if (isObject(entry)) readCall(entry, reply, out);
    }
  },
  /** The only call of a reply in the legacy form. */
  function_call: (value, reply, out) => readCall({ index: LEGACY_SLOT, function: value }, reply, out),
} as const satisfies Record<string, MemberReader>;
const READERS: readonly (readonly [string, MemberReader])[] = Object.entries(MEMBER_READERS);
/** Above any index in `tool_calls`. */
const LEGACY_SLOT = 1_000_000;

export function readDelta(delta: JsonObject, reply: ReplyState, out: HubEvent[]): void {
  for (const [name, read] of READERS) {
    const value = delta[name];
    if (value !== undefined && value !== null) read(value, reply, out, delta);
  }
}

/** Ends all open items. Returns false if a call never got a name, so that no client could execute it. */
export function closeReply(reply: ReplyState, stop: HubStop, out: HubEvent[]): boolean {
  if (reply.calls.some((call) => call.index === undefined)) return false;
  endTags(reply, out);
  const isCut = stop === 'length' && reply.message?.index === reply.nextIndex - 1;
  endThought(reply, out);
  citeSources(reply, out);
  endMessage(reply, out, isCut);
  const last = reply.calls.at(-1);
  for (const call of reply.calls) endCall(call, out, stop === 'length' && call === last);
  addAudio(reply, out);
  return true;
}

/** The format is that of the request, which the wire does not repeat. */
function addAudio({ audio: data, nextIndex: index }: ReplyState, out: HubEvent[]): void {
  if (data === '') return;
  const part = { kind: 'audio', source: { kind: 'base64', mime: 'audio/wav', data } } as const;
  const item: HubMessage = { kind: 'message', role: 'assistant', parts: [] };
  out.push({ kind: 'item', index, item }, { kind: 'item_end', index, item: { ...item, parts: [part] } });
}

function addThought(text: string | undefined, reply: ReplyState, out: HubEvent[]): void {
  if (!text) return;
  endMessage(reply, out);
  if (!reply.thought) {
    reply.thought = { index: reply.nextIndex++, text: '' };
    out.push({ kind: 'item', index: reply.thought.index, item: { kind: 'reasoning', summary: [] } });
  }
  reply.thought.text += text;
  out.push({ kind: 'think', index: reply.thought.index, part: 0, text });
}

function endThought(reply: ReplyState, out: HubEvent[]): void {
  if (!reply.thought) return;
  const { index, text } = reply.thought;
  reply.thought = undefined;
  out.push({ kind: 'item_end', index, item: { kind: 'reasoning', summary: [text] } });
}

/** Content is a string, from some servers a list of parts, among which may be thoughts. */
function addContent(value: unknown, reply: ReplyState, out: HubEvent[]): void {
  if (typeof value === 'string') return addPlain(value, reply, out);
  for (const part of maybeList(value).map(maybeObject)) {
    if (part.type === 'thinking') addThought(joinedTexts(part.thinking), reply, out);
    else addPlain(joinedTexts([part]), reply, out);
  }
}

function addPlain(text: string, reply: ReplyState, out: HubEvent[]): void {
  if (reply.tags) addSplit(reply.tags.push(text), reply, out);
  else addText('text', text, reply, out);
}

/** Nothing can follow that would complete a tag. */
function endTags(reply: ReplyState, out: HubEvent[]): void {
  if (reply.tags) addSplit(reply.tags.end(), reply, out);
}

function addSplit({ thought, text }: SplitContent, reply: ReplyState, out: HubEvent[]): void {
  addThought(thought, reply, out);
  addText('text', text, reply, out);
}

function addText(kind: TextPart['kind'], text: string, reply: ReplyState, out: HubEvent[]): void {
  if (text === '') return;
  endThought(reply, out);
  if (!reply.message) {
    reply.message = { index: reply.nextIndex++, parts: [] };
    const skeleton: HubMessage = { kind: 'message', role: 'assistant', parts: [] };
    out.push({ kind: 'item', index: reply.message.index, item: skeleton });
  }
  const { index, parts } = reply.message;
  let part = parts.at(-1);
  if (part?.kind !== kind) {
    part = { kind, start: reply.contentLength, text: '', annotations: [] };
    parts.push(part);
  }
  part.text += text;
  if (kind === 'text') reply.contentLength += text.length;
  else reply.refusal += text;
  out.push({ kind, index, part: parts.length - 1, text });
  if (kind !== 'text') return;
  for (const note of reply.earlyAnnotations.splice(0)) addAnnotation(note, reply, out);
}

function addAnnotation(value: unknown, reply: ReplyState, out: HubEvent[]): void {
  const part = reply.message?.parts.findLastIndex((one) => one.kind === 'text') ?? -1;
  const piece = reply.message?.parts[part];
  if (!reply.message || !piece) {
    reply.earlyAnnotations.push(value);
    return;
  }
  const annotation = decodeAnnotation(value, piece.start);
  if (!annotation) return;
  piece.annotations.push(annotation);
  out.push({ kind: 'annotation', index: reply.message.index, part, annotation });
}

/** Sources without a mark cite the end of the text. A server that annotates the text itself has cited them. */
function citeSources(reply: ReplyState, out: HubEvent[]): void {
  const { message, sources } = reply;
  const texts = message?.parts.filter(({ kind }) => kind === 'text') ?? [];
  const last = texts.at(-1);
  if (sources.length === 0 || texts.some(({ annotations }) => annotations.length > 0)) return;
  if (!message || !last) {
    reply.hasLostSources = true;
    return;
  }
  const add = (part: TextPart, annotation: HubAnnotation): void => {
    part.annotations.push(annotation);
    out.push({ kind: 'annotation', index: message.index, part: message.parts.indexOf(part), annotation });
  };
  const cited = new Set<string>();
  for (const part of texts)
    for (const note of citationsOf(part.text, sources)) {
      add(part, note);
      cited.add(note.url);
    }
  for (const { url, title } of sources) if (url !== '' && !cited.has(url)) add(last, { url, title });
}

function endMessage(reply: ReplyState, out: HubEvent[], isCut = false): void {
  if (!reply.message) return;
  const { index, parts } = reply.message;
  reply.message = undefined;
  const item: HubMessage = {
    kind: 'message',
    role: 'assistant',
    parts: parts.map(toHubPart),
    ...(isCut && { incomplete: true }),
  };
  out.push({ kind: 'item_end', index, item });
}

function toHubPart({ kind, text, annotations }: TextPart): HubMessage['parts'][number] {
  if (kind === 'refusal') return { kind, text };
  return annotations.length > 0 ? { kind, text, annotations } : { kind, text };
}

function readCall(entry: JsonObject, reply: ReplyState, out: HubEvent[]): void {
  // `type` decides where a server sends both members, one of them empty.
  const form = isObject(entry.custom) && entry.type !== 'function' ? 'custom' : 'function';
  const body = maybeObject(entry[form]);
  const name = maybeString(body.name) ?? '';
  const id = maybeString(entry.id) ?? '';
  const text = argsText(form === 'custom' ? body.input : body.arguments);
  if (name === '' && id === '' && text === '') return;
  const call = callFor({ index: maybeCount(entry.index), id, name, form }, reply, out);
  const signature = maybeString(maybeObject(maybeObject(entry.extra_content).google).thought_signature);
  if (signature) call.signature = toOpaque(signature, reply.context);
  call.args += text;
  if (call.index === undefined) openCall(call, name, reply, out);
  else if (text !== '') out.push({ kind: 'args', index: call.index, text });
}

interface CallEntry {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly form: 'function' | 'custom';
}

/** Returns the call that an entry continues, or a new one. */
function callFor({ index, id, name, form }: CallEntry, reply: ReplyState, out: HubEvent[]): Call {
  const slot = index ?? (id || reply.lastSlot);
  reply.lastSlot = slot;
  const known = reply.slots.get(slot);
  if (known && !isNewCall(known, id, name)) {
    if (known.index === undefined && known.id === '') known.id = id;
    return known;
  }
  if (known) endCall(known, out);
  const call: Call = {
    index: undefined,
    id,
    callId: '',
    name: '',
    form,
    args: '',
    signature: undefined,
    ended: false,
  };
  reply.calls.push(call);
  reply.slots.set(slot, call);
  return call;
}

/** Some servers send every call under index 0: another id, or another name if ids are missing, begins a new call. */
function isNewCall(known: Call, id: string, name: string): boolean {
  if (known.index === undefined) return false;
  if (id !== '' && known.id !== '') return id !== known.id;
  return name !== '' && name !== known.name;
}

function openCall(call: Call, name: string, reply: ReplyState, out: HubEvent[]): void {
  if (name === '') return;
  endTags(reply, out);
  endThought(reply, out);
  endMessage(reply, out);
  call.name = name;
  call.index = reply.nextIndex++;
  call.callId = uniqueCallId(call.id, reply.callIds, reply.context.requestId);
  const { callId, form, signature } = call;
  const item = { kind: 'tool_call', callId, name, form, args: '', ...(signature && { signature }) } as const;
  out.push({ kind: 'item', index: call.index, item });
  if (call.args !== '') out.push({ kind: 'args', index: call.index, text: call.args });
}

/** A function call without arguments gets `{}`, unless it was cut before them; free text stays empty. */
function endCall(call: Call, out: HubEvent[], isCut = false): void {
  if (call.index === undefined || call.ended) return;
  call.ended = true;
  if (call.args === '' && call.form === 'function' && !isCut) {
    call.args = '{}';
    out.push({ kind: 'args', index: call.index, text: call.args });
  }
  const { callId, name, form, args, signature } = call;
  const item = { kind: 'tool_call', callId, name, form, args, ...(signature && { signature }) } as const;
  out.push({ kind: 'item_end', index: call.index, item });
}

/** Arguments are a string, from some servers an object. */
const argsText = (value: unknown): string => (isObject(value) ? JSON.stringify(value) : (maybeString(value) ?? ''));

/** Chat-compatible endpoints of Google put the thought signature on the call. */
const toOpaque = (data: string, { account }: DecodeContext): Opaque =>
  compact({ issuer: 'generate-content', kind: 'thought', account, data });
