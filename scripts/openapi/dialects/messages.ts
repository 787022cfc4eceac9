/** The messages dialect in the reference (G 4.2, G 4.3). */
import { schemasOf } from '../schema.ts';
import { type DialectSchemas, STREAM, streamText } from './dialect.ts';

const USAGE = { input_tokens: 12, output_tokens: 9, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const HEAD = { id: 'msg_01Hq2bVxN4sKd9wRtYc3mZ', type: 'message', role: 'assistant', model: 'demo-messages' } as const;

const INPUT = 'model: model, messages: MessagesMessage[] (the conversation, oldest first)';
const SETTINGS = `system?: string | MessagesBlock[] (the system prompt), tools?: MessagesTool[],
  tool_choice?: object ('{"type":"auto"}', 'any', 'none', or 'tool' with a name),
  thinking?: object ('{"type":"enabled","budget_tokens":2048}', 'adaptive' or 'disabled'),
  output_config?: object (effort and format of the reply)`;

export const MESSAGES: DialectSchemas = {
  request: 'MessagesRequest',
  reply: 'MessagesReply',
  replyExample: {
    ...HEAD,
    content: [{ type: 'text', text: 'Hello! How can I help?' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: USAGE,
  },
  streamAbout:
    'Events `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`, `ping`; `error` when the stream breaks.',
  streamExample: streamText(
    ['message_start', { type: 'message_start', message: { ...HEAD, content: [], stop_reason: null, usage: USAGE } }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } }],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }],
    ['message_stop', { type: 'message_stop' }],
  ),
  schemas: schemasOf(
    `
MessagesRequest: ${INPUT}, max_tokens: count (the most output tokens that the reply may have), ${SETTINGS}, ${STREAM},
  temperature?: number, top_p?: number, top_k?: integer, stop_sequences?: string[],
  metadata?: { user_id?: string | null }, service_tier?: string
MessagesCountRequest: ${INPUT}, ${SETTINGS}
MessagesMessage: role: <user assistant system>, content: string | MessagesBlock[]
MessagesBlock: type: string (text, image, document, tool_use, tool_result, thinking, ...), text?: string (of a block 'text'),
  source?: object (of 'image' and 'document': base64 data, a URL or text), id?: string (of 'tool_use'),
  name?: string (of 'tool_use'), input?: object (of 'tool_use': the arguments),
  tool_use_id?: string (of 'tool_result': the call that it belongs to), content?: any (of 'tool_result'),
  is_error?: boolean (of 'tool_result'), thinking?: string (of 'thinking'),
  signature?: string (of 'thinking'; send it back unchanged), cache_control?: object (the prompt up to here is cached)
MessagesTool: name: string, type?: string, description?: string, input_schema?: schema
MessagesReply: id: string, type: "message", role: "assistant", model: string, content: MessagesBlock[],
  stop_reason: string | null (end_turn, max_tokens, stop_sequence, tool_use, pause_turn, refusal, ...),
  stop_sequence: string | null, usage: MessagesUsage
MessagesUsage: input_tokens: integer, output_tokens: integer, cache_read_input_tokens?: integer | null,
  cache_creation_input_tokens?: integer | null
MessagesCount: input_tokens: integer
`,
  ),
};
