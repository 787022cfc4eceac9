/**
 * Output items of an upstream response, as hub items. The unary decoder and the stream decoder end in the same constructors,
 * so that a stream folds into what the unary call would have given. Reading is lenient: an odd field fails nothing.
 */

import type { DecodeContext } from '../codec.ts';
import type {
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
import { textIn } from '../opaque/envelope.ts';
import { compact, isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';
import { decodeAnnotations } from './annotations.ts';

/** What an item needs to know of the answer that it is part of. */
export interface Seat {
  readonly context: DecodeContext;
  /** The id of a call, given the wire's own. */
  callId(given: string | undefined): string;
}

/** Undefined for a message that says nothing. */
export function decodeOutputItem(item: JsonObject, seat: Seat): HubItem | undefined {
  const type = maybeString(item.type) ?? '';
  if (type === 'message') {
    const parts = partsOf(item);
    return parts.length > 0 ? messageOf(item, parts) : undefined;
  }
  if (type === 'reasoning') return reasoningOf(item, thoughtsOf(item), seat);
  if (isCall(type)) return callOf(item, argsOf(item), seat);
  if (type === 'compaction') return compact({ kind: 'compaction', opaque: opaqueOf(item, 'compaction', seat) });
  if (SERVER_CALLS.has(type)) return decodeServerCall(item, type);
  return { kind: 'opaque', issuer: 'responses', raw: item };
}

// ---------------------------------------------------------------- messages

export function messageOf(item: JsonObject, parts: readonly HubPart[]): HubMessage {
  const phase = item.phase === 'commentary' || item.phase === 'final_answer' ? item.phase : undefined;
  return compact({
    kind: 'message',
    role: 'assistant',
    parts,
    phase,
    incomplete: item.status === 'incomplete' ? true : undefined,
  });
}

/** What a content part says, or undefined when it says nothing. */
export function contentOf(part: JsonObject): { kind: 'text' | 'refusal'; text: string } | undefined {
  const kind = part.type === 'refusal' ? 'refusal' : part.type === 'output_text' ? 'text' : undefined;
  const text = maybeString(kind === 'refusal' ? part.refusal : part.text);
  return kind && text ? { kind, text } : undefined;
}

const partsOf = (item: JsonObject): HubPart[] =>
  maybeList(item.content).flatMap((one): HubPart[] => {
    const part = maybeObject(one);
    const content = contentOf(part);
    if (content?.kind !== 'text') return content ? [{ kind: 'refusal', text: content.text }] : [];
    const annotations = decodeAnnotations(part.annotations);
    return [{ kind: 'text', text: content.text, ...(annotations.length > 0 && { annotations }) }];
  });

// ---------------------------------------------------------------- reasoning

/** Summaries first, then the raw text that open models tell instead. */
const thoughtsOf = (item: JsonObject): string[] =>
  [...maybeList(item.summary), ...maybeList(item.content)].flatMap((part) => maybeString(maybeObject(part).text) || []);

export function reasoningOf(item: JsonObject, summary: readonly string[], seat: Seat): HubReasoningItem {
  const opaque = opaqueOf(item, 'reasoning', seat);
  // One-part summaries need no lengths: there is nothing to cut apart again.
  const lengths = summary.length > 1 ? { lengths: summary.map((text) => text.length) } : {};
  return compact({ kind: 'reasoning', summary, opaque: opaque && { ...opaque, ...lengths } });
}

function opaqueOf(item: JsonObject, kind: Opaque['kind'], seat: Seat): Opaque | undefined {
  const data = textIn(maybeString(item.encrypted_content));
  if (!data) return undefined;
  return compact({ issuer: 'responses', kind, id: maybeString(item.id), account: seat.context.account, data });
}

// ---------------------------------------------------------------- calls

interface CallRow {
  readonly form: HubToolCall['form'];
  /** Where the arguments stand: text, or an object for the typed tools. */
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

const rowOf = (item: JsonObject): CallRow =>
  CALLS.get(maybeString(item.type) ?? '') ?? { form: 'function', field: 'arguments' };

/** Empty until the upstream has said it; the stream decoder waits for it. */
export const nameOf = (item: JsonObject): string => rowOf(item).name ?? maybeString(item.name) ?? '';

/** A finished function call without arguments has an empty object; one that was cut off has said nothing. */
export function argsOf(item: JsonObject): string {
  const { field, form } = rowOf(item);
  const value = item[field];
  const args = isObject(value) ? JSON.stringify(value) : (maybeString(value) ?? '');
  return args === '' && form === 'function' && isWhole(item) ? '{}' : args;
}

const isWhole = (item: JsonObject): boolean => item.status !== 'incomplete' && item.status !== 'in_progress';

export function callOf(item: JsonObject, args: string, seat: Seat): HubToolCall {
  return compact({
    kind: 'tool_call',
    callId: seat.callId(maybeString(item.call_id) || maybeString(item.id)),
    name: nameOf(item),
    namespace: maybeString(item.namespace),
    form: rowOf(item).form,
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
  const words = queries.filter((one) => typeof one === 'string');
  const sources = maybeList(action.sources).flatMap((one) => {
    const url = maybeString(maybeObject(one).url);
    return url === undefined ? [] : [{ url, title: maybeString(maybeObject(one).title) ?? '' }];
  });
  return compact({
    kind: 'server_call',
    id: maybeString(item.id) ?? '',
    tool: SERVER_CALLS.get(type) ?? 'other',
    issuer: 'responses',
    status: item.status === 'failed' ? 'failed' : 'completed',
    queries: words.length > 0 ? words : undefined,
    sources: sources.length > 0 ? sources : undefined,
    raw: item,
  });
}
