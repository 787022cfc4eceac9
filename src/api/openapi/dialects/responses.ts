/** The responses dialect in the reference (G 4.4). */
import {
  ANY_OBJECT,
  arrayOf,
  BOOLEAN,
  described,
  INTEGER,
  nullable,
  object,
  openObject,
  ref,
  SECONDS,
  TEXT,
  wordOf,
} from '../schema.ts';
import { type DialectSchemas, JSON_SCHEMA, MODEL, streamText } from './dialect.ts';

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

const INPUT = {
  anyOf: [TEXT, arrayOf(ref('ResponsesItem'))],
  description: 'a text of the user, or items: messages, calls of tools and their results',
};

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
  schemas: {
    ResponsesRequest: openObject(
      {},
      {
        model: MODEL,
        input: INPUT,
        instructions: described('the system prompt', nullable('string')),
        previous_response_id: described('continues a stored response', nullable('string')),
        stream: described('true: the reply is sent as server-sent events', nullable('boolean')),
        store: described('whether the response can be read and continued later; true by default', nullable('boolean')),
        background: described('true: returns at once; read the response until it is complete', nullable('boolean')),
        max_output_tokens: nullable('integer'),
        temperature: nullable('number'),
        top_p: nullable('number'),
        tools: arrayOf(ref('ResponsesTool')),
        tool_choice: described('`auto`, `none`, `required`, or the tool to call', { anyOf: [TEXT, ANY_OBJECT] }),
        parallel_tool_calls: nullable('boolean'),
        reasoning: described('effort and summary of reasoning', {
          type: ['object', 'null'],
          additionalProperties: true,
        }),
        text: described('format and verbosity of the reply', ANY_OBJECT),
        include: described('further members of the reply', { type: ['array', 'null'], items: TEXT }),
        metadata: { type: ['object', 'null'], additionalProperties: true },
      },
    ),
    ResponsesItem: openObject(
      {},
      {
        type: described('message (default), function_call, function_call_output, reasoning, ...', TEXT),
        id: nullable('string'),
        role: wordOf(['user', 'assistant', 'system', 'developer']),
        content: { anyOf: [TEXT, arrayOf(ref('ResponsesPart')), { type: 'null' }] },
        status: nullable('string'),
        call_id: described('of a call and of its output', nullable('string')),
        name: described('of a call', TEXT),
        arguments: described('of a call: JSON as text', TEXT),
        output: described('of a call', {}),
        encrypted_content: described('of reasoning; send it back unchanged', nullable('string')),
      },
    ),
    ResponsesPart: openObject(
      { type: described('input_text, input_image, input_file, output_text, refusal', TEXT) },
      { text: TEXT, image_url: nullable('string'), file_data: TEXT, filename: TEXT, annotations: arrayOf({}) },
    ),
    ResponsesTool: openObject(
      { type: described('function, custom, web_search, mcp, ...', TEXT) },
      { name: TEXT, description: nullable('string'), parameters: JSON_SCHEMA, strict: nullable('boolean') },
    ),
    ResponsesReply: openObject(
      {
        id: TEXT,
        object: { const: 'response' },
        created_at: SECONDS,
        model: TEXT,
        output: arrayOf(ref('ResponsesItem')),
      },
      {
        status: wordOf(['completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete']),
        error: { type: ['object', 'null'], additionalProperties: true },
        incomplete_details: { type: ['object', 'null'], additionalProperties: true },
        previous_response_id: nullable('string'),
        usage: { anyOf: [ref('ResponsesUsage'), { type: 'null' }] },
      },
    ),
    ResponsesUsage: openObject(
      { input_tokens: INTEGER, output_tokens: INTEGER, total_tokens: INTEGER },
      { input_tokens_details: ANY_OBJECT, output_tokens_details: ANY_OBJECT },
    ),
    ResponsesCount: openObject({ object: { const: 'response.input_tokens' }, input_tokens: INTEGER }),
    ResponsesCompaction: openObject(
      { id: TEXT, object: { const: 'response.compaction' }, output: arrayOf(ref('ResponsesItem')) },
      { created_at: SECONDS, usage: ref('ResponsesUsage') },
    ),
    ResponsesDeleted: object({ id: TEXT, object: { const: 'response' }, deleted: BOOLEAN }),
    ResponsesInputItems: openObject({
      object: { const: 'list' },
      data: arrayOf(ref('ResponsesItem')),
      first_id: nullable('string'),
      last_id: nullable('string'),
      has_more: BOOLEAN,
    }),
  },
};
