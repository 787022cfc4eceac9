/**
 * Items of an answer in this dialect's form, shared by whole answers and streams. One hub item becomes none, one or several wire
 * items, each built only when its place (and so its id) is known.
 */

import type {
  HubItem,
  HubMessage,
  HubPart,
  HubReasoningItem,
  HubRequest,
  HubServerCall,
  HubToolCall,
  JsonObject,
  Opaque,
} from '../hub/types.ts';
import { EMPTY_ENVELOPE, pack } from '../opaque/envelope.ts';
import { unwrapInput } from '../tools/free-text.ts';
import { itemId } from '../wire/ids.ts';
import { compact, isObject, maybeString, parseArgs } from '../wire/read.ts';
import { encodeAnnotation } from './annotations.ts';
import { signatureOfCall, signatureOfText } from './thought-signatures.ts';

export type Status = 'in_progress' | 'completed' | 'incomplete';

/** A wire item before it has a place. */
export interface Form {
  readonly prefix: Parameters<typeof itemId>[0];
  build(id: string, status: Status): JsonObject;
  /** Arguments that are no JSON: nobody must run the call when the model was cut off. */
  readonly broken?: boolean;
}

export const placeId = (form: Form, responseId: string, place: number): string =>
  itemId(form.prefix, responseId, place);

export function formsOf(item: HubItem, declared: Declared): Form[] {
  switch (item.kind) {
    case 'message':
      return messageForms(item);
    case 'reasoning':
      return [reasoningForm(item)];
    case 'tool_call':
      return [...signatureForms(signatureOfCall(item)), callForm(item, shapeOf(item, declared))];
    case 'server_call':
      return serverForms(item);
    case 'compaction':
      return item.opaque ? [compactionForm(item.opaque)] : [];
    case 'opaque':
      return item.issuer === 'responses' && isObject(item.raw) ? [rawForm(item.raw)] : [];
    case 'tool_result':
    case 'tool_change':
    case 'config_change':
    case 'ref':
      return [];
  }
}

// ---------------------------------------------------------------- messages

function messageForms(message: HubMessage): Form[] {
  const forms: Form[] = message.parts.some((part) => encodePart(part)) ? [messageForm(message)] : [];
  for (const part of message.parts) if (part.kind === 'image') forms.push(...imageForms(part));
  return [...forms, ...signatureForms(signatureOfText(message))];
}

export const messageForm = (message: HubMessage): Form => ({
  prefix: 'msg',
  build: (id, status) =>
    compact({
      id,
      type: 'message',
      status: message.incomplete && status === 'completed' ? 'incomplete' : status,
      role: 'assistant',
      phase: message.phase,
      content: status === 'in_progress' ? [] : message.parts.flatMap((part) => encodePart(part) ?? []),
    }),
});

/** Undefined for what this dialect's messages cannot hold and for parts that say nothing. */
export function encodePart(part: HubPart): JsonObject | undefined {
  if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return undefined;
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text };
  const annotations = (part.annotations ?? []).map(encodeAnnotation);
  return { type: 'output_text', text: part.text, annotations, logprobs: [] };
}

function imageForms(part: HubPart & { kind: 'image' }): Form[] {
  if (part.source.kind !== 'base64') return [];
  const result = part.source.data;
  const build = (id: string, status: Status): JsonObject => ({
    id,
    type: 'image_generation_call',
    status,
    result: status === 'in_progress' ? null : result,
  });
  return [{ prefix: 'ig', build }];
}

// ---------------------------------------------------------------- reasoning

/** The opaque value comes with the finished item only: readers take what they see first for the whole. */
export const reasoningForm = (item: HubReasoningItem): Form => ({
  prefix: 'rs',
  build: (id, status) =>
    compact({
      id,
      type: 'reasoning',
      summary: status === 'in_progress' ? [] : item.summary.filter((text) => text !== '').map(encodeSummary),
      encrypted_content: status === 'in_progress' ? undefined : slotOf(item),
      status,
    }),
});

const slotOf = ({ opaque }: HubReasoningItem): string => (opaque ? pack(opaque, 'responses') : EMPTY_ENVELOPE);

export const encodeSummary = (text: string): JsonObject => ({ type: 'summary_text', text });

export const signatureForms = (opaque: Opaque | undefined): Form[] =>
  opaque ? [reasoningForm({ kind: 'reasoning', summary: [], opaque })] : [];

const compactionForm = (opaque: Opaque): Form => ({
  prefix: 'cmp',
  build: (id) => ({ id, type: 'compaction', encrypted_content: pack(opaque, 'responses') }),
});

