/** Tools and the choice among them written for the provider: functions, its own client tools, and hosted tools it also has. */
import { fail } from '../../core/index.ts';
import type { HubRequest, HubTool, JsonObject, ServerTool } from '../hub.ts';
import type { Names } from '../names.ts';
import { compact, maybeList, maybeString } from '../read.ts';
import { builtinFunction } from './builtins.ts';
import { type Block, cacheControl } from './encode-content.ts';
import { asObjectSchema, isEnforceable } from './schema.ts';

export interface EncodedTools {
  readonly tools: Block[];
  readonly mcpServers: readonly JsonObject[];
  readonly choice?: JsonObject;
  /** A tool has to be called. */
  readonly forced: boolean;
  /** A bound on hosted calls was asked for and there is no tool that takes one. */
  readonly unbounded: boolean;
}

export function encodeTools(request: HubRequest, names: Names): EncodedTools {
  const wanted = offered(request);
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
  };
}

interface Writing {
  readonly request: HubRequest;
  readonly names: Names;
  /** Strict tools so far. */
  strict: number;
  readonly mcpServers: JsonObject[];
}

/** Tools of the request and those added on the way, the later of two equal names; only the allowed ones where they are named. */
function offered(request: HubRequest): HubTool[] {
  const added = request.items.flatMap((item) => (item.kind === 'tool_change' ? item.add : []));
  const tools = new Map<string, HubTool>();
  for (const tool of [...request.tools, ...added]) tools.set(keyOf(tool), tool);
  const allowed = request.allowedTools && new Set(request.allowedTools.names);
  return [...tools.values()].filter((tool) => !allowed || allowed.has(tool.kind === 'server' ? tool.tool : tool.name));
}

function keyOf(tool: HubTool): string {
  if (tool.kind === 'server') return `server ${tool.tool} ${JSON.stringify(tool.tool === 'mcp' ? tool.raw : '')}`;
  return `tool ${tool.kind === 'builtin' ? '' : (tool.namespace ?? '')}\n${tool.name}`;
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
    const { grammar } = tool;
    const rule = grammar && `The input must follow this ${grammar.syntax} grammar:\n${grammar.definition}`;
    const description = [tool.description, rule].filter((text) => text).join('\n\n') || undefined;
    return [declare(tool, { description, input_schema: FREE_TEXT }, writing)];
  },
  builtin(tool, writing) {
    if (writing.request.dialect === 'messages') return [{ ...tool.raw }];
    const known = builtinFunction(tool.builtin);
    if (!known)
      throw fail('unsupported_parameter', `tools: "${tool.builtin}" cannot be used with this model.`, {
        param: 'tools',
      });
    return [declare(tool, { description: known.description, input_schema: known.schema }, writing)];
  },
  server(tool, writing) {
    if (tool.tool === 'mcp') return [mcpToolset(tool.raw, writing)];
    if (writing.request.dialect === 'messages') return [{ ...tool.raw }];
    const row = HOSTED[tool.tool];
    return row
      ? [{ ...row, ...(tool.tool === 'web_search' && searchOptions(tool, writing)), ...cacheControl(tool.cache) }]
      : [];
  },
};

/** The provider's own limit. */
const MAX_STRICT = 20;
const FREE_TEXT: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The complete input of the tool.' } },
  required: ['input'],
};

const declare = (tool: HubTool & { name: string }, body: Block, { names }: Writing): Block =>
  compact({ name: names.toWire(tool), ...body, ...cacheControl(tool.cache) });

/** Hosted tools that exist here too, in the oldest form, which most accounts have. All others are left out. */
const HOSTED: Partial<Record<ServerTool, { readonly type: string; readonly name: string }>> = {
  web_search: { type: 'web_search_20250305', name: 'web_search' },
  web_fetch: { type: 'web_fetch_20250910', name: 'web_fetch' },
  code_exec: { type: 'code_execution_20250825', name: 'code_execution' },
};

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

/** A remote server is declared beside the tools and offered among them. Both families' spellings of it are read. */
function mcpToolset(raw: JsonObject, writing: Writing): Block {
  const name = maybeString(raw.server_label) ?? maybeString(raw.name) ?? '';
  const url = maybeString(raw.server_url) ?? maybeString(raw.url);
  if (url === undefined || raw.headers !== undefined) {
    throw fail(
      'unsupported_parameter',
      `tools: the MCP server "${name}" can only be reached by an address and a token with this model.`,
      {
        param: 'tools',
      },
    );
  }
  const token = maybeString(raw.authorization) ?? maybeString(raw.authorization_token);
  writing.mcpServers.push(compact({ type: 'url', name, url, authorization_token: token }));
  const allowed = maybeList(raw.allowed_tools).filter((tool) => typeof tool === 'string');
  return {
    type: 'mcp_toolset',
    mcp_server_name: name,
    ...(allowed.length > 0 && {
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
  throw fail('unsupported_parameter', `tool_choice: the tool "${tool}" cannot be used with this model.`, {
    param: 'tool_choice',
  });
}
