/**
 * Reader of upstream output items. The unary decoder and the stream decoder share it, so that both produce the same hub items.
 * Never fails on an invalid field.
 */
import type {
  HubImage,
  HubItem,
  HubMessage,
  HubPart,
  HubReasoningItem,
  HubServerCall,
  HubToolCall,
  JsonObject,
  Opaque,
  ServerTool,
} from '../hub/types.ts';
import { slotText } from '../opaque/envelope.ts';
import { mimeOfImage } from '../wire/image-format.ts';
import { compact, isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';
import { decodeAnnotations } from './annotations.ts';

/** What an item needs to know about its reply. */
export interface ItemContext {
  /** The upstream account, for opaque values that are bound to it. */
  readonly account: string | undefined;
  /** Returns a unique call id for the id on the wire. */
  callId(given: string | undefined): string;
}

/** Returns undefined for an empty message. */
export function decodeOutputItem(item: JsonObject, context: ItemContext): HubItem | undefined {
  const type = maybeString(item.type) ?? '';
  if (type === 'message') {
    const parts = partsOf(item);
    return parts.length > 0 ? messageOf(item, parts) : undefined;
  }
  if (type === 'reasoning') return reasoningOf(item, reasoningTexts(item), context);
  if (isCall(type)) return callOf(item, argsOf(item), context);
  if (type === 'compaction')
    return compact({ kind: 'compaction', opaque: readOpaqueValue(item, 'compaction', context) });
  if (SERVER_CALLS.has(type)) return decodeServerCall(item, type);
  return { kind: 'opaque', issuer: 'responses', raw: item };
}

// ---------------------------------------------------------------- messages

export function messageOf(item: JsonObject, parts: readonly HubPart[]): HubMessage {
  return compact({
    kind: 'message',
    role: 'assistant',
    parts,
    phase: phaseOf(item.phase),
    incomplete: item.status === 'incomplete' ? true : undefined,
  });
}

export const phaseOf = (value: unknown): HubMessage['phase'] =>
  value === 'commentary' || value === 'final_answer' ? value : undefined;

/** Returns undefined for an empty or unknown part. */
export function contentOf(part: JsonObject): { kind: 'text' | 'refusal'; text: string } | undefined {
  const kind = part.type === 'refusal' ? 'refusal' : part.type === 'output_text' ? 'text' : undefined;
  const text = maybeString(kind === 'refusal' ? part.refusal : part.text);
  return kind && text ? { kind, text } : undefined;
}

const partsOf = (item: JsonObject): HubPart[] =>
  maybeList(item.content).flatMap((value): HubPart[] => {
    const part = maybeObject(value);
    const content = contentOf(part);
    if (content?.kind !== 'text') return content ? [{ kind: 'refusal', text: content.text }] : [];
    const annotations = decodeAnnotations(part.annotations);
    return [{ kind: 'text', text: content.text, ...(annotations.length > 0 && { annotations }) }];
  });

// ---------------------------------------------------------------- reasoning

/** Summaries first, then the raw reasoning text that open models return instead. */
const reasoningTexts = (item: JsonObject): string[] =>
  [...maybeList(item.summary), ...maybeList(item.content)].flatMap((part) => maybeString(maybeObject(part).text) || []);

export function reasoningOf(item: JsonObject, summary: readonly string[], context: ItemContext): HubReasoningItem {
  const opaque = readOpaqueValue(item, 'reasoning', context);
  // Lengths split a joined summary into its parts again; a single part needs none.
  const lengths = summary.length > 1 ? { lengths: summary.map((text) => text.length) } : {};
  return compact({ kind: 'reasoning', summary, opaque: opaque && { ...opaque, ...lengths } });
}

function readOpaqueValue(item: JsonObject, kind: Opaque['kind'], context: ItemContext): Opaque | undefined {
  const data = slotText(maybeString(item.encrypted_content));
  if (!data) return undefined;
  return compact({ issuer: 'responses', kind, id: maybeString(item.id), account: context.account, data });
}

// ---------------------------------------------------------------- calls

interface CallRow {
  readonly form: HubToolCall['form'];
  /** Member with the arguments: text, or an object for typed tools. */
  readonly field: string;
  readonly name?: string;
}
const CALLS: ReadonlyMap<string, CallRow> = new Map<string, CallRow>([
  ['function_call', { form: 'function', field: 'arguments' }],
  ['custom_tool_call', { form: 'custom', field: 'input' }],
  ['shell_call', { form: 'builtin', field: 'action', name: 'shell' }],
  ['local_shell_call', { form: 'builtin', field: 'action', name: 'local_shell' }],
  ['apply_patch_call', { form: 'builtin', field: 'operation', name: 'apply_patch' }],
]);

export const isCall = (type: string): boolean => CALLS.has(type);

const callRowOf = (item: JsonObject): CallRow =>
  CALLS.get(maybeString(item.type) ?? '') ?? { form: 'function', field: 'arguments' };

/** Empty until the upstream sends the name; the stream decoder waits for it. */
export const nameOf = (item: JsonObject): string => callRowOf(item).name ?? maybeString(item.name) ?? '';

/** Empty arguments of a finished function call mean `{}`; those of a truncated call stay empty. */
export function argsOf(item: JsonObject): string {
  const { field, form } = callRowOf(item);
  const value = item[field];
  const args = isObject(value) ? JSON.stringify(value) : (maybeString(value) ?? '');
  return args === '' && form === 'function' && isFinished(item) ? '{}' : args;
}

const isFinished = (item: JsonObject): boolean => item.status !== 'incomplete' && item.status !== 'in_progress';

export function callOf(item: JsonObject, args: string, context: ItemContext): HubToolCall {
  return compact({
    kind: 'tool_call',
    callId: context.callId(maybeString(item.call_id) || maybeString(item.id)),
    name: nameOf(item),
    namespace: maybeString(item.namespace),
    form: callRowOf(item).form,
    args,
  });
}

// ---------------------------------------------------------------- hosted tools

export const SERVER_CALLS: ReadonlyMap<string, ServerTool> = new Map<string, ServerTool>([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_exec'],
  ['image_generation_call', 'image_gen'],
  ['mcp_call', 'mcp'],
]);

export function decodeServerCall(item: JsonObject, type: string): HubServerCall {
  const action = maybeObject(item.action);
  const queries = [...maybeList(action.queries), ...(Array.isArray(action.queries) ? [] : [action.query])];
  const texts = queries.filter((query) => typeof query === 'string');
  const sources = maybeList(action.sources).flatMap((value) => {
    const source = maybeObject(value);
    const url = maybeString(source.url);
    return url === undefined ? [] : [{ url, title: maybeString(source.title) ?? '' }];
  });
  return compact({
    kind: 'server_call',
    id: maybeString(item.id) ?? '',
    tool: SERVER_CALLS.get(type) ?? 'other',
    issuer: 'responses',
    status: item.status === 'failed' ? 'failed' : 'completed',
    queries: texts.length > 0 ? texts : undefined,
    sources: sources.length > 0 ? sources : undefined,
    image: type === 'image_generation_call' ? imageOf(item) : undefined,
    raw: item,
  });
}

function imageOf({ result, output_format }: JsonObject): HubImage | undefined {
  if (typeof result !== 'string' || result === '') return undefined;
  const mime = mimeOfImage(maybeString(output_format), result);
  return { kind: 'image', source: { kind: 'base64', mime, data: result } };
}
