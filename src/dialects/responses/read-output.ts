/** Reader of upstream output items, for the unary and the stream decoder alike. Never fails on an invalid field. */
import type * as hub from '../hub/types.ts';
import { slotText } from '../opaque/envelope.ts';
import { COMPUTER } from '../tools/computer-actions.ts';
import { foundTools, withCarrier } from '../tools/hosted.ts';
import { mimeOfImage } from '../wire/image-format.ts';
import { compact, isGiven, isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';
import { decodeAnnotations } from './annotations.ts';

/** What an item needs to know about its reply. */
export interface ItemContext {
  /** The upstream account, for opaque values that are bound to it. */
  readonly account: string | undefined;
  /** Returns a unique call id for the id on the wire. */
  callId(given: string | undefined): string;
}

/** Returns undefined for an empty message. */
export function decodeOutputItem(item: hub.JsonObject, context: ItemContext): hub.HubItem | undefined {
  const type = maybeString(item.type) ?? '';
  if (type === 'message') {
    const parts = partsOf(item);
    return parts.length > 0 ? messageOf(item, parts) : undefined;
  }
  if (type === 'reasoning') return reasoningOf(item, reasoningTexts(item), context);
  if (isCall(item)) return callOf(item, argsOf(item), context);
  if (type === 'compaction')
    return compact({ kind: 'compaction', opaque: readOpaqueValue(item, 'compaction', context) });
  if (SERVER_CALLS.has(type)) return withCarrier(decodeServerCall(item, type), context.account);
  return { kind: 'opaque', issuer: 'responses', raw: item };
}

export function messageOf(item: hub.JsonObject, parts: readonly hub.HubPart[]): hub.HubMessage {
  return compact({
    kind: 'message',
    role: 'assistant',
    parts,
    phase: phaseOf(item.phase),
    incomplete: item.status === 'incomplete' ? true : undefined,
  });
}

export const phaseOf = (value: unknown): hub.HubMessage['phase'] =>
  value === 'commentary' || value === 'final_answer' ? value : undefined;

/** Returns undefined for an empty or unknown part. */
export function contentOf(part: hub.JsonObject): { kind: 'text' | 'refusal'; text: string } | undefined {
  if (part.type !== 'refusal' && part.type !== 'output_text') return undefined;
  const kind = part.type === 'refusal' ? 'refusal' : 'text';
  const text = maybeString(part[kind]);
  return text ? { kind, text } : undefined;
}

const partsOf = (item: hub.JsonObject): hub.HubPart[] =>
  maybeList(item.content).flatMap((value): hub.HubPart[] => {
    const part = maybeObject(value);
    const content = contentOf(part);
    if (content?.kind !== 'text') return content ? [{ kind: 'refusal', text: content.text }] : [];
    const annotations = decodeAnnotations(part.annotations);
    return [{ kind: 'text', text: content.text, ...(annotations.length > 0 && { annotations }) }];
  });

/** Summaries first, then the raw reasoning text that open models return instead. */
const reasoningTexts = (item: hub.JsonObject): string[] =>
  [...maybeList(item.summary), ...maybeList(item.content)].flatMap((part) => maybeString(maybeObject(part).text) || []);

export function reasoningOf(
  item: hub.JsonObject,
  summary: readonly string[],
  context: ItemContext,
): hub.HubReasoningItem {
  const opaque = readOpaqueValue(item, 'reasoning', context);
  // Lengths split a joined summary into its parts again; a single part needs none.
  const lengths = summary.length > 1 ? { lengths: summary.map((text) => text.length) } : {};
  return compact({ kind: 'reasoning', summary, opaque: opaque && { ...opaque, ...lengths } });
}

function readOpaqueValue(item: hub.JsonObject, kind: hub.Opaque['kind'], context: ItemContext): hub.Opaque | undefined {
  const data = slotText(maybeString(item.encrypted_content));
  if (!data) return undefined;
  return compact({ issuer: 'responses', kind, id: maybeString(item.id), account: context.account, data });
}

interface CallRow {
  readonly form: hub.HubToolCall['form'];
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
  ['computer_call', { form: 'builtin', field: 'actions', name: COMPUTER }],
]);

/** Older models return one action, newer ones a list. */
export const computerArgs = ({ action, actions, pending_safety_checks: checks }: hub.JsonObject): string =>
  JSON.stringify({
    actions: Array.isArray(actions) ? actions : [action].filter(isObject),
    ...(maybeList(checks).length > 0 && { pending_safety_checks: checks }),
  });

