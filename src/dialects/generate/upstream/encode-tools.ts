/**
 * Tools and tool choice for the provider. Functions of every kind become declarations; hosted tools become the provider's
 * own where it has them. What has no counterpart is left out, unless the caller insists on it.
 */

import type { UpstreamTarget } from '../../codec.ts';
import { rejectBuiltin, rejectHostedChoice, rejectMachine } from '../../errors/rejection.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubRequest, HubTool, HubToolChoice, JsonObject, ServerTool } from '../../hub/types.ts';
import { builtinFunction } from '../../tools/builtins.ts';
import { FREE_TEXT_SCHEMA, freeTextDescription } from '../../tools/free-text.ts';
import type { Names } from '../../tools/names.ts';
import { compact, isObject } from '../../wire/read.ts';
import { toGoogleParameters } from './to-google-schema.ts';

export interface EncodedTools {
  readonly tools?: readonly JsonObject[];
  readonly toolConfig?: JsonObject;
  /** Some function is declared: older models then take no response schema. */
  readonly functions: boolean;
  /** A hosted tool has no counterpart, or no room beside the functions. */
  readonly leftOut: boolean;
}

export function encodeTools(request: HubRequest, names: Names, target: UpstreamTarget): EncodedTools {
  const tools = offeredTools(request);
  const declarations = new Map<string, JsonObject>();
  for (const tool of tools) {
    const declared = declare(tool, names, target);
    if (declared) declarations.set(String(declared.name), declared);
  }
  const functions = declarations.size > 0;
  const hosted = hostedTools(tools, request, functions, target);
  refuseUnmetChoice(request.toolChoice, hosted);
  const list = [...(functions ? [{ functionDeclarations: [...declarations.values()] }] : []), ...hosted.values()];
  const toolConfig = compact({
    functionCallingConfig: functions ? callingConfig(request, tools, names) : undefined,
    // Functions beside hosted tools are only accepted together with this.
    includeServerSideToolInvocations: functions && hosted.size > 0 ? true : undefined,
  });
  return {
    functions,
    leftOut: tools.some((tool) => tool.kind === 'server' && !hosted.has(tool.tool)),
    ...(list.length > 0 && { tools: list }),
    ...(Object.keys(toolConfig).length > 0 && { toolConfig }),
  };
}

// ---------------------------------------------------------------- functions

function declare(tool: HubTool, names: Names, target: UpstreamTarget): JsonObject | undefined {
  if (tool.kind === 'server') return undefined;
  const name = names.toWire(tool.kind === 'builtin' ? { name: tool.name } : tool);
  if (tool.kind === 'function') return declaration(name, tool.description, tool.schema, target);
  if (tool.kind === 'custom') return declaration(name, freeTextDescription(tool), FREE_TEXT_SCHEMA, target);
  const { description, schema } = builtinFunction(tool.builtin) ?? rejectBuiltin(tool.builtin);
  return declaration(name, description, schema, target);
}

function declaration(
  name: string,
  description: string | undefined,
  schema: JsonObject,
  target: UpstreamTarget,
): JsonObject {
  const whole = Object.keys(schema).length > 0 ? schema : undefined;
  const form = target.capabilities.jsonSchemaTools
    ? { parametersJsonSchema: whole }
    : { parameters: toGoogleParameters(schema) };
  return compact({ name, description, ...form });
}

// ---------------------------------------------------------------- hosted tools

/** The provider's word for a hosted tool; `drop` leaves it out, `refuse` is for those that silence would surprise. */
const HOSTED: Readonly<Record<ServerTool, string | { readonly otherwise: 'drop' | 'refuse' }>> = {
  web_search: 'googleSearch',
  web_fetch: 'urlContext',
  code_exec: 'codeExecution',
  // They carry credentials, or act on a screen: the caller must know that they will not run.
  mcp: { otherwise: 'refuse' },
  computer: { otherwise: 'refuse' },
  // All tools are sent at once, so there is nothing to search for.
  tool_search: { otherwise: 'drop' },
  file_search: { otherwise: 'drop' },
  image_gen: { otherwise: 'drop' },
  maps: { otherwise: 'drop' },
  other: { otherwise: 'drop' },
};

function hostedTools(
  tools: readonly HubTool[],
  request: HubRequest,
  functions: boolean,
  target: UpstreamTarget,
): ReadonlyMap<ServerTool, JsonObject> {
  const hosted = new Map<ServerTool, JsonObject>();
  // Older models take functions or hosted tools, not both; the client cannot do without its functions.
  const room = !functions || target.capabilities.functionsWithSearch;
  for (const tool of tools) {
    if (tool.kind !== 'server') continue;
    const word = HOSTED[tool.tool];
    if (request.dialect === 'generate' && isObject(tool.raw)) {
      if (room) hosted.set(tool.tool, tool.raw);
    } else if (typeof word === 'string') {
      if (tool.options.machine) rejectMachine();
      if (room) hosted.set(tool.tool, { [word]: {} });
    } else if (word.otherwise === 'refuse') {
      rejectBuiltin(tool.tool);
    }
  }
  return hosted;
}

function refuseUnmetChoice(choice: HubToolChoice, hosted: ReadonlyMap<ServerTool, JsonObject>): void {
  if (choice.kind === 'hosted' && !hosted.has(choice.tool)) {
    rejectHostedChoice(choice.tool);
  }
}

// ---------------------------------------------------------------- choice

function callingConfig(request: HubRequest, tools: readonly HubTool[], names: Names): JsonObject | undefined {
  const choice = request.toolChoice;
  if (choice.kind === 'none') return { mode: 'NONE' };
  if (choice.kind === 'named') return { mode: 'ANY', allowedFunctionNames: [names.toWire(choice)] };
  if (request.allowedTools) {
    const { mode, names: allowed } = request.allowedTools;
    const forced = mode === 'required' || choice.kind === 'required';
    const allowedFunctionNames = allowed.map((name) => names.toWire(toolNamed(name, tools)));
    // AUTO takes no list of names; VALIDATED is the free choice among them.
    return { mode: forced ? 'ANY' : 'VALIDATED', allowedFunctionNames };
  }
  if (choice.kind === 'required') return { mode: 'ANY' };
  // A hosted tool cannot be forced, only offered.
  const strict = tools.some((tool) => tool.kind === 'function' && tool.strict === true);
  return strict ? { mode: 'VALIDATED' } : undefined;
}

function toolNamed(name: string, tools: readonly HubTool[]): { name: string; namespace?: string } {
  const found = tools.find((tool) => tool.kind !== 'server' && tool.name === name);
  return found && 'namespace' in found && found.namespace !== undefined
    ? { name, namespace: found.namespace }
    : { name };
}
