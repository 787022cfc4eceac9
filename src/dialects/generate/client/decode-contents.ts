/**
 * Decoder of contents into hub items. Adjacent text and media form one
 * message. Calls without ids are paired by name and order.
 */
import type { HubItem, HubPart, HubText, JsonObject, MediaSource } from '../../hub/types.ts';
import { mintCallId } from '../../wire/ids.ts';
import * as wire from '../../wire/read.ts';
import { signatureFromClient } from '../thought-signature.ts';
import { field, ISSUER, mediaKind } from '../wire.ts';

export function decodeContents(value: unknown): HubItem[] {
  const contents = wire.isObject(value) ? [value] : wire.needList(value, 'contents');
  if (contents.length === 0) wire.wrongValue('contents', 'at least one content is required.');
  const state: DecodeState = { items: [], parts: [], callCount: 0, pendingCalls: [] };
  for (const [n, content] of contents.entries()) decodeContent(content, `contents[${n}]`, state);
  return state.items;
}

/** Accepts text parts, or one string as some SDK helpers send it. */
export function decodeSystem(value: unknown): HubText[] {
  if (!wire.isGiven(value)) return [];
  if (typeof value === 'string') return value === '' ? [] : [{ kind: 'text', text: value }];
  return partsOf(wire.needObject(value, 'systemInstruction'), 'systemInstruction').map((part, n): HubText => {
    const path = `systemInstruction.parts[${n}]`;
    if (!wire.isGiven(part.text)) wire.unsupported(path, 'only text parts are allowed here.');
    return { kind: 'text', text: wire.needString(part.text, `${path}.text`) };
  });
}

interface DecodeState {
  readonly items: HubItem[];
  /** Parts of the open message. */
  parts: HubPart[];
  callCount: number;
  /** Calls without a response so far. */
  readonly pendingCalls: { readonly name: string; readonly callId: string }[];
}

const ROLES = wire.tableOf<'user' | 'assistant'>({ user: 'user', function: 'user', model: 'assistant' });

function decodeContent(value: unknown, path: string, state: DecodeState): void {
  const content = typeof value === 'string' ? { parts: [{ text: value }] } : wire.needObject(value, path);
  const name = wire.isGiven(content.role) ? wire.needString(content.role, `${path}.role`) : 'user';
  const role = ROLES.get(name) ?? wire.wrongValue(`${path}.role`, 'expected user or model.');
  for (const [n, part] of partsOf(content, path).entries()) {
    const partPath = `${path}.parts[${n}]`;
    const kind = PART_KINDS.find((name) => wire.isGiven(field(part, name))) ?? 'unknown';
    PART_READERS[kind](part, { partPath, role, state });
  }
  endMessage(role, state);
}

function partsOf(content: JsonObject, path: string): JsonObject[] {
  const at = `${path}.parts`;
  const list = wire.isObject(content.parts) ? [content.parts] : wire.needList(content.parts, at);
  return list.map((part, n) => (typeof part === 'string' ? { text: part } : wire.needObject(part, `${at}[${n}]`)));
}

function endMessage(role: 'user' | 'assistant', state: DecodeState): void {
  if (state.parts.length === 0) return;
  state.items.push({ kind: 'message', role, parts: state.parts });
  state.parts = [];
}

interface PartContext {
  readonly partPath: string;
  readonly role: 'user' | 'assistant';
  readonly state: DecodeState;
}

const PART_KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;
type PartKind = (typeof PART_KINDS)[number] | 'unknown';

