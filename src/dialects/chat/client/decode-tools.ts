/** Decoder of tools and tool choice, in both forms: `tools` and the legacy `functions`. */
import { SERVER_TOOLS, TOOL_FORMS } from '../../../rules/index.ts';
import type { HubRequest, HubTool, HubToolChoice, JsonObject, ServerToolOptions, ToolName } from '../../hub/types.ts';
import { toolsByName } from '../../tools/names.ts';
import { readFunction, readName } from '../../wire/openai-request.ts';
import * as wire from '../../wire/read.ts';
import { readCacheControl } from './decode-content.ts';

export function readToolSettings(body: JsonObject) {
  const functions = wire.optional(body, 'functions', wire.needList);
  const tools = [
    ...(wire.optional(body, 'tools', wire.needList) ?? []).map((tool, n) => readTool(tool, `tools[${n}]`)),
    ...(functions ?? []).map((one, n) => readFunction(wire.needObject(one, `functions[${n}]`), `functions[${n}]`)),
    ...(wire.isGiven(body.web_search_options) ? [readSearch(body.web_search_options, 'web_search_options')] : []),
  ];
  const choice = readChoice(body);
  checkChoice(choice, tools);
  return wire.compact({
    tools,
    toolChoice: choice.toolChoice,
    allowedTools: choice.allowedTools,
    // A reply in the legacy form holds one call.
    parallelTools: wire.optional(body, 'parallel_tool_calls', wire.readBoolean) ?? (functions ? false : undefined),
  });
}

function readTool(value: unknown, path: string): HubTool {
  const tool = wire.needObject(value, path);
  const cache = readCacheControl(tool, path);
  const hosted = HOSTED_TYPE.exec(wire.maybeString(tool.type) ?? '')?.[1];
  if (hosted !== undefined) return readHosted(tool, hosted, path);
  // Some clients omit the type of functions.
  const type = wire.optional(tool, 'type', wire.needString, path) ?? 'function';
  // Not official. Takes the form of the responses dialect.
  if (type !== 'function' && type !== 'custom') return readHosted(tool, type, path);
  const read = type === 'function' ? readFunction : readCustom;
  const body = wire.needObject(tool[type], `${path}.${type}`);
  return { ...read(body, `${path}.${type}`), ...(cache && { cache }) };
}

/** Not official: tools that an aggregator runs have its name before their own. */
const HOSTED_TYPE = /^[\w-]+:([\w-]+)$/;

const SEARCH_OPTIONS: ReadonlySet<string> = new Set([
  'max_uses',
  'allowed_domains',
  'excluded_domains',
  'user_location',
  'search_context_size',
]);

function readHosted(raw: JsonObject, name: string, path: string): HubTool {
  const known = SERVER_TOOLS.find((tool) => TOOL_FORMS[tool].name === name) ?? 'other';
  if (known !== 'web_search') return { kind: 'server', tool: known, options: {}, raw, at: path };
  const parameters = wire.optional(raw, 'parameters', wire.needObject, path) ?? {};
  const at = `${path}.parameters`;
  const options: ServerToolOptions = wire.compact({
    maxUses: wire.optional(parameters, 'max_uses', wire.readCount, at),
    allowedDomains: wire.optional(parameters, 'allowed_domains', wire.readStrings, at),
    blockedDomains: wire.optional(parameters, 'excluded_domains', wire.readStrings, at),
    userLocation: wire.optional(parameters, 'user_location', wire.needObject, at),
    contextSize: wire.optional(parameters, 'search_context_size', wire.needString, at),
    otherOptions: Object.keys(parameters).filter((option) => !SEARCH_OPTIONS.has(option)),
  });
  return { kind: 'server', tool: 'web_search', options, raw, at: path };
}

