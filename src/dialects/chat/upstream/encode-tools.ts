/** Encoder of tools and tool choice for a chat upstream. */
import type { UpstreamTarget } from '../../codec.ts';
import { type Choice, possibleChoice } from '../../encoding/possible-choice.ts';
import { rejectForcedChoice, rejectHostedChoice } from '../../errors/rejection.ts';
import { findHosted } from '../../hub/effective-request.ts';
import type { HubField, RequestSection } from '../../hub/fields.ts';
import type { HubRequest, HubServerTool, HubTool, JsonObject } from '../../hub/types.ts';
import { allowedTools } from '../../tools/allowed.ts';
import { functionForm } from '../../tools/function-form.ts';
import { type ToolNames, toolsByName } from '../../tools/names.ts';
import { checkSearchOptions, type SearchOptions } from '../../tools/search.ts';
import { compact, isObject } from '../../wire/read.ts';

type Custom = Extract<HubTool, { kind: 'custom' }>;

/** As members of the request. */
export function encodeTools(
  request: HubRequest,
  target: UpstreamTarget,
  names: ToolNames,
  dropped: (HubField | RequestSection)[],
) {
  const { tools: all, ...choice } = possibleChoice(request, target, dropped);
  const tools = all.flatMap((tool) => encodeTool(tool, target, names) ?? []);
  // Search is the only hosted tool of this dialect.
  const search = findHosted(allowedTools(request), 'web_search');
  if (search && tools.length === 0 && request.toolChoice.kind === 'required') rejectForcedChoice('web_search');
  const droppedSearchOptions = search ? checkSearchOptions(search, SEARCH_OPTIONS) : [];
  const members = compact({
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: encodeChoice(choice, all, { target, names, hasTools: tools.length > 0 }),
    parallel_tool_calls: tools.length > 0 ? request.parallelTools : undefined,
    web_search_options: search && searchOptions(search),
  });
  return { members, droppedSearchOptions };
}

function encodeTool(tool: HubTool, { capabilities }: UpstreamTarget, names: ToolNames): JsonObject | undefined {
  if (tool.kind === 'server') return undefined;
  const name = names.toWire(tool);
  if (tool.kind === 'custom' && capabilities.customTools) return encodeCustom(tool, name);
  const { description, schema: parameters } = functionForm(tool);
  const strict = tool.kind === 'function' && !capabilities.refusedFields.includes('strict') ? tool.strict : undefined;
  return { type: 'function', function: compact({ name, description, parameters, strict }) };
}

function encodeCustom({ description, grammar }: Custom, name: string): JsonObject {
  const format = grammar && { type: 'grammar', grammar: { definition: grammar.definition, syntax: grammar.syntax } };
  return { type: 'custom', custom: compact({ name, description, format }) };
}

const SEARCH_OPTIONS: SearchOptions = new Set(['userLocation', 'contextSize']);

/** Nests the location in `approximate`, as only this dialect does. */
function searchOptions({ options }: HubServerTool): JsonObject {
  const { type: _, ...location } = options.userLocation ?? {};
  return compact({
    search_context_size: options.contextSize,
    user_location: isObject(options.userLocation) ? { type: 'approximate', approximate: location } : undefined,
  });
}

function encodeChoice(
  { toolChoice, allowedTools: allowed }: Choice,
  tools: readonly HubTool[],
  context: { readonly target: UpstreamTarget; readonly names: ToolNames; readonly hasTools: boolean },
): unknown {
  // Search is a property of the request here, so it cannot be chosen.
  if (toolChoice.kind === 'hosted') return rejectHostedChoice(toolChoice.tool);
  if (!context.hasTools) return undefined;
  const named = toolsByName(tools);
  const choiceOf = (name: string, namespace?: string) => {
    const tool =
      namespace === undefined
        ? named.get(name)
        : tools.find((one) => 'namespace' in one && one.name === name && one.namespace === namespace);
    const form = tool?.kind === 'custom' && context.target.capabilities.customTools ? 'custom' : 'function';
    const wire = context.names.toWire(tool && 'name' in tool ? tool : compact({ name, namespace }));
    return { type: form, [form]: { name: wire } };
  };
  if (toolChoice.kind === 'named') return choiceOf(toolChoice.name, toolChoice.namespace);
  if (allowed)
    return {
      type: 'allowed_tools',
      allowed_tools: {
        mode: allowed.mode,
        tools: allowed.names.map(({ name, namespace }) => choiceOf(name, namespace)),
      },
    };
  return toolChoice.kind === 'auto' ? undefined : toolChoice.kind;
}
