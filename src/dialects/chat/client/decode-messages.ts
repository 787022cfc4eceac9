/**
 * A client's messages, read into instructions and items. The order inside an assistant message is that of the format:
 * thoughts, text, calls. Results must answer a call that came before; no target takes them otherwise.
 */

import type { HubItem, HubPart, HubText, HubToolCall, JsonObject, Opaque } from '../../hub/types.ts';
import { isEnvelope, unwrap } from '../../opaque/envelope.ts';
import { mintCallId } from '../../wire/ids.ts';
import {
  given,
  maybeObject,
  maybeString,
  needList,
  needObject,
  needString,
  optional,
  wrongValue,
} from '../../wire/read.ts';
import { readParts, readTexts } from './decode-content.ts';

export interface Conversation {
  readonly system: readonly HubText[];
  readonly items: readonly HubItem[];
}

interface Reading {
  readonly system: HubText[];
  readonly items: HubItem[];
  /** Calls so far by id, for the results to name. */
  readonly calls: Map<string, HubToolCall>;
  /** The id made up for the last call in the form before tools. */
  legacyId: string | undefined;
}

export function readMessages(value: unknown): Conversation {
  const messages = needList(value, 'messages');
  if (messages.length === 0) wrongValue('messages', 'expected at least one message.');
  const reading: Reading = { system: [], items: [], calls: new Map(), legacyId: undefined };
  for (const [n, one] of messages.entries()) {
    const path = `messages[${n}]`;
    const message = needObject(one, path);
    const role = needString(message.role, `${path}.role`);
    const read = ROLES.get(role);
    if (!read) return wrongValue(`${path}.role`, `expected one of ${[...ROLES.keys()].join(', ')}.`);
    read(message, { path, n }, reading);
  }
  return { system: reading.system, items: reading.items };
}

interface Place {
  readonly path: string;
  readonly n: number;
}
type RoleReader = (message: JsonObject, place: Place, reading: Reading) => void;

const ROLES: ReadonlyMap<string, RoleReader> = new Map<string, RoleReader>([
  ['developer', readSystem],
  ['system', readSystem],
  ['user', readUser],
  ['assistant', readAssistant],
  ['tool', readTool],
  ['function', readFunction],
]);

/** Leading instructions stand ahead of the conversation; later ones keep their place in it. */
function readSystem(message: JsonObject, { path }: Place, { system, items }: Reading): void {
  const parts = readTexts(message.content, `${path}.content`);
  if (items.length === 0) system.push(...parts);
  else items.push({ kind: 'message', role: 'system', parts });
}

function readUser(message: JsonObject, { path }: Place, { items }: Reading): void {
  items.push({ kind: 'message', role: 'user', parts: readParts(message.content, `${path}.content`) });
}

function readAssistant(message: JsonObject, { path, n }: Place, reading: Reading): void {
  const thought = maybeString(message.reasoning_content) || maybeString(message.reasoning);
  if (thought) reading.items.push({ kind: 'reasoning', summary: [thought] });
  const parts = assistantParts(message, path);
  if (parts.length > 0) reading.items.push({ kind: 'message', role: 'assistant', parts });
  // Names a recording that only the provider has.
  if (given(message.audio)) reading.items.push({ kind: 'opaque', issuer: 'responses', raw: { audio: message.audio } });
  for (const [k, call] of (optional(message, 'tool_calls', needList, path) ?? []).entries())
    addCall(readCall(call, `${path}.tool_calls[${k}]`), reading);
  const legacy = optional(message, 'function_call', needObject, path);
  if (legacy) addCall(readLegacyCall(legacy, `${path}.function_call`, n, reading), reading);
}

/** Clients send an empty text beside calls; it says nothing, and some providers refuse it. */
function assistantParts(message: JsonObject, path: string): readonly HubPart[] {
  const parts: HubPart[] = [];
  const content = message.content;
  if (Array.isArray(content)) {
    parts.push(...content.flatMap((part, k) => assistantPart(part, `${path}.content[${k}]`)));
  } else if (given(content)) {
    parts.push({ kind: 'text', text: needString(content, `${path}.content`) });
  }
  const refusal = optional(message, 'refusal', needString, path);
  if (refusal) parts.push({ kind: 'refusal', text: refusal });
  return parts.filter((part) => !('text' in part) || part.text !== '');
}

/** Any other kind is a provider's artefact: the client only hands back what it was given, so it is not refused for it. */
function assistantPart(value: unknown, path: string): HubPart[] {
  const part = needObject(value, path);
  const type = needString(part.type, `${path}.type`);
  if (type === 'refusal') return [{ kind: 'refusal', text: needString(part.refusal, `${path}.refusal`) }];
  if (type === 'text') return [{ kind: 'text', text: needString(part.text, `${path}.text`) }];
  return [];
}

function addCall(call: HubToolCall, { items, calls }: Reading): void {
  items.push(call);
  calls.set(call.callId, call);
}

function readCall(value: unknown, path: string): HubToolCall {
  const call = needObject(value, path);
  const callId = needString(call.id, `${path}.id`);
  if (callId === '') wrongValue(`${path}.id`, 'must not be empty.');
  const signature = readSignature(call);
  const form = call.type === 'custom' ? 'custom' : 'function';
  const at = `${path}.${form}`;
  const body = needObject(call[form], at);
  const name = needString(body.name, `${at}.name`);
  const args =
    form === 'custom' ? needString(body.input, `${at}.input`) : needString(body.arguments, `${at}.arguments`);
  return { kind: 'tool_call', callId, name, form, args, ...(signature && { signature }) };
}

/** The slot belongs to the generate-content side: a bare value is its own, everything foreign comes in an envelope. */
function readSignature(call: JsonObject): Opaque | undefined {
  const data = maybeString(maybeObject(maybeObject(call.extra_content).google).thought_signature);
  if (!data) return undefined;
  return isEnvelope(data) ? unwrap(data) : { issuer: 'generate-content', kind: 'thought', data };
}

/** The form before tools has no ids; one is made from the place of the message, which never changes. */
function readLegacyCall(call: JsonObject, path: string, n: number, reading: Reading): HubToolCall {
  const name = needString(call.name, `${path}.name`);
  const callId = mintCallId('function_call', n);
  reading.legacyId = callId;
  return { kind: 'tool_call', callId, name, form: 'function', args: needString(call.arguments, `${path}.arguments`) };
}

function readTool(message: JsonObject, { path }: Place, reading: Reading): void {
  const callId = needString(message.tool_call_id, `${path}.tool_call_id`);
  addResult(callId, readParts(message.content, `${path}.content`), `${path}.tool_call_id`, reading);
}

function readFunction(message: JsonObject, { path }: Place, reading: Reading): void {
  needString(message.name, `${path}.name`);
  addResult(reading.legacyId ?? '', readParts(message.content ?? '', `${path}.content`), path, reading);
}

function addResult(callId: string, parts: readonly HubPart[], path: string, { items, calls }: Reading): void {
  const call =
    calls.get(callId) ?? wrongValue(path, `no earlier message has a tool call with the id '${callId.slice(0, 80)}'.`);
  items.push({ kind: 'tool_result', callId, name: call.name, form: call.form, parts });
}
