/**
 * Output items of a response, for unary replies and streams. One hub item becomes any
 * number; each is built once its output index, and so its id, is known.
 */
import { valueOfJson } from '../../core/index.ts';
import { forKind } from '../hub/by-kind.ts';
import { toolKey } from '../hub/effective-request.ts';
import type * as hub from '../hub/types.ts';
import { EMPTY_ENVELOPE, pack } from '../opaque/envelope.ts';
import { COMPUTER } from '../tools/computer-actions.ts';
import { unwrapInput } from '../tools/free-text.ts';
import { carriedBefore } from '../tools/hosted.ts';
import { itemId } from '../wire/ids.ts';
import { formatOfMime } from '../wire/image-format.ts';
import { compact, isObject, maybeList, maybeString, parseArgs, tableOf } from '../wire/read.ts';
import { encodeAnnotation } from './annotations.ts';
import { signatureOfCall, signatureOfImage, signatureOfText } from './thought-signatures.ts';

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** A wire item before it has an output index. */
export interface ItemBuilder {
  readonly idPrefix: Parameters<typeof itemId>[0];
  build(id: string, status: ItemStatus): hub.JsonObject;
  /** The arguments are not valid JSON. In a truncated reply such a call was cut. */
  readonly hasInvalidArgs?: boolean;
}

export const outputItemId = (builder: ItemBuilder, responseId: string, outputIndex: number): string =>
  itemId(builder.idPrefix, responseId, outputIndex);

const nothing = (): ItemBuilder[] => [];
export const itemBuilders = forKind<hub.HubItem, NonFunctionTools, ItemBuilder[]>({
  message: messageBuilders,
  reasoning: (item) => [reasoningBuilder(item)],
  tool_call: (item, toolKinds) => [
    ...signatureBuilders(signatureOfCall(item)),
    callBuilder(item, callShape(item, toolKinds)),
  ],
  server_call: serverCallBuilders,
  compaction: ({ opaque }) => (opaque ? [compactionBuilder(opaque)] : []),
  opaque: ({ issuer, raw }) => (issuer === 'responses' && isObject(raw) ? [rawBuilder(raw)] : []),
  tool_result: nothing,
  tool_change: nothing,
  config_change: nothing,
  ref: nothing,
});

function messageBuilders(message: hub.HubMessage): ItemBuilder[] {
  const builders: ItemBuilder[] = message.parts.some((part) => encodePart(part)) ? [messageBuilder(message)] : [];
  for (const part of message.parts)
    if (part.kind === 'image') builders.push(...imageBuilders(part), ...signatureBuilders(signatureOfImage(part)));
  return [...builders, ...signatureBuilders(signatureOfText(message))];
}

