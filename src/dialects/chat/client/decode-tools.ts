/** Decoder of tools and tool choice, in both forms: `tools` and the legacy `functions`. */
import type { HubRequest, HubTool, HubToolChoice, JsonObject, ServerToolOptions, ToolName } from '../../hub/types.ts';
import { toolsByName } from '../../tools/by-name.ts';
import {
  compact,
  isGiven,
  isObject,
  maybeString,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  readBoolean,
  readCount,
  readStrings,
  wrongValue,
} from '../../wire/read.ts';
import { readCacheControl } from './decode-content.ts';

export type ToolSettings = Pick<HubRequest, 'tools' | 'toolChoice'> &
  Partial<Pick<HubRequest, 'allowedTools' | 'parallelTools'>>;

export function readToolSettings(body: JsonObject): ToolSettings {
  const functions = optional(body, 'functions', needList);
  const tools = [
    ...(optional(body, 'tools', needList) ?? []).map((tool, n) => readTool(tool, `tools[${n}]`)),
    ...(functions ?? []).map((one, n) => readFunction(one, `functions[${n}]`)),
    ...(isGiven(body.web_search_options) ? [readSearch(body.web_search_options, 'web_search_options')] : []),
  ];
  const choice = readChoice(body);
  checkChoice(choice, tools);
  return compact({
    tools,
    toolChoice: choice.toolChoice,
    allowedTools: choice.allowedTools,
    // A reply in the legacy form holds one call.
    parallelTools: optional(body, 'parallel_tool_calls', readBoolean) ?? (functions ? false : undefined),
  });
}

function readTool(value: unknown, path: string): HubTool {
  const tool = needObject(value, path);
  const cache = readCacheControl(tool, path);
  const hosted = HOSTED_TYPE.exec(maybeString(tool.type) ?? '')?.[1];
  if (hosted !== undefined) return readHosted(tool, hosted, path);
  // Some clients omit the type of functions.
  const type = optional(tool, 'type', oneOf(['function', 'custom', 'image_generation']), path) ?? 'function';
  // Not official. Takes the form of the responses dialect.
  if (type === 'image_generation') return { kind: 'server', tool: 'image_gen', options: {}, raw: tool, at: path };
  const read = type === 'function' ? readFunction : readCustom;
  return { ...read(tool[type], `${path}.${type}`), ...(cache && { cache }) };
}

/** Not official: tools that an aggregator runs have its name before their own. */
export const HOSTED_TYPE = /^[\w-]+:([\w-]+)$/;

const SEARCH_OPTIONS: ReadonlySet<string> = new Set([
  ...['max_uses', 'allowed_domains', 'excluded_domains', 'user_location', 'search_context_size'],
]);

function readHosted(raw: JsonObject, name: string, path: string): HubTool {
  if (name !== 'web_search') return { kind: 'server', tool: 'other', options: {}, raw, at: path };
  const parameters = optional(raw, 'parameters', needObject, path) ?? {};
  const at = `${path}.parameters`;
  const options: ServerToolOptions = compact({
    maxUses: optional(parameters, 'max_uses', readCount, at),
    allowedDomains: optional(parameters, 'allowed_domains', readStrings, at),
    blockedDomains: optional(parameters, 'excluded_domains', readStrings, at),
    userLocation: optional(parameters, 'user_location', needObject, at),
    contextSize: optional(parameters, 'search_context_size', needString, at),
    otherOptions: Object.keys(parameters).filter((option) => !SEARCH_OPTIONS.has(option)),
  });
  return { kind: 'server', tool: 'web_search', options, raw, at: path };
}

const NO_PARAMETERS = { type: 'object', properties: {} } as const;

function readFunction(value: unknown, path: string): HubTool {
  const body = needObject(value, path);
  return compact({
    kind: 'function' as const,
    name: readName(body, path),
    description: optional(body, 'description', needString, path),
    schema: optional(body, 'parameters', needObject, path) ?? NO_PARAMETERS,
    strict: optional(body, 'strict', readBoolean, path),
  });
}

