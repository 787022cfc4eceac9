/**
 * Decoder of tools and tool choice in a client request. Hosted tools
 * keep their raw form, which only their issuer can run.
 */
import type * as hub from '../../hub/types.ts';
import { checkCallers } from '../../tools/allowed.ts';
import { readFunction, readName } from '../../wire/openai-request.ts';
import * as wire from '../../wire/read.ts';

export function decodeTools(value: unknown, path: string, namespace?: Namespace): hub.HubTool[] {
  if (!wire.isGiven(value)) return [];
  return wire.needList(value, path).flatMap((entry, index) => {
    const toolPath = `${path}[${index}]`;
    const tool = wire.needObject(entry, toolPath);
    const type = wire.needString(tool.type, `${toolPath}.type`);
    if (type === 'namespace') return decodeTools(tool.tools, `${toolPath}.tools`, decodeNamespace(tool, toolPath));
    return [decodeTool(tool, type, toolPath, namespace)];
  });
}

interface Namespace {
  readonly namespace: string;
  readonly namespaceDescription?: string;
}

const decodeNamespace = (tool: hub.JsonObject, path: string): Namespace =>
  wire.compact({
    namespace: readName(tool, path),
    namespaceDescription: wire.optional(tool, 'description', wire.needString, path),
  });

function decodeTool(tool: hub.JsonObject, type: string, path: string, namespace?: Namespace): hub.HubTool {
  checkCallers(tool, path);
  if (type === 'function') return decodeFunction(tool, path, namespace);
  if (type === 'custom') return decodeCustom(tool, path, namespace);
  const { environment } = tool;
  if (type === 'shell' && wire.isObject(environment) && environment.type !== 'local')
    wire.unsupported(`${path}.environment`, 'containers of another provider cannot be used with this model.');
  if (BUILTINS.has(type)) return { kind: 'builtin', builtin: type, name: type, raw: tool };
  const server = serverToolOf(type);
  return { kind: 'server', tool: server, options: optionsOf(tool, server === 'web_search'), raw: tool, at: path };
}

const decodeFunction = (tool: hub.JsonObject, path: string, namespace?: Namespace): hub.HubTool =>
  wire.compact({ ...readFunction(tool, path), ...namespace, defer: tool.defer_loading === true ? true : undefined });

function decodeCustom(tool: hub.JsonObject, path: string, namespace?: Namespace): hub.HubTool {
  const format = wire.maybeObject(tool.format);
  const grammar =
    format.type === 'grammar'
      ? {
          syntax: wire.needString(format.syntax, `${path}.format.syntax`),
          definition: wire.needString(format.definition, `${path}.format.definition`),
        }
      : undefined;
  return wire.compact({
    kind: 'custom',
    name: readName(tool, path),
    ...namespace,
    description: wire.optional(tool, 'description', wire.needString, path),
    grammar,
    defer: tool.defer_loading === true ? true : undefined,
  });
}

/** Tools that the client runs, with a typed action instead of arguments. */
const BUILTINS: ReadonlySet<string> = new Set(['shell', 'local_shell', 'apply_patch']);

const SERVER_TOOLS: ReadonlyMap<string, hub.ServerTool> = new Map<string, hub.ServerTool>([
  ['file_search', 'file_search'],
  ['code_interpreter', 'code_exec'],
  ['image_generation', 'image_gen'],
  ['mcp', 'mcp'],
  ['computer', 'computer'],
  ['computer_use_preview', 'computer'],
  ['tool_search', 'tool_search'],
]);

/** Versions of web search end in a date. A type that this table does not list becomes `other`. */
const serverToolOf = (type: string): hub.ServerTool =>
  type.startsWith('web_search') ? 'web_search' : (SERVER_TOOLS.get(type) ?? 'other');

function optionsOf(tool: hub.JsonObject, isSearch: boolean): hub.ServerToolOptions {
  return wire.compact({
    ...(isSearch && searchOptions(tool)),
    machine: referencesContainer(tool.container) ? true : undefined,
    screen: SERVER_TOOLS.get(String(tool.type)) === 'computer' ? screenOf(tool) : undefined,
  });
}

