/** A client's tools and its choice among them, read into the hub. */
import type { HubRequest, HubTool, JsonObject, ServerTool, ServerToolOptions } from '../../hub/types.ts';
import {
  aBoolean,
  aCount,
  compact,
  given,
  maybeString,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  strings,
  unsupported,
  wrongValue,
} from '../../wire/read.ts';
import { readCacheBreakpoint } from './decode-media.ts';

export function decodeTools(body: JsonObject): HubTool[] {
  const tools = given(body.tools) ? needList(body.tools, 'tools') : [];
  const servers = given(body.mcp_servers) ? needList(body.mcp_servers, 'mcp_servers') : [];
  return [
    ...tools
      // The toolset only says which tools of a server are wanted; the server itself becomes the tool.
      .map((tool, n) => [needObject(tool, `tools[${n}]`), `tools[${n}]`] as const)
      .filter(([tool]) => tool.type !== 'mcp_toolset')
      .map(([tool, path]) => decodeTool(tool, path)),
    ...servers.map((server, n) => decodeMcpServer(server, `mcp_servers[${n}]`, tools)),
  ];
}

export function decodeTool(value: unknown, path: string): HubTool {
  const tool = needObject(value, path);
  const type = optional(tool, 'type', needString, path) ?? 'custom';
  const common = { ...readCacheBreakpoint(tool, path), ...(tool.defer_loading === true && { defer: true }) };
  if (type === 'custom') return { ...common, ...functionTool(tool, path) };
  // The date at the end only says which revision of the tool is meant.
  const family = type.replace(/_\d{8}$/, '');
  if (BUILTINS.has(family)) {
    return { ...common, kind: 'builtin', builtin: type, name: needString(tool.name, `${path}.name`), raw: tool };
  }
  if (SCREENS.has(family)) unsupported(`${path}.type`, `tools of type "${type}" cannot be used with this model.`);
  const server = SERVER_TOOLS.get(family) ?? 'other';
  return { ...common, kind: 'server', tool: server, options: serverOptions(tool, path), raw: tool };
}

/** Run by the client, with an input schema that the type implies. */
const BUILTINS: ReadonlySet<string> = new Set(['bash', 'text_editor', 'memory']);
/** Run by the client on pictures of a screen; their calls have a shape that only this dialect has. */
const SCREENS: ReadonlySet<string> = new Set(['computer', 'computer_toolset', 'browser_toolset']);
const SERVER_TOOLS: ReadonlyMap<string, ServerTool> = new Map(
  Object.entries<ServerTool>({
    web_search: 'web_search',
    web_fetch: 'web_fetch',
    code_execution: 'code_exec',
    tool_search_tool_bm25: 'tool_search',
    tool_search_tool_regex: 'tool_search',
  }),
);

function functionTool(tool: JsonObject, path: string): HubTool {
  return compact({
    kind: 'function' as const,
    name: needString(tool.name, `${path}.name`),
    description: optional(tool, 'description', needString, path),
    schema: needObject(tool.input_schema, `${path}.input_schema`),
    strict: optional(tool, 'strict', aBoolean, path),
  });
}

function serverOptions(tool: JsonObject, path: string): ServerToolOptions {
  return compact({
    allowedDomains: optional(tool, 'allowed_domains', strings, path),
    blockedDomains: optional(tool, 'blocked_domains', strings, path),
    maxUses: optional(tool, 'max_uses', aCount, path),
    userLocation: optional(tool, 'user_location', needObject, path),
  });
}

/** The server's own entry, with the toolset that names it beside it under `toolset`. */
function decodeMcpServer(value: unknown, path: string, tools: readonly unknown[]): HubTool {
  const server = needObject(value, path);
  const name = needString(server.name, `${path}.name`);
  needString(server.url, `${path}.url`);
  const toolset = tools
    .map((tool, n) => needObject(tool, `tools[${n}]`))
    .find((tool) => tool.type === 'mcp_toolset' && tool.mcp_server_name === name);
  return { kind: 'server', tool: 'mcp', options: {}, raw: toolset ? { ...server, toolset } : server };
}

type Choice = Pick<HubRequest, 'toolChoice' | 'parallelTools'>;

export function decodeToolChoice(value: unknown, tools: readonly HubTool[]): Choice {
  if (!given(value)) return { toolChoice: { kind: 'auto' } };
  const choice = needObject(value, 'tool_choice');
  const parallel = optional(choice, 'disable_parallel_tool_use', aBoolean, 'tool_choice');
  const type = oneOf(['auto', 'any', 'tool', 'none'])(choice.type, 'tool_choice.type');
  return {
    // With nothing to choose from there is no choice to make.
    toolChoice: type === 'tool' ? namedTool(choice, tools) : CHOICES[tools.length === 0 ? 'auto' : type],
    ...(parallel !== undefined && { parallelTools: !parallel }),
  };
}

const CHOICES = {
  auto: { kind: 'auto' },
  any: { kind: 'required' },
  none: { kind: 'none' },
} as const;

/** Hosted tools are chosen by name too, and their name is in the tool itself. */
function namedTool(choice: JsonObject, tools: readonly HubTool[]): HubRequest['toolChoice'] {
  const name = needString(choice.name, 'tool_choice.name');
  for (const tool of tools) {
    if (tool.kind === 'server' && maybeString(tool.raw.name) === name) return { kind: 'hosted', tool: tool.tool };
    if (tool.kind !== 'server' && tool.name === name) return { kind: 'named', name };
  }
  return wrongValue('tool_choice.name', `there is no tool named "${name}" in tools.`);
}
