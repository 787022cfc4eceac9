/**
 * Decoder of the `input` of a client request: one reader per item type. Unknown items of the caller are rejected with their path.
 * Unknown items of the provider (`*_call`) become opaque items, which only their issuer receives.
 */
import type { HubItem, HubMessage, HubReasoningItem, HubTool, JsonObject, Opaque } from '../../hub/types.ts';
import { isEnvelope, slotText, unwrap } from '../../opaque/envelope.ts';
import { COMPUTER } from '../../tools/computer.ts';
import { restoreCarried } from '../../tools/hosted.ts';
import {
  compact,
  isGiven,
  isObject,
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
import {
  computerArgs,
  decodeServerCall,
  isHostedShell,
  isSeparateResult,
  phaseOf,
  ResultJoiner,
  SERVER_CALLS,
} from '../read-output.ts';
import { restoreSignatures } from '../thought-signatures.ts';
import { decodeContent, decodeInstructions } from './decode-content.ts';
import { decodeConfigChange } from './decode-settings.ts';
import { decodeTools } from './decode-tools.ts';

export function decodeInput(value: unknown): HubItem[] {
  if (typeof value === 'string') return [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: value }] }];
  if (!Array.isArray(value)) return wrongType('input', 'a string or an array', value);
  const items: HubItem[] = [];
  const results = new ResultJoiner(items);
  /** Positions of tool searches that the client ran, by call id. */
  const searches = new Map<unknown, number>();
  for (const [index, item] of value.entries()) {
    if (isObject(item) && isSeparateResult(item) && results.join(item)) continue;
    if (isObject(item) && isClientSearch(item)) searches.set(item.call_id, items.length);
    const search = isObject(item) && item.type === 'function_call_output' ? searches.get(item.call_id) : undefined;
    if (search === undefined) items.push(...decodeItem(item, `input[${index}]`));
    else items.splice(search, 1, ...withOutput(items[search], maybeObject(item), `input[${index}].output`));
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
  const item = needObject(value, path);
  const type = typeOf(item, path);
  const read = isHostedShell(item) ? undefined : ITEM_READERS.get(type);
  if (read) return read(item, path);
  if (SERVER_CALLS.has(type)) return [decodeServerCall(item, type)];
  if (type.endsWith('_call')) return carryOpaque(item, path);
  return unsupported(`${path}.type`, `items of type '${type}' are not supported.`);
}

/** The API accepts messages and references without a type. */
function typeOf(item: JsonObject, path: string): string {
  if (isGiven(item.type)) return needString(item.type, `${path}.type`);
  if (isGiven(item.role)) return 'message';
  return isGiven(item.id) ? 'item_reference' : needString(item.type, `${path}.type`);
}

type ItemReader = (item: JsonObject, path: string) => HubItem[];

const carryOpaque: ItemReader = (item) => [{ kind: 'opaque', issuer: 'responses', raw: item }];
const rejectItem: ItemReader = (item, path) =>
  unsupported(path, `items of type '${String(item.type)}' are not supported by this model's provider.`);

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
  ['item_reference', (item, path) => [{ kind: 'ref', id: needString(item.id, `${path}.id`) }]],
  ['mcp_approval_request', carryOpaque],
  ['program', carryOpaque],
  ['program_output', carryOpaque],
  ['agent_message', carryOpaque],
  ['multi_agent_call_output', carryOpaque],
  ['computer_call', readComputerCall],
  ['computer_call_output', readScreenshot],
  ['mcp_approval_response', rejectItem],
  ['compaction_trigger', rejectItem],
]);

const ROLES = ['user', 'assistant', 'system', 'developer'] as const;

function readMessage(item: JsonObject, path: string): HubMessage {
  const role = oneOf(ROLES)(item.role, `${path}.role`);
  const contentPath = `${path}.content`;
  if (role === 'system' || role === 'developer') {
    return { kind: 'message', role: 'system', parts: decodeInstructions(item.content, contentPath) };
  }
  if (role === 'user') return { kind: 'message', role, parts: decodeContent(item.content, contentPath, 'caller') };
  return compact({
    kind: 'message',
    role,
    parts: decodeContent(item.content, contentPath, 'assistant'),
    phase: phaseOf(item.phase),
    incomplete: item.status === 'incomplete' ? true : undefined,
  });
}