const PART_READERS: { readonly [K in PartKind]: (part: JsonObject, context: PartContext) => void } = {
  text(part, { partPath, role, state }) {
    const text = wire.needString(part.text, `${partPath}.text`);
    const slot = field(part, 'thoughtSignature');
    const signature = signatureFromClient(slot);
    if (part.thought === true) {
      endMessage(role, state);
      // Drop a thought whose signature cannot be decoded: its text alone must never reach a model.
      if (wire.isGiven(slot) && signature === undefined) return;
      const summary = text === '' ? [] : [text];
      state.items.push({ kind: 'reasoning', summary, ...(signature && { opaque: signature }) });
    } else if (text !== '' || signature) {
      state.parts.push({ kind: 'text', text, ...(signature && { signature }) });
    }
  },
  inlineData(part, { partPath, state }) {
    const signature = signatureFromClient(field(part, 'thoughtSignature'));
    const media = inlineMedia(field(part, 'inlineData'), `${partPath}.inlineData`);
    state.parts.push(media.kind === 'image' && signature ? { ...media, signature } : media);
  },
  fileData(part, { partPath, state }) {
    state.parts.push(fileMedia(field(part, 'fileData'), `${partPath}.fileData`));
  },
  functionCall(part, { partPath, role, state }) {
    const path = `${partPath}.functionCall`;
    const call = wire.needObject(field(part, 'functionCall'), path);
    const name = wire.needString(call.name, `${path}.name`);
    if (wire.isGiven(call.args)) wire.needObject(call.args, `${path}.args`);
    endMessage(role, state);
    const callId = wire.maybeString(call.id) || mintCallId('contents', state.callCount);
    state.callCount += 1;
    state.pendingCalls.push({ name, callId });
    const signature = signatureFromClient(field(part, 'thoughtSignature'));
    const args = JSON.stringify(call.args ?? {});
    state.items.push({ kind: 'tool_call', callId, name, form: 'function', args, ...(signature && { signature }) });
  },
  functionResponse(part, { partPath, role, state }) {
    const path = `${partPath}.functionResponse`;
    const response = wire.needObject(field(part, 'functionResponse'), path);
    const name = wire.needString(response.name, `${path}.name`);
    endMessage(role, state);
    const callId = takeCallId(name, wire.maybeString(response.id), path, state);
    state.items.push({ kind: 'tool_result', callId, name, form: 'function', ...resultOf(response, path) });
  },
  /** Keeps unknown parts of the model, such as hosted tool calls, and rejects unknown parts of the user. */
  unknown(part, { partPath, role, state }) {
    if (role === 'user')
      wire.wrongType(partPath, 'a part with text, media, a function call or a function response', part);
    endMessage(role, state);
    state.items.push({ kind: 'opaque', issuer: ISSUER, raw: part });
  },
};

function inlineMedia(value: unknown, path: string): HubPart {
  const data = wire.needObject(value, path);
  const mime = wire.needString(field(data, 'mimeType'), `${path}.mimeType`);
  const source: MediaSource = { kind: 'base64', mime, data: wire.needString(data.data, `${path}.data`) };
  return mediaPart(mime, source, wire.maybeString(field(data, 'displayName')));
}

/** URIs of files that only this provider can read. */
const PROVIDER_FILE = /^(?:gs:\/\/|files\/|https:\/\/generativelanguage\.googleapis\.com\/)/;

function fileMedia(value: unknown, path: string): HubPart {
  const data = wire.needObject(value, path);
  const uri = wire.needString(field(data, 'fileUri'), `${path}.fileUri`);
  const mime = wire.maybeString(field(data, 'mimeType'));
  const source: MediaSource = PROVIDER_FILE.test(uri)
    ? { kind: 'file_id', id: uri, issuer: ISSUER }
    : { kind: 'url', url: uri, ...(mime !== undefined && { mime }) };
  return mediaPart(mime ?? '', source, wire.maybeString(field(data, 'displayName')));
}

function mediaPart(mime: string, source: MediaSource, title: string | undefined): HubPart {
  const kind = mediaKind(mime);
  return kind === 'file' && title !== undefined ? { kind, source, title } : { kind, source };
}

function takeCallId(name: string, id: string | undefined, path: string, state: DecodeState): string {
  const at = state.pendingCalls.findIndex((call) => (id ? call.callId === id : call.name === name));
  const [call] = at < 0 ? [] : state.pendingCalls.splice(at, 1);
  return call?.callId ?? wire.wrongValue(path, `no earlier function call "${id || name}" is waiting for a response.`);
}

function resultOf(response: JsonObject, path: string): { parts: HubPart[]; isError?: boolean } {
  const value = wire.isGiven(response.response) ? wire.needObject(response.response, `${path}.response`) : {};
  const media = wire.isGiven(response.parts) ? wire.needList(response.parts, `${path}.parts`) : [];
  const parts = media.map((entry, n) => {
    const at = `${path}.parts[${n}]`;
    const part = wire.needObject(entry, at);
    return wire.isGiven(field(part, 'fileData'))
      ? fileMedia(field(part, 'fileData'), `${at}.fileData`)
      : inlineMedia(field(part, 'inlineData'), `${at}.inlineData`);
  });
  const names = Object.keys(value);
  const only = names.length === 1 ? names[0] : undefined;
  const isError = only === 'error';
  const inner = only !== undefined && ['output', 'result', 'error'].includes(only) ? value[only] : value;
  const output: HubPart = typeof inner === 'string' ? { kind: 'text', text: inner } : { kind: 'json', value: inner };
  return { parts: [output, ...parts], ...(isError && { isError }) };
}
