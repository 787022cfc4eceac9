/** Reads and validates Chat Completions requests. */
import { Failure, invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { isObject, type JsonObject, numberOf, objectOf, objectsOf, stringsOf, textOf } from '../json.ts';
import {
  type Call,
  type Choice,
  type NeutralRequest,
  type Thinking,
  type Tool,
  type Turn,
  turn,
} from '../neutral-request.ts';
import { checkServer, thinkingOn } from './servers.ts';

/** Reads a Chat Completions request; throws the 400 that the provider would return. */
export function readRequest(exchange: Exchange): NeutralRequest {
  const { json } = exchange;
  const { server } = exchange.fault;
  if (server) checkServer(server, json);
  if (textOf(json.model) === '')
    throw invalid('you must provide a model parameter', 'model', 'missing_required_parameter');
  const messages = readMessages(json.messages);
  checkToolPairs(messages);
  const legacy = objectsOf(json.functions).map((entry) => ({ type: 'function', function: entry }));
  const tools = [...objectsOf(json.tools), ...legacy].flatMap(readTool);
  const format = objectOf(json.response_format);
  const maxTokens = numberOf(json.max_completion_tokens) ?? numberOf(json.max_tokens);
  if (maxTokens !== undefined && maxTokens < 1) throw invalid('max_tokens is too small', 'max_tokens');
  const effort = textOf(json.reasoning_effort);
  return {
    model: exchange.bareModel,
    system: messages
      .filter(isInstruction)
      .map((message) => contentText(message.content))
      .join('\n'),
    turns: readTurns(messages.filter((message) => !isInstruction(message))),
    tools,
    choice: readChoice(json.tool_choice ?? json.function_call, tools),
    parallel: json.parallel_tool_calls !== false,
    thinking: server ? thinkingOn(server, json) : thinkingAt(effort),
    ...(format.type === 'json_object' && { format: {} }),
    ...(format.type === 'json_schema' && { format: { schema: objectOf(objectOf(format.json_schema).schema) } }),
    ...(maxTokens !== undefined && { maxTokens }),
    stops: stringsOf(json.stop),
    cacheTtl: JSON.stringify(json.messages).includes('"prompt_cache_breakpoint"') ? '5m' : 'none',
  };
}

const thinkingAt = (effort: string): Thinking => (effort === '' || effort === 'none' ? 'off' : 'hidden');

const ROLES = ['developer', 'system', 'user', 'assistant', 'tool', 'function'];

function readMessages(given: unknown): JsonObject[] {
  if (!Array.isArray(given) || given.length === 0) {
    throw invalid("Missing required parameter: 'messages'.", 'messages', 'missing_required_parameter');
  }
  for (const [index, message] of given.entries()) {
    if (!isObject(message) || !ROLES.includes(textOf(message.role))) {
      throw invalid(`Invalid value for 'messages[${index}].role'.`, `messages[${index}].role`);
    }
  }
  return objectsOf(given);
}

function isInstruction(message: JsonObject): boolean {
  return message.role === 'system' || message.role === 'developer';
}

/** The tool messages directly after a message must match its calls exactly. */
function checkToolPairs(messages: JsonObject[]): void {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(textOf(message.tool_call_id))) {
        const text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
        throw invalid(`Invalid parameter: ${text}`, `messages.[${index}].role`);
      }
      continue;
    }
    checkNoneOpen(open);
    open = new Set(objectsOf(message.tool_calls).map((call) => textOf(call.id)));
  }
  checkNoneOpen(open);
}

function checkNoneOpen(open: Set<string>): void {
  if (open.size === 0) return;
  const text =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${[...open].join(', ')}`;
  throw new Failure(400, text, { param: 'messages' });
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map((part) => textOf(part.text) || textOf(part.refusal))
    .join('\n');
}

/** Tool messages hold text only: the media of a result follow in a user message, which is not a prompt. */
function readTurns(messages: JsonObject[]): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const entry = readTurn(message);
    const last = turns.at(-1);
    if (last && messages[index - 1]?.role === 'tool' && entry.media > 0) last.media += entry.media;
    else turns.push(entry);
  }
  return turns;
}

function readTurn(message: JsonObject): Turn {
  const text = contentText(message.content);
  if (message.role === 'tool' || message.role === 'function') {
    return { ...turn('user'), results: [{ callId: textOf(message.tool_call_id), name: textOf(message.name), text }] };
  }
  if (message.role === 'assistant') {
    return { ...turn('assistant', text), calls: objectsOf(message.tool_calls).map(readCall) };
  }
  const media = objectsOf(message.content).filter((part) => part.type !== 'text').length;
  return { ...turn('user', text), media };
}

function readCall(call: JsonObject): Call {
  const inner = objectOf(call.function ?? call.custom);
  return { id: textOf(call.id), name: textOf(inner.name), args: textOf(inner.arguments ?? inner.input) };
}

function readTool(tool: JsonObject): Tool[] {
  const inner = objectOf(tool.function ?? tool.custom);
  const name = textOf(inner.name);
  if (name === '') throw invalid("Missing required parameter: 'tools[0].function.name'.", 'tools[0].function.name');
  const shared = { name, description: textOf(inner.description), schema: objectOf(inner.parameters) };
  return [tool.type === 'custom' ? { ...shared, freeform: true } : shared];
}

function readChoice(choice: unknown, tools: Tool[]): Choice {
  if (choice === 'none') return { mode: 'none' };
  if (choice === 'required') return { mode: 'required' };
  if (!isObject(choice)) return { mode: 'auto' };
  if (choice.type === 'allowed_tools') {
    const allowed = objectOf(choice.allowed_tools);
    const only = objectsOf(allowed.tools).map((tool) => textOf(objectOf(tool.function ?? tool.custom).name));
    return { mode: allowed.mode === 'required' ? 'required' : 'auto', only };
  }
  const name = textOf(objectOf(choice.function ?? choice.custom ?? choice).name);
  if (!tools.some((tool) => tool.name === name)) {
    throw invalid(`Invalid value: 'tool_choice' names '${name}', which is not in 'tools'.`, 'tool_choice');
  }
  return { mode: 'required', only: [name] };
}
