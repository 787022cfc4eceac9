/** Reads and validates generateContent requests. */
import { invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { isObject, type Json, type JsonObject, numberOf, objectOf, objectsOf, stringsOf, textOf } from '../json.ts';
import { type Choice, type NeutralRequest, type Thinking, type Tool, type Turn, turn } from '../neutral-request.ts';
import { isOwn } from '../opaque.ts';
import { checkSchema } from './schema.ts';

/** Reads a generateContent request; throws the 400 that the provider would return. */
export function readRequest(exchange: Exchange, json: JsonObject = exchange.json): NeutralRequest {
  const contents = readContents(json.contents);
  checkToolPairs(contents);
  if (exchange.fault.strict) checkSignatures(contents);
  const config = objectOf(either(json, 'generationConfig'));
  const maxTokens = numberOf(either(config, 'maxOutputTokens'));
  const format = readFormat(config);
  const system = objectOf(either(json, 'systemInstruction'));
  return {
    model: exchange.bareModel,
    system: partsOf(system)
      .map((part) => textOf(part.text))
      .join('\n'),
    turns: contents.map(readTurn),
    tools: objectsOf(json.tools).flatMap(readTools),
    choice: readChoice(objectOf(either(objectOf(either(json, 'toolConfig')), 'functionCallingConfig'))),
    parallel: true,
    thinking: readThinking(objectOf(either(config, 'thinkingConfig'))),
    ...(format && { format }),
    ...(maxTokens !== undefined && { maxTokens }),
    stops: stringsOf(either(config, 'stopSequences')),
    cacheTtl: 'none',
  };
}

/** Proto fields may be spelled in camelCase or in snake_case. */
export function either(holder: JsonObject, camel: string): Json | undefined {
  return holder[camel] ?? holder[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

export function readContents(given: unknown): JsonObject[] {
  const contents = isObject(given) ? [given] : objectsOf(given);
  if (contents.length === 0) throw invalid('* GenerateContentRequest.contents: contents is not specified\n');
  for (const content of contents) {
    const role = content.role ?? 'user';
    if (role !== 'user' && role !== 'model' && role !== 'function') {
      throw invalid('Please use a valid role: user, model.');
    }
  }
  return contents;
}

function partsOf(content: JsonObject): JsonObject[] {
  return isObject(content.parts) ? [content.parts] : objectsOf(content.parts);
}

function callsOf(content: JsonObject): JsonObject[] {
  return partsOf(content).filter((part) => isObject(either(part, 'functionCall')));
}

function responsesOf(content: JsonObject): JsonObject[] {
  return partsOf(content)
    .map((part) => either(part, 'functionResponse'))
    .filter(isObject);
}

function checkToolPairs(contents: JsonObject[]): void {
  const folded = foldRoles(contents);
  for (const [index, content] of folded.entries()) {
    const calls = callsOf(content).length;
    const next = folded[index + 1];
    if (calls > 0 && calls !== (next ? responsesOf(next).length : 0)) {
      throw invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts of ' +
          'the function call turn.',
      );
    }
    const previous = folded[index - 1];
    if (responsesOf(content).length > 0 && (!previous || callsOf(previous).length === 0)) {
      throw invalid('Please ensure that function response turn comes immediately after a function call turn.');
    }
  }
}

function foldRoles(contents: JsonObject[]): JsonObject[] {
  const folded: { role: string; parts: JsonObject[] }[] = [];
  for (const content of contents) {
    const role = content.role === 'model' ? 'model' : 'user';
    const last = folded.at(-1);
    if (last?.role === role) last.parts.push(...partsOf(content));
    else folded.push({ role, parts: [...partsOf(content)] });
  }
  return folded;
}

const STAND_IN = 'skip_thought_signature_validator';

/** Checks only the current turn: everything after the last user text. */
function checkSignatures(contents: JsonObject[]): void {
  const start = contents.findLastIndex((content) => content.role !== 'model' && responsesOf(content).length === 0);
  for (const content of contents.slice(start + 1)) {
    for (const [index, part] of callsOf(content).entries()) {
      const signature = textOf(either(part, 'thoughtSignature'));
      const name = textOf(objectOf(either(part, 'functionCall')).name);
      if (signature === '' && index === 0) throw invalid(`Function call ${name} is missing a thought_signature.`);
      if (signature !== '' && signature !== STAND_IN && !isOwn('thought', signature)) {
        throw invalid('Thought signature is not valid.');
      }
    }
  }
}

function readTurn(content: JsonObject): Turn {
  const parts = partsOf(content);
  const texts = parts.filter((part) => part.thought !== true).map((part) => textOf(part.text));
  return {
    ...turn(content.role === 'model' ? 'assistant' : 'user', texts.filter((text) => text !== '').join('\n')),
    calls: callsOf(content).map((part) => {
      const call = objectOf(either(part, 'functionCall'));
      return { id: textOf(call.id), name: textOf(call.name), args: JSON.stringify(call.args ?? {}) };
    }),
    results: responsesOf(content).map((result) => ({
      callId: textOf(result.id),
      name: textOf(result.name),
      text: resultText(objectOf(result.response)),
    })),
    media: parts.filter((part) => either(part, 'inlineData') ?? either(part, 'fileData')).length,
  };
}

function resultText(response: JsonObject): string {
  const value = response.output ?? response.result ?? response.error ?? response;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function readTools(tool: JsonObject): Tool[] {
  return objectsOf(either(tool, 'functionDeclarations')).map((declaration, index) => {
    const name = textOf(declaration.name);
    if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/.test(name)) throw invalid(`Invalid function name: "${name}".`);
    checkSchema(declaration.parameters, `tools[0].function_declarations[${index}].parameters`);
    const schema = objectOf(declaration.parameters ?? either(declaration, 'parametersJsonSchema'));
    return { name, description: textOf(declaration.description), schema };
  });
}

function readChoice(config: JsonObject): Choice {
  const mode = textOf(config.mode).toUpperCase();
  const names = stringsOf(either(config, 'allowedFunctionNames'));
  if (mode === 'NONE') return { mode: 'none' };
  return { mode: mode === 'ANY' ? 'required' : 'auto', ...(names.length > 0 && { only: names }) };
}

function readThinking(config: JsonObject): Thinking {
  const budget = numberOf(either(config, 'thinkingBudget'));
  const level = textOf(either(config, 'thinkingLevel'));
  if (budget !== undefined && level !== '') {
    throw invalid('You can only set one of thinking budget and thinking level.');
  }
  if (budget === 0) return 'off';
  if (either(config, 'includeThoughts') === true) return 'shown';
  return budget !== undefined || level !== '' ? 'hidden' : 'off';
}

function readFormat(config: JsonObject): NeutralRequest['format'] {
  const schema = either(config, 'responseSchema');
  const jsonSchema = either(config, 'responseJsonSchema');
  if (schema !== undefined && jsonSchema !== undefined) {
    throw invalid('Only one of response_schema and response_json_schema may be set.');
  }
  checkSchema(schema, 'generation_config.response_schema');
  const newer = objectOf(objectOf(either(config, 'responseFormat')).text);
  const found = schema ?? jsonSchema ?? newer.schema;
  if (isObject(found)) return { schema: found };
  const type = textOf(either(config, 'responseMimeType')) || textOf(either(newer, 'mimeType'));
  return type === 'application/json' ? {} : undefined;
}
