/**
 * The input of a client's request: one row per item type. What the caller wrote must be understood or is refused by its place;
 * what a provider left in the history (`*_call` items) is carried as opaque.
 */

import type { HubItem, HubMessage, HubReasoningItem, HubTool, JsonObject, Opaque } from '../../hub/types.ts';
import { isEnvelope, textIn, unwrap } from '../../opaque/envelope.ts';
import {
  compact,
  given,
  maybeList,
  maybeObject,
  maybeString,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  unsupported,
  wrongType,
} from '../../wire/read.ts';
import { decodeServerCall, SERVER_CALLS } from '../read-output.ts';
import { restoreSignatures } from '../thought-signatures.ts';
import { decodeContent, decodeTexts } from './decode-content.ts';
import { decodeConfigChange } from './decode-settings.ts';
import { decodeTools } from './decode-tools.ts';

export function decodeInput(value: unknown): HubItem[] {
  if (typeof value === 'string') return [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: value }] }];
  if (!Array.isArray(value)) return wrongType('input', 'a string or an array', value);
  return restoreSignatures(value.flatMap((item, index) => decodeItem(item, `input[${index}]`)));
}

function decodeItem(value: unknown, path: string): HubItem[] {
  const item = needObject(value, path);
  const type = typeOf(item, path);
  const read = ITEMS.get(type);
  if (read) return read(item, path);
  if (SERVER_CALLS.has(type)) return [decodeServerCall(item, type)];
  if (type.endsWith('_call')) return carried(item, path);
  return unsupported(`${path}.type`, `items of type '${type}' cannot be converted.`);
}

/** Messages and references may come without a type. */
function typeOf(item: JsonObject, path: string): string {
  if (given(item.type)) return needString(item.type, `${path}.type`);
  if (given(item.role)) return 'message';
  return given(item.id) ? 'item_reference' : needString(item.type, `${path}.type`);
}

type ItemReader = (item: JsonObject, path: string) => HubItem[];

const carried: ItemReader = (item) => [{ kind: 'opaque', issuer: 'responses', raw: item }];
const refused: ItemReader = (item, path) =>
  unsupported(path, `'${String(item.type)}' has no counterpart at this model's provider.`);

const ITEMS: ReadonlyMap<string, ItemReader> = new Map<string, ItemReader>([
  ['message', (item, path) => [message(item, path)]],
  ['reasoning', reasoning],
  ['function_call', call('function', 'arguments')],
  ['function_call_output', output('function')],
  ['custom_tool_call', call('custom', 'input')],
  ['custom_tool_call_output', output('custom')],
  ['local_shell_call', builtinCall('local_shell', 'action')],
  ['shell_call', builtinCall('shell', 'action')],
  ['apply_patch_call', builtinCall('apply_patch', 'operation')],
  ['local_shell_call_output', output('builtin')],
  ['shell_call_output', shellOutput],
  ['apply_patch_call_output', output('builtin')],
  ['additional_tools', (item, path) => [toolChange(decodeTools(item.tools, `${path}.tools`))]],
  ['configuration_update', (item, path) => [decodeConfigChange(item, path)]],
  ['tool_search_output', toolSearchOutput],
  ['compaction', compaction],
  ['item_reference', (item, path) => [{ kind: 'ref', id: needString(item.id, `${path}.id`) }]],
  ['mcp_list_tools', carried],
  ['mcp_approval_request', carried],
  ['program', carried],
  ['program_output', carried],
  ['agent_message', carried],
  ['multi_agent_call_output', carried],
  ['computer_call_output', refused],
  ['mcp_approval_response', refused],
  ['compaction_trigger', refused],
]);

const ROLES = ['user', 'assistant', 'system', 'developer'] as const;

