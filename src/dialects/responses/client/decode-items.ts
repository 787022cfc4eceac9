/**
 * Decoder of `input`: one reader per item type. Unknown items of the caller are
 * rejected; those of the provider (`*_call`) stay opaque, for their issuer.
 */
import type { HubItem, HubMessage, HubReasoningItem, HubTool, JsonObject, Opaque } from '../../hub/types.ts';
import { isEnvelope, slotText, unwrap } from '../../opaque/envelope.ts';
import { COMPUTER } from '../../tools/computer-actions.ts';
import { restoreCarried } from '../../tools/hosted.ts';
import * as wire from '../../wire/read.ts';
import * as output from '../read-output.ts';
import { restoreSignatures } from '../thought-signatures.ts';
import { decodeContent, decodeInstructions } from './decode-content.ts';
import { decodeConfigChange } from './decode-settings.ts';
import { decodeTools } from './decode-tools.ts';

export function decodeInput(value: unknown): HubItem[] {
  if (typeof value === 'string') return [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: value }] }];
  if (!Array.isArray(value)) return wire.wrongType('input', 'a string or an array', value);
  const items: HubItem[] = [];
  const results = new output.ResultJoiner(items);
  /** Positions of tool searches that the client ran, by call id. */
  const searches = new Map<unknown, number>();
  for (const [index, item] of value.entries()) {
    if (wire.isObject(item) && output.isSeparateResult(item) && results.join(item)) continue;
    if (wire.isObject(item) && isClientSearch(item)) searches.set(item.call_id, items.length);
    const search = wire.isObject(item) && item.type === 'function_call_output' ? searches.get(item.call_id) : undefined;
    if (search === undefined) items.push(...decodeItem(item, `input[${index}]`));
    else items.splice(search, 1, ...withOutput(items[search], wire.maybeObject(item), `input[${index}].output`));
  }
  return restoreCarried(restoreSignatures(items));
}

/** Clients that run a tool search themselves may return what it found as the output of a function. */
function withOutput(call: HubItem | undefined, { output }: JsonObject, path: string): HubItem[] {
  if (call?.kind !== 'server_call') return [];
  const texts = decodeContent(output, path, 'caller').map((part) => ('text' in part ? part.text : ''));
  return [{ ...call, output: texts.join('\n') }];
}

const isClientSearch = ({ type, execution }: JsonObject): boolean =>
  type === 'tool_search_call' && execution === 'client';

function decodeItem(value: unknown, path: string): HubItem[] {
  const item = wire.needObject(value, path);
  const type = typeOf(item, path);
  const read = output.isHostedShell(item) ? undefined : ITEM_READERS.get(type);
  if (read) return read(item, path);
  if (output.SERVER_CALLS.has(type)) return [output.decodeServerCall(item, type)];
  if (type.endsWith('_call')) return carryOpaque(item, path);
  return wire.unsupported(`${path}.type`, `items of type '${type}' are not supported.`);
}

/** The API accepts messages and references without a type. */
function typeOf(item: JsonObject, path: string): string {
  if (wire.isGiven(item.type)) return wire.needString(item.type, `${path}.type`);
  if (wire.isGiven(item.role)) return 'message';
  return wire.isGiven(item.id) ? 'item_reference' : wire.needString(item.type, `${path}.type`);
}

type ItemReader = (item: JsonObject, path: string) => HubItem[];

const carryOpaque: ItemReader = (item) => [{ kind: 'opaque', issuer: 'responses', raw: item }];
const rejectItem: ItemReader = (item, path) =>
  wire.unsupported(path, `items of type '${String(item.type)}' are not supported by this model's provider.`);

const ITEM_READERS: ReadonlyMap<string, ItemReader> = new Map<string, ItemReader>([
  ['message', (item, path) => [readMessage(item, path)]],
  ['reasoning', readReasoning],
  ['function_call', callReader('function', 'arguments')],
  ['function_call_output', outputReader('function')],
  ['custom_tool_call', callReader('custom', 'input')],
  ['custom_tool_call_output', outputReader('custom')],
  ['local_shell_call', builtinCallReader('local_shell', 'action')],
  ['shell_call', builtinCallReader('shell', 'action')],
  ['apply_patch_call', builtinCallReader('apply_patch', 'operation')],
  ['local_shell_call_output', outputReader('builtin')],
  ['shell_call_output', readShellOutput],
  ['apply_patch_call_output', outputReader('builtin')],
  ['additional_tools', (item, path) => [toolChange(decodeTools(item.tools, `${path}.tools`))]],
  ['configuration_update', (item, path) => [decodeConfigChange(item, path)]],
  ['tool_search_output', readToolSearchOutput],
  ['compaction', readCompaction],
  ['item_reference', (item, path) => [{ kind: 'ref', id: wire.needString(item.id, `${path}.id`) }]],
  ['mcp_approval_request', carryOpaque],
  ['program', carryOpaque],
  ['program_output', carryOpaque],
  ['agent_message', carryOpaque],
  ['multi_agent_call_output', carryOpaque],
  ['computer_call', builtinCallReader(COMPUTER, 'actions')],
  ['computer_call_output', readScreenshot],
  ['mcp_approval_response', rejectItem],
  ['compaction_trigger', rejectItem],
]);

