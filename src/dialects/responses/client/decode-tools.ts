/** Tools and tool choice of a client's request. Hosted tools keep their raw form: only their issuer can run them as they are. */
import type { HubRequest, HubTool, HubToolChoice, JsonObject, ServerTool, ServerToolOptions } from '../../hub/types.ts';
import {
  aBoolean,
  compact,
  given,
  isObject,
  maybeList,
  maybeObject,
  maybeString,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  wrongValue,
} from '../../wire/read.ts';

export function decodeTools(value: unknown, path: string, namespace?: string): HubTool[] {
  if (!given(value)) return [];
  return needList(value, path).flatMap((one, index) => {
    const at = `${path}[${index}]`;
    const tool = needObject(one, at);
    const type = needString(tool.type, `${at}.type`);
    if (type === 'namespace') return decodeTools(tool.tools, `${at}.tools`, needName(tool, at));
    return [decodeTool(tool, type, at, namespace)];
  });
}

function decodeTool(tool: JsonObject, type: string, at: string, namespace?: string): HubTool {
  if (type === 'function') return decodeFunction(tool, at, namespace);
  if (type === 'custom') return decodeCustom(tool, at, namespace);
  if (BUILTINS.has(type)) return { kind: 'builtin', builtin: type, name: type, raw: tool };
  return { kind: 'server', tool: serverTool(type), options: optionsOf(tool), raw: tool };
}

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

function decodeFunction(tool: JsonObject, at: string, namespace?: string): HubTool {
  return compact({
    kind: 'function',
    name: needName(tool, at),
    namespace,
    description: optional(tool, 'description', needString, at),
    schema: optional(tool, 'parameters', needObject, at) ?? NO_PARAMETERS,
    strict: optional(tool, 'strict', aBoolean, at),
    defer: tool.defer_loading === true ? true : undefined,
  });
}

function decodeCustom(tool: JsonObject, at: string, namespace?: string): HubTool {
  const format = maybeObject(tool.format);
  const grammar =
    format.type === 'grammar'
      ? {
          syntax: needString(format.syntax, `${at}.format.syntax`),
          definition: needString(format.definition, `${at}.format.definition`),
        }
      : undefined;
  return compact({
    kind: 'custom',
    name: needName(tool, at),
    namespace,
    description: optional(tool, 'description', needString, at),
    grammar,
    defer: tool.defer_loading === true ? true : undefined,
  });
}

/** Run by the client, with a typed action instead of arguments. */
export const BUILTINS: ReadonlySet<string> = new Set(['shell', 'local_shell', 'apply_patch']);

const SERVER: ReadonlyMap<string, ServerTool> = new Map<string, ServerTool>([
  ['file_search', 'file_search'],
  ['code_interpreter', 'code_exec'],
  ['image_generation', 'image_gen'],
  ['mcp', 'mcp'],
  ['computer', 'computer'],
  ['computer_use_preview', 'computer'],
  ['tool_search', 'tool_search'],
]);

/** Versions of web search differ by a date in their name; a tool that is newer than this table is carried as `other`. */
const serverTool = (type: string): ServerTool =>
  type.startsWith('web_search') ? 'web_search' : (SERVER.get(type) ?? 'other');

function optionsOf(tool: JsonObject): ServerToolOptions {
  const domains = maybeList(maybeObject(tool.filters).allowed_domains).filter((one) => typeof one === 'string');
  return compact({
    allowedDomains: domains.length > 0 ? domains : undefined,
    userLocation: isObject(tool.user_location) ? tool.user_location : undefined,
    machine: namesMachine(tool.container) ? true : undefined,
  });
}

/** A container that is made for the purpose is none in particular. */
const namesMachine = (container: unknown): boolean =>
  typeof container === 'string' || maybeList(maybeObject(container).file_ids).length > 0;

type Choice = Pick<HubRequest, 'toolChoice' | 'allowedTools'>;

export function decodeToolChoice(value: unknown): Choice {
  if (!given(value)) return { toolChoice: { kind: 'auto' } };
  if (typeof value === 'string') {
    return { toolChoice: { kind: oneOf(['auto', 'none', 'required'])(value, 'tool_choice') } };
  }
  const choice = needObject(value, 'tool_choice');
  const type = needString(choice.type, 'tool_choice.type');
  if (type === 'allowed_tools') return decodeAllowed(choice);
  return { toolChoice: decodeForced(choice, type) };
}

function decodeAllowed(choice: JsonObject): Choice {
  const mode = oneOf(['auto', 'required'])(choice.mode ?? 'auto', 'tool_choice.mode');
  const names = needList(choice.tools, 'tool_choice.tools').flatMap((one, index) => {
    const tool = needObject(one, `tool_choice.tools[${index}]`);
    // Hosted tools are listed by type alone; offering them or not is decided with the tool itself.
    return maybeString(tool.name) ?? (BUILTINS.has(String(tool.type)) ? String(tool.type) : []);
  });
  return { toolChoice: { kind: mode }, allowedTools: { mode, names } };
}

function decodeForced(choice: JsonObject, type: string): HubToolChoice {
  if (type === 'function' || type === 'custom') {
    const name = needName(choice, 'tool_choice');
    return compact({ kind: 'named', name, namespace: maybeString(choice.namespace) });
  }
  if (BUILTINS.has(type)) return { kind: 'named', name: type };
  return { kind: 'hosted', tool: serverTool(type) };
}

function needName(tool: JsonObject, at: string): string {
  const name = needString(tool.name, `${at}.name`);
  return name === '' ? wrongValue(`${at}.name`, 'must not be empty.') : name;
}
