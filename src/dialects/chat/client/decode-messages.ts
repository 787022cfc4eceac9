/**
 * Decoder of `messages`. Items of an assistant message: reasoning, text,
 * calls. Rejects a tool result without an earlier call.
 */
import type { HubItem, HubPart, HubText, HubToolCall, JsonObject, Opaque } from '../../hub/types.ts';
import { isEnvelope, unwrap } from '../../opaque/envelope.ts';
import { mintCallId } from '../../wire/ids.ts';
import * as wire from '../../wire/read.ts';
import { readCacheControl, readImage, readParts, readTexts } from './decode-content.ts';

interface DecodeState {
  readonly system: HubText[];
  readonly items: HubItem[];
  /** Earlier calls by id; a result takes name and form from its call. */
  readonly calls: Map<string, HubToolCall>;
  /** The id minted for the last `function_call`. */
  legacyId: string | undefined;
}

export function readMessages(value: unknown): Pick<DecodeState, 'system' | 'items'> {
  const messages = wire.needList(value, 'messages');
  if (messages.length === 0) wire.wrongValue('messages', 'expected at least one message.');
  const state: DecodeState = { system: [], items: [], calls: new Map(), legacyId: undefined };
  for (const [n, one] of messages.entries()) {
    const path = `messages[${n}]`;
    const message = wire.needObject(one, path);
    const role = wire.needString(message.role, `${path}.role`);
    const read = ROLES.get(role);
    if (!read) return wire.wrongValue(`${path}.role`, `expected one of ${[...ROLES.keys()].join(', ')}.`);
    read(message, { path, index: n }, state);
  }
  return { system: state.system, items: state.items };
}

interface MessagePosition {
  readonly path: string;
  readonly index: number;
}
type RoleReader = (message: JsonObject, position: MessagePosition, state: DecodeState) => void;

const ROLES: ReadonlyMap<string, RoleReader> = new Map<string, RoleReader>([
  ['developer', readSystem],
  ['system', readSystem],
  ['user', readUser],
  ['assistant', readAssistant],
  ['tool', readTool],
  ['function', readFunction],
]);

/** Leading system messages become instructions; later ones keep their position in the conversation. */
function readSystem(message: JsonObject, { path }: MessagePosition, { system, items }: DecodeState): void {
  const parts = readTexts(message.content, `${path}.content`);
  if (items.length === 0) system.push(...parts);
  else items.push({ kind: 'message', role: 'system', parts });
}

function readUser(message: JsonObject, { path }: MessagePosition, { items }: DecodeState): void {
  items.push({ kind: 'message', role: 'user', parts: readParts(message.content, `${path}.content`) });
}

function readAssistant(message: JsonObject, { path, index: n }: MessagePosition, state: DecodeState): void {
  const thought = thoughtsIn(message);
  if (thought) state.items.push({ kind: 'reasoning', summary: [thought] });
  const parts = assistantParts(message, path);
  if (parts.length > 0) state.items.push({ kind: 'message', role: 'assistant', parts });
  for (const [k, call] of (wire.optional(message, 'tool_calls', wire.needList, path) ?? []).entries())
    addCall(readCall(call, `${path}.tool_calls[${k}]`), state);
  const legacy = wire.optional(message, 'function_call', wire.needObject, path);
  if (legacy) addCall(readLegacyCall(legacy, `${path}.function_call`, n, state), state);
}

/**
 * Servers differ in the member of an assistant message that holds
 * its reasoning. Some send the same text in two of them.
 */
const THOUGHT_MEMBERS: readonly (readonly [name: string, read: (message: JsonObject) => string])[] = [
  ['messages.reasoning_content', ({ reasoning_content }) => wire.maybeString(reasoning_content) ?? ''],
  ['messages.reasoning', ({ reasoning }) => wire.maybeString(reasoning) ?? ''],
  ['messages.reasoning_details', ({ reasoning_details: details }) => wire.maybeList(details).map(detailText).join('')],
  ['messages.content.thinking', ({ content }) => wire.maybeList(content).flatMap(thinkingTexts).join('')],
];

const thoughtsIn = (message: JsonObject): string =>
  THOUGHT_MEMBERS.map(([, read]) => read(message)).find((text) => text !== '') ?? '';

/** The members that hold reasoning; undefined if it is the usual one only. */
export function thoughtNames(messages: unknown): readonly [string, ...string[]] | undefined {
  const assistant = wire
    .maybeList(messages)
    .map(wire.maybeObject)
    .filter(({ role }) => role === 'assistant');
  const [first, ...more] = THOUGHT_MEMBERS.flatMap(([name, read]) =>
    assistant.some((message) => read(message) !== '') ? name : [],
  );
  return first === undefined || (first === THOUGHT_MEMBERS[0]?.[0] && more.length === 0) ? undefined : [first, ...more];
}

function detailText(value: unknown): string {
  const { type, text, summary } = wire.maybeObject(value);
  return wire.maybeString(type)?.startsWith('reasoning')
    ? (wire.maybeString(text) ?? wire.maybeString(summary) ?? '')
    : '';
}

