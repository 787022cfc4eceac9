/** Tools and the choice among them written for the provider: functions, its own client tools, and hosted tools it also has. */

import { rejectBuiltin, rejectHostedChoice, rejectMachine } from '../../errors/rejection.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubRequest, HubTool, JsonObject, ServerTool } from '../../hub/types.ts';
import { builtinFunction } from '../../tools/builtins.ts';
import { FREE_TEXT_SCHEMA, freeTextDescription } from '../../tools/free-text.ts';
import { remoteServer } from '../../tools/mcp.ts';
import type { Names } from '../../tools/names.ts';
import { compact } from '../../wire/read.ts';
import { asObjectSchema, isEnforceable } from './constrain-schema.ts';
import { type Block, cacheControl } from './encode-content.ts';

export interface EncodedTools {
  readonly tools: Block[];
  readonly mcpServers: readonly JsonObject[];
  readonly choice?: JsonObject;
  /** A tool has to be called. */
  readonly forced: boolean;
  /** A bound on hosted calls was asked for and there is no tool that takes one. */
  readonly unbounded: boolean;
  /** A hosted tool has no counterpart here. */
  readonly leftOut: boolean;
  /** A tool was to be strict, but cannot be. */
  readonly loosened: boolean;
}

export function encodeTools(request: HubRequest, names: Names): EncodedTools {
  const wanted = allowedTools(request);
  const writing: Writing = { request, names, strict: 0, mcpServers: [] };
  const blocks = wanted.flatMap((tool) => encodeTool(tool, writing));
  const own = new Set(blocks.filter((block) => block.type === undefined).map((block) => block.name));
  // Names are unique over all tools; a function that is called like a hosted tool is the one that was meant.
  const tools = blocks.filter((block) => block.type === undefined || !own.has(block.name));
  const choice = encodeChoice(request, tools, names);
  return {
    tools,
    mcpServers: writing.mcpServers,
    ...(choice && { choice }),
    forced: choice?.type === 'any' || choice?.type === 'tool',
    unbounded:
      request.limits.maxToolCalls !== undefined && !tools.some((tool) => tool.name === HOSTED.web_search?.name),
    leftOut: tools.length < blocks.length || wanted.some((tool) => tool.kind === 'server' && !isHosted(tool, request)),
    loosened: wanted.filter((tool) => tool.kind === 'function' && tool.strict === true).length > writing.strict,
  };
}

interface Writing {
  readonly request: HubRequest;
  readonly names: Names;
  /** Strict tools so far. */
  strict: number;
  readonly mcpServers: JsonObject[];
}

/** There is no list of allowed names here, so only the allowed tools are sent. */
function allowedTools(request: HubRequest): readonly HubTool[] {
  const allowed = request.allowedTools && new Set(request.allowedTools.names);
  return offeredTools(request).filter(
    (tool) => !allowed || allowed.has(tool.kind === 'server' ? tool.tool : tool.name),
  );
}

// ---------------------------------------------------------------- tools

const encodeTool = <T extends HubTool>(tool: T, writing: Writing): Block[] =>
  (TOOLS[tool.kind] as (tool: T, writing: Writing) => Block[])(tool, writing);

const TOOLS: { readonly [K in HubTool['kind']]: (tool: HubTool & { kind: K }, writing: Writing) => Block[] } = {
  function(tool, writing) {
    const schema = asObjectSchema(tool.schema);
    const strict = tool.strict === true && writing.strict < MAX_STRICT && isEnforceable(schema);
    if (strict) writing.strict += 1;
    return [
      declare(tool, { description: tool.description, input_schema: schema, strict: strict || undefined }, writing),
    ];
  },
  /** Free text travels as the only member of an object. The grammar can only be described, not enforced. */
  custom(tool, writing) {
    return [declare(tool, { description: freeTextDescription(tool), input_schema: FREE_TEXT_SCHEMA }, writing)];
  },
  builtin(tool, writing) {
    if (writing.request.dialect === 'messages') return [{ ...tool.raw }];
    const known = builtinFunction(tool.builtin) ?? rejectBuiltin(tool.builtin);
    return [declare(tool, { description: known.description, input_schema: known.schema }, writing)];
  },
  server(tool, writing) {
    if (tool.tool === 'mcp') return [mcpToolset(tool.raw, writing)];
    if (writing.request.dialect === 'messages') return [{ ...tool.raw }];
    if (tool.options.machine) rejectMachine();
    const row = rowOf(tool);
    return row
      ? [{ ...row, ...(tool.tool === 'web_search' && searchOptions(tool, writing)), ...cacheControl(tool.cache) }]
      : [];
  },
};