function message(item: JsonObject, path: string): HubMessage {
  const role = oneOf(ROLES)(item.role, `${path}.role`);
  const at = `${path}.content`;
  if (role === 'system' || role === 'developer') {
    return { kind: 'message', role: 'system', parts: decodeTexts(item.content, at) };
  }
  if (role === 'user') return { kind: 'message', role, parts: decodeContent(item.content, at, 'caller') };
  return compact({
    kind: 'message',
    role,
    parts: decodeContent(item.content, at, 'assistant'),
    phase: phaseOf(item.phase),
    incomplete: item.status === 'incomplete' ? true : undefined,
  });
}

export const phaseOf = (value: unknown): HubMessage['phase'] =>
  value === 'commentary' || value === 'final_answer' ? value : undefined;

/** An item whose envelope is damaged is worth nothing to anyone and goes as a whole. */
function reasoning(item: JsonObject, path: string): HubReasoningItem[] {
  const slot = textIn(optional(item, 'encrypted_content', needString, path));
  const opaque = slot === '' ? undefined : opaqueOf(slot, 'reasoning', item);
  if (isEnvelope(slot) && !opaque) return [];
  const summary = needList(item.summary ?? [], `${path}.summary`).map(
    (part) => maybeString(maybeObject(part).text) ?? '',
  );
  const redacted = opaque?.kind === 'redacted' ? true : undefined;
  return [compact({ kind: 'reasoning', summary, opaque, redacted })];
}

function opaqueOf(slot: string, kind: Opaque['kind'], item: JsonObject): Opaque | undefined {
  if (isEnvelope(slot)) return unwrap(slot);
  return compact({ issuer: 'responses', kind, id: maybeString(item.id), data: slot });
}

/** Without its content a compaction stands for lost history; the target's encoder refuses it then. */
function compaction(item: JsonObject, path: string): HubItem[] {
  const slot = needString(item.encrypted_content, `${path}.encrypted_content`);
  return [compact({ kind: 'compaction', opaque: opaqueOf(slot, 'compaction', item) })];
}

function call(form: 'function' | 'custom', field: 'arguments' | 'input'): ItemReader {
  return (item, path) => [
    compact({
      kind: 'tool_call',
      callId: needString(item.call_id, `${path}.call_id`),
      name: needString(item.name, `${path}.name`),
      namespace: maybeString(item.namespace),
      form,
      args: needString(item[field], `${path}.${field}`),
    }),
  ];
}

function builtinCall(name: string, field: 'action' | 'operation'): ItemReader {
  return (item, path) => {
    const args = JSON.stringify(needObject(item[field], `${path}.${field}`));
    return [{ kind: 'tool_call', callId: callIdOf(item, path), name, form: 'builtin', args }];
  };
}

function output(form: 'function' | 'custom' | 'builtin'): ItemReader {
  return (item, path) => [
    compact({
      kind: 'tool_result',
      callId: callIdOf(item, path),
      name: maybeString(item.name),
      form,
      parts: given(item.output) ? decodeContent(item.output, `${path}.output`, 'caller') : [],
      isError: item.status === 'failed' ? true : undefined,
    }),
  ];
}

/** Exit codes, standard output and standard error of each command: data, not prose. */
function shellOutput(item: JsonObject, path: string): HubItem[] {
  const value = needList(item.output, `${path}.output`);
  return [{ kind: 'tool_result', callId: callIdOf(item, path), form: 'builtin', parts: [{ kind: 'json', value }] }];
}

/** The local shell's output names its call by `id`. */
const callIdOf = (item: JsonObject, path: string): string => needString(item.call_id ?? item.id, `${path}.call_id`);

/** Tools that the client itself found are new; those that the provider found stand in `tools` already. */
function toolSearchOutput(item: JsonObject, path: string): HubItem[] {
  if (item.execution !== 'client' || maybeList(item.tools).length === 0) return carried(item, path);
  return [toolChange(decodeTools(item.tools, `${path}.tools`))];
}

const toolChange = (add: readonly HubTool[]): HubItem => ({ kind: 'tool_change', add });