function thinkingTexts(value: unknown): string[] {
  const { type, thinking } = wire.maybeObject(value);
  if (type !== 'thinking') return [];
  return typeof thinking === 'string'
    ? [thinking]
    : wire.maybeList(thinking).map((part) => wire.maybeString(wire.maybeObject(part).text) ?? '');
}

/**
 * Omits empty text, which clients send beside calls and some
 * providers reject. `images` are those of an earlier reply.
 */
function assistantParts(message: JsonObject, path: string): readonly HubPart[] {
  const parts: HubPart[] = [];
  const content = message.content;
  if (Array.isArray(content)) {
    parts.push(...content.flatMap((part, k) => assistantPart(part, `${path}.content[${k}]`)));
  } else if (wire.isGiven(content)) {
    parts.push({ kind: 'text', text: wire.needString(content, `${path}.content`) });
  }
  for (const [k, image] of (wire.optional(message, 'images', wire.needList, path) ?? []).entries())
    parts.push(readImage(wire.needObject(image, `${path}.images[${k}]`), `${path}.images[${k}]`));
  const transcript = parts.length > 0 ? undefined : wire.optional(message, 'audio', readTranscript, path);
  if (transcript) parts.push({ kind: 'text', text: transcript });
  const refusal = wire.optional(message, 'refusal', wire.needString, path);
  if (refusal) parts.push({ kind: 'refusal', text: refusal });
  return parts.filter((part) => !('text' in part) || part.text !== '');
}

/** The recording itself stays at the provider that made it, so the client must send the transcript. */
function readTranscript(value: unknown, path: string): string {
  const transcript = wire.optional(wire.needObject(value, path), 'transcript', wire.needString, path);
  return (
    transcript ?? wire.unsupported(path, 'a recording cannot be read by this model; send its transcript in content.')
  );
}

/** Ignores other part types: the client only returns what a provider sent, so it must not be rejected for them. */
function assistantPart(value: unknown, path: string): HubPart[] {
  const part = wire.needObject(value, path);
  const type = wire.needString(part.type, `${path}.type`);
  if (type === 'refusal') return [{ kind: 'refusal', text: wire.needString(part.refusal, `${path}.refusal`) }];
  const cache = readCacheControl(part, path);
  if (type === 'text')
    return [{ kind: 'text', text: wire.needString(part.text, `${path}.text`), ...(cache && { cache }) }];
  return [];
}

function addCall(call: HubToolCall, { items, calls }: DecodeState): void {
  items.push(call);
  calls.set(call.callId, call);
}

function readCall(value: unknown, path: string): HubToolCall {
  const call = wire.needObject(value, path);
  const callId = wire.needString(call.id, `${path}.id`);
  if (callId === '') wire.wrongValue(`${path}.id`, 'must not be empty.');
  const signature = readSignature(call);
  const form = call.type === 'custom' ? 'custom' : 'function';
  const at = `${path}.${form}`;
  const body = wire.needObject(call[form], at);
  const name = wire.needString(body.name, `${at}.name`);
  const args =
    form === 'custom' ? wire.needString(body.input, `${at}.input`) : wire.needString(body.arguments, `${at}.arguments`);
  return { kind: 'tool_call', callId, name, form, args, ...(signature && { signature }) };
}

/** The slot is the generate-content style's: a bare value is its own, any other value is in an envelope. */
function readSignature(call: JsonObject): Opaque | undefined {
  const data = wire.maybeString(wire.maybeObject(wire.maybeObject(call.extra_content).google).thought_signature);
  if (!data) return undefined;
  return isEnvelope(data) ? unwrap(data) : { issuer: 'generate-content', kind: 'thought', data };
}

/** `function_call` has no id. It is minted from the message index, which never changes as the conversation grows. */
function readLegacyCall(call: JsonObject, path: string, n: number, state: DecodeState): HubToolCall {
  const name = wire.needString(call.name, `${path}.name`);
  const callId = mintCallId('function_call', n);
  state.legacyId = callId;
  return {
    kind: 'tool_call',
    callId,
    name,
    form: 'function',
    args: wire.needString(call.arguments, `${path}.arguments`),
  };
}

function readTool(message: JsonObject, { path }: MessagePosition, state: DecodeState): void {
  const callId = wire.needString(message.tool_call_id, `${path}.tool_call_id`);
  addResult(callId, readParts(message.content, `${path}.content`), `${path}.tool_call_id`, state);
}

function readFunction(message: JsonObject, { path }: MessagePosition, state: DecodeState): void {
  wire.needString(message.name, `${path}.name`);
  addResult(state.legacyId ?? '', readParts(message.content ?? '', `${path}.content`), path, state);
}

function addResult(callId: string, parts: readonly HubPart[], path: string, { items, calls }: DecodeState): void {
  const call =
    calls.get(callId) ??
    wire.wrongValue(path, `no earlier message has a tool call with the id '${callId.slice(0, 80)}'.`);
  items.push({ kind: 'tool_result', callId, name: call.name, form: call.form, parts });
}
