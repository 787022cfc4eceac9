/**
 * Servers that speak chat completions with differences of their own. `@server=<name>` in the model's name plays one of
 * them; without it the provider is OpenAI.
 */
import { Failure, invalid } from '../errors.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import type { Thinking } from '../neutral-request.ts';
import type { ChatServerName } from './server-names.ts';

interface ChatServer {
  /** Members of a request beyond the common ones. Undefined: unknown members are ignored. */
  knows?: readonly string[];
  /** Unknown members are reported as FastAPI does. */
  reportsDetails?: true;
  /** Member of a message, in replies and in the history, that holds its reasoning. */
  reasoning: 'reasoning_content' | 'reasoning' | 'reasoning_details' | 'think_tags';
  thinksByDefault?: true;
  /** Calls in the history must carry their reasoning. */
  needsReasoning?: true;
  /** What content may be besides a string. */
  content: 'text' | 'parts' | 'media';
  /** System messages only at the beginning, and alternating roles. */
  isOrderly?: true;
  /** Where a stream reports usage. */
  usage: 'asked' | 'always' | 'choice' | 'x_groq' | 'never';
  /** Its own names of finish reasons. */
  finishes?: Readonly<Record<string, string>>;
}

const COMMON = [
  ...['model', 'messages', 'stream', 'temperature', 'top_p', 'max_tokens', 'stop', 'tools', 'tool_choice'],
  ...['response_format'],
];
const COMMON_IN_MESSAGES = ['role', 'content', 'tool_calls', 'tool_call_id', 'name'];

const CHAT_SERVERS: Readonly<Record<ChatServerName, ChatServer>> = {
  /** A server with nothing but the common fields. */
  small: {
    knows: [],
    reasoning: 'think_tags',
    content: 'text',
    isOrderly: true,
    usage: 'never',
  },
  vllm: {
    reasoning: 'reasoning',
    content: 'media',
    usage: 'asked',
    finishes: { stop: 'stop' },
  },
  deepseek: {
    knows: ['stream_options', 'thinking', 'reasoning_effort', 'frequency_penalty', 'presence_penalty', 'logprobs'],
    reasoning: 'reasoning_content',
    thinksByDefault: true,
    needsReasoning: true,
    content: 'parts',
    usage: 'asked',
  },
  mistral: {
    knows: ['random_seed', 'presence_penalty', 'frequency_penalty', 'parallel_tool_calls', 'prompt_mode'],
    reportsDetails: true,
    reasoning: 'think_tags',
    content: 'media',
    usage: 'always',
    finishes: { length: 'model_length' },
  },
  minimax: {
    knows: ['max_completion_tokens', 'stream_options', 'thinking', 'reasoning_split'],
    reasoning: 'think_tags',
    thinksByDefault: true,
    needsReasoning: true,
    content: 'text',
    usage: 'asked',
  },
  moonshot: {
    reasoning: 'reasoning_content',
    thinksByDefault: true,
    content: 'media',
    usage: 'choice',
  },
  groq: {
    reasoning: 'reasoning',
    content: 'media',
    usage: 'x_groq',
  },
  openrouter: {
    reasoning: 'reasoning_details',
    thinksByDefault: true,
    content: 'media',
    usage: 'asked',
  },
};

export const chatServer = (name: ChatServerName): ChatServer => CHAT_SERVERS[name];

/** Throws the 400 or 422 of the server for a request that it does not take. */
export function checkServer(name: ChatServerName, json: JsonObject): void {
  const server = chatServer(name);
  checkFields(server, json);
  const messages = objectsOf(json.messages);
  for (const [index, message] of messages.entries()) {
    checkContent(server, message, index);
    if (server.needsReasoning && message.role === 'assistant' && message.tool_calls && !hasReasoning(server, message))
      throw invalid('The `reasoning_content` in the thinking mode must be passed back to the API.');
  }
  if (server.isOrderly) checkOrder(messages);
}

function checkFields({ knows, reportsDetails, reasoning }: ChatServer, json: JsonObject): void {
  if (!knows) return;
  const unknown = Object.keys(json).find((name) => !COMMON.includes(name) && !knows.includes(name));
  if (unknown !== undefined) throw unknownField(unknown, ['body', unknown], reportsDetails);
  const known = [...COMMON_IN_MESSAGES, ...(reasoning === 'think_tags' ? [] : [reasoning])];
  for (const [index, message] of objectsOf(json.messages).entries()) {
    const other = Object.keys(message).find((name) => !known.includes(name));
    if (other !== undefined) throw unknownField(other, ['body', 'messages', String(index), other], reportsDetails);
  }
}

function unknownField(name: string, loc: string[], reportsDetails: true | undefined): Failure {
  if (!reportsDetails) return invalid(`Unrecognized request argument supplied: ${name}`);
  const detail = [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted' }];
  return new Failure(422, 'Extra inputs are not permitted', { whole: { detail } });
}

function checkContent({ content }: ChatServer, message: JsonObject, index: number): void {
  if (!Array.isArray(message.content)) return;
  if (content === 'text') throw invalid(`messages[${index}].content must be a string`);
  const media = objectsOf(message.content).find(({ type }) => type !== 'text');
  if (content === 'parts' && media) throw invalid(`unknown variant \`${textOf(media.type)}\`, expected \`text\``);
}

function hasReasoning({ reasoning }: ChatServer, message: JsonObject): boolean {
  if (reasoning === 'think_tags') return textOf(message.content).includes('</think>');
  return message[reasoning] !== undefined;
}

function checkOrder(messages: JsonObject[]): void {
  if (messages.slice(1).some(({ role }) => role === 'system'))
    throw invalid('System message must be at the beginning.');
  const repeated = messages.some(({ role }, index) => role === 'user' && messages[index + 1]?.role === 'user');
  if (repeated) throw invalid('Conversation roles must alternate user/assistant/user/assistant.');
}

/** Whether the model of the server thinks, as the request asks in the field of any server. */
export function thinkingOn(name: ChatServerName, json: JsonObject): Thinking {
  const settings = [
    objectOf(json.thinking).type,
    json.enable_thinking,
    objectOf(json.chat_template_kwargs).enable_thinking,
    objectOf(json.reasoning).effort,
    objectOf(json.reasoning).enabled,
    json.reasoning_effort,
  ].filter((value) => value !== undefined);
  if (settings.some((value) => value === 'disabled' || value === 'none' || value === false)) return 'off';
  return settings.length > 0 || chatServer(name).thinksByDefault ? 'shown' : 'off';
}

/** The members of the reply's message that hold its text and its reasoning. */
export function messageContent(name: ChatServerName, thoughts: string, text: string): JsonObject {
  const { reasoning } = chatServer(name);
  if (thoughts === '') return { content: text };
  if (reasoning === 'think_tags') return { content: `<think>\n${thoughts}\n</think>\n\n${text}` };
  if (reasoning === 'reasoning_details')
    return { reasoning_details: [{ type: 'reasoning.text', text: thoughts }], content: text };
  return { [reasoning]: thoughts, content: text };
}
