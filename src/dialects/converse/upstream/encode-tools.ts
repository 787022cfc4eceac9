/** Encoder of tools and tool choice. Converse has functions only, and no way to forbid calls of tools that it must list. */
import { asObjectSchema, isEnforceable } from '../../claude/constrain-schema.ts';
import { type Block, cacheControl } from '../../claude/encode-content.ts';
import type { UpstreamTarget } from '../../codec.ts';
import { possibleChoice } from '../../encoding/possible-choice.ts';
import { rejectBuiltin } from '../../errors/rejection.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubField, RequestSection } from '../../hub/fields.ts';
import type { HubRequest, HubTool, JsonObject, ToolName } from '../../hub/types.ts';
import { builtinFunction } from '../../tools/builtins.ts';
import { FREE_TEXT_SCHEMA, freeTextDescription } from '../../tools/free-text.ts';
import type { ToolNames } from '../../tools/names.ts';
import { compact } from '../../wire/read.ts';

export interface EncodedTools {
  /** With their cache breakpoints. */
  readonly tools: Block[];
  readonly choice: JsonObject | undefined;
}

export function encodeTools(
  request: HubRequest,
  target: UpstreamTarget,
  names: ToolNames,
  dropped: Set<HubField | RequestSection>,
): EncodedTools {
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

/** As for Anthropic's own API. */
const MAX_STRICT = 20;

function encodeTool(tool: HubTool, state: EncodeState): Block[] {
  switch (tool.kind) {
    case 'function': {
      const schema = asObjectSchema(tool.schema);
      const isStrict = tool.strict === true && canBeStrict(schema, state);
      if (isStrict) state.strictCount += 1;
      else if (tool.strict === true) state.dropped.add('strictTools');
      return [specOf(tool, { description: tool.description, schema, strict: isStrict || undefined }, state)];
    }
    case 'custom':
      return [specOf(tool, { description: freeTextDescription(tool), schema: FREE_TEXT_SCHEMA }, state)];
    case 'builtin': {
      const known = builtinFunction(tool.builtin) ?? rejectBuiltin(tool.builtin);
      return [specOf(tool, known, state)];
    }
    case 'server':
      return [];
  }
}

const canBeStrict = (schema: JsonObject, { target, strictCount }: EncodeState): boolean =>
  target.capabilities.schemaFormat === 'json_schema' && strictCount < MAX_STRICT && isEnforceable(schema);

interface Spec {
  readonly description?: string | undefined;
  readonly schema: JsonObject;
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
