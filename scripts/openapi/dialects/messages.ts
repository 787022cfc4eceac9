/** The messages dialect in the reference (G 4.2, G 4.3). */
import {
  ANY,
  anyOf,
  BOOLEAN,
  COUNT,
  constant,
  described,
  INTEGER,
  JSON_SCHEMA,
  list,
  type Members,
  MODEL,
  NUMBER,
  nullable,
  OBJECT,
  oneOf,
  open,
  optional,
  ref,
  TEXT,
} from '../schema.ts';
import { type DialectSchemas, STREAM, streamText } from './dialect.ts';

const USAGE = { input_tokens: 12, output_tokens: 9, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const HEAD = { id: 'msg_01Hq2bVxN4sKd9wRtYc3mZ', type: 'message', role: 'assistant', model: 'demo-messages' } as const;

const INPUT: Members = {
  model: MODEL,
  messages: described(list(ref('MessagesMessage')), 'the conversation, oldest first'),
};
const SETTINGS: Members = {
  system: optional(anyOf(TEXT, list(ref('MessagesBlock'))), 'the system prompt'),
  tools: optional(list(ref('MessagesTool'))),
  tool_choice: optional(OBJECT, '`{"type":"auto"}`, `any`, `none`, or `tool` with a name'),
  thinking: optional(OBJECT, '`{"type":"enabled","budget_tokens":2048}`, `adaptive` or `disabled`'),
  output_config: optional(OBJECT, 'effort and format of the reply'),
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
    'Events `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, ' +
    '`message_delta`, `message_stop`, `ping`; `error` when the stream breaks.',
  streamExample: streamText(
    ['message_start', { type: 'message_start', message: { ...HEAD, content: [], stop_reason: null, usage: USAGE } }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } }],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }],
    ['message_stop', { type: 'message_stop' }],
  ),
  schemas: {
    MessagesRequest: open({
      ...INPUT,
      max_tokens: described(COUNT, 'the most output tokens that the reply may have'),
      ...SETTINGS,
      ...STREAM,
      temperature: optional(NUMBER),
      top_p: optional(NUMBER),
      top_k: optional(INTEGER),
      stop_sequences: optional(list(TEXT)),
      metadata: optional(open({ user_id: optional(nullable(TEXT)) })),
      service_tier: optional(TEXT),
    }),
    MessagesCountRequest: open({ ...INPUT, ...SETTINGS }),
    MessagesMessage: open({
      role: oneOf('user', 'assistant', 'system'),
      content: anyOf(TEXT, list(ref('MessagesBlock'))),
    }),
    MessagesBlock: open({
      type: described(TEXT, 'text, image, document, tool_use, tool_result, thinking, ...'),
      text: optional(TEXT, 'of a block `text`'),
      source: optional(OBJECT, 'of `image` and `document`: base64 data, a URL or text'),
      id: optional(TEXT, 'of `tool_use`'),
      name: optional(TEXT, 'of `tool_use`'),
      input: optional(OBJECT, 'of `tool_use`: the arguments'),
      tool_use_id: optional(TEXT, 'of `tool_result`: the call that it belongs to'),
      content: optional(ANY, 'of `tool_result`'),
      is_error: optional(BOOLEAN, 'of `tool_result`'),
      thinking: optional(TEXT, 'of `thinking`'),
      signature: optional(TEXT, 'of `thinking`; send it back unchanged'),
      cache_control: optional(OBJECT, 'the prompt up to here is cached'),
    }),
    MessagesTool: open({
      name: TEXT,
      type: optional(TEXT),
      description: optional(TEXT),
      input_schema: optional(JSON_SCHEMA),
    }),
    MessagesReply: open({
      id: TEXT,
      type: constant('message'),
      role: constant('assistant'),
      model: TEXT,
      content: list(ref('MessagesBlock')),
      stop_reason: described(nullable(TEXT), 'end_turn, max_tokens, stop_sequence, tool_use, pause_turn, refusal, ...'),
      stop_sequence: nullable(TEXT),
      usage: ref('MessagesUsage'),
    }),
    MessagesUsage: open({
      input_tokens: INTEGER,
      output_tokens: INTEGER,
      cache_read_input_tokens: optional(nullable(INTEGER)),
      cache_creation_input_tokens: optional(nullable(INTEGER)),
    }),
    MessagesCount: open({ input_tokens: INTEGER }),
  },
};
