/** Tools and tool choice on the way out: to an upstream of this dialect, and echoed to a client of it. */

import type { UpstreamTarget } from '../codec.ts';
import { rejectBuiltin, rejectHostedChoice } from '../errors/rejection.ts';
import type { HubRequest, HubTool, HubToolChoice, JsonObject, ServerTool } from '../hub/types.ts';
import { builtinFunction } from '../tools/builtins.ts';
import { FREE_TEXT_SCHEMA, freeTextDescription } from '../tools/free-text.ts';
import { remoteServer } from '../tools/mcp.ts';
import type { Names, ToolName } from '../tools/names.ts';
import { compact, isObject, maybeString } from '../wire/read.ts';

export interface ToolJob {
  readonly request: HubRequest;
  readonly target: UpstreamTarget;
  readonly names: Names;
}

/** Namespaced tools keep their namespace here, so only plain names go through the map. */
export const wireName = (names: Names, tool: ToolName): string =>
  tool.namespace === undefined ? names.toWire({ name: tool.name }) : tool.name;

export const encodeTools = (tools: readonly HubTool[], job: ToolJob): JsonObject[] =>
  grouped(tools, (tool) => encodeTool(tool, job));

/** Some hosted tool of these has no counterpart here. */
export const leavesOut = (tools: readonly HubTool[], job: ToolJob): boolean =>
  tools.some((tool) => tool.kind === 'server' && serverTool(tool, job) === undefined);

/** Neighbours of one namespace share its wrapper; the order of tools is kept. */
function grouped(tools: readonly HubTool[], encode: (tool: HubTool) => JsonObject | undefined): JsonObject[] {
  const result: JsonObject[] = [];
  let open: { name: string; tools: JsonObject[] } | undefined;
  for (const tool of tools) {
    const body = encode(tool);
    const namespace = 'namespace' in tool ? tool.namespace : undefined;
    if (!body) continue;
    if (namespace === undefined) {
      open = undefined;
      result.push(body);
    } else if (open?.name === namespace) {
      open.tools.push(body);
    } else {
      open = { name: namespace, tools: [body] };
      result.push({ type: 'namespace', ...open });
    }
  }
  return result;
}

function encodeTool(tool: HubTool, job: ToolJob): JsonObject | undefined {
  switch (tool.kind) {
    case 'function':
      return functionTool({ ...tool, name: wireName(job.names, tool) }, job);
    case 'custom':
      return job.target.capabilities.customTools
        ? customTool({ ...tool, name: wireName(job.names, tool) })
        : freeTextFunction(tool, wireName(job.names, tool));
    case 'builtin':
      return builtinTool(tool, job);
    case 'server':
      return serverTool(tool, job);
  }
}

type Of<K extends HubTool['kind']> = HubTool & { kind: K };

/** Left to itself the API turns strict where the schema allows it, and then changes what the schema means: always said. */
function functionTool(tool: Of<'function'>, job?: ToolJob): JsonObject {
  const { name, description, schema, strict = false } = tool;
  const deferred = tool.defer === true && (!job || searchesTools(job.request));
  const defer_loading = deferred ? true : undefined;
  return compact({ type: 'function', name, description, parameters: schema, strict, defer_loading });
}

function customTool(tool: Of<'custom'>): JsonObject {
  const { name, description, grammar } = tool;
  const format = grammar ? { type: 'grammar', ...grammar } : { type: 'text' };
  return compact({ type: 'custom', name, description, format });
}

const freeTextFunction = (tool: Of<'custom'>, name: string): JsonObject =>
  compact({
    type: 'function',
    name,
    description: freeTextDescription(tool),
    parameters: FREE_TEXT_SCHEMA,
    strict: false,
  });

/** This dialect's own typed tools go as they are; another provider's become functions with their public schema. */
function builtinTool(tool: Of<'builtin'>, job: ToolJob): JsonObject {
  if (job.request.dialect === 'responses') return tool.raw;
  const { description, schema } = builtinFunction(tool.builtin) ?? rejectBuiltin(tool.builtin);
  return { type: 'function', name: wireName(job.names, tool), description, parameters: schema, strict: false };
}

// ---------------------------------------------------------------- hosted tools

function serverTool(tool: Of<'server'>, job: ToolJob): JsonObject | undefined {
  if (job.request.dialect === 'responses') return tool.raw;
  return HOSTED[tool.tool]?.(tool, job);
}