const ROLES = ['user', 'assistant', 'system', 'developer'] as const;

function readMessage(item: JsonObject, path: string): HubMessage {
  const role = wire.oneOf(ROLES)(item.role, `${path}.role`);
  const contentPath = `${path}.content`;
  if (role === 'system' || role === 'developer') {
    return { kind: 'message', role: 'system', parts: decodeInstructions(item.content, contentPath) };
  }
  if (role === 'user') return { kind: 'message', role, parts: decodeContent(item.content, contentPath, 'caller') };
  return wire.compact({
    kind: 'message',
    role,
    parts: decodeContent(item.content, contentPath, 'assistant'),
    phase: output.phaseOf(item.phase),
    incomplete: item.status === 'incomplete' ? true : undefined,
  });
}

/** Drops an item with a damaged envelope: no provider could read it. */
function readReasoning(item: JsonObject, path: string): HubReasoningItem[] {
  const encrypted = slotText(wire.optional(item, 'encrypted_content', wire.needString, path));
  const opaque = encrypted === '' ? undefined : readOpaque(encrypted, 'reasoning', item);
  if (isEnvelope(encrypted) && !opaque) return [];
  // Open models return their reasoning itself, in `content`.
  const parts = [...wire.needList(item.summary ?? [], `${path}.summary`), ...wire.maybeList(item.content)];
  const summary = parts.map((part) => wire.maybeString(wire.maybeObject(part).text) ?? '');
  const redacted = opaque?.kind === 'redacted' ? true : undefined;
  return [wire.compact({ kind: 'reasoning', summary, opaque, redacted })];
}

function readOpaque(encrypted: string, kind: Opaque['kind'], item: JsonObject): Opaque | undefined {
  if (isEnvelope(encrypted)) return unwrap(encrypted);
  return wire.compact({ issuer: 'responses', kind, id: wire.maybeString(item.id), data: encrypted });
}

/** A compaction with a damaged envelope has no content: the history is lost, so the upstream encoder rejects it. */
function readCompaction(item: JsonObject, path: string): HubItem[] {
  const encrypted = wire.needString(item.encrypted_content, `${path}.encrypted_content`);
  return [wire.compact({ kind: 'compaction', opaque: readOpaque(encrypted, 'compaction', item) })];
}

function callReader(form: 'function' | 'custom', field: 'arguments' | 'input'): ItemReader {
  return (item, path) => [
    wire.compact({
      kind: 'tool_call',
      callId: wire.needString(item.call_id, `${path}.call_id`),
      name: wire.needString(item.name, `${path}.name`),
      namespace: wire.maybeString(item.namespace),
      form,
      args: wire.needString(item[field], `${path}.${field}`),
    }),
  ];
}

/** The arguments are an object, or the actions of the computer tool, which older models give one by one. */
function builtinCallReader(name: string, field: 'action' | 'operation' | 'actions'): ItemReader {
  return (item, path) => {
    const object = field === 'actions' ? undefined : wire.needObject(item[field], `${path}.${field}`);
    const args = object ? JSON.stringify(object) : output.computerArgs(item);
    return [{ kind: 'tool_call', callId: callIdOf(item, path), name, form: 'builtin', args }];
  };
}

function outputReader(form: 'function' | 'custom' | 'builtin'): ItemReader {
  return (item, path) => [
    wire.compact({
      kind: 'tool_result',
      callId: callIdOf(item, path),
      name: wire.maybeString(item.name),
      form,
      parts: wire.isGiven(item.output) ? decodeContent(item.output, `${path}.output`, 'caller') : [],
      isError: item.status === 'failed' ? true : undefined,
    }),
  ];
}

/** The output lists exit code, stdout and stderr of each command, so it stays JSON. */
function readShellOutput(item: JsonObject, path: string): HubItem[] {
  const value = wire.needList(item.output, `${path}.output`);
  return [{ kind: 'tool_result', callId: callIdOf(item, path), form: 'builtin', parts: [{ kind: 'json', value }] }];
}

function readScreenshot(item: JsonObject, path: string): HubItem[] {
  const { image_url, file_id } = wire.needObject(item.output, `${path}.output`);
  const image = wire.compact({ type: 'input_image', image_url, file_id });
  const parts = wire.isGiven(image_url ?? file_id) ? decodeContent([image], `${path}.output`, 'caller') : [];
  return [{ kind: 'tool_result', callId: callIdOf(item, path), form: 'builtin', parts }];
}

/** `local_shell_call_output` has the call id in `id`. */
const callIdOf = (item: JsonObject, path: string): string =>
  wire.needString(item.call_id ?? item.id, `${path}.call_id`);

/** Only tools that the client found are new. Those that the provider found are in `tools` already. */
function readToolSearchOutput(item: JsonObject, path: string): HubItem[] {
  if (item.execution !== 'client' || wire.maybeList(item.tools).length === 0) return carryOpaque(item, path);
  return [toolChange(decodeTools(item.tools, `${path}.tools`))];
}

const toolChange = (add: readonly HubTool[]): HubItem => ({ kind: 'tool_change', add });