function readCustom(value: unknown, path: string): HubTool {
  const body = needObject(value, path);
  const format = optional(body, 'format', needObject, path);
  const grammar = format?.type === 'grammar' ? needObject(format.grammar, `${path}.format.grammar`) : undefined;
  return compact({
    kind: 'custom' as const,
    name: readName(body, path),
    description: optional(body, 'description', needString, path),
    grammar: grammar && {
      syntax: oneOf(['lark', 'regex'])(grammar.syntax, `${path}.format.grammar.syntax`),
      definition: needString(grammar.definition, `${path}.format.grammar.definition`),
    },
  });
}

function readName(body: JsonObject, path: string): string {
  return needString(body.name, `${path}.name`) || wrongValue(`${path}.name`, 'must not be empty.');
}

/** Flattens the location, which only this dialect nests in `approximate`. */
function readSearch(value: unknown, path: string): HubTool {
  const raw = needObject(value, path);
  const location = optional(raw, 'user_location', needObject, path);
  const options: ServerToolOptions = compact({
    userLocation: location && {
      type: 'approximate',
      ...(isObject(location.approximate) ? location.approximate : location),
    },
    contextSize: optional(raw, 'search_context_size', needString, path),
  });
  return { kind: 'server', tool: 'web_search', options, raw, at: path };
}

// ---------------------------------------------------------------- choice

type Choice = Pick<HubRequest, 'toolChoice'> & {
  readonly allowedTools?: HubRequest['allowedTools'];
  readonly path: string;
};

function readChoice(body: JsonObject): Choice {
  if (isGiven(body.tool_choice)) return readToolChoice(body.tool_choice, 'tool_choice');
  const legacy = body.function_call;
  if (!isGiven(legacy)) return { toolChoice: { kind: 'auto' }, path: 'tool_choice' };
  const path = 'function_call';
  if (isObject(legacy)) return { toolChoice: { kind: 'named', name: readName(legacy, path) }, path: `${path}.name` };
  return { toolChoice: { kind: oneOf(['auto', 'none'])(legacy, path) }, path };
}

function readToolChoice(value: unknown, path: string): Choice {
  // Some servers name it as the messages dialect does.
  if (value === 'any') return { toolChoice: { kind: 'required' }, path };
  if (!isObject(value)) return { toolChoice: { kind: oneOf(['auto', 'none', 'required'])(value, path) }, path };
  const types = ['function', 'custom', 'allowed_tools', 'image_generation'] as const;
  const type = optional(value, 'type', oneOf(types), path) ?? 'function';
  if (type === 'allowed_tools') return readAllowed(value[type], `${path}.${type}`);
  if (type === 'image_generation') return { toolChoice: { kind: 'hosted', tool: 'image_gen' }, path };
  const at = `${path}.${type}`;
  return { toolChoice: { kind: 'named', name: readName(needObject(value[type], at), at) }, path: `${at}.name` };
}

function readAllowed(value: unknown, path: string): Choice {
  const allowed = needObject(value, path);
  const mode = oneOf(['auto', 'required'])(allowed.mode, `${path}.mode`);
  const names = needList(allowed.tools, `${path}.tools`).map((one, n) => {
    const at = `${path}.tools[${n}]`;
    const tool = needObject(one, at);
    const type = oneOf(['function', 'custom'])(tool.type, `${at}.type`);
    return { name: readName(needObject(tool[type], `${at}.${type}`), `${at}.${type}`) };
  });
  return { toolChoice: { kind: mode }, allowedTools: { mode, names }, path: `${path}.tools` };
}

/** Rejects an unsatisfiable choice before it costs an upstream call. */
function checkChoice({ toolChoice, allowedTools, path }: Choice, tools: readonly HubTool[]): void {
  const known = toolsByName(tools);
  for (const { name } of [...namesOf(toolChoice), ...(allowedTools?.names ?? [])])
    if (!known.has(name)) wrongValue(path, `unknown tool '${name.slice(0, 80)}'; declare it in tools.`);
  if (toolChoice.kind === 'required' && tools.length === 0) wrongValue(path, 'required needs at least one tool.');
}
const namesOf = (choice: HubToolChoice): readonly ToolName[] => (choice.kind === 'named' ? [choice] : []);
