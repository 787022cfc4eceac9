/** The messages dialect in the reference (G 4.2, G 4.3). */
import {
  ANY_OBJECT,
  arrayOf,
  BOOLEAN,
  described,
  INTEGER,
  NUMBER,
  nullable,
  openObject,
  ref,
  TEXT,
  wordOf,
} from '../schema.ts';
import { type DialectSchemas, JSON_SCHEMA, MODEL, STREAM, streamText } from './dialect.ts';

const CONTENT = { anyOf: [TEXT, arrayOf(ref('MessagesBlock'))] };
const USAGE = { input_tokens: 12, output_tokens: 9, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const HEAD = { id: 'msg_01Hq2bVxN4sKd9wRtYc3mZ', type: 'message', role: 'assistant', model: 'demo-messages' } as const;

const INPUT = {
  model: MODEL,
  messages: described('the conversation, oldest first', arrayOf(ref('MessagesMessage'))),
};
const SETTINGS = {
  system: described('the system prompt', CONTENT),
  tools: arrayOf(ref('MessagesTool')),
  tool_choice: described('`{"type":"auto"}`, `any`, `none`, or `tool` with a name', ANY_OBJECT),
  thinking: described('`{"type":"enabled","budget_tokens":2048}`, `adaptive` or `disabled`', ANY_OBJECT),
  output_config: described('effort and format of the reply', ANY_OBJECT),
};

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
  schemas: {
    MessagesRequest: openObject(
      { ...INPUT, max_tokens: described('the most output tokens that the reply may have', { ...INTEGER, minimum: 1 }) },
      {
        ...SETTINGS,
        stream: STREAM,
        temperature: NUMBER,
        top_p: NUMBER,
        top_k: INTEGER,
        stop_sequences: arrayOf(TEXT),
        metadata: openObject({}, { user_id: nullable('string') }),
        service_tier: TEXT,
      },
    ),
    MessagesCountRequest: openObject(INPUT, SETTINGS),
    MessagesMessage: openObject({ role: wordOf(['user', 'assistant', 'system']), content: CONTENT }),
    MessagesBlock: openObject(
      { type: described('text, image, document, tool_use, tool_result, thinking, ...', TEXT) },
      {
        text: described('of a block `text`', TEXT),
        source: described('of `image` and `document`: base64 data, a URL or text', ANY_OBJECT),
        id: described('of `tool_use`', TEXT),
        name: described('of `tool_use`', TEXT),
        input: described('of `tool_use`: the arguments', ANY_OBJECT),
        tool_use_id: described('of `tool_result`: the call that it belongs to', TEXT),
        content: described('of `tool_result`', {}),
        is_error: described('of `tool_result`', BOOLEAN),
        thinking: described('of `thinking`', TEXT),
        signature: described('of `thinking`; send it back unchanged', TEXT),
        cache_control: described('the prompt up to here is cached', ANY_OBJECT),
      },
    ),
    MessagesTool: openObject({ name: TEXT }, { type: TEXT, description: TEXT, input_schema: JSON_SCHEMA }),
    MessagesReply: openObject({
      id: TEXT,
      type: { const: 'message' },
      role: { const: 'assistant' },
      model: TEXT,
      content: arrayOf(ref('MessagesBlock')),
      stop_reason: described(
        'end_turn, max_tokens, stop_sequence, tool_use, pause_turn, refusal, ...',
        nullable('string'),
      ),
      stop_sequence: nullable('string'),
      usage: ref('MessagesUsage'),
    }),
    MessagesUsage: openObject(
      { input_tokens: INTEGER, output_tokens: INTEGER },
      { cache_read_input_tokens: nullable('integer'), cache_creation_input_tokens: nullable('integer') },
    ),
    MessagesCount: openObject({ input_tokens: INTEGER }),
  },
};
