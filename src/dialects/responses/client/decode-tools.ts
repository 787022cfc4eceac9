/** Decoder of tools and tool choice in a client request. Hosted tools keep their raw form, which only their issuer can run. */

import type {
  AllowedHostedTool,
  HubRequest,
  HubTool,
  HubToolChoice,
  JsonObject,
  ServerTool,
  ServerToolOptions,
  ToolName,
} from '../../hub/types.ts';
import { checkCallers } from '../../tools/allowed.ts';
import {
  compact,
  isGiven,
  isObject,
  maybeCount,
  maybeList,
  maybeObject,
  maybeString,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  readBoolean,
  unsupported,
  wrongValue,
} from '../../wire/read.ts';

export function decodeTools(value: unknown, path: string, namespace?: Namespace): HubTool[] {
  if (!isGiven(value)) return [];
  return needList(value, path).flatMap((entry, index) => {
    const toolPath = `${path}[${index}]`;
    const tool = needObject(entry, toolPath);
    const type = needString(tool.type, `${toolPath}.type`);
    if (type === 'namespace') return decodeTools(tool.tools, `${toolPath}.tools`, decodeNamespace(tool, toolPath));
    return [decodeTool(tool, type, toolPath, namespace)];
  });
}

interface Namespace {
  readonly namespace: string;
  readonly namespaceDescription?: string;
}

const decodeNamespace = (tool: JsonObject, path: string): Namespace =>
  compact({
    namespace: needName(tool, path),
    namespaceDescription: optional(tool, 'description', needString, path),
  });

function decodeTool(tool: JsonObject, type: string, path: string, namespace?: Namespace): HubTool {
  checkCallers(tool, path);
  if (type === 'function') return decodeFunction(tool, path, namespace);
  if (type === 'custom') return decodeCustom(tool, path, namespace);
  const { environment } = tool;
  if (type === 'shell' && isObject(environment) && environment.type !== 'local')
    unsupported(`${path}.environment`, 'containers of another provider cannot be used with this model.');
  if (BUILTINS.has(type)) return { kind: 'builtin', builtin: type, name: type, raw: tool };
  const server = serverToolOf(type);
  return { kind: 'server', tool: server, options: optionsOf(tool, server === 'web_search'), raw: tool, at: path };
}

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

function decodeFunction(tool: JsonObject, path: string, namespace?: Namespace): HubTool {
  return compact({
    kind: 'function',
    name: needName(tool, path),
    ...namespace,
    description: optional(tool, 'description', needString, path),
    schema: optional(tool, 'parameters', needObject, path) ?? NO_PARAMETERS,
    strict: optional(tool, 'strict', readBoolean, path),
    defer: tool.defer_loading === true ? true : undefined,
  });
}

function decodeCustom(tool: JsonObject, path: string, namespace?: Namespace): HubTool {
  const format = maybeObject(tool.format);
  const grammar =
    format.type === 'grammar'
      ? {
          syntax: needString(format.syntax, `${path}.format.syntax`),
          definition: needString(format.definition, `${path}.format.definition`),
        }
      : undefined;
  return compact({
    kind: 'custom',
    name: needName(tool, path),
    ...namespace,
    description: optional(tool, 'description', needString, path),
    grammar,
    defer: tool.defer_loading === true ? true : undefined,
  });
}

/** Tools that the client runs, with a typed action instead of arguments. */
const BUILTINS: ReadonlySet<string> = new Set(['shell', 'local_shell', 'apply_patch']);

const SERVER_TOOLS: ReadonlyMap<string, ServerTool> = new Map<string, ServerTool>([
  ['file_search', 'file_search'],
  ['code_interpreter', 'code_exec'],
  ['image_generation', 'image_gen'],
  ['mcp', 'mcp'],
  ['computer', 'computer'],
  ['computer_use_preview', 'computer'],
  ['tool_search', 'tool_search'],
]);

/** Versions of web search end in a date. A type that this table does not list becomes `other`. */
const serverToolOf = (type: string): ServerTool =>
  type.startsWith('web_search') ? 'web_search' : (SERVER_TOOLS.get(type) ?? 'other');

