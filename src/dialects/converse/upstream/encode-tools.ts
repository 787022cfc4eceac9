/**
 * Encoder of tools and tool choice. Converse has functions only, and
 * no way to forbid calls of tools that it must list.
 */
import { asObjectSchema, canBeStrict } from '../../claude/constrain-schema.ts';
import { type Block, cacheControl } from '../../claude/encode-content.ts';
import type { UpstreamTarget } from '../../codec.ts';
import { possibleChoice } from '../../encoding/possible-choice.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubField, RequestSection } from '../../hub/fields.ts';
import type { HubRequest, HubTool, JsonObject, ToolName } from '../../hub/types.ts';
import { type FunctionForm, functionForm } from '../../tools/function-form.ts';
import type { ToolNames } from '../../tools/names.ts';
import { compact } from '../../wire/read.ts';

/** The tools have their cache breakpoints. */
export function encodeTools(
  request: HubRequest,
  target: UpstreamTarget,
  names: ToolNames,
  dropped: Set<HubField | RequestSection>,
) {
  const lost: (HubField | RequestSection)[] = [];
  const { tools: offered, toolChoice } = possibleChoice(request, target, lost);
  for (const field of lost) dropped.add(field);
  const state: EncodeState = { target, names, dropped, strictCount: 0 };
  const tools = offered.flatMap((tool) => encodeTool(tool, state));
  if (tools.length > 0) return { tools, choice: encodeChoice(toolChoice, names) };
  const needed = calledTools(request, state);
  if (needed.length > 0 && request.toolChoice.kind === 'none') dropped.add('toolChoice');
  return { tools: needed, choice: undefined };
}

interface EncodeState {
  readonly target: UpstreamTarget;
  readonly names: ToolNames;
  readonly dropped: Set<HubField | RequestSection>;
  strictCount: number;
}

function encodeTool(tool: HubTool, state: EncodeState): Block[] {
  if (tool.kind === 'server') return [];
  const form = functionForm(tool);
  const schema = asObjectSchema(form.schema);
  const asksStrict = tool.kind === 'function' && tool.strict === true;
  const isStrict =
    asksStrict && state.target.capabilities.schemaFormat === 'json_schema' && canBeStrict(schema, state.strictCount);
  if (isStrict) state.strictCount += 1;
  else if (asksStrict) state.dropped.add('strictTools');
  return [specOf(tool, { description: form.description, schema, strict: isStrict || undefined }, state)];
}

interface Spec extends FunctionForm {
  readonly strict?: true | undefined;
}

/** The API rejects an empty description. */
const specOf = (
  tool: ToolName & Pick<HubTool, 'cache'>,
  { description, schema, strict }: Spec,
  { names }: EncodeState,
): Block => ({
  toolSpec: compact({
    name: names.toWire(tool),
    description: description || undefined,
    inputSchema: { json: schema },
    strict,
  }),
  ...cacheControl(tool.cache),
});

/** The API demands the tools of all calls in the history, also where the request offers none. */
function calledTools(request: HubRequest, state: EncodeState): Block[] {
  const calls = new Map(
    request.items.flatMap((item) => (item.kind === 'tool_call' ? [[state.names.toWire(item), item] as const] : [])),
  );
  if (calls.size === 0) return [];
  const known = offeredTools(request).filter(
    (tool) => tool.kind !== 'server' && calls.delete(state.names.toWire(tool)),
  );
  const unknown = [...calls.values()].map(({ name, namespace }) =>
    specOf(compact({ name, namespace }), { schema: { type: 'object' } }, state),
  );
  return [...known.flatMap((tool) => encodeTool(tool, state)), ...unknown];
}

function encodeChoice(choice: HubRequest['toolChoice'], names: ToolNames): JsonObject | undefined {
  if (choice.kind === 'named') return { tool: { name: names.toWire(choice) } };
  return choice.kind === 'required' ? { any: {} } : undefined;
}
