/** Reads and validates Messages requests. */
import { Failure, invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { isObject, type JsonObject, listOf, numberOf, objectOf, objectsOf, stringsOf, textOf } from '../json.ts';
import {
  type CacheTtl,
  type Choice,
  type NeutralRequest,
  type Thinking,
  type Tool,
  type ToolResult,
  type Turn,
  turn,
} from '../neutral-request.ts';
import { isMintedFor, isOwn } from '../opaque.ts';

/** Reads a Messages request; throws the 400 that the provider would return. */
export function readRequest(exchange: Exchange, counting = false): NeutralRequest {
  const { json } = exchange;
  checkHead(exchange, counting);
  const messages = readMessages(json.messages);
  checkToolPairs(messages);
  if (exchange.fault.strict) checkSignatures(messages);
  const systemTurns = messages
    .filter((message) => message.role === 'system')
    .map((message) => blockText(message.content));
  const format = objectOf(objectOf(json.output_config).format ?? json.output_format);
  const maxTokens = numberOf(json.max_tokens);
  const tools = objectsOf(json.tools).flatMap(readTool);
  const choice = readChoice(objectOf(json.tool_choice), tools);
  if (choice.mode === 'required' && objectOf(json.thinking).type === 'enabled') {
    throw invalid('Thinking may not be enabled when tool_choice forces tool use.');
  }
  return {
    model: exchange.bareModel,
    system: [blockText(blocksOf(json.system)), ...systemTurns].join('\n'),
    turns: messages.filter((message) => message.role !== 'system').map(readTurn),
    tools,
    choice,
    parallel: objectOf(json.tool_choice).disable_parallel_tool_use !== true,
    thinking: readThinking(objectOf(json.thinking), maxTokens ?? Number.POSITIVE_INFINITY),
    ...(format.type === 'json_schema' && { format: { schema: objectOf(format.schema) } }),
    ...(maxTokens !== undefined && { maxTokens }),
    stops: stringsOf(json.stop_sequences),
    cacheTtl: readCacheTtl(json),
  };
}

interface Message {
  role: string;
  content: JsonObject[];
}

function checkHead(exchange: Exchange, counting: boolean): void {
  const { json } = exchange;
  const version = exchange.header('anthropic-version');
  if (version === '') throw invalid('anthropic-version: header is required');
  if (textOf(json.model) === '') throw invalid('model: Field required');
  // Threads are not stored here; SDKs continue without one after this error.
  if (json.thread !== undefined) {
    throw new Failure(400, 'thread: not supported', { errorCode: 'thread_unsupported_request' });
  }
  if (!counting && json.max_tokens === undefined) throw invalid('max_tokens: Field required');
  if (!counting && !(Number.isInteger(json.max_tokens) && Number(json.max_tokens) >= 0)) {
    throw invalid('max_tokens: Input should be a valid non-negative integer');
  }
  for (const field of version === '2026-10-21' ? ['temperature', 'top_p', 'top_k'] : []) {
    if (json[field] !== undefined) throw invalid(`${field}: Extra inputs are not permitted`);
  }
  for (const tool of objectsOf(json.tools)) {
    const name = textOf(tool.name);
    if (tool.input_schema !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      throw invalid(`tools.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`);
    }
  }
}

/** Merges adjacent messages of one role, as the provider does. */
function readMessages(given: unknown): Message[] {
  if (!Array.isArray(given)) throw invalid('messages: Field required');
  const messages: Message[] = [];
  for (const [index, entry] of given.entries()) {
    if (!isObject(entry)) throw invalid(`messages.${index}: Input should be an object`);
    const role = textOf(entry.role);
    if (!['user', 'assistant', 'system'].includes(role)) {
      throw invalid(`messages.${index}.role: Input should be 'user', 'assistant' or 'system'`);
    }
    const content = blocksOf(entry.content);
    if (content.some((block) => block.type === 'text' && textOf(block.text) === '')) {
      throw invalid('messages: text content blocks must be non-empty');
    }
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  if (messages[0] === undefined) throw invalid('messages: at least one message is required');
  if (messages[0].role !== 'user') throw invalid('messages: first message must use the "user" role');
  return messages;
}

function blocksOf(content: unknown): JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content);
}

