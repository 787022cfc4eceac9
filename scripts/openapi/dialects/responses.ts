/** The responses dialect in the reference (G 4.4). */
import { CURSORS, schemasOf } from '../schema.ts';
import { type DialectSchemas, streamText } from './dialect.ts';

const REPLY = {
  id: 'resp_7Hq2bVxN4sKd9wRtYc3mZp',
  object: 'response',
  created_at: 1_767_225_600,
  status: 'completed',
  model: 'demo-responses',
  output: [
    {
      id: 'msg_4Kd8sWq1nXv7bRtYc2mZpH',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello! How can I help?', annotations: [] }],
    },
  ],
  usage: { input_tokens: 12, output_tokens: 9, total_tokens: 21 },
} as const;

export const RESPONSES: DialectSchemas = {
  request: 'ResponsesRequest',
  reply: 'ResponsesReply',
  replyExample: REPLY,
  streamAbout:
    'Events such as `response.created`, `response.output_item.added`, `response.output_text.delta`, `response.completed`; each has a `sequence_number`. A failed reply ends with `response.failed` or `error`.',
  streamExample: streamText(
    [
      'response.created',
      { type: 'response.created', sequence_number: 0, response: { ...REPLY, status: 'in_progress', output: [] } },
    ],
    [
      'response.output_text.delta',
      { type: 'response.output_text.delta', sequence_number: 4, output_index: 0, content_index: 0, delta: 'Hello!' },
    ],
    ['response.completed', { type: 'response.completed', sequence_number: 8, response: REPLY }],
  ),
  schemas: schemasOf(`
ResponsesRequest: model?: model,
  input?: string | ResponsesItem[] (a text of the user, or items: messages, calls of tools and their results),
  instructions?: string | null (the system prompt), previous_response_id?: string | null (continues a stored response),
  stream?: boolean | null (true: the reply is sent as server-sent events),
  store?: boolean | null (whether the response can be read and continued later; true by default),
  background?: boolean | null (true: returns at once; read the response until it is complete),
  max_output_tokens?: integer | null, temperature?: number | null, top_p?: number | null, tools?: ResponsesTool[],
  tool_choice?: string | object ('auto', 'none', 'required', or the tool to call), parallel_tool_calls?: boolean | null,
  reasoning?: object | null (effort and summary of reasoning), text?: object (format and verbosity of the reply),
  include?: string[] | null (further members of the reply), metadata?: object | null
ResponsesItem: type?: string (message (default), function_call, function_call_output, reasoning, ...), id?: string | null,
  role?: <user assistant system developer>, content?: string | ResponsesPart[] | null, status?: string | null,
  call_id?: string | null (of a call and of its output), name?: string (of a call),
  arguments?: string (of a call: JSON as text), output?: any (of a call),
  encrypted_content?: string | null (of reasoning; send it back unchanged)
ResponsesPart: type: string (input_text, input_image, input_file, output_text, refusal), text?: string,
  image_url?: string | null, file_data?: string, filename?: string, annotations?: any[]
ResponsesTool: type: string (function, custom, web_search, mcp, ...), name?: string, description?: string | null,
  parameters?: schema, strict?: boolean | null
ResponsesReply: id: string, object: "response", created_at: seconds, model: string, output: ResponsesItem[],
  status?: <completed failed in_progress cancelled queued incomplete>, error?: object | null,
  incomplete_details?: object | null, previous_response_id?: string | null, usage?: ResponsesUsage | null
ResponsesUsage: input_tokens: integer, output_tokens: integer, total_tokens: integer, input_tokens_details?: object,
  output_tokens_details?: object
ResponsesCount: object: "response.input_tokens", input_tokens: integer
ResponsesCompaction: id: string, object: "response.compaction", output: ResponsesItem[], created_at?: seconds,
  usage?: ResponsesUsage
closed ResponsesDeleted: id: string, object: "response", deleted: boolean
ResponsesInputItems: object: "list", data: ResponsesItem[], ${CURSORS}
`),
};