export const messageBuilder = (message: hub.HubMessage): ItemBuilder => ({
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
export function encodePart(part: hub.HubPart): hub.JsonObject | undefined {
  if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return undefined;
  return part.kind === 'refusal' ? { type: 'refusal', refusal: part.text } : encodeText(part);
}

export const encodeText = ({ text, annotations = [] }: hub.HubText): hub.JsonObject => ({
  type: 'output_text',
  text,
  annotations: annotations.map(encodeAnnotation),
  logprobs: [],
});

/** An image is complete when it arrives, whatever ends the reply after it. */
function imageBuilders({ source }: hub.HubImage): ItemBuilder[] {
  if (source.kind !== 'base64') return [];
  const { data, mime } = source;
  const build = (id: string, status: ItemStatus): hub.JsonObject =>
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

/** Only the finished item has the opaque value: clients keep the first value that they see. */
export const reasoningBuilder = (item: hub.HubReasoningItem): ItemBuilder => ({
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

const encryptedContent = ({ opaque }: hub.HubReasoningItem): string =>
  opaque ? pack(opaque, 'responses') : EMPTY_ENVELOPE;

export const encodeSummary = (text: string): hub.JsonObject => ({ type: 'summary_text', text });

export const signatureBuilders = (opaque: hub.Opaque | undefined): ItemBuilder[] =>
  opaque ? [reasoningBuilder({ kind: 'reasoning', summary: [], opaque })] : [];

const compactionBuilder = (opaque: hub.Opaque): ItemBuilder => ({
  idPrefix: 'cmp',
  build: (id) => ({ id, type: 'compaction', encrypted_content: pack(opaque, 'responses') }),
});

/** `wrapped`: a free-text tool at an upstream that has only functions, with its text wrapped in JSON. */
export type CallShape = 'function' | 'custom' | 'wrapped' | 'builtin';

/** Kinds of the tools that the client did not declare as functions, by `toolKey`. */
export type NonFunctionTools = ReadonlyMap<string, 'custom' | 'builtin'>;

export function nonFunctionTools(request: hub.HubRequest): NonFunctionTools {
  const added = request.items.flatMap((item) => (item.kind === 'tool_change' ? item.add : []));
  const kinds = new Map<string, 'custom' | 'builtin'>();
  for (const tool of [...request.tools, ...added]) {
    if (tool.kind === 'custom') kinds.set(toolKey(tool), 'custom');
    if (tool.kind === 'builtin' && TYPED_CALLS.has(tool.name)) kinds.set(toolKey(tool), 'builtin');
    if (tool.kind === 'server' && tool.tool === 'computer') kinds.set(toolKey({ name: COMPUTER }), 'builtin');
  }
  return kinds;
}

export function callShape(call: hub.HubToolCall, toolKinds: NonFunctionTools): CallShape {
  if (call.form === 'custom') return 'custom';
  const kind = toolKinds.get(toolKey(call));
  if (kind === 'custom') return 'wrapped';
  const isTyped = call.form === 'builtin' && (TYPED_CALLS.has(call.name) || call.name === COMPUTER);
  return kind === 'builtin' || isTyped ? 'builtin' : 'function';
}

export function callBuilder(call: hub.HubToolCall, shape: CallShape): ItemBuilder {
  const hasInvalidArgs = shape !== 'custom' && valueOfJson(call.args) === undefined;
  if (shape === 'builtin' && call.name === COMPUTER)
    return { idPrefix: 'cu', hasInvalidArgs, build: (id, status) => encodeComputerCall(call, id, status) };
  if (shape === 'builtin')
    return { idPrefix: 'fc', hasInvalidArgs, build: (id, status) => encodeTypedCall(call, id, status) };
  if (shape !== 'function')
    return { idPrefix: 'ctc', hasInvalidArgs, build: (id, status) => encodeCustomCall(call, shape, id, status) };
  return { idPrefix: 'fc', hasInvalidArgs, build: (id, status) => encodeFunctionCall(call, id, status) };
}

function encodeFunctionCall(call: hub.HubToolCall, id: string, status: ItemStatus): hub.JsonObject {
  const { callId, name, namespace } = call;
  const args = call.args || (status === 'completed' ? '{}' : '');
  return compact({
    id,
    type: 'function_call',
    status,
    call_id: callId,
    name,
    namespace,
    arguments: status === 'in_progress' ? '' : args,
  });
}

function encodeCustomCall(call: hub.HubToolCall, shape: CallShape, id: string, status: ItemStatus): hub.JsonObject {
  const { callId, name, namespace } = call;
  const input = status === 'in_progress' ? '' : callInput(call, shape);
  return compact({ id, type: 'custom_tool_call', status, call_id: callId, name, namespace, input });
}

export const callInput = (call: hub.HubToolCall, shape: CallShape): string =>
  shape === 'wrapped' ? unwrapInput(call.args) : call.args;

interface TypedCall {
  readonly type: string;
  readonly field: string;
  /** Members that SDKs require in the item. */
  readonly item?: hub.JsonObject;
  readonly action?: hub.JsonObject;
}
const SHELL_LIMITS = { timeout_ms: null, max_output_length: null };
export const TYPED_CALLS = tableOf<TypedCall>({
  shell: { type: 'shell_call', field: 'action', item: { environment: null }, action: SHELL_LIMITS },
  local_shell: { type: 'local_shell_call', field: 'action', action: { type: 'exec', env: {} } },
  apply_patch: { type: 'apply_patch_call', field: 'operation' },
});

function encodeTypedCall(call: hub.HubToolCall, id: string, status: ItemStatus): hub.JsonObject {
  const row = TYPED_CALLS.get(call.name);
  if (!row) return encodeFunctionCall(call, id, status);
  const args = parseArgs(call.args);
  const action = row.action ? { ...row.action, ...args } : args;
  return { id, type: row.type, status, call_id: call.callId, ...row.item, [row.field]: action };
}

/** Newer clients read the list, older ones the one action. */
export function encodeComputerCall(call: hub.HubToolCall, id: string, status: ItemStatus): hub.JsonObject {
  const { actions, pending_safety_checks = [] } = parseArgs(call.args);
  const [action, ...others] = maybeList(actions);
  const one = others.length === 0 && action !== undefined ? { action } : {};
  const members = status === 'in_progress' ? {} : { ...one, actions };
  return { id, type: 'computer_call', status, call_id: call.callId, pending_safety_checks, ...members };
}

/** A call of another provider becomes the item for its tool, or nothing if this dialect has none. */
function serverCallBuilders(call: hub.HubServerCall): ItemBuilder[] {
  if (call.issuer === 'responses') return [call.raw].flat().filter(isObject).map(rawBuilder);
  if (call.image) return imageBuilders(call.image);
  const builders = HOSTED_ITEMS[call.tool]?.(call) ?? [];
  return builders.length > 0 ? [...signatureBuilders(carriedBefore(call, 'responses')), ...builders] : [];
}

/** Whether this dialect has an item for the call. */
export const hasItemFor = (call: hub.HubServerCall): boolean => (HOSTED_ITEMS[call.tool]?.(call) ?? []).length > 0;

/** Members of the finished item; those of the item in progress come from `opening`. */
const hostedItem = (
  idPrefix: ItemBuilder['idPrefix'],
  { status: final }: hub.HubServerCall,
  item: hub.JsonObject,
  opening: hub.JsonObject = {},
): ItemBuilder => ({
  idPrefix,
  build: (id, status) =>
    status === 'in_progress'
      ? { id, ...item, ...opening, status }
      : { id, ...item, status: final === 'failed' ? 'failed' : 'completed' },
});

const HOSTED_ITEMS: Partial<Readonly<Record<hub.ServerTool, (call: hub.HubServerCall) => ItemBuilder[]>>> = {
  web_search(call) {
    const { queries = [], sources } = call;
    const urls = sources?.map(({ url }) => ({ type: 'url', url }));
    const action = compact({ type: 'search', query: queries[0] ?? '', queries, sources: urls });
    return [hostedItem('ws', call, { type: 'web_search_call', action })];
  },
  web_fetch: (call) =>
    (call.sources ?? []).map(({ url }) =>
      hostedItem('ws', call, { type: 'web_search_call', action: { type: 'open_page', url } }),
    ),
  code_exec(call) {
    const { code = '', output } = call;
    const outputs = output ? [{ type: 'logs', logs: output }] : [];
    // The client cannot reach the container of another provider; SDKs require the member.
    const item = { type: 'code_interpreter_call', code, container_id: '', outputs };
    return [hostedItem('ci', call, item, { code: '', outputs: null })];
  },
  mcp(call) {
    const { mcp, output = '', found = [], status } = call;
    const server_label = mcp?.server ?? '';
    if (mcp?.name === undefined)
      return [
        {
          idPrefix: 'mcpl',
          build: (id) => ({ id, type: 'mcp_list_tools', server_label, tools: found.map(listedTool) }),
        },
      ];
    const isFailed = status === 'failed';
    const item = {
      type: 'mcp_call',
      server_label,
      name: mcp.name,
      arguments: mcp.args,
      approval_request_id: null,
      output: isFailed ? null : output,
      error: isFailed ? { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: output }] } : null,
    };
    return [hostedItem('mcp', call, item, { arguments: '', output: null, error: null })];
  },
  tool_search(call) {
    const { queries = [], found = [] } = call;
    const shared = { call_id: null, execution: 'server' };
    const tools = found.map(({ name }) => ({ type: 'function', name, parameters: null, strict: null }));
    const status = call.status === 'failed' ? 'incomplete' : 'completed';
    const build =
      (item: hub.JsonObject) =>
      (id: string, given: ItemStatus): hub.JsonObject => ({
        id,
        ...item,
        ...shared,
        status: given === 'in_progress' ? given : status,
      });
    return [
      { idPrefix: 'ts', build: build({ type: 'tool_search_call', arguments: { query: queries.join(' ') } }) },
      { idPrefix: 'tso', build: build({ type: 'tool_search_output', tools }) },
    ];
  },
};

const listedTool = ({ name, description, schema = { type: 'object' } }: hub.FoundTool): hub.JsonObject =>
  compact({ name, description, input_schema: schema });

/** Passes an item of a responses provider on unchanged, with its original id. */
const rawBuilder = (raw: hub.JsonObject): ItemBuilder => ({
  idPrefix: 'ws',
  build: (id, status) => ({
    ...raw,
    id: maybeString(raw.id) ?? id,
    ...(status === 'in_progress' && 'status' in raw && { status }),
    // The result of an image call may have many megabytes; clients expect it only at the end.
    ...(status === 'in_progress' && 'result' in raw && { result: null }),
  }),
});
