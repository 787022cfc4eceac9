/** Encoder of tools and tool choice, for upstream requests and for the echo in responses. */
import { TOOL_FORMS } from '../../rules/index.ts';
import type { UpstreamTarget } from '../codec.ts';
import { rejectHostedChoice } from '../errors/rejection.ts';
import type * as hub from '../hub/types.ts';
import { functionForm } from '../tools/function-form.ts';
import { remoteServer } from '../tools/mcp.ts';
import { type NamedTool, type ToolNames, toolsByName } from '../tools/names.ts';
import { checkSearchOptions, rejectOption, type SearchOptions } from '../tools/search.ts';
import { compact, isObject, maybeString } from '../wire/read.ts';

export interface ToolContext {
  readonly request: hub.HubRequest;
  readonly target: UpstreamTarget;
  readonly names: ToolNames;
}

/** The dialect has namespaces, so only names without one are mapped. */
export const wireName = (names: ToolNames, tool: hub.ToolName): string =>
  tool.namespace === undefined ? names.toWire({ name: tool.name }) : tool.name;

export const encodeTools = (tools: readonly hub.HubTool[], context: ToolContext): hub.JsonObject[] =>
  groupByNamespace(tools, (tool) => encodeTool(tool, context));

/** Adjacent tools of one namespace share a wrapper. Keeps the order of tools. */
function groupByNamespace(
  tools: readonly hub.HubTool[],
  encode: (tool: hub.HubTool) => hub.JsonObject | undefined,
): hub.JsonObject[] {
  const result: hub.JsonObject[] = [];
  let open: { name: string; description: string; tools: hub.JsonObject[] } | undefined;
  for (const tool of tools) {
    const body = encode(tool);
    const { namespace, namespaceDescription = '' } = 'namespace' in tool ? tool : {};
    if (!body) continue;
    if (namespace === undefined) {
      open = undefined;
      result.push(body);
    } else if (open?.name === namespace) {
      open.tools.push(body);
    } else {
      open = { name: namespace, description: namespaceDescription, tools: [body] };
      result.push({ type: 'namespace', ...open });
    }
  }
  return result;
}

/**
 * Typed tools of this dialect pass unchanged; those of other providers,
 * and free text where there is none, become functions.
 */
function encodeTool(tool: hub.HubTool, context: ToolContext): hub.JsonObject | undefined {
  if (tool.kind === 'server') return encodeServerTool(tool, context);
  if (tool.kind === 'builtin' && context.request.dialect === 'responses') return tool.raw;
  const name = wireName(context.names, tool);
  if (tool.kind === 'function') return encodeFunctionTool({ ...tool, name }, context);
  if (tool.kind === 'custom' && context.target.capabilities.customTools) return encodeCustomTool({ ...tool, name });
  const { description, schema } = functionForm(tool);
  return compact({ type: 'function', name, description, parameters: schema, strict: false });
}

type ToolOf<K extends hub.HubTool['kind']> = hub.HubTool & { kind: K };

/**
 * Always sets `strict`: the API defaults to true where the schema
 * allows it, and then changes the meaning of the schema.
 */
function encodeFunctionTool(tool: ToolOf<'function'>, context?: ToolContext): hub.JsonObject {
  const { name, description, schema, strict = false } = tool;
  const deferred = tool.defer === true && (!context || hasToolSearch(context.request));
  const defer_loading = deferred ? true : undefined;
  return compact({ type: 'function', name, description, parameters: schema, strict, defer_loading });
}

function encodeCustomTool(tool: ToolOf<'custom'>): hub.JsonObject {
  const { name, description, grammar } = tool;
  const format = grammar ? { type: 'grammar', ...grammar } : { type: 'text' };
  return compact({ type: 'custom', name, description, format });
}

function encodeServerTool(tool: hub.HubServerTool, context: ToolContext): hub.JsonObject | undefined {
  if (context.request.dialect === 'responses') return tool.raw;
  const encode = HOSTED_ENCODERS[tool.tool];
  if (encode) return encode(tool);
  const type = TOOL_FORMS[tool.tool].forms.responses;
  return type === undefined ? undefined : { type };
}

/** Hosted tools of other dialects that are more than their type. */
const HOSTED_ENCODERS: Partial<
  Readonly<Record<hub.ServerTool, (tool: hub.HubServerTool) => hub.JsonObject | undefined>>
> = {
  web_search: encodeSearchTool,
  code_exec: () => ({ type: 'code_interpreter', container: { type: 'auto' } }),
  image_gen: ({ raw }) => withoutPartials(raw),
  mcp: ({ raw }) => encodeMcpTool(raw),
};

/** The limit on uses is one of the request: see `searchLimit`. */
const SEARCH_OPTIONS: SearchOptions = new Set(['allowedDomains', 'maxUses', 'userLocation', 'contextSize']);

function encodeSearchTool(tool: hub.HubServerTool): hub.JsonObject {
  checkSearchOptions(tool, SEARCH_OPTIONS);
  const { allowedDomains, userLocation, contextSize } = tool.options;
  return compact({
    type: 'web_search',
    filters: allowedDomains && { allowed_domains: allowedDomains },
    user_location: userLocation,
    search_context_size: contextSize,
  });
}

/** Options of searches of other dialects that this one has no member for. */
export const droppedSearchOptions = (tools: readonly hub.HubTool[], { request }: ToolContext): readonly string[] =>
  tools.flatMap((tool) =>
    tool.kind === 'server' && tool.tool === 'web_search' && request.dialect !== 'responses'
      ? checkSearchOptions(tool, SEARCH_OPTIONS)
      : [],
  );

/**
 * The limit of the client on searches. The dialect limits the calls of
 * all hosted tools together, so there must be no other one.
 */
