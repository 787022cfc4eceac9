/**
 * Encoder of tools and tool choice. Functions of every kind become
 * declarations; hosted tools become the provider's own.
 */
import { TOOL_FORMS } from '../../../rules/index.ts';
import type { UpstreamTarget } from '../../codec.ts';
import { rejectForcedChoice, rejectMachine } from '../../errors/rejection.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubRequest, HubTool, HubToolChoice, JsonObject, ServerTool } from '../../hub/types.ts';
import { allowedTools } from '../../tools/allowed.ts';
import { desktopTool } from '../../tools/desktop.ts';
import { functionForm } from '../../tools/function-form.ts';
import type { ToolNames } from '../../tools/names.ts';
import { checkSearchOptions, type SearchOptions } from '../../tools/search.ts';
import { compact } from '../../wire/read.ts';
import { toGoogleParameters } from './to-google-schema.ts';

export function encodeTools(request: HubRequest, names: ToolNames, target: UpstreamTarget) {
  const tools = offeredTools(request);
  const declarations = new Map<string, JsonObject>();
  for (const tool of tools) {
    const declared = declare(tool, names, target);
    if (declared) declarations.set(String(declared.name), declared);
  }
  const hasFunctions = declarations.size > 0;
  const allowed = allowedTools(request);
  const hosted = hostedTools(allowed, request);
  const hasAllowedFunctions = allowed.some((tool) => tool.kind !== 'server');
  if (!hasAllowedFunctions || request.toolChoice.kind === 'hosted') rejectForcedHosted(request.toolChoice, hosted);
  const list = [...(hasFunctions ? [{ functionDeclarations: [...declarations.values()] }] : []), ...hosted.values()];
  const toolConfig = compact({
    functionCallingConfig: hasFunctions ? callingConfig(request, tools, names) : undefined,
    // The provider requires this flag for functions next to tools that
    // it runs; the computer's calls are for the client.
    includeServerSideToolInvocations:
      hasFunctions && [...hosted.keys()].some((tool) => tool !== 'computer') ? true : undefined,
  });
  return {
    // Older models reject a response schema next to functions.
    hasFunctions,
    droppedSearchOptions: request.dialect === 'generate' ? [] : droppedOptions(allowed, hosted),
    ...(list.length > 0 && { tools: list }),
    ...(Object.keys(toolConfig).length > 0 && { toolConfig }),
  };
}

function declare(tool: HubTool, names: ToolNames, { capabilities }: UpstreamTarget): JsonObject | undefined {
  if (tool.kind === 'server') return undefined;
  const { description, schema } = functionForm(tool);
  const form = capabilities.jsonSchemaTools
    ? { parametersJsonSchema: Object.keys(schema).length > 0 ? schema : undefined }
    : { parameters: toGoogleParameters(schema) };
  return compact({ name: names.toWire(tool), description, ...form });
}

/** Images are a modality of the reply; see encode-images.ts. */
function hostedTools(tools: readonly HubTool[], request: HubRequest): ReadonlyMap<ServerTool, JsonObject> {
  const hosted = new Map<ServerTool, JsonObject>();
  for (const tool of tools) {
    if (tool.kind !== 'server') continue;
    const member = tool.tool === 'image_gen' ? undefined : TOOL_FORMS[tool.tool].forms.generate;
    if (request.dialect === 'generate') hosted.set(tool.tool, tool.raw);
    else if (member !== undefined) {
      if (tool.options.machine) rejectMachine();
      hosted.set(tool.tool, { [member]: tool.tool === 'computer' ? desktopTool(request) : {} });
    }
  }
  return hosted;
}

/** The provider's tools have none of the options. */
const droppedOptions = (tools: readonly HubTool[], hosted: ReadonlyMap<ServerTool, JsonObject>): readonly string[] =>
  tools.flatMap((tool) =>
    tool.kind === 'server' && hosted.has(tool.tool) ? checkSearchOptions(tool, NO_OPTIONS) : [],
  );
const NO_OPTIONS: SearchOptions = new Set();

/** The provider can offer a hosted tool, but not force it. */
function rejectForcedHosted(choice: HubToolChoice, hosted: ReadonlyMap<ServerTool, JsonObject>): void {
  if (choice.kind === 'hosted' && choice.tool !== 'image_gen') rejectForcedChoice(choice.tool);
  const [only] = hosted.keys();
  if (choice.kind === 'required' && only !== undefined) rejectForcedChoice(only);
}

function callingConfig(request: HubRequest, tools: readonly HubTool[], names: ToolNames): JsonObject | undefined {
  const choice = request.toolChoice;
  if (choice.kind === 'none') return { mode: 'NONE' };
  if (choice.kind === 'named') return { mode: 'ANY', allowedFunctionNames: [names.toWire(choice)] };
  if (request.allowedTools) {
    const { mode, names: allowed } = request.allowedTools;
    if (allowed.length === 0) return { mode: 'NONE' };
    const forced = mode === 'required' || choice.kind === 'required';
    const allowedFunctionNames = allowed.map((tool) => names.toWire(tool));
    // AUTO rejects a list of names; VALIDATED lets the model choose among them.
    return { mode: forced ? 'ANY' : 'VALIDATED', allowedFunctionNames };
  }
  if (choice.kind === 'required') return { mode: 'ANY' };
  const strict = tools.some((tool) => tool.kind === 'function' && tool.strict === true);
  return strict ? { mode: 'VALIDATED' } : undefined;
}