// ---------------------------------------------------------------- calls

/** `wrapped`: a free-text tool on an upstream that only has functions; its text stands inside JSON. */
export type Shape = 'function' | 'custom' | 'wrapped' | 'builtin';

/** Which tools the client declared as something else than a function. */
export type Declared = ReadonlyMap<string, 'custom' | 'builtin'>;

export function declaredIn(request: HubRequest): Declared {
  const added = request.items.flatMap((item) => (item.kind === 'tool_change' ? item.add : []));
  const declared = new Map<string, 'custom' | 'builtin'>();
  for (const tool of [...request.tools, ...added]) {
    if (tool.kind === 'custom') declared.set(keyOf(tool), 'custom');
    if (tool.kind === 'builtin' && TYPED.has(tool.name)) declared.set(keyOf(tool), 'builtin');
  }
  return declared;
}

const keyOf = (tool: { name: string; namespace?: string }): string => `${tool.namespace ?? ''}\n${tool.name}`;

export function shapeOf(call: HubToolCall, declared: Declared): Shape {
  if (call.form === 'custom') return 'custom';
  const wanted = declared.get(keyOf(call));
  if (wanted === 'custom') return 'wrapped';
  return wanted === 'builtin' || (call.form === 'builtin' && TYPED.has(call.name)) ? 'builtin' : 'function';
}

export function callForm(call: HubToolCall, shape: Shape): Form {
  const broken = shape !== 'custom' && !isJson(call.args);
  if (shape === 'builtin') return { prefix: 'fc', broken, build: (id, status) => typedCall(call, id, status) };
  if (shape !== 'function')
    return { prefix: 'ctc', broken, build: (id, status) => customCall(call, shape, id, status) };
  return { prefix: 'fc', broken, build: (id, status) => functionCall(call, id, status) };
}

function functionCall(call: HubToolCall, id: string, status: Status): JsonObject {
  const { callId, name, namespace } = call;
  const args = status === 'in_progress' ? '' : call.args || '{}';
  return compact({ id, type: 'function_call', status, call_id: callId, name, namespace, arguments: args });
}

function customCall(call: HubToolCall, shape: Shape, id: string, status: Status): JsonObject {
  const { callId, name, namespace } = call;
  const input = status === 'in_progress' ? '' : inputOf(call, shape);
  return compact({ id, type: 'custom_tool_call', status, call_id: callId, name, namespace, input });
}

export const inputOf = (call: HubToolCall, shape: Shape): string =>
  shape === 'wrapped' ? unwrapInput(call.args) : call.args;

interface TypedRow {
  readonly type: string;
  readonly field: string;
  /** Members that readers of the item require. */
  readonly item?: JsonObject;
  readonly action?: JsonObject;
}
const TYPED: ReadonlyMap<string, TypedRow> = new Map<string, TypedRow>([
  ['shell', { type: 'shell_call', field: 'action', item: { environment: null } }],
  ['local_shell', { type: 'local_shell_call', field: 'action', action: { type: 'exec', env: {} } }],
  ['apply_patch', { type: 'apply_patch_call', field: 'operation' }],
]);

function typedCall(call: HubToolCall, id: string, status: Status): JsonObject {
  const row = TYPED.get(call.name);
  if (!row) return functionCall(call, id, status);
  const action = { ...row.action, ...parseArgs(call.args) };
  return { id, type: row.type, status, call_id: call.callId, ...row.item, [row.field]: action };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// ---------------------------------------------------------------- hosted tools

/** Web search is understood everywhere; other hosted calls mean something to their issuer only. */
function serverForms(call: HubServerCall): Form[] {
  if (call.issuer === 'responses' && isObject(call.raw)) return [rawForm(call.raw)];
  if (call.tool !== 'web_search') return [];
  const queries = call.queries ?? [];
  const sources = call.sources?.map(({ url }) => ({ type: 'url', url }));
  const action = compact({ type: 'search', query: queries[0] ?? '', queries, sources });
  const last = call.status === 'failed' ? 'failed' : 'completed';
  const build = (id: string, status: Status): JsonObject => ({
    id,
    type: 'web_search_call',
    status: status === 'in_progress' ? status : last,
    action,
  });
  return [{ prefix: 'ws', build }];
}

/** An item of this dialect's own provider goes on as it came, under its own id. */
const rawForm = (raw: JsonObject): Form => ({
  prefix: 'ws',
  build: (id, status) => ({
    ...raw,
    id: maybeString(raw.id) ?? id,
    ...(status === 'in_progress' && 'status' in raw && { status }),
  }),
});