function blockText(blocks: JsonObject[]): string {
  return blocks.map((block) => textOf(block.text)).join('\n');
}

function checkToolPairs(messages: Message[]): void {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'system') continue;
    const results = message.content.filter((block) => block.type === 'tool_result').map((b) => textOf(b.tool_use_id));
    const orphan = results.find((id) => !open.includes(id));
    if (orphan !== undefined) {
      throw invalid(
        `messages.${index}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each ` +
          '`tool_result` block must have a corresponding `tool_use` block in the previous message.',
      );
    }
    const missing = open.filter((id) => !results.includes(id));
    if (missing.length > 0) {
      throw invalid(
        `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
          `${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
    open = message.content.filter((block) => block.type === 'tool_use').map((block) => textOf(block.id));
  }
}

function checkSignatures(messages: Message[]): void {
  for (const [i, message] of messages.entries()) {
    for (const [j, block] of message.content.entries()) {
      const signature = textOf(block.signature);
      const thinking = textOf(block.thinking);
      // A block with omitted text still has the signature of that text.
      const good = thinking === '' ? isOwn('thinking', signature) : isMintedFor('thinking', signature, thinking);
      if (block.type === 'thinking' && !good) {
        throw invalid(`messages.${i}.content.${j}: Invalid \`signature\` in \`thinking\` block`);
      }
      if (block.type === 'redacted_thinking' && !isOwn('redacted', textOf(block.data))) {
        throw invalid(`messages.${i}.content.${j}: Invalid \`data\` in \`redacted_thinking\` block`);
      }
    }
  }
}

function readTurn(message: Message): Turn {
  const { content } = message;
  return {
    ...turn(message.role === 'assistant' ? 'assistant' : 'user', blockText(content.filter((b) => b.type === 'text'))),
    calls: content
      .filter((block) => block.type === 'tool_use')
      .map((block) => ({ id: textOf(block.id), name: textOf(block.name), args: JSON.stringify(block.input ?? {}) })),
    results: content.filter((block) => block.type === 'tool_result').map(readResult),
    media: content.filter((block) => block.type === 'image' || block.type === 'document').length,
  };
}

function readResult(block: JsonObject): ToolResult {
  return { callId: textOf(block.tool_use_id), name: '', text: blockText(blocksOf(block.content)) };
}

/** Hosted tools are ignored; client tools without a schema get one. */
function readTool(tool: JsonObject): Tool[] {
  const name = textOf(tool.name);
  if (isObject(tool.input_schema)) return [{ name, description: textOf(tool.description), schema: tool.input_schema }];
  if (!textOf(tool.type).startsWith('bash_')) return [];
  const schema = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
  return [{ name, description: 'Runs a shell command', schema }];
}

function readChoice(choice: JsonObject, tools: Tool[]): Choice {
  if (choice.type === 'none') return { mode: 'none' };
  if (choice.type === 'any') return { mode: 'required' };
  if (choice.type !== 'tool') return { mode: 'auto' };
  const name = textOf(choice.name);
  if (!tools.some((tool) => tool.name === name))
    throw invalid(`tool_choice: Tool '${name}' not found in provided tools`);
  return { mode: 'required', only: [name] };
}

function readThinking(thinking: JsonObject, maxTokens: number): Thinking {
  if (thinking.type === 'enabled') {
    const budget = numberOf(thinking.budget_tokens) ?? 0;
    if (budget < 1024) throw invalid('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
    if (budget >= maxTokens) throw invalid('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
  if (thinking.type !== 'enabled' && thinking.type !== 'adaptive') return 'off';
  return thinking.display === 'omitted' ? 'hidden' : 'shown';
}

function readCacheTtl(json: JsonObject): CacheTtl {
  const holders = [json, ...listOf(json.system), ...listOf(json.tools)].map(objectOf);
  const blocks = objectsOf(json.messages).flatMap((message) => objectsOf(message.content));
  const breakpoints = [...holders, ...blocks].map((holder) => holder.cache_control).filter(isObject);
  if (breakpoints.length === 0) return 'none';
  return breakpoints.some((breakpoint) => breakpoint.ttl === '1h') ? '1h' : '5m';
}
