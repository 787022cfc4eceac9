/** Decoder of a client's tools and tool choice. */
import type { HubRequest, HubTool, JsonObject, ServerTool, ServerToolOptions } from '../../hub/types.ts';
import { checkCallers } from '../../tools/allowed.ts';
import * as wire from '../../wire/read.ts';
import { readCacheBreakpoint } from './decode-media.ts';

export function decodeTools(body: JsonObject): HubTool[] {
  const given = wire.isGiven(body.tools) ? wire.needList(body.tools, 'tools') : [];
  const servers = wire.isGiven(body.mcp_servers) ? wire.needList(body.mcp_servers, 'mcp_servers') : [];
  const tools = given.map((tool, n) => [wire.needObject(tool, `tools[${n}]`), `tools[${n}]`] as const);
  const toolsets = readToolsets(tools);
  const hubTools = [
    // A toolset only selects tools of an MCP server; the server entry becomes the hub tool.
    ...tools.filter(([tool]) => tool.type !== 'mcp_toolset').map(([tool, path]) => decodeTool(tool, path)),
    ...servers.map((server, n) => decodeMcpServer(server, `mcp_servers[${n}]`, toolsets)),
  ];
  for (const [name, { path }] of toolsets)
    wire.wrongValue(`${path}.mcp_server_name`, `"${name}" is not in mcp_servers.`);
  return hubTools;
}

interface Toolset {
  readonly toolset: JsonObject;
  readonly path: string;
}

/** Toolsets by the name of their server; of two for one server the first counts. */
function readToolsets(tools: readonly (readonly [JsonObject, string])[]): Map<string, Toolset> {
  const toolsets = new Map<string, Toolset>();
  for (const [toolset, path] of tools) {
    if (toolset.type !== 'mcp_toolset') continue;
    const name = wire.needString(toolset.mcp_server_name, `${path}.mcp_server_name`);
    if (!toolsets.has(name)) toolsets.set(name, { toolset, path });
  }
  return toolsets;
}

export function decodeTool(value: unknown, path: string): HubTool {
  const tool = wire.needObject(value, path);
  const type = wire.optional(tool, 'type', wire.needString, path) ?? 'custom';
  checkCallers(tool, path);
  if (wire.isGiven(tool.url_sources)) wire.unsupported(`${path}.url_sources`, 'not supported by this model.');
  const common = { ...readCacheBreakpoint(tool, path), ...(tool.defer_loading === true && { defer: true }) };
  if (type === 'custom') return { ...common, ...functionTool(tool, path) };
  // The date suffix is the revision of the tool.
  const family = type.replace(/_\d{8}$/, '');
  if (BUILTINS.has(family)) {
    return { ...common, kind: 'builtin', builtin: type, name: wire.needString(tool.name, `${path}.name`), raw: tool };
  }
  const server = SERVER_TOOLS.get(family) ?? 'other';
  const options = family === 'computer' ? { screen: readScreen(tool, path) } : serverOptions(tool, path);
  return { ...common, kind: 'server', tool: server, options, raw: tool, at: path };
}

/** Tools that the client runs; the type implies the input schema. */
const BUILTINS: ReadonlySet<string> = new Set(['bash', 'text_editor', 'memory']);
const SERVER_TOOLS = wire.tableOf<ServerTool>({
  web_search: 'web_search',
  web_fetch: 'web_fetch',
  code_execution: 'code_exec',
  tool_search_tool_bm25: 'tool_search',
  tool_search_tool_regex: 'tool_search',
  advisor: 'advisor',
  computer: 'computer',
  // Their calls name a toolset, for which no other dialect has a place: without a screen they are not converted.
  computer_toolset: 'computer',
  browser_toolset: 'computer',
});

function functionTool(tool: JsonObject, path: string): HubTool {
  return wire.compact({
    kind: 'function' as const,
    name: wire.needString(tool.name, `${path}.name`),
    description: wire.optional(tool, 'description', wire.needString, path),
    schema: wire.needObject(tool.input_schema, `${path}.input_schema`),
    strict: wire.optional(tool, 'strict', wire.readBoolean, path),
  });
}

const readScreen = (tool: JsonObject, path: string): NonNullable<ServerToolOptions['screen']> =>
  wire.compact({
    width: wire.optional(tool, 'display_width_px', wire.readCount, path),
    height: wire.optional(tool, 'display_height_px', wire.readCount, path),
  });

function serverOptions(tool: JsonObject, path: string): ServerToolOptions {
  return wire.compact({
    allowedDomains: wire.optional(tool, 'allowed_domains', wire.readStrings, path),
    blockedDomains: wire.optional(tool, 'blocked_domains', wire.readStrings, path),
    maxUses: wire.optional(tool, 'max_uses', wire.readCount, path),
    userLocation: wire.optional(tool, 'user_location', wire.needObject, path),
  });
}

/** `raw` is the server entry, plus the toolset that refers to it as `toolset`, which is taken out of `toolsets`. */
function decodeMcpServer(value: unknown, path: string, toolsets: Map<string, Toolset>): HubTool {
  const server = wire.needObject(value, path);
  const name = wire.needString(server.name, `${path}.name`);
  wire.needString(server.url, `${path}.url`);
  const toolset = toolsets.get(name)?.toolset;
  toolsets.delete(name);
  return { kind: 'server', tool: 'mcp', options: {}, raw: toolset ? { ...server, toolset } : server, at: path };
}

type ToolChoiceFields = Pick<HubRequest, 'toolChoice' | 'parallelTools'>;

export function decodeToolChoice(value: unknown, tools: readonly HubTool[]): ToolChoiceFields {
  if (!wire.isGiven(value)) return { toolChoice: { kind: 'auto' } };
  const choice = wire.needObject(value, 'tool_choice');
  const parallel = wire.optional(choice, 'disable_parallel_tool_use', wire.readBoolean, 'tool_choice');
  const type = wire.oneOf(['auto', 'any', 'tool', 'none'])(choice.type, 'tool_choice.type');
  return {
    // Other providers reject a choice without tools.
    toolChoice: type === 'tool' ? namedTool(choice, tools) : CHOICES[tools.length === 0 ? 'auto' : type],
    ...(parallel !== undefined && { parallelTools: !parallel }),
  };
}

const CHOICES = {
  auto: { kind: 'auto' },
  any: { kind: 'required' },
  none: { kind: 'none' },
} as const;

/** A client chooses hosted tools by name as well; that name is part of the raw tool. */
function namedTool(choice: JsonObject, tools: readonly HubTool[]): HubRequest['toolChoice'] {
  const name = wire.needString(choice.name, 'tool_choice.name');
  for (const tool of tools) {
    if (tool.kind === 'server' && wire.maybeString(tool.raw.name) === name) return { kind: 'hosted', tool: tool.tool };
    if (tool.kind !== 'server' && tool.name === name) return { kind: 'named', name };
  }
  return wire.wrongValue('tool_choice.name', `"${name}" is not in tools.`);
}