/** A shell that runs in a container of the provider is a hosted tool. */
export const isCall = (item: hub.JsonObject): boolean =>
  CALLS.has(maybeString(item.type) ?? '') && !isHostedShell(item);
export const isHostedShell = ({ type, environment }: hub.JsonObject): boolean =>
  type === 'shell_call' && isObject(environment) && environment.type !== 'local';

const callRowOf = (item: hub.JsonObject): CallRow =>
  CALLS.get(maybeString(item.type) ?? '') ?? { form: 'function', field: 'arguments' };

/** Empty until the upstream sends the name; the stream decoder waits for it. */
export const nameOf = (item: hub.JsonObject): string => callRowOf(item).name ?? maybeString(item.name) ?? '';

/** Empty arguments of a finished function call mean `{}`; those of a truncated call stay empty. */
export function argsOf(item: hub.JsonObject): string {
  const { field, form } = callRowOf(item);
  if (item.type === 'computer_call') return computerArgs(item);
  const value = item[field];
  const args = isObject(value) ? JSON.stringify(value) : (maybeString(value) ?? '');
  return args === '' && form === 'function' && isFinished(item) ? '{}' : args;
}

const isFinished = (item: hub.JsonObject): boolean => item.status !== 'incomplete' && item.status !== 'in_progress';

export function callOf(item: hub.JsonObject, args: string, context: ItemContext): hub.HubToolCall {
  return compact({
    kind: 'tool_call',
    callId: context.callId(maybeString(item.call_id) || maybeString(item.id)),
    name: nameOf(item),
    namespace: maybeString(item.namespace),
    form: callRowOf(item).form,
    args,
  });
}

export const SERVER_CALLS: ReadonlyMap<string, hub.ServerTool> = new Map<string, hub.ServerTool>([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_exec'],
  ['image_generation_call', 'image_gen'],
  ['mcp_call', 'mcp'],
  ['mcp_list_tools', 'mcp'],
  ['tool_search_call', 'tool_search'],
  // Only of a hosted shell; see `isCall`.
  ['shell_call', 'code_exec'],
]);

/** `result` is the item with the result, where it is a separate one. */
export function decodeServerCall(item: hub.JsonObject, type: string, result?: hub.JsonObject): hub.HubServerCall {
  const isFailed = item.status === 'failed' || (isObject(item.error) && type !== 'image_generation_call');
  return compact({
    kind: 'server_call',
    id: maybeString(item.id) ?? '',
    tool: SERVER_CALLS.get(type) ?? 'other',
    issuer: 'responses',
    status: isFailed ? 'failed' : 'completed',
    ...CALL_READERS[type]?.(item, result),
    raw: result ? [item, result] : item,
  });
}

/** The shared form of a call, by the type of its item. */
const CALL_READERS: Readonly<
  Record<string, (item: hub.JsonObject, result: hub.JsonObject | undefined) => Partial<hub.HubServerCall>>
> = {
  web_search_call({ action: value }) {
    const action = maybeObject(value);
    if (typeof action.url === 'string')
      return compact({
        tool: 'web_fetch',
        queries: textsOf([action.pattern]),
        sources: [{ url: action.url, title: '' }],
      });
    const queries = Array.isArray(action.queries) ? action.queries : [action.query];
    const sources = maybeList(action.sources).flatMap((source) => {
      const { url, title } = maybeObject(source);
      return typeof url === 'string' ? [{ url, title: maybeString(title) ?? '' }] : [];
    });
    return compact({ queries: textsOf(queries), sources: sources.length > 0 ? sources : undefined });
  },
  file_search_call: ({ queries, results }) =>
    compact({ queries: textsOf(maybeList(queries)), output: maybeList(results).map(fileText).join('\n') || undefined }),
  code_interpreter_call: ({ code, outputs }) =>
    compact({ code: maybeString(code), output: maybeList(outputs).map(logsOf).join('\n') || undefined }),
  image_generation_call: (item) => compact({ image: imageOf(item) }),
  mcp_call: ({ server_label: server, name, arguments: args, output, error }) =>
    compact({
      mcp: { server: maybeString(server) ?? '', name: maybeString(name) ?? '', args: maybeString(args) ?? '' },
      output: maybeString(output) ?? (isGiven(error) ? errorText(error) : undefined),
    }),
  mcp_list_tools: ({ server_label: server, tools, error }) =>
    compact({
      mcp: { server: maybeString(server) ?? '', args: '' },
      found: foundTools(tools, 'input_schema'),
      output: isGiven(error) ? (maybeString(error) ?? errorText(error)) : undefined,
    }),
  shell_call: ({ action }, result) =>
    compact({
      code: maybeList(maybeObject(action).commands)
        .filter((command) => typeof command === 'string')
        .join('\n'),
      output: result && maybeList(result.output).map(shellText).join('\n'),
    }),
  tool_search_call: ({ arguments: args }, result) =>
    compact({
      queries: textsOf([typeof args === 'string' ? args : (maybeObject(args).query ?? JSON.stringify(args))]),
      found: result && foundTools(maybeList(result.tools).flatMap(toolsIn), 'parameters'),
    }),
};