/** The provider's own limit. */
const MAX_STRICT = 20;

function declare(tool: HubTool & { name: string }, body: Block, { names, request }: Writing): Block {
  // A tool that nobody can search for would never be found.
  const defer_loading = tool.defer === true && searchesTools(request) ? true : undefined;
  return compact({ name: names.toWire(tool), ...body, defer_loading, ...cacheControl(tool.cache) });
}

/** Hosted tools that exist here too, in the oldest form, which most accounts have. All others are left out. */
const HOSTED: Partial<Record<ServerTool, { readonly type: string; readonly name: string }>> = {
  web_search: { type: 'web_search_20250305', name: 'web_search' },
  web_fetch: { type: 'web_fetch_20250910', name: 'web_fetch' },
  code_exec: { type: 'code_execution_20250825', name: 'code_execution' },
  tool_search: { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
};

const isHosted = (tool: ServerToolEntry, { dialect }: HubRequest): boolean =>
  dialect === 'messages' || tool.tool === 'mcp' || rowOf(tool) !== undefined;

type ServerToolEntry = HubTool & { kind: 'server' };

/** A search that the client would make itself answers in a form that only its own dialect has. */
const rowOf = ({ tool, raw }: ServerToolEntry) =>
  tool === 'tool_search' && raw.execution === 'client' ? undefined : HOSTED[tool];

const searchesTools = (request: HubRequest): boolean =>
  offeredTools(request).some(
    (tool) => tool.kind === 'server' && tool.tool === 'tool_search' && isHosted(tool, request),
  );

function searchOptions({ options }: HubTool & { kind: 'server' }, { request }: Writing): Block {
  const { allowedDomains, blockedDomains, userLocation } = options;
  return compact({
    max_uses: options.maxUses ?? request.limits.maxToolCalls,
    // One or the other; what is allowed says more.
    allowed_domains: allowedDomains,
    blocked_domains: allowedDomains ? undefined : blockedDomains,
    user_location: userLocation && { ...userLocation, type: 'approximate' },
  });
}

/** A remote server is declared beside the tools and offered among them. */
function mcpToolset(raw: JsonObject, writing: Writing): Block {
  const { label, url, token, allowed } = remoteServer(raw);
  writing.mcpServers.push(compact({ type: 'url', name: label, url, authorization_token: token }));
  return {
    type: 'mcp_toolset',
    mcp_server_name: label,
    ...(allowed && {
      default_config: { enabled: false },
      configs: Object.fromEntries(allowed.map((tool) => [tool, { enabled: true }])),
    }),
  };
}

// ---------------------------------------------------------------- choice

function encodeChoice(request: HubRequest, tools: readonly Block[], names: Names): Block | undefined {
  const { toolChoice, allowedTools } = request;
  if (toolChoice.kind === 'hosted') return serial(request, { type: 'tool', name: hostedName(toolChoice.tool, tools) });
  if (tools.length === 0) return undefined;
  if (toolChoice.kind === 'named') return serial(request, { type: 'tool', name: names.toWire(toolChoice) });
  if (toolChoice.kind === 'none') return { type: 'none' };
  if (toolChoice.kind === 'required' || allowedTools?.mode === 'required') return serial(request, { type: 'any' });
  return request.parallelTools === false ? serial(request, { type: 'auto' }) : undefined;
}

const serial = (request: HubRequest, choice: Block): Block =>
  request.parallelTools === false ? { ...choice, disable_parallel_tool_use: true } : choice;

/** A hosted tool that we may leave out silently must not be left out when it is the one that was asked for. */
function hostedName(tool: ServerTool, tools: readonly Block[]): string {
  const name = HOSTED[tool]?.name;
  if (name !== undefined && tools.some((block) => block.name === name && block.type !== undefined)) return name;
  return rejectHostedChoice(tool);
}