/** Drops an item with a damaged envelope: no provider could read it. */
function readReasoning(item: JsonObject, path: string): HubReasoningItem[] {
  const encrypted = slotText(optional(item, 'encrypted_content', needString, path));
  const opaque = encrypted === '' ? undefined : readOpaque(encrypted, 'reasoning', item);
  if (isEnvelope(encrypted) && !opaque) return [];
  // Open models return their reasoning itself, in `content`.
  const parts = [...needList(item.summary ?? [], `${path}.summary`), ...maybeList(item.content)];
  const summary = parts.map((part) => maybeString(maybeObject(part).text) ?? '');
  const redacted = opaque?.kind === 'redacted' ? true : undefined;
  return [compact({ kind: 'reasoning', summary, opaque, redacted })];
}

function readOpaque(encrypted: string, kind: Opaque['kind'], item: JsonObject): Opaque | undefined {
  if (isEnvelope(encrypted)) return unwrap(encrypted);
  return compact({ issuer: 'responses', kind, id: maybeString(item.id), data: encrypted });
}

/** A compaction with a damaged envelope has no content: the history is lost, so the upstream encoder rejects it. */
function readCompaction(item: JsonObject, path: string): HubItem[] {
  const encrypted = needString(item.encrypted_content, `${path}.encrypted_content`);
  return [compact({ kind: 'compaction', opaque: readOpaque(encrypted, 'compaction', item) })];
}

function callReader(form: 'function' | 'custom', field: 'arguments' | 'input'): ItemReader {
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

function builtinCallReader(name: string, field: 'action' | 'operation'): ItemReader {
  return (item, path) => {
    const args = JSON.stringify(needObject(item[field], `${path}.${field}`));
    return [{ kind: 'tool_call', callId: callIdOf(item, path), name, form: 'builtin', args }];
  };
}

function outputReader(form: 'function' | 'custom' | 'builtin'): ItemReader {
  return (item, path) => [
    compact({
      kind: 'tool_result',
      callId: callIdOf(item, path),
      name: maybeString(item.name),
      form,
      parts: isGiven(item.output) ? decodeContent(item.output, `${path}.output`, 'caller') : [],
      isError: item.status === 'failed' ? true : undefined,
    }),
  ];
}

/** The output lists exit code, stdout and stderr of each command, so it stays JSON. */
function readShellOutput(item: JsonObject, path: string): HubItem[] {
  const value = needList(item.output, `${path}.output`);
  return [{ kind: 'tool_result', callId: callIdOf(item, path), form: 'builtin', parts: [{ kind: 'json', value }] }];
}

function readComputerCall(item: JsonObject, path: string): HubItem[] {
  return [
    { kind: 'tool_call', callId: callIdOf(item, path), name: COMPUTER, form: 'builtin', args: computerArgs(item) },
  ];
}

function readScreenshot(item: JsonObject, path: string): HubItem[] {
  const { image_url, file_id } = needObject(item.output, `${path}.output`);
  const image = compact({ type: 'input_image', image_url, file_id });
  const parts = isGiven(image_url ?? file_id) ? decodeContent([image], `${path}.output`, 'caller') : [];
  return [{ kind: 'tool_result', callId: callIdOf(item, path), form: 'builtin', parts }];
}

/** `local_shell_call_output` has the call id in `id`. */
const callIdOf = (item: JsonObject, path: string): string => needString(item.call_id ?? item.id, `${path}.call_id`);

/** Only tools that the client found are new. Those that the provider found are in `tools` already. */
function readToolSearchOutput(item: JsonObject, path: string): HubItem[] {
  if (item.execution !== 'client' || maybeList(item.tools).length === 0) return carryOpaque(item, path);
  return [toolChange(decodeTools(item.tools, `${path}.tools`))];
}

const toolChange = (add: readonly HubTool[]): HubItem => ({ kind: 'tool_change', add });
