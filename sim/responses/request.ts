/** Reads and validates Responses requests. */
import { Failure, invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { isObject, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../json.ts';
import { type Choice, type NeutralRequest, type Thinking, type Tool, type Turn, turn } from '../neutral-request.ts';
import { isMintedFor, isOwn } from '../opaque.ts';

export interface ResponsesRequest {
  view: NeutralRequest;
  input: JsonObject[];
  history: JsonObject[];
}

// Parameters of Chat Completions that this API rejects by name.
const UNKNOWN = ['messages', 'stop', 'n', 'seed', 'max_tokens', 'presence_penalty', 'frequency_penalty', 'logit_bias'];

/** Reads a Responses request; throws the 400 that the provider would return. */
export function readRequest(exchange: Exchange, counting = false): ResponsesRequest {
  const { json } = exchange;
  for (const field of UNKNOWN) {
    if (json[field] !== undefined) throw invalid(`Unknown parameter: '${field}'.`, field, 'unknown_parameter');
  }
  if (!counting && textOf(json.model) === '') throw missing('model');
  const input = resolveReferences(exchange, readInput(json.input));
  const history = [...earlierItems(exchange), ...input];
  checkToolPairs(history);
  if (exchange.fault.strict) checkReasoning(history);
  const extra = history.filter((item) => item.type === 'additional_tools').flatMap((item) => objectsOf(item.tools));
  const tools = [...objectsOf(json.tools), ...extra].flatMap((tool) => readTool(tool));
  const format = objectOf(objectOf(json.text).format);
  const maxTokens = readMaxTokens(json);
  const view: NeutralRequest = {
    model: exchange.bareModel,
    system: [textOf(json.instructions), ...history.filter(isInstruction).map(itemText)].join('\n'),
    turns: history.filter((item) => !isInstruction(item)).flatMap(readTurn),
    tools,
    choice: readChoice(json.tool_choice, tools),
    parallel: json.parallel_tool_calls !== false,
    thinking: readThinking(objectOf(json.reasoning)),
    ...(format.type === 'json_object' && { format: {} }),
    ...(format.type === 'json_schema' && { format: { schema: objectOf(format.schema) } }),
    ...(maxTokens !== undefined && { maxTokens }),
    stops: [],
    cacheTtl: JSON.stringify(input).includes('"prompt_cache_breakpoint"') ? '5m' : 'none',
  };
  return { view, input, history };
}

function missing(field: string): Failure {
  return invalid(`Missing required parameter: '${field}'.`, field, 'missing_required_parameter');
}

function readInput(given: unknown): JsonObject[] {
  if (typeof given === 'string') return [{ type: 'message', role: 'user', content: given }];
  if (!Array.isArray(given)) throw missing('input');
  for (const [index, item] of given.entries()) {
    if (!isObject(item) || (item.type === undefined && item.role === undefined)) {
      throw invalid(`Invalid type for 'input[${index}]': expected an input item.`, `input[${index}]`, 'invalid_type');
    }
  }
  return objectsOf(given);
}

function earlierItems(exchange: Exchange): JsonObject[] {
  const id = textOf(exchange.json.previous_response_id);
  if (id === '') return [];
  const stored = exchange.findStored(id);
  if (stored) return stored.history;
  const message = `Previous response with id '${id}' not found.`;
  throw invalid(message, 'previous_response_id', 'previous_response_not_found');
}

function resolveReferences(exchange: Exchange, items: JsonObject[]): JsonObject[] {
  return items.map((item) => {
    if (item.type !== 'item_reference') return item;
    const found = exchange.state.responses.item(textOf(item.id));
    if (found) return found;
    const message = `Item with id '${textOf(item.id)}' not found. Items are not persisted when \`store\` is set to false.`;
    throw new Failure(404, message, { param: 'input', code: 'item_not_found' });
  });
}

const CALLS = ['function_call', 'custom_tool_call'];
const OUTPUTS = ['function_call_output', 'custom_tool_call_output'];

function checkToolPairs(items: JsonObject[]): void {
  const called = items.filter((item) => CALLS.includes(textOf(item.type))).map((item) => textOf(item.call_id));
  const results = items.filter((item) => OUTPUTS.includes(textOf(item.type))).map((item) => textOf(item.call_id));
  const orphan = results.find((id) => !called.includes(id));
  if (orphan !== undefined)
    throw invalid(`No tool call found for function call output with call_id ${orphan}.`, 'input');
  const open = called.find((id) => !results.includes(id));
  if (open !== undefined) throw invalid(`No tool output found for function call ${open}.`, 'input');
}

/** Encrypted reasoning is bound to the id of its item. */
function checkReasoning(items: JsonObject[]): void {
  for (const item of items) {
    if (item.type !== 'reasoning') continue;
    const id = textOf(item.id);
    const value = textOf(item.encrypted_content);
    if (!isOwn('reasoning', value)) {
      const message = `The encrypted content for item ${id} could not be verified.`;
      throw invalid(message, 'input', 'invalid_encrypted_content');
    }
    if (id !== '' && !isMintedFor('reasoning', value, id)) {
      throw invalid(
        'Encrypted content item_id did not match the target item id.',
        'input',
        'invalid_encrypted_content',
      );
    }
  }
}

function readMaxTokens(json: JsonObject): number | undefined {
  const limit = numberOf(json.max_output_tokens);
  if (limit === undefined || limit >= 16) return limit;
  const message = `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${limit} instead.`;
  throw invalid(message, 'max_output_tokens', 'integer_below_min_value');
}

function isInstruction(item: JsonObject): boolean {
  return item.role === 'system' || item.role === 'developer';
}

function itemText(item: JsonObject): string {
  return contentText(item.content);
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map((part) => textOf(part.text) || textOf(part.refusal))
    .join('\n');
}

function readTurn(item: JsonObject): Turn[] {
  const type = textOf(item.type) || 'message';
  if (type === 'message') {
    const media = objectsOf(item.content).filter(
      (part) => part.type === 'input_image' || part.type === 'input_file',
    ).length;
    return [{ ...turn(item.role === 'assistant' ? 'assistant' : 'user', itemText(item)), media }];
  }
  const callId = textOf(item.call_id);
  if (CALLS.includes(type)) {
    const call = { id: callId, name: textOf(item.name), args: textOf(item.arguments ?? item.input) };
    return [{ ...turn('assistant'), calls: [call] }];
  }
  if (OUTPUTS.includes(type)) {
    return [{ ...turn('user'), results: [{ callId, name: '', text: contentText(item.output) }] }];
  }
  return [];
}

/** Hosted tools are accepted; only image_generation is called. */
function readTool(tool: JsonObject, namespace?: string): Tool[] {
  if (tool.type === 'namespace') return objectsOf(tool.tools).flatMap((inner) => readTool(inner, textOf(tool.name)));
  if (tool.type !== 'function' && tool.type !== 'custom') return [];
  const name = textOf(tool.name);
  if (name === '') throw missing('tools[0].name');
  return [
    {
      name,
      description: textOf(tool.description),
      schema: objectOf(tool.parameters),
      ...(tool.type === 'custom' && { freeform: true }),
      ...(namespace !== undefined && { namespace }),
    },
  ];
}

function readChoice(choice: unknown, tools: Tool[]): Choice {
  if (choice === 'none') return { mode: 'none' };
  if (choice === 'required') return { mode: 'required' };
  if (!isObject(choice)) return { mode: 'auto' };
  if (choice.type === 'allowed_tools') {
    const only = objectsOf(choice.tools).map((tool) => textOf(tool.name));
    return { mode: choice.mode === 'required' ? 'required' : 'auto', only };
  }
  if (choice.type !== 'function' && choice.type !== 'custom') return { mode: 'auto' };
  const name = textOf(choice.name);
  if (tools.some((tool) => tool.name === name)) return { mode: 'required', only: [name] };
  throw invalid(`Tool choice '${name}' not found in 'tools' parameter.`, 'tool_choice');
}

function readThinking(reasoning: JsonObject): Thinking {
  if (reasoning.effort === 'none') return 'off';
  if (textOf(reasoning.summary) !== '' || textOf(reasoning.generate_summary) !== '') return 'shown';
  return textOf(reasoning.effort) === '' ? 'off' : 'hidden';
}