const textsOf = (values: readonly unknown[]): string[] | undefined => {
  const texts = values.filter((value) => typeof value === 'string');
  return texts.length > 0 ? texts : undefined;
};

const fileText = (value: unknown): string => {
  const { filename, file_id: id, text } = maybeObject(value);
  return `${maybeString(filename) ?? maybeString(id) ?? ''}: ${maybeString(text) ?? ''}`;
};

const logsOf = (value: unknown): string => {
  const { logs, url } = maybeObject(value);
  return maybeString(logs) ?? (typeof url === 'string' ? `[image ${url}]` : '');
};

const shellText = (value: unknown): string => {
  const { stdout, stderr } = maybeObject(value);
  return [stdout, stderr].filter((text) => typeof text === 'string' && text !== '').join('\n');
};

const errorText = (error: unknown): string => maybeString(maybeObject(error).message) ?? JSON.stringify(error);

/** A namespace is a list of tools of its own. */
const toolsIn = (value: unknown): readonly unknown[] => {
  const tool = maybeObject(value);
  return Array.isArray(tool.tools) ? tool.tools : [tool];
};

/** A tool search and a shell that the provider runs are two items: the call, and its result. */
export const hasSeparateResult = (item: hub.JsonObject): boolean =>
  isHostedShell(item) || (item.type === 'tool_search_call' && item.execution !== 'client');
export const isSeparateResult = ({ type, execution }: hub.JsonObject): boolean =>
  type === 'shell_call_output' || (type === 'tool_search_output' && execution !== 'client');

export const decodeWithResult = (
  call: hub.JsonObject,
  result: hub.JsonObject | undefined,
  account: string | undefined,
): hub.HubServerCall => withCarrier(decodeServerCall(call, maybeString(call.type) ?? '', result), account);

/** Puts results into their calls, in a list that grows. Each item is visited once, however many results there are. */
export class ResultJoiner {
  readonly #items: hub.HubItem[];
  readonly #account: string | undefined;
  /** Positions of calls without a result, by type. */
  readonly #waiting = new Map<unknown, number[]>();
  #seen = 0;

  constructor(items: hub.HubItem[], account?: string) {
    this.#items = items;
    this.#account = account;
  }

  /** Into the last call that waits for a result of its type. False if there is none. */
  join(result: hub.JsonObject): boolean {
    for (; this.#seen < this.#items.length; this.#seen += 1) this.#note(this.#items[this.#seen]);
    const type = maybeString(result.type)?.replace('_output', '_call').replace('_call_call', '_call');
    const at = this.#waiting.get(type)?.pop();
    const call = at === undefined ? undefined : wireOf(this.#items[at]);
    if (at === undefined || !call) return false;
    this.#items[at] = decodeWithResult(call, result, this.#account);
    return true;
  }

  #note(item: hub.HubItem | undefined): void {
    const type = wireOf(item)?.type;
    if (type === undefined) return;
    const positions = this.#waiting.get(type);
    if (positions) positions.push(this.#seen);
    else this.#waiting.set(type, [this.#seen]);
  }
}

/** The call as it came; undefined once it has its result. */
const wireOf = (item: hub.HubItem | undefined): hub.JsonObject | undefined =>
  item?.kind === 'server_call' && isObject(item.raw) ? item.raw : undefined;

function imageOf({ result, output_format }: hub.JsonObject): hub.HubImage | undefined {
  if (typeof result !== 'string' || result === '') return undefined;
  const mime = mimeOfImage(maybeString(output_format), result);
  return { kind: 'image', source: { kind: 'base64', mime, data: result } };
}
