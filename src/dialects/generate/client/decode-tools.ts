/** Decoder of a client's tools, tool choice and response format. Google schemas become JSON Schema. */
import type { HubFormat, HubRequest, HubTool, JsonObject, ServerTool, ToolName } from '../../hub/types.ts';
import {
  isGiven,
  isObject,
  maybeString,
  needList,
  needObject,
  needString,
  unsupported,
  wrongValue,
} from '../../wire/read.ts';
import { field, snakeOf } from '../wire.ts';
import { fromGoogleSchema } from './from-google-schema.ts';

export function decodeTools(value: unknown): HubTool[] {
  if (!isGiven(value)) return [];
  const entries = isObject(value) ? [value] : needList(value, 'tools');
  return entries.flatMap((entry, n) => decodeTool(needObject(entry, `tools[${n}]`), `tools[${n}]`));
}

/** Hosted tools by their member of a tool entry. */
const HOSTED_TOOLS: Readonly<Record<string, ServerTool>> = {
  googleSearch: 'web_search',
  googleSearchRetrieval: 'web_search',
  urlContext: 'web_fetch',
  codeExecution: 'code_exec',
  googleMaps: 'maps',
  fileSearch: 'file_search',
  computerUse: 'computer',
  mcpServers: 'mcp',
};

/** One entry may offer several tools, one per member. */
function decodeTool(entry: JsonObject, path: string): HubTool[] {
  const at = `${path}.functionDeclarations`;
  const declared = field(entry, 'functionDeclarations');
  const functions = isGiven(declared)
    ? needList(declared, at).map((value, n) => decodeFunction(value, `${at}[${n}]`))
    : [];
  const names = Object.keys(entry).filter(
    (name) => name !== 'functionDeclarations' && name !== 'function_declarations',
  );
  const hosted = names
    .filter((name) => isGiven(entry[name]))
    .map((name): HubTool => {
      const tool =
        Object.entries(HOSTED_TOOLS).find(([camel]) => camel === name || snakeOf(camel) === name)?.[1] ?? 'other';
      return { kind: 'server', tool, options: {}, raw: { [name]: entry[name] }, at: path };
    });
  return [...functions, ...hosted];
}

function decodeFunction(value: unknown, path: string): HubTool {
  const declaration = needObject(value, path);
  const jsonSchema = field(declaration, 'parametersJsonSchema');
  const googleSchema = declaration.parameters;
  const description = maybeString(declaration.description);
  return {
    kind: 'function',
    name: needString(declaration.name, `${path}.name`),
    ...(description !== undefined && { description }),
    schema: isGiven(jsonSchema)
      ? needObject(jsonSchema, `${path}.parametersJsonSchema`)
      : isGiven(googleSchema)
        ? fromGoogleSchema(needObject(googleSchema, `${path}.parameters`))
        : { type: 'object', properties: {} },
  };
}

export function decodeToolConfig(value: unknown): Pick<HubRequest, 'toolChoice' | 'allowedTools'> {
  const config = isGiven(value) ? needObject(value, 'toolConfig') : {};
  const path = 'toolConfig.functionCallingConfig';
  const calling = field(config, 'functionCallingConfig');
  const { mode, allowed } = isGiven(calling)
    ? readCalling(needObject(calling, path), path)
    : { mode: 'AUTO', allowed: [] };
  const [first] = allowed;
  if (mode === 'NONE') return { toolChoice: { kind: 'none' } };
  if (mode === 'ANY') {
    if (first === undefined) return { toolChoice: { kind: 'required' } };
    if (allowed.length === 1) return { toolChoice: { kind: 'named', name: first } };
    return { toolChoice: { kind: 'required' }, allowedTools: { mode: 'required', names: allowed.map(named) } };
  }
  const allowedTools =
    first === undefined ? {} : { allowedTools: { mode: 'auto', names: allowed.map(named) } as const };
  return { toolChoice: { kind: 'auto' }, ...allowedTools };
}

const named = (name: string): ToolName => ({ name });

const MODES = ['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED'];

function readCalling(calling: JsonObject, path: string): { mode: string; allowed: string[] } {
  const mode = isGiven(calling.mode) ? needString(calling.mode, `${path}.mode`).toUpperCase() : 'AUTO';
  if (!MODES.includes(mode)) wrongValue(`${path}.mode`, 'expected AUTO, ANY, NONE or VALIDATED.');
  const names = field(calling, 'allowedFunctionNames');
  const at = `${path}.allowedFunctionNames`;
  const allowed = isGiven(names) ? needList(names, at).map((name, n) => needString(name, `${at}[${n}]`)) : [];
  return { mode, allowed };
}

/** Reads `responseFormat`, or the older separate fields of `generationConfig`. */
export function decodeFormat(config: JsonObject): HubFormat {
  const newer = field(config, 'responseFormat');
  if (isGiven(newer)) {
    const text = needObject(
      needObject(newer, 'generationConfig.responseFormat').text ?? {},
      'generationConfig.responseFormat.text',
    );
    return formatOf(field(text, 'mimeType'), undefined, text.schema);
  }
  return formatOf(
    field(config, 'responseMimeType'),
    field(config, 'responseSchema'),
    field(config, 'responseJsonSchema'),
  );
}

function formatOf(type: unknown, googleSchema: unknown, jsonSchema: unknown): HubFormat {
  const path = 'generationConfig.responseMimeType';
  const mime = isGiven(type) ? needString(type, path) : 'text/plain';
  if (mime !== 'text/plain' && mime !== 'application/json')
    unsupported(path, `${mime} is not supported by this model.`);
  if (isGiven(googleSchema) && isGiven(jsonSchema)) {
    wrongValue('generationConfig.responseSchema', 'mutually exclusive with responseJsonSchema.');
  }
  if (isGiven(jsonSchema))
    return { kind: 'schema', schema: needObject(jsonSchema, 'generationConfig.responseJsonSchema') };
  if (isGiven(googleSchema)) {
    return { kind: 'schema', schema: fromGoogleSchema(needObject(googleSchema, 'generationConfig.responseSchema')) };
  }
  return mime === 'application/json' ? { kind: 'json' } : { kind: 'text' };
}
