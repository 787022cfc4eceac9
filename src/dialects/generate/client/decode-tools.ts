/** Decoder of a client's tools, tool choice and response format. Google schemas become JSON Schema. */
import type { HubFormat, HubRequest, HubTool, JsonObject, ServerTool, ToolName } from '../../hub/types.ts';
import * as wire from '../../wire/read.ts';
import { field, optionalField, snakeOf } from '../wire.ts';
import { fromGoogleSchema } from './from-google-schema.ts';

export function decodeTools(value: unknown): HubTool[] {
  if (!wire.isGiven(value)) return [];
  const entries = wire.isObject(value) ? [value] : wire.needList(value, 'tools');
  return entries.flatMap((entry, n) => decodeTool(wire.needObject(entry, `tools[${n}]`), `tools[${n}]`));
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
  const declared = optionalField(entry, 'functionDeclarations', wire.needList, path) ?? [];
  const functions = declared.map((value, n) => decodeFunction(value, `${path}.functionDeclarations[${n}]`));
  const names = Object.keys(entry).filter(
    (name) => name !== 'functionDeclarations' && name !== 'function_declarations',
  );
  const hosted = names
    .filter((name) => wire.isGiven(entry[name]))
    .map((name): HubTool => {
      const tool =
        Object.entries(HOSTED_TOOLS).find(([camel]) => camel === name || snakeOf(camel) === name)?.[1] ?? 'other';
      return { kind: 'server', tool, options: {}, raw: { [name]: entry[name] }, at: path };
    });
  return [...functions, ...hosted];
}

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };
const readGoogleSchema: wire.Reader<JsonObject> = (value, path) => fromGoogleSchema(wire.needObject(value, path));

function decodeFunction(value: unknown, path: string): HubTool {
  const declaration = wire.needObject(value, path);
  const description = wire.maybeString(declaration.description);
  return {
    kind: 'function',
    name: wire.needString(declaration.name, `${path}.name`),
    ...(description !== undefined && { description }),
    schema:
      optionalField(declaration, 'parametersJsonSchema', wire.needObject, path) ??
      wire.optional(declaration, 'parameters', readGoogleSchema, path) ??
      NO_PARAMETERS,
  };
}

export function decodeToolConfig(value: unknown): Pick<HubRequest, 'toolChoice' | 'allowedTools'> {
  const config = wire.isGiven(value) ? wire.needObject(value, 'toolConfig') : {};
  const path = 'toolConfig.functionCallingConfig';
  const { mode, allowed } = readCalling(
    optionalField(config, 'functionCallingConfig', wire.needObject, 'toolConfig') ?? {},
    path,
  );
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
  const mode = wire.isGiven(calling.mode) ? wire.needString(calling.mode, `${path}.mode`).toUpperCase() : 'AUTO';
  if (!MODES.includes(mode)) wire.wrongValue(`${path}.mode`, 'expected AUTO, ANY, NONE or VALIDATED.');
  return { mode, allowed: optionalField(calling, 'allowedFunctionNames', wire.readStrings, path) ?? [] };
}

/** Reads `responseFormat`, or the older separate fields of `generationConfig`. */
export function decodeFormat(config: JsonObject): HubFormat {
  const newer = field(config, 'responseFormat');
  if (wire.isGiven(newer)) {
    const text = wire.needObject(
      wire.needObject(newer, 'generationConfig.responseFormat').text ?? {},
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
  const mime = wire.isGiven(type) ? wire.needString(type, path) : 'text/plain';
  if (mime !== 'text/plain' && mime !== 'application/json')
    wire.unsupported(path, `${mime} is not supported by this model.`);
  if (wire.isGiven(googleSchema) && wire.isGiven(jsonSchema)) {
    wire.wrongValue('generationConfig.responseSchema', 'mutually exclusive with responseJsonSchema.');
  }
  if (wire.isGiven(jsonSchema))
    return { kind: 'schema', schema: wire.needObject(jsonSchema, 'generationConfig.responseJsonSchema') };
  if (wire.isGiven(googleSchema))
    return { kind: 'schema', schema: readGoogleSchema(googleSchema, 'generationConfig.responseSchema') };
  return mime === 'application/json' ? { kind: 'json' } : { kind: 'text' };
}