function optionsOf(tool: JsonObject, isSearch: boolean): ServerToolOptions {
  return compact({
    ...(isSearch && searchOptions(tool)),
    machine: referencesContainer(tool.container) ? true : undefined,
    screen: SERVER_TOOLS.get(String(tool.type)) === 'computer' ? screenOf(tool) : undefined,
  });
}

/** Only the older tool names a size. */
const screenOf = ({ display_width, display_height }: JsonObject): ServerToolOptions['screen'] =>
  compact({ width: maybeCount(display_width), height: maybeCount(display_height) });

function searchOptions(tool: JsonObject): ServerToolOptions {
  const { allowed_domains, blocked_domains, ...filters } = maybeObject(tool.filters);
  const { type: _, filters: __, user_location, search_context_size, external_web_access, ...others } = tool;
  return compact({
    allowedDomains: domainsIn(allowed_domains),
    blockedDomains: domainsIn(blocked_domains),
    userLocation: isObject(user_location) ? user_location : undefined,
    contextSize: maybeString(search_context_size),
    offline: external_web_access === false ? true : undefined,
    otherOptions: givenMembers(others),
    otherFilters: givenMembers(filters),
  });
}

function domainsIn(value: unknown): string[] | undefined {
  const domains = maybeList(value).filter((domain) => typeof domain === 'string');
  return domains.length > 0 ? domains : undefined;
}

function givenMembers(members: JsonObject): string[] | undefined {
  const names = Object.keys(members).filter((name) => isGiven(members[name]));
  return names.length > 0 ? names : undefined;
}

/** A container that the provider creates for the request (`auto` without files) is not a reference. */
const referencesContainer = (container: unknown): boolean =>
  typeof container === 'string' || maybeList(maybeObject(container).file_ids).length > 0;

type DecodedChoice = Pick<HubRequest, 'toolChoice' | 'allowedTools'>;

export function decodeToolChoice(value: unknown): DecodedChoice {
  if (!isGiven(value)) return { toolChoice: { kind: 'auto' } };
  if (typeof value === 'string') {
    return { toolChoice: { kind: oneOf(['auto', 'none', 'required'])(value, 'tool_choice') } };
  }
  const choice = needObject(value, 'tool_choice');
  const type = needString(choice.type, 'tool_choice.type');
  if (type === 'allowed_tools') return decodeAllowedTools(choice);
  return { toolChoice: decodeForcedChoice(choice, type) };
}

function decodeAllowedTools(choice: JsonObject): DecodedChoice {
  const mode = oneOf(['auto', 'required'])(choice.mode ?? 'auto', 'tool_choice.mode');
  const names: ToolName[] = [];
  const hosted: AllowedHostedTool[] = [];
  for (const [index, entry] of needList(choice.tools, 'tool_choice.tools').entries()) {
    const path = `tool_choice.tools[${index}]`;
    const tool = needObject(entry, path);
    const type = needString(tool.type, `${path}.type`);
    if (type === 'function' || type === 'custom')
      names.push(compact({ name: needName(tool, path), namespace: maybeString(tool.namespace) }));
    else if (BUILTINS.has(type)) names.push({ name: type });
    else hosted.push(allowedHosted(tool, type, path));
  }
  return { toolChoice: { kind: mode }, allowedTools: { mode, names, hosted } };
}

function allowedHosted(tool: JsonObject, type: string, path: string): AllowedHostedTool {
  if (isGiven(tool.name))
    unsupported(`${path}.name`, 'single tools of a server cannot be allowed; list them in tools.');
  return compact({ tool: serverToolOf(type), label: maybeString(tool.server_label) });
}

function decodeForcedChoice(choice: JsonObject, type: string): HubToolChoice {
  if (type === 'function' || type === 'custom') {
    const name = needName(choice, 'tool_choice');
    return compact({ kind: 'named', name, namespace: maybeString(choice.namespace) });
  }
  if (BUILTINS.has(type)) return { kind: 'named', name: type };
  return { kind: 'hosted', tool: serverToolOf(type) };
}

function needName(tool: JsonObject, path: string): string {
  const name = needString(tool.name, `${path}.name`);
  return name === '' ? wrongValue(`${path}.name`, 'must not be empty.') : name;
}