/** Only the older tool names a size. */
const screenOf = ({ display_width, display_height }: hub.JsonObject): hub.ServerToolOptions['screen'] =>
  wire.compact({ width: wire.maybeCount(display_width), height: wire.maybeCount(display_height) });

function searchOptions(tool: hub.JsonObject): hub.ServerToolOptions {
  const { allowed_domains, blocked_domains, ...filters } = wire.maybeObject(tool.filters);
  const { type: _, filters: __, user_location, search_context_size, external_web_access, ...others } = tool;
  return wire.compact({
    allowedDomains: domainsIn(allowed_domains),
    blockedDomains: domainsIn(blocked_domains),
    userLocation: wire.isObject(user_location) ? user_location : undefined,
    contextSize: wire.maybeString(search_context_size),
    offline: external_web_access === false ? true : undefined,
    otherOptions: givenMembers(others),
    otherFilters: givenMembers(filters),
  });
}

function domainsIn(value: unknown): string[] | undefined {
  const domains = wire.maybeList(value).filter((domain) => typeof domain === 'string');
  return domains.length > 0 ? domains : undefined;
}

function givenMembers(members: hub.JsonObject): string[] | undefined {
  const names = Object.keys(members).filter((name) => wire.isGiven(members[name]));
  return names.length > 0 ? names : undefined;
}

/** A container that the provider creates for the request (`auto` without files) is not a reference. */
const referencesContainer = (container: unknown): boolean =>
  typeof container === 'string' || wire.maybeList(wire.maybeObject(container).file_ids).length > 0;

type DecodedChoice = Pick<hub.HubRequest, 'toolChoice' | 'allowedTools'>;

export function decodeToolChoice(value: unknown): DecodedChoice {
  if (!wire.isGiven(value)) return { toolChoice: { kind: 'auto' } };
  if (typeof value === 'string') {
    return { toolChoice: { kind: wire.oneOf(['auto', 'none', 'required'])(value, 'tool_choice') } };
  }
  const choice = wire.needObject(value, 'tool_choice');
  const type = wire.needString(choice.type, 'tool_choice.type');
  if (type === 'allowed_tools') return decodeAllowedTools(choice);
  return { toolChoice: decodeForcedChoice(choice, type) };
}

function decodeAllowedTools(choice: hub.JsonObject): DecodedChoice {
  const mode = wire.oneOf(['auto', 'required'])(choice.mode ?? 'auto', 'tool_choice.mode');
  const names: hub.ToolName[] = [];
  const hosted: hub.AllowedHostedTool[] = [];
  for (const [index, entry] of wire.needList(choice.tools, 'tool_choice.tools').entries()) {
    const path = `tool_choice.tools[${index}]`;
    const tool = wire.needObject(entry, path);
    const type = wire.needString(tool.type, `${path}.type`);
    if (type === 'function' || type === 'custom')
      names.push(wire.compact({ name: readName(tool, path), namespace: wire.maybeString(tool.namespace) }));
    else if (BUILTINS.has(type)) names.push({ name: type });
    else hosted.push(allowedHosted(tool, type, path));
  }
  return { toolChoice: { kind: mode }, allowedTools: { mode, names, hosted } };
}

function allowedHosted(tool: hub.JsonObject, type: string, path: string): hub.AllowedHostedTool {
  if (wire.isGiven(tool.name))
    wire.unsupported(`${path}.name`, 'single tools of a server cannot be allowed; list them in tools.');
  return wire.compact({ tool: serverToolOf(type), label: wire.maybeString(tool.server_label) });
}

function decodeForcedChoice(choice: hub.JsonObject, type: string): hub.HubToolChoice {
  if (type === 'function' || type === 'custom') {
    const name = readName(choice, 'tool_choice');
    return wire.compact({ kind: 'named', name, namespace: wire.maybeString(choice.namespace) });
  }
  if (BUILTINS.has(type)) return { kind: 'named', name: type };
  return { kind: 'hosted', tool: serverToolOf(type) };
}