/** What a foreign hosted tool becomes; undefined where there is no counterpart and the tool is left out. */
const HOSTED: Readonly<Record<ServerTool, ((tool: Of<'server'>, job: ToolJob) => JsonObject | undefined) | undefined>> =
  {
    web_search: ({ options }) =>
      compact({
        type: 'web_search',
        filters: options.allowedDomains && { allowed_domains: options.allowedDomains },
        user_location: options.userLocation,
      }),
    // Opening a page is part of web search here.
    web_fetch: undefined,
    code_exec: () => ({ type: 'code_interpreter', container: { type: 'auto' } }),
    file_search: undefined,
    image_gen: undefined,
    mcp: ({ raw }) => mcpTool(raw),
    tool_search: (_, { request }) => (request.tools.some((tool) => tool.defer) ? { type: 'tool_search' } : undefined),
    computer: ({ raw }) => rejectBuiltin(maybeString(raw.type) ?? 'computer'),
    maps: undefined,
    other: undefined,
  };

function mcpTool(raw: JsonObject): JsonObject {
  const { label, url, token, allowed } = remoteServer(raw);
  return compact({
    type: 'mcp',
    server_label: label,
    server_url: url,
    authorization: token,
    allowed_tools: allowed,
    require_approval: 'never',
  });
}

const searchesTools = (request: HubRequest): boolean =>
  request.tools.some((tool) => tool.kind === 'server' && tool.tool === 'tool_search');

// ---------------------------------------------------------------- choice

const HOSTED_CHOICE: Partial<Record<ServerTool, string>> = {
  web_search: 'web_search',
  code_exec: 'code_interpreter',
  file_search: 'file_search',
  image_gen: 'image_generation',
  mcp: 'mcp',
  computer: 'computer',
};

/** `offered` are the encoded tools: a choice without tools is refused upstream, one of a tool that was left out would hang. */
export function encodeToolChoice(offered: readonly JsonObject[], job: ToolJob): unknown {
  const { request, names } = job;
  if (offered.length === 0 && request.toolChoice.kind !== 'hosted') return undefined;
  if (request.allowedTools) {
    const { mode, names: allowed } = request.allowedTools;
    const tools = allowed.map((name) => choiceOf(offered, wireName(names, { name })));
    return { type: 'allowed_tools', mode, tools };
  }
  const choice = request.toolChoice;
  if (choice.kind === 'hosted') return hostedChoice(choice.tool, offered);
  if (choice.kind !== 'named') return choice.kind;
  return compact({ ...choiceOf(offered, wireName(names, choice)), namespace: choice.namespace });
}

function choiceOf(offered: readonly JsonObject[], name: string): JsonObject {
  const custom = offered.some((tool) => tool.type === 'custom' && tool.name === name);
  const typed = offered.some((tool) => tool.type === name && tool.name === undefined);
  return typed ? { type: name } : { type: custom ? 'custom' : 'function', name };
}

function hostedChoice(tool: ServerTool, offered: readonly JsonObject[]): JsonObject {
  const type = HOSTED_CHOICE[tool];
  if (type !== undefined && offered.some((one) => maybeString(one.type)?.startsWith(type))) return { type };
  return rejectHostedChoice(tool);
}

// ---------------------------------------------------------------- echo

export const echoTools = (tools: readonly HubTool[]): JsonObject[] =>
  grouped(tools, (tool) => {
    if (tool.kind === 'function') return functionTool(tool);
    if (tool.kind === 'custom') return customTool(tool);
    return tool.raw;
  });

export function echoToolChoice({ toolChoice, allowedTools, tools }: HubRequest): unknown {
  if (allowedTools) {
    const { mode, names } = allowedTools;
    return { type: 'allowed_tools', mode, tools: names.map((name) => echoNamed(tools, { kind: 'named', name })) };
  }
  if (toolChoice.kind === 'named') return echoNamed(tools, toolChoice);
  if (toolChoice.kind !== 'hosted') return toolChoice.kind;
  const raw = tools.find((tool) => tool.kind === 'server' && tool.tool === toolChoice.tool);
  const type = raw?.kind === 'server' && isObject(raw.raw) ? maybeString(raw.raw.type) : undefined;
  return { type: type ?? HOSTED_CHOICE[toolChoice.tool] ?? toolChoice.tool };
}

function echoNamed(tools: readonly HubTool[], { name, namespace }: HubToolChoice & { kind: 'named' }): JsonObject {
  const found = tools.find((tool) => tool.kind !== 'server' && tool.name === name);
  if (found?.kind === 'builtin') return { type: name };
  return compact({ type: found?.kind === 'custom' ? 'custom' : 'function', name, namespace });
}
