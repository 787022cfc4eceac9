/** The chat-completions dialect in the reference (G 4.7). */
import { schemasOf } from '../schema.ts';
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
    'Chunks `chat.completion.chunk`, then `data: [DONE]`. Usage is in the last chunk, when `stream_options.include_usage` asks for it.',
  streamExample: streamText(
    [undefined, chunk({ index: 0, delta: { role: 'assistant', content: 'Hello!' }, finish_reason: null })],
    [undefined, chunk({ index: 0, delta: {}, finish_reason: 'stop' })],
    [undefined, '[DONE]'],
  ),
  schemas: schemasOf(`
ChatRequest: model: model, messages: ChatMessage[] (the conversation, oldest first), ${STREAM},
  stream_options?: { include_usage?: boolean }, max_completion_tokens?: integer | null,
  max_tokens?: integer | null (older name of 'max_completion_tokens'), temperature?: number | null, top_p?: number | null,
  stop?: string | string[] | null, tools?: ChatTool[],
  tool_choice?: string | object ('auto', 'none', 'required', or the tool to call), parallel_tool_calls?: boolean,
  response_format?: object ('{"type":"json_schema","json_schema":{...}}', or 'text'), reasoning_effort?: string | null,
  n?: integer | null, seed?: integer | null, user?: string
ChatMessage: role: <system developer user assistant tool function>,
  content?: string | ChatPart[] | null (text, or parts of text, images, audio and files), name?: string,
  tool_calls?: ChatToolCall[] (of the assistant), tool_call_id?: string (of a tool: the call that the message belongs to),
  refusal?: string | null
ChatPart: type: string (text, image_url, input_audio, file, refusal), text?: string, image_url?: { url: string },
  input_audio?: object, file?: object
ChatTool: type: <function custom>,
  function?: { name: string, description?: string, parameters?: schema, strict?: boolean | null }
ChatToolCall: id: string, type: string, function?: { name: string, arguments: string (JSON as text) }
ChatReply: id: string, object: "chat.completion", created: seconds, model: string, choices: ChatChoice[], usage?: ChatUsage
ChatChoice: index: integer, message: ChatMessage, finish_reason: string (stop, length, tool_calls, content_filter)
ChatUsage: prompt_tokens: number, completion_tokens: number, total_tokens: number, prompt_tokens_details?: object,
  completion_tokens_details?: object
`),
};