function readCustom(body: JsonObject, path: string): HubTool {
  const format = wire.optional(body, 'format', wire.needObject, path);
  const grammar = format?.type === 'grammar' ? wire.needObject(format.grammar, `${path}.format.grammar`) : undefined;
  return wire.compact({
    kind: 'custom' as const,
    name: readName(body, path),
    description: wire.optional(body, 'description', wire.needString, path),
    grammar: grammar && {
      syntax: wire.oneOf(['lark', 'regex'])(grammar.syntax, `${path}.format.grammar.syntax`),
      definition: wire.needString(grammar.definition, `${path}.format.grammar.definition`),
    },
  });
}

/** Flattens the location, which only this dialect nests in `approximate`. */
function readSearch(value: unknown, path: string): HubTool {
  const raw = wire.needObject(value, path);
  const location = wire.optional(raw, 'user_location', wire.needObject, path);
  const options: ServerToolOptions = wire.compact({
    userLocation: location && {
      type: 'approximate',
      ...(wire.isObject(location.approximate) ? location.approximate : location),
    },
    contextSize: wire.optional(raw, 'search_context_size', wire.needString, path),
  });
  return { kind: 'server', tool: 'web_search', options, raw, at: path };
}

type Choice = Pick<HubRequest, 'toolChoice'> & {
  readonly allowedTools?: HubRequest['allowedTools'];
  readonly path: string;
};

function readChoice(body: JsonObject): Choice {
  if (wire.isGiven(body.tool_choice)) return readToolChoice(body.tool_choice, 'tool_choice');
  const legacy = body.function_call;
  if (!wire.isGiven(legacy)) return { toolChoice: { kind: 'auto' }, path: 'tool_choice' };
  const path = 'function_call';
  if (wire.isObject(legacy))
    return { toolChoice: { kind: 'named', name: readName(legacy, path) }, path: `${path}.name` };
  return { toolChoice: { kind: wire.oneOf(['auto', 'none'])(legacy, path) }, path };
}

function readToolChoice(value: unknown, path: string): Choice {
  // Some servers name it as the messages dialect does.
  if (value === 'any') return { toolChoice: { kind: 'required' }, path };
  if (!wire.isObject(value))
    return { toolChoice: { kind: wire.oneOf(['auto', 'none', 'required'])(value, path) }, path };
  const types = ['function', 'custom', 'allowed_tools', 'image_generation'] as const;
  const type = wire.optional(value, 'type', wire.oneOf(types), path) ?? 'function';
  if (type === 'allowed_tools') return readAllowed(value[type], `${path}.${type}`);
  if (type === 'image_generation') return { toolChoice: { kind: 'hosted', tool: 'image_gen' }, path };
  const at = `${path}.${type}`;
  return { toolChoice: { kind: 'named', name: readName(wire.needObject(value[type], at), at) }, path: `${at}.name` };
}

function readAllowed(value: unknown, path: string): Choice {
  const allowed = wire.needObject(value, path);
  const mode = wire.oneOf(['auto', 'required'])(allowed.mode, `${path}.mode`);
  const names = wire.needList(allowed.tools, `${path}.tools`).map((one, n) => {
    const at = `${path}.tools[${n}]`;
    const tool = wire.needObject(one, at);
    const type = wire.oneOf(['function', 'custom'])(tool.type, `${at}.type`);
    return { name: readName(wire.needObject(tool[type], `${at}.${type}`), `${at}.${type}`) };
  });
  return { toolChoice: { kind: mode }, allowedTools: { mode, names }, path: `${path}.tools` };
}

/** Rejects an unsatisfiable choice before it costs an upstream call. */
function checkChoice({ toolChoice, allowedTools, path }: Choice, tools: readonly HubTool[]): void {
  const known = toolsByName(tools);
  for (const { name } of [...namesOf(toolChoice), ...(allowedTools?.names ?? [])])
    if (!known.has(name)) wire.wrongValue(path, `unknown tool '${name.slice(0, 80)}'; declare it in tools.`);
  if (toolChoice.kind === 'required' && tools.length === 0) wire.wrongValue(path, 'required needs at least one tool.');
}
const namesOf = (choice: HubToolChoice): readonly ToolName[] => (choice.kind === 'named' ? [choice] : []);
