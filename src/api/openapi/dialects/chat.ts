/** The chat-completions dialect in the reference (G 4.7). */
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
  SECONDS,
  TEXT,
  wordOf,
} from '../schema.ts';
import { type DialectSchemas, JSON_SCHEMA, MODEL, STREAM, streamText } from './dialect.ts';

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
    'Chunks `chat.completion.chunk`, then `data: [DONE]`. Usage is in the last chunk, when `stream_options.include_usage` asks for it.',
  streamExample: streamText(
    [undefined, chunk({ index: 0, delta: { role: 'assistant', content: 'Hello!' }, finish_reason: null })],
    [undefined, chunk({ index: 0, delta: {}, finish_reason: 'stop' })],
    [undefined, '[DONE]'],
  ),
  schemas: {
    ChatRequest: openObject(
      { model: MODEL, messages: described('the conversation, oldest first', arrayOf(ref('ChatMessage'))) },
      {
        stream: STREAM,
        stream_options: openObject({}, { include_usage: BOOLEAN }),
        max_completion_tokens: nullable('integer'),
        max_tokens: described('older name of `max_completion_tokens`', nullable('integer')),
        temperature: nullable('number'),
        top_p: nullable('number'),
        stop: { anyOf: [TEXT, arrayOf(TEXT), { type: 'null' }] },
        tools: arrayOf(ref('ChatTool')),
        tool_choice: described('`auto`, `none`, `required`, or the tool to call', { anyOf: [TEXT, ANY_OBJECT] }),
        parallel_tool_calls: BOOLEAN,
        response_format: described('`{"type":"json_schema","json_schema":{...}}`, or `text`', ANY_OBJECT),
        reasoning_effort: nullable('string'),
        n: nullable('integer'),
        seed: nullable('integer'),
        user: TEXT,
      },
    ),
    ChatMessage: openObject(
      { role: wordOf(['system', 'developer', 'user', 'assistant', 'tool', 'function']) },
      {
        content: {
          anyOf: [TEXT, arrayOf(ref('ChatPart')), { type: 'null' }],
          description: 'text, or parts of text, images, audio and files',
        },
        name: TEXT,
        tool_calls: described('of the assistant', arrayOf(ref('ChatToolCall'))),
        tool_call_id: described('of a tool: the call that the message belongs to', TEXT),
        refusal: nullable('string'),
      },
    ),
    ChatPart: openObject(
      { type: described('text, image_url, input_audio, file, refusal', TEXT) },
      { text: TEXT, image_url: openObject({ url: TEXT }), input_audio: ANY_OBJECT, file: ANY_OBJECT },
    ),
    ChatTool: openObject(
      { type: wordOf(['function', 'custom']) },
      {
        function: openObject(
          { name: TEXT },
          { description: TEXT, parameters: JSON_SCHEMA, strict: nullable('boolean') },
        ),
      },
    ),
    ChatToolCall: openObject(
      { id: TEXT, type: TEXT },
      { function: openObject({ name: TEXT, arguments: described('JSON as text', TEXT) }) },
    ),
    ChatReply: openObject(
      {
        id: TEXT,
        object: { const: 'chat.completion' },
        created: SECONDS,
        model: TEXT,
        choices: arrayOf(ref('ChatChoice')),
      },
      { usage: ref('ChatUsage') },
    ),
    ChatChoice: openObject({
      index: INTEGER,
      message: ref('ChatMessage'),
      finish_reason: described('stop, length, tool_calls, content_filter', TEXT),
    }),
    ChatUsage: openObject(
      { prompt_tokens: NUMBER, completion_tokens: NUMBER, total_tokens: NUMBER },
      { prompt_tokens_details: ANY_OBJECT, completion_tokens_details: ANY_OBJECT },
    ),
  },
};
