/**
 * The contents of a client's request as items. Part for part in order; texts and media side by side in one content make
 * one message. Calls and responses without ids are paired by name and order, as the provider does.
 */
import type { HubItem, HubPart, HubText, JsonObject, MediaSource } from '../../hub/types.ts';
import { mintCallId } from '../../wire/ids.ts';
import {
  given,
  isObject,
  maybeString,
  needList,
  needObject,
  needString,
  unsupported,
  wrongType,
  wrongValue,
} from '../../wire/read.ts';
import { fromSlot } from '../thought-signature.ts';
import { field, ISSUER, mediaKind } from '../wire.ts';

export function decodeContents(value: unknown): HubItem[] {
  const contents = isObject(value) ? [value] : needList(value, 'contents');
  if (contents.length === 0) wrongValue('contents', 'at least one content is needed.');
  const walk: Walk = { items: [], parts: [], calls: 0, waiting: [] };
  for (const [n, content] of contents.entries()) decodeContent(content, `contents[${n}]`, walk);
  return walk.items;
}

/** Instructions: text parts, or one string as some SDK helpers send it. */
export function decodeSystem(value: unknown): HubText[] {
  if (!given(value)) return [];
  if (typeof value === 'string') return value === '' ? [] : [{ kind: 'text', text: value }];
  return partsOf(needObject(value, 'systemInstruction'), 'systemInstruction').map((part, n): HubText => {
    const path = `systemInstruction.parts[${n}]`;
    if (!given(part.text)) unsupported(path, 'instructions hold text only.');
    return { kind: 'text', text: needString(part.text, `${path}.text`) };
  });
}

interface Walk {
  readonly items: HubItem[];
  /** Of the message that is being gathered. */
  parts: HubPart[];
  calls: number;
  /** Calls that no response has named yet. */
  readonly waiting: { readonly name: string; readonly callId: string }[];
}

const ROLES: Readonly<Record<string, 'user' | 'assistant'>> = { user: 'user', function: 'user', model: 'assistant' };

function decodeContent(value: unknown, path: string, walk: Walk): void {
  const content = typeof value === 'string' ? { parts: [{ text: value }] } : needObject(value, path);
  const word = given(content.role) ? needString(content.role, `${path}.role`) : 'user';
  const role = ROLES[word] ?? wrongValue(`${path}.role`, 'expected user or model.');
  for (const [n, part] of partsOf(content, path).entries()) {
    const at = `${path}.parts[${n}]`;
    const kind = KINDS.find((name) => given(field(part, name))) ?? 'unknown';
    ON[kind](part, { at, role, walk });
  }
  endMessage(role, walk);
}

function partsOf(content: JsonObject, path: string): JsonObject[] {
  const at = `${path}.parts`;
  const list = isObject(content.parts) ? [content.parts] : needList(content.parts, at);
  return list.map((part, n) => (typeof part === 'string' ? { text: part } : needObject(part, `${at}[${n}]`)));
}

function endMessage(role: 'user' | 'assistant', walk: Walk): void {
  if (walk.parts.length === 0) return;
  walk.items.push({ kind: 'message', role, parts: walk.parts });
  walk.parts = [];
}

// ---------------------------------------------------------------- parts

interface Place {
  readonly at: string;
  readonly role: 'user' | 'assistant';
  readonly walk: Walk;
}

const KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;
type PartKind = (typeof KINDS)[number] | 'unknown';

