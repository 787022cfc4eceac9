/**
 * Output items of a response, built from hub items; unary replies and streams share them. One hub item becomes any number of
 * wire items. Each is built when its output index is known, because the index determines its id.
 */
import type {
  HubImage,
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
import { formatOfMime } from '../wire/image-format.ts';
import { compact, isObject, maybeString, parseArgs } from '../wire/read.ts';
import { encodeAnnotation } from './annotations.ts';
import { signatureOfCall, signatureOfImage, signatureOfText } from './thought-signatures.ts';

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** A wire item before it has an output index. */
export interface ItemBuilder {
  readonly idPrefix: Parameters<typeof itemId>[0];
  build(id: string, status: ItemStatus): JsonObject;
  /** The arguments are not valid JSON. A truncated reply drops such a call, because the client would run it. */
  readonly hasInvalidArgs?: boolean;
}

export const outputItemId = (builder: ItemBuilder, responseId: string, outputIndex: number): string =>
  itemId(builder.idPrefix, responseId, outputIndex);

/** Returns the builders of all wire items of a hub item. */
export function itemBuilders(item: HubItem, toolKinds: NonFunctionTools): ItemBuilder[] {
  switch (item.kind) {
    case 'message':
      return messageBuilders(item);
    case 'reasoning':
      return [reasoningBuilder(item)];
    case 'tool_call':
      return [...signatureBuilders(signatureOfCall(item)), callBuilder(item, callShape(item, toolKinds))];
    case 'server_call':
      return serverCallBuilders(item);
    case 'compaction':
      return item.opaque ? [compactionBuilder(item.opaque)] : [];
    case 'opaque':
      return item.issuer === 'responses' && isObject(item.raw) ? [rawBuilder(item.raw)] : [];
    case 'tool_result':
    case 'tool_change':
    case 'config_change':
    case 'ref':
      return [];
  }
}

// ---------------------------------------------------------------- messages

function messageBuilders(message: HubMessage): ItemBuilder[] {
  const builders: ItemBuilder[] = message.parts.some((part) => encodePart(part)) ? [messageBuilder(message)] : [];
  for (const part of message.parts)
    if (part.kind === 'image') builders.push(...imageBuilders(part), ...signatureBuilders(signatureOfImage(part)));
  return [...builders, ...signatureBuilders(signatureOfText(message))];
}

export const messageBuilder = (message: HubMessage): ItemBuilder => ({
  idPrefix: 'msg',
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

/** Returns undefined for empty parts and for kinds of parts that messages of this dialect cannot contain. */
export function encodePart(part: HubPart): JsonObject | undefined {
  if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return undefined;
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text };
  const annotations = (part.annotations ?? []).map(encodeAnnotation);
  return { type: 'output_text', text: part.text, annotations, logprobs: [] };
}

/** An image is complete when it arrives, whatever ends the reply after it. */
function imageBuilders({ source }: HubImage): ItemBuilder[] {
  if (source.kind !== 'base64') return [];
  const { data, mime } = source;
  const build = (id: string, status: ItemStatus): JsonObject =>
    status === 'in_progress'
      ? { id, type: 'image_generation_call', status, result: null }
      : compact({
          id,
          type: 'image_generation_call',
          status: 'completed',
          output_format: formatOfMime(mime),
          result: data,
        });
  return [{ idPrefix: 'ig', build }];
}

// ---------------------------------------------------------------- reasoning

/** Only the finished item has the opaque value: clients keep the first value that they see. */
export const reasoningBuilder = (item: HubReasoningItem): ItemBuilder => ({
  idPrefix: 'rs',
  build: (id, status) =>
    compact({
      id,
      type: 'reasoning',
      summary: status === 'in_progress' ? [] : item.summary.filter((text) => text !== '').map(encodeSummary),
      encrypted_content: status === 'in_progress' ? undefined : encryptedContent(item),
      status,
    }),
});

const encryptedContent = ({ opaque }: HubReasoningItem): string =>
  opaque ? pack(opaque, 'responses') : EMPTY_ENVELOPE;

export const encodeSummary = (text: string): JsonObject => ({ type: 'summary_text', text });

export const signatureBuilders = (opaque: Opaque | undefined): ItemBuilder[] =>
  opaque ? [reasoningBuilder({ kind: 'reasoning', summary: [], opaque })] : [];

const compactionBuilder = (opaque: Opaque): ItemBuilder => ({
  idPrefix: 'cmp',
  build: (id) => ({ id, type: 'compaction', encrypted_content: pack(opaque, 'responses') }),
});

// ---------------------------------------------------------------- calls

/** `wrapped`: a free-text tool at an upstream that has only functions, with its text wrapped in JSON. */
export type CallShape = 'function' | 'custom' | 'wrapped' | 'builtin';

/** Kinds of the tools that the client did not declare as functions, by `toolKey`. */
export type NonFunctionTools = ReadonlyMap<string, 'custom' | 'builtin'>;

export function nonFunctionTools(request: HubRequest): NonFunctionTools {
  const added = request.items.flatMap((item) => (item.kind === 'tool_change' ? item.add : []));
  const kinds = new Map<string, 'custom' | 'builtin'>();
  for (const tool of [...request.tools, ...added]) {
    if (tool.kind === 'custom') kinds.set(toolKey(tool), 'custom');
    if (tool.kind === 'builtin' && TYPED_CALLS.has(tool.name)) kinds.set(toolKey(tool), 'builtin');
  }
  return kinds;
}

const toolKey = (tool: { name: string; namespace?: string }): string => `${tool.namespace ?? ''}\n${tool.name}`;

export function callShape(call: HubToolCall, toolKinds: NonFunctionTools): CallShape {
  if (call.form === 'custom') return 'custom';
  const kind = toolKinds.get(toolKey(call));
  if (kind === 'custom') return 'wrapped';
  return kind === 'builtin' || (call.form === 'builtin' && TYPED_CALLS.has(call.name)) ? 'builtin' : 'function';
}

export function callBuilder(call: HubToolCall, shape: CallShape): ItemBuilder {
  const hasInvalidArgs = shape !== 'custom' && !isJson(call.args);
  if (shape === 'builtin')
    return { idPrefix: 'fc', hasInvalidArgs, build: (id, status) => encodeTypedCall(call, id, status) };
  if (shape !== 'function')
    return { idPrefix: 'ctc', hasInvalidArgs, build: (id, status) => encodeCustomCall(call, shape, id, status) };
  return { idPrefix: 'fc', hasInvalidArgs, build: (id, status) => encodeFunctionCall(call, id, status) };
}

function encodeFunctionCall(call: HubToolCall, id: string, status: ItemStatus): JsonObject {
  const { callId, name, namespace } = call;
  const args = status === 'in_progress' ? '' : call.args || '{}';
  return compact({ id, type: 'function_call', status, call_id: callId, name, namespace, arguments: args });
}

function encodeCustomCall(call: HubToolCall, shape: CallShape, id: string, status: ItemStatus): JsonObject {
  const { callId, name, namespace } = call;
  const input = status === 'in_progress' ? '' : callInput(call, shape);
  return compact({ id, type: 'custom_tool_call', status, call_id: callId, name, namespace, input });
}

export const callInput = (call: HubToolCall, shape: CallShape): string =>
  shape === 'wrapped' ? unwrapInput(call.args) : call.args;

interface TypedCall {
  readonly type: string;
  readonly field: string;
  /** Members that SDKs require in the item. */
  readonly item?: JsonObject;
  readonly action?: JsonObject;
}
const TYPED_CALLS: ReadonlyMap<string, TypedCall> = new Map<string, TypedCall>([
  [
    'shell',
    {
      type: 'shell_call',
      field: 'action',
      item: { environment: null },
      action: { timeout_ms: null, max_output_length: null },
    },
  ],
  ['local_shell', { type: 'local_shell_call', field: 'action', action: { type: 'exec', env: {} } }],
  ['apply_patch', { type: 'apply_patch_call', field: 'operation' }],
]);

function encodeTypedCall(call: HubToolCall, id: string, status: ItemStatus): JsonObject {
  const row = TYPED_CALLS.get(call.name);
  if (!row) return encodeFunctionCall(call, id, status);
  const args = parseArgs(call.args);
  const action = row.action ? { ...row.action, ...args } : args;
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

/** Every dialect has web search. Other hosted calls are meaningful only to their issuer. */
function serverCallBuilders(call: HubServerCall): ItemBuilder[] {
  if (call.issuer === 'responses' && isObject(call.raw)) return [rawBuilder(call.raw)];
  if (call.image) return imageBuilders(call.image);
  if (call.tool !== 'web_search') return [];
  const queries = call.queries ?? [];
  const sources = call.sources?.map(({ url }) => ({ type: 'url', url }));
  const action = compact({ type: 'search', query: queries[0] ?? '', queries, sources });
  const finalStatus = call.status === 'failed' ? 'failed' : 'completed';
  const build = (id: string, status: ItemStatus): JsonObject => ({
    id,
    type: 'web_search_call',
    status: status === 'in_progress' ? status : finalStatus,
    action,
  });
  return [{ idPrefix: 'ws', build }];
}

/** Passes an item of a responses provider on unchanged, with its original id. */
const rawBuilder = (raw: JsonObject): ItemBuilder => ({
  idPrefix: 'ws',
  build: (id, status) => ({
    ...raw,
    id: maybeString(raw.id) ?? id,
    ...(status === 'in_progress' && 'status' in raw && { status }),
    // The result of an image call may have many megabytes; clients expect it only at the end.
    ...(status === 'in_progress' && 'result' in raw && { result: null }),
  }),
});
