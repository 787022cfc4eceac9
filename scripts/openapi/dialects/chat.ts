/** The chat-completions dialect in the reference (G 4.7). */
import {
  anyOf,
  BOOLEAN,
  constant,
  described,
  INTEGER,
  JSON_SCHEMA,
  list,
  MODEL,
  NULL,
  NUMBER,
  nullable,
  OBJECT,
  oneOf,
  open,
  optional,
  ref,
  SECONDS,
  TEXT,
} from '../schema.ts';
import { type DialectSchemas, STREAM, streamText } from './dialect.ts';

const HEAD = { id: 'chatcmpl-7Hq2bVxN4sKd9wRt', created: 1_767_225_600, model: 'demo-messages' } as const;
const USAGE = { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 } as const;
const chunk = (choice: object): object => ({ ...HEAD, object: 'chat.completion.chunk', choices: [choice] });

export const CHAT: DialectSchemas = {
  request: 'ChatRequest',
  reply: 'ChatReply',
  replyExample: {
    ...HEAD,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello! How can I help?', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
  },
  streamAbout:
    'Chunks `chat.completion.chunk`, then `data: [DONE]`. ' +
    'Usage is in the last chunk, when `stream_options.include_usage` asks for it.',
  streamExample: streamText(
    [undefined, chunk({ index: 0, delta: { role: 'assistant', content: 'Hello!' }, finish_reason: null })],
    [undefined, chunk({ index: 0, delta: {}, finish_reason: 'stop' })],
    [undefined, '[DONE]'],
  ),
  schemas: {
    ChatRequest: open({
      model: MODEL,
      messages: described(list(ref('ChatMessage')), 'the conversation, oldest first'),
      ...STREAM,
      stream_options: optional(open({ include_usage: optional(BOOLEAN) })),
      max_completion_tokens: optional(nullable(INTEGER)),
      max_tokens: optional(nullable(INTEGER), 'older name of `max_completion_tokens`'),
      temperature: optional(nullable(NUMBER)),
      top_p: optional(nullable(NUMBER)),
      stop: optional(anyOf(TEXT, list(TEXT), NULL)),
      tools: optional(list(ref('ChatTool'))),
      tool_choice: optional(anyOf(TEXT, OBJECT), '`auto`, `none`, `required`, or the tool to call'),
      parallel_tool_calls: optional(BOOLEAN),
      response_format: optional(OBJECT, '`{"type":"json_schema","json_schema":{...}}`, or `text`'),
      reasoning_effort: optional(nullable(TEXT)),
      n: optional(nullable(INTEGER)),
      seed: optional(nullable(INTEGER)),
      user: optional(TEXT),
    }),
    ChatMessage: open({
      role: oneOf('system', 'developer', 'user', 'assistant', 'tool', 'function'),
      content: optional(anyOf(TEXT, list(ref('ChatPart')), NULL), 'text, or parts of text, images, audio and files'),
      name: optional(TEXT),
      tool_calls: optional(list(ref('ChatToolCall')), 'of the assistant'),
      tool_call_id: optional(TEXT, 'of a tool: the call that the message belongs to'),
      refusal: optional(nullable(TEXT)),
    }),
    ChatPart: open({
      type: described(TEXT, 'text, image_url, input_audio, file, refusal'),
      text: optional(TEXT),
      image_url: optional(open({ url: TEXT })),
      input_audio: optional(OBJECT),
      file: optional(OBJECT),
    }),
    ChatTool: open({
      type: oneOf('function', 'custom'),
      function: optional(
        open({
          name: TEXT,
          description: optional(TEXT),
          parameters: optional(JSON_SCHEMA),
          strict: optional(nullable(BOOLEAN)),
        }),
      ),
    }),
    ChatToolCall: open({
      id: TEXT,
      type: TEXT,
      function: optional(open({ name: TEXT, arguments: described(TEXT, 'JSON as text') })),
    }),
    ChatReply: open({
      id: TEXT,
      object: constant('chat.completion'),
      created: SECONDS,
      model: TEXT,
      choices: list(ref('ChatChoice')),
      usage: optional(ref('ChatUsage')),
    }),
    ChatChoice: open({
      index: INTEGER,
      message: ref('ChatMessage'),
      finish_reason: described(TEXT, 'stop, length, tool_calls, content_filter'),
    }),
    ChatUsage: open({
      prompt_tokens: NUMBER,
      completion_tokens: NUMBER,
      total_tokens: NUMBER,
      prompt_tokens_details: optional(OBJECT),
      completion_tokens_details: optional(OBJECT),
    }),
  },
};