const ON: { readonly [K in PartKind]: (part: JsonObject, place: Place) => void } = {
  text(part, { at, role, walk }) {
    const text = needString(part.text, `${at}.text`);
    const slot = field(part, 'thoughtSignature');
    const signature = fromSlot(slot);
    if (part.thought === true) {
      endMessage(role, walk);
      // A value that cannot be read takes its container with it.
      if (given(slot) && signature === undefined) return;
      const summary = text === '' ? [] : [text];
      walk.items.push({ kind: 'reasoning', summary, ...(signature && { opaque: signature }) });
    } else if (text !== '' || signature) {
      walk.parts.push({ kind: 'text', text, ...(signature && { signature }) });
    }
  },
  inlineData(part, { at, walk }) {
    const signature = fromSlot(field(part, 'thoughtSignature'));
    const media = inlineMedia(field(part, 'inlineData'), `${at}.inlineData`);
    walk.parts.push(media.kind === 'image' && signature ? { ...media, signature } : media);
  },
  fileData(part, { at, walk }) {
    walk.parts.push(fileMedia(field(part, 'fileData'), `${at}.fileData`));
  },
  functionCall(part, { at, role, walk }) {
    const path = `${at}.functionCall`;
    const call = needObject(field(part, 'functionCall'), path);
    const name = needString(call.name, `${path}.name`);
    if (given(call.args)) needObject(call.args, `${path}.args`);
    endMessage(role, walk);
    const callId = maybeString(call.id) || mintCallId('contents', walk.calls);
    walk.calls += 1;
    walk.waiting.push({ name, callId });
    const signature = fromSlot(field(part, 'thoughtSignature'));
    const args = JSON.stringify(call.args ?? {});
    walk.items.push({ kind: 'tool_call', callId, name, form: 'function', args, ...(signature && { signature }) });
  },
  functionResponse(part, { at, role, walk }) {
    const path = `${at}.functionResponse`;
    const response = needObject(field(part, 'functionResponse'), path);
    const name = needString(response.name, `${path}.name`);
    endMessage(role, walk);
    const callId = pair(name, maybeString(response.id), path, walk);
    walk.items.push({ kind: 'tool_result', callId, name, form: 'function', ...resultOf(response, path) });
  },
  /** Code and calls that the provider ran itself are its own; anything else from the user is something we cannot read. */
  unknown(part, { at, role, walk }) {
    if (role === 'user') wrongType(at, 'a part with text, media, a function call or a function response', part);
    endMessage(role, walk);
    walk.items.push({ kind: 'opaque', issuer: ISSUER, raw: part });
  },
};

function inlineMedia(value: unknown, path: string): HubPart {
  const data = needObject(value, path);
  const mime = needString(field(data, 'mimeType'), `${path}.mimeType`);
  const source: MediaSource = { kind: 'base64', mime, data: needString(data.data, `${path}.data`) };
  return mediaPart(mime, source, maybeString(field(data, 'displayName')));
}

/** Files in the provider's own store are known to it alone. */
const OWN_FILE = /^(?:gs:\/\/|files\/|https:\/\/generativelanguage\.googleapis\.com\/)/;

function fileMedia(value: unknown, path: string): HubPart {
  const data = needObject(value, path);
  const uri = needString(field(data, 'fileUri'), `${path}.fileUri`);
  const mime = maybeString(field(data, 'mimeType'));
  const source: MediaSource = OWN_FILE.test(uri)
    ? { kind: 'file_id', id: uri, issuer: ISSUER }
    : { kind: 'url', url: uri, ...(mime !== undefined && { mime }) };
  return mediaPart(mime ?? '', source, maybeString(field(data, 'displayName')));
}

function mediaPart(mime: string, source: MediaSource, title: string | undefined): HubPart {
  const kind = mediaKind(mime);
  return kind === 'file' && title !== undefined ? { kind, source, title } : { kind, source };
}

function pair(name: string, id: string | undefined, path: string, walk: Walk): string {
  const at = walk.waiting.findIndex((call) => (id ? call.callId === id : call.name === name));
  const [call] = at < 0 ? [] : walk.waiting.splice(at, 1);
  return call?.callId ?? wrongValue(path, `no unanswered function call "${id || name}" came before.`);
}

function resultOf(response: JsonObject, path: string): { parts: HubPart[]; isError?: boolean } {
  const value = given(response.response) ? needObject(response.response, `${path}.response`) : {};
  const media = given(response.parts) ? needList(response.parts, `${path}.parts`) : [];
  const parts = media.map((entry, n) => {
    const at = `${path}.parts[${n}]`;
    const part = needObject(entry, at);
    return given(field(part, 'fileData'))
      ? fileMedia(field(part, 'fileData'), `${at}.fileData`)
      : inlineMedia(field(part, 'inlineData'), `${at}.inlineData`);
  });
  const names = Object.keys(value);
  const only = names.length === 1 ? names[0] : undefined;
  const isError = only === 'error';
  const inner = only !== undefined && ['output', 'result', 'error'].includes(only) ? value[only] : value;
  const said: HubPart = typeof inner === 'string' ? { kind: 'text', text: inner } : { kind: 'json', value: inner };
  return { parts: [said, ...parts], ...(isError && { isError }) };
}
