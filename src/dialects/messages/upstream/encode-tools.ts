/** Encoder of tools and tool choice: functions, the provider's client tools, and hosted tools it supports. */
import { TOOL_FORMS } from '../../../rules/index.ts';
import { asObjectSchema, canBeStrict } from '../../claude/constrain-schema.ts';
import { type Block, cacheControl } from '../../claude/encode-content.ts';
import { rejectHostedChoice, rejectMachine } from '../../errors/rejection.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubRequest, HubServerTool, HubTool, JsonObject, ServerTool } from '../../hub/types.ts';
import { allowedTools } from '../../tools/allowed.ts';
import { screenOf } from '../../tools/computer.ts';
import { functionForm } from '../../tools/function-form.ts';
import { remoteServer } from '../../tools/mcp.ts';
import type { ToolNames } from '../../tools/names.ts';
import { checkSearchOptions, rejectOption, type SearchOptions } from '../../tools/search.ts';
import { compact } from '../../wire/read.ts';

export interface EncodedTools {
  readonly tools: Block[];
  readonly mcpServers: readonly JsonObject[];
  readonly choice?: JsonObject;
  /** The model must call a tool. */
  readonly isForced: boolean;
  /** `maxToolCalls` is set, but no tool accepts a limit. */
  readonly dropsCallLimit: boolean;
  /** A function has the name of a hosted tool, which is left out. */
  readonly dropsHosted: boolean;
  readonly droppedSearchOptions: readonly string[];
  /** A strict tool is sent without `strict`. */
  readonly dropsStrict: boolean;
}

export function encodeTools(request: HubRequest, names: ToolNames): EncodedTools {
  // The dialect has no list of allowed names, so only the allowed tools are sent.
  const allowed = allowedTools(request);
  const state: EncodeState = { request, names, strictCount: 0, mcpServers: [], droppedSearchOptions: [] };
  const blocks = allowed.flatMap((tool) => encodeTool(tool, state));
  const functionNames = new Set(blocks.filter((block) => block.type === undefined).map((block) => block.name));
  // Tool names must be unique; a function takes precedence over a hosted tool of the same name.
  const tools = blocks.filter((block) => block.type === undefined || !functionNames.has(block.name));
  const choice = encodeChoice(request, tools, names);
  return {
    tools,
    mcpServers: state.mcpServers,
    ...(choice && { choice }),
    isForced: choice?.type === 'any' || choice?.type === 'tool',
    dropsCallLimit:
      request.limits.maxToolCalls !== undefined && !tools.some((tool) => tool.name === TOOL_FORMS.web_search.name),
    dropsHosted: tools.length < blocks.length,
    droppedSearchOptions: state.droppedSearchOptions,
    dropsStrict: allowed.filter((tool) => tool.kind === 'function' && tool.strict === true).length > state.strictCount,
  };
}

interface EncodeState {
  readonly request: HubRequest;
  readonly names: ToolNames;
  /** Number of strict tools so far. */
  strictCount: number;
  readonly mcpServers: JsonObject[];
  readonly droppedSearchOptions: string[];
}

function encodeTool(tool: HubTool, state: EncodeState): Block[] {
  if (tool.kind === 'server') return tool.tool === 'mcp' ? mcpToolset(tool.raw, state) : hostedTool(tool, state);
  if (tool.kind === 'builtin' && state.request.dialect === 'messages') return [{ ...tool.raw }];
  const { description, schema } = functionForm(tool);
  const input_schema = asObjectSchema(schema);
  const strict = tool.kind === 'function' && tool.strict === true && canBeStrict(input_schema, state.strictCount);
  if (strict) state.strictCount += 1;
  // Without a tool search the model could never discover a deferred tool.
  const defer_loading = tool.defer === true && searchesTools(state.request) ? true : undefined;
  const declared = { name: state.names.toWire(tool), description, input_schema, strict: strict || undefined };
  return [compact({ ...declared, defer_loading, ...cacheControl(tool.cache) })];
}

function hostedTool(tool: HubServerTool, state: EncodeState): Block[] {
  if (state.request.dialect === 'messages') return [{ ...tool.raw }];
  if (tool.options.machine) rejectMachine();
  const form = hostedForm(tool.tool);
  if (form && tool.tool === 'computer') {
    const { width, height } = screenOf(state.request, tool);
    return [{ ...form, display_width_px: width, display_height_px: height, ...cacheControl(tool.cache) }];
  }
  return form
    ? [{ ...form, ...(tool.tool === 'web_search' && searchOptions(tool, state)), ...cacheControl(tool.cache) }]
    : [];
}

/** The name is the type without its revision. */
function hostedForm(tool: ServerTool): { readonly type: string; readonly name: string } | undefined {
  const type = TOOL_FORMS[tool].forms.messages;
  return type === undefined ? undefined : { type, name: type.replace(/_\d{8}$/, '') };
}

const searchesTools = (request: HubRequest): boolean =>
  offeredTools(request).some((tool) => tool.kind === 'server' && tool.tool === 'tool_search');

const SEARCH_OPTIONS: SearchOptions = new Set(['allowedDomains', 'blockedDomains', 'maxUses', 'userLocation']);

function searchOptions(tool: HubServerTool, { request, droppedSearchOptions }: EncodeState): Block {
  droppedSearchOptions.push(...checkSearchOptions(tool, SEARCH_OPTIONS));
  const { allowedDomains, blockedDomains, userLocation, maxUses } = tool.options;
  if (allowedDomains && blockedDomains) rejectOption(tool, 'filters.blocked_domains', 'beside allowed domains');
  return compact({
    max_uses: maxUses ?? request.limits.maxToolCalls,
    allowed_domains: allowedDomains,
    blocked_domains: blockedDomains,
    user_location: userLocation && { ...userLocation, type: 'approximate' },
  });
}

/** Declares the MCP server in `mcp_servers` and returns the toolset that offers it. */
function mcpToolset(raw: JsonObject, state: EncodeState): Block[] {
  const server = remoteServer(raw);
  if (!server) return [];
  const { label, url, token, allowed } = server;
  state.mcpServers.push(compact({ type: 'url', name: label, url, authorization_token: token }));
  const limited = allowed && {
    default_config: { enabled: false },
    configs: Object.fromEntries(allowed.map((tool) => [tool, { enabled: true }])),
  };
  return [{ type: 'mcp_toolset', mcp_server_name: label, ...limited }];
}

function encodeChoice(request: HubRequest, tools: readonly Block[], names: ToolNames): Block | undefined {
  const { toolChoice } = request;
  if (toolChoice.kind === 'hosted')
    return withParallelFlag(request, { type: 'tool', name: hostedName(toolChoice.tool, tools) });
  if (tools.length === 0) return undefined;
  if (toolChoice.kind === 'named') return withParallelFlag(request, { type: 'tool', name: names.toWire(toolChoice) });
  if (toolChoice.kind === 'none') return { type: 'none' };
  if (toolChoice.kind === 'required' || request.allowedTools?.mode === 'required')
    return withParallelFlag(request, { type: 'any' });
  return request.parallelTools === false ? withParallelFlag(request, { type: 'auto' }) : undefined;
}

const withParallelFlag = (request: HubRequest, choice: Block): Block =>
  request.parallelTools === false ? { ...choice, disable_parallel_tool_use: true } : choice;

/** Rejects a choice of a hosted tool that was dropped, instead of ignoring it. */
function hostedName(tool: ServerTool, tools: readonly Block[]): string {
  const name = hostedForm(tool)?.name;
  if (name !== undefined && tools.some((block) => block.name === name && block.type !== undefined)) return name;
  return rejectHostedChoice(tool);
}