export function searchLimit(tools: readonly hub.HubTool[], context: ToolContext): number | undefined {
  const hosted = tools.filter(
    (tool): tool is hub.HubServerTool => tool.kind === 'server' && encodeServerTool(tool, context) !== undefined,
  );
  const limited = hosted.find(({ tool, options }) => tool === 'web_search' && options.maxUses !== undefined);
  if (limited && hosted.length > 1) rejectOption(limited, 'max_uses', 'beside other hosted tools with this model');
  return limited?.options.maxUses;
}

/** Only streams of this dialect show partial images, which cost tokens. */
function withoutPartials(raw: hub.JsonObject): hub.JsonObject {
  const { partial_images: _, ...tool } = raw;
  return tool;
}

/** A server whose tools are all switched off is left out: an empty list of allowed tools could mean all of them. */
function encodeMcpTool(raw: hub.JsonObject): hub.JsonObject | undefined {
  const server = remoteServer(raw);
  if (!server) return undefined;
  const { label, url, token, allowed } = server;
  return compact({
    type: 'mcp',
    server_label: label,
    server_url: url,
    authorization: token,
    allowed_tools: allowed,
    require_approval: 'never',
  });
}

const hasToolSearch = (request: hub.HubRequest): boolean =>
  request.tools.some((tool) => tool.kind === 'server' && tool.tool === 'tool_search');

/** The type in a choice; that of a tool which only this dialect has is its name. */
const hostedType = (tool: hub.ServerTool): string => TOOL_FORMS[tool].forms.responses ?? TOOL_FORMS[tool].name;

/** `offered` are the encoded tools. Omits the choice when there are none, because the upstream rejects it then. */
export function encodeToolChoice(offered: readonly hub.JsonObject[], context: ToolContext): unknown {
  const { request, names } = context;
  if (offered.length === 0 && request.toolChoice.kind !== 'hosted') return undefined;
  if (request.allowedTools) {
    const { mode, names: allowed, hosted } = request.allowedTools;
    const forms = formsOf(offered);
    const tools = allowed.map((tool) =>
      compact({ ...encodeNamedChoice(forms, wireName(names, tool)), namespace: tool.namespace }),
    );
    // A client whose list does not concern hosted tools still gets them.
    const types = hosted
      ? hosted.map(encodeAllowedHosted)
      : offered.filter(isHostedOffer).map(({ type }) => ({ type }));
    return { type: 'allowed_tools', mode, tools: [...tools, ...types] };
  }
  const choice = request.toolChoice;
  if (choice.kind === 'hosted') return encodeHostedChoice(choice.tool, offered);
  if (choice.kind !== 'named') return choice.kind;
  return compact({ ...encodeNamedChoice(formsOf(offered), wireName(names, choice)), namespace: choice.namespace });
}

const isHostedOffer = ({ type }: hub.JsonObject): boolean =>
  type !== 'function' && type !== 'custom' && type !== 'namespace' && type !== 'mcp';

const encodeAllowedHosted = ({ tool, label }: hub.AllowedHostedTool): hub.JsonObject =>
  compact({ type: hostedType(tool), server_label: label });

interface OfferedForms {
  readonly custom: ReadonlySet<unknown>;
  /** Types of tools without a name. */
  readonly typed: ReadonlySet<unknown>;
}

const formsOf = (offered: readonly hub.JsonObject[]): OfferedForms => ({
  custom: new Set(offered.filter(({ type }) => type === 'custom').map(({ name }) => name)),
  typed: new Set(offered.filter(({ name }) => name === undefined).map(({ type }) => type)),
});

const encodeNamedChoice = ({ custom, typed }: OfferedForms, name: string): hub.JsonObject =>
  typed.has(name) ? { type: name } : { type: custom.has(name) ? 'custom' : 'function', name };

function encodeHostedChoice(tool: hub.ServerTool, offered: readonly hub.JsonObject[]): hub.JsonObject {
  const type = hostedType(tool);
  if (offered.some((offer) => maybeString(offer.type)?.startsWith(type))) return { type };
  return rejectHostedChoice(tool);
}

export const echoTools = (tools: readonly hub.HubTool[]): hub.JsonObject[] =>
  groupByNamespace(tools, (tool) => {
    // In a response object no member is missing.
    if (tool.kind === 'function') return { description: null, ...encodeFunctionTool(tool) };
    if (tool.kind === 'custom') return encodeCustomTool(tool);
    return tool.raw;
  });

export function echoToolChoice({ toolChoice, allowedTools, tools }: hub.HubRequest): unknown {
  const named = toolsByName(tools);
  if (allowedTools) {
    const { mode, names, hosted = [] } = allowedTools;
    const listed = names.map((tool) => echoNamedChoice(named, { kind: 'named', ...tool }));
    return { type: 'allowed_tools', mode, tools: [...listed, ...hosted.map(encodeAllowedHosted)] };
  }
  if (toolChoice.kind === 'named') return echoNamedChoice(named, toolChoice);
  if (toolChoice.kind !== 'hosted') return toolChoice.kind;
  const raw = tools.find((tool) => tool.kind === 'server' && tool.tool === toolChoice.tool);
  const type = raw?.kind === 'server' && isObject(raw.raw) ? maybeString(raw.raw.type) : undefined;
  return { type: type ?? hostedType(toolChoice.tool) };
}

function echoNamedChoice(
  tools: ReadonlyMap<string, NamedTool>,
  { name, namespace }: hub.HubToolChoice & { kind: 'named' },
): hub.JsonObject {
  const found = tools.get(name);
  if (found?.kind === 'builtin') return { type: name };
  return compact({ type: found?.kind === 'custom' ? 'custom' : 'function', name, namespace });
}
