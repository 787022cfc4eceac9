/** Lossy points of replies. */
import { assistantMessage, type Conversion, FIND, fromFile, type Row, returns, unaryReply, user } from './row.ts';

const OVER_MESSAGES = ['chat over messages', 'responses over messages'] as const satisfies readonly Conversion[];

const CITED = {
  type: 'text',
  text: 'Pears are green.',
  citations: [
    {
      type: 'web_search_result_location',
      url: 'https://pears.example/',
      title: 'Pears',
      encrypted_index: 'OPAQUE',
      cited_text: 'green',
    },
  ],
};

const REFUSED = {
  stop_reason: 'refusal',
  stop_details: { type: 'refusal', category: 'cyber', explanation: 'I will not.' },
};

const TEXT_CALL_TEXT = [
  { type: 'text', text: 'one ' },
  { type: 'tool_use', id: 'call_a', name: 'find', input: {} },
  { type: 'text', text: 'two' },
];

const ITERATIONS = {
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    iterations: [
      { type: 'message', input_tokens: 10, output_tokens: 5 },
      { type: 'message', input_tokens: 20, output_tokens: 6 },
    ],
  },
};

const candidate = (index: number, text: string) => ({
  index,
  content: { role: 'model', parts: [{ text }] },
  finishReason: 'STOP',
});
/** Candidates out of order. */
const SEVERAL = unaryReply.generate([], { candidates: [candidate(1, 'second'), candidate(0, 'first')] });

const MCP_CALL = {
  type: 'mcp_call',
  id: 'mcp_1',
  status: 'completed',
  server_label: 'files',
  name: 'read',
  arguments: '{"path":"a"}',
  output: 'text of a',
};
const RAN = [
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: { code: 'print(6*7)' } },
  {
    type: 'code_execution_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: { type: 'code_execution_result', stdout: '42', stderr: '', return_code: 0, content: [] },
  },
];
const RAN_PARTS = [
  { executableCode: { language: 'PYTHON', code: 'print(6*7)' } },
  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42' } },
];

export const REPLIES: Readonly<Record<number, Row>> = {
  47: {
    summary:
      "Citations of pages and of documents are converted to the client's dialect; their opaque part is dropped. Chat clients get citations of pages only, and the others are named.",
    conversions: OVER_MESSAGES,
    outcomes: ['changed'],
    vectors: [
      returns('responses over messages', unaryReply.messages([CITED]), {
        body: {
          output: [
            {
              content: [
                {
                  text: 'Pears are green.',
                  annotations: [
                    {
                      type: 'url_citation',
                      url: 'https://pears.example/',
                      title: 'Pears',
                      start_index: 0,
                      end_index: 16,
                    },
                  ],
                },
              ],
            },
          ],
        },
        nowhere: ['OPAQUE'],
      }),
      returns('chat over messages', unaryReply.messages([CITED]), {
        body: {
          choices: [
            {
              message: {
                content: 'Pears are green.',
                annotations: [{ type: 'url_citation', url_citation: { url: 'https://pears.example/', end_index: 16 } }],
              },
            },
          ],
        },
        nowhere: ['OPAQUE'],
      }),
    ],
  },
  48: {
    summary:
      "Calls of hosted tools and their results are shown in the client's own items or blocks, after an opaque value with which they return unchanged to the provider that ran them. A call without a counterpart is dropped and named, as `reply.` and its tool: all of them for chat clients, a file search and a list of MCP tools for messages clients. A stream names it in a comment before its end.",
    conversions: [
      'messages over responses',
      'responses over messages',
      'responses over generate',
      'messages over generate',
    ],
    outcomes: ['changed', 'carried', 'dropped'],
    vectors: [
      returns(
        'messages over responses',
        unaryReply.responses([
          { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'pears' } },
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [
              {
                type: 'output_text',
                text: 'Pears are green.',
                annotations: [
                  {
                    type: 'url_citation',
                    url: 'https://pears.example/',
                    title: 'Pears',
                    start_index: 0,
                    end_index: 16,
                  },
                ],
              },
            ],
          },
        ]),
        {
          body: {
            content: [
              { type: 'thinking', thinking: '', signature: { $match: '^gw1\\.' } },
              { type: 'server_tool_use', name: 'web_search', input: { query: 'pears' } },
              { type: 'web_search_tool_result' },
              { type: 'text', text: 'Pears are green.', citations: [{ url: 'https://pears.example/' }] },
            ],
            usage: { server_tool_use: { web_search_requests: 1 } },
          },
        },
        {
          request: { messages: [user('hi')], tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
          next: {
            add: [user('go')],
            upstream: 'messages',
            expect: {
              body: {
                messages: [
                  {},
                  {
                    content: [
                      { type: 'text', text: '<tool_call tool="web_search">\n<input>\npears\n</input>\n</tool_call>' },
                      { type: 'text', text: 'Pears are green.' },
                    ],
                  },
                  {},
                ],
              },
              nowhere: ['srvtoolu_gw', 'gw1.'],
            },
          },
        },
      ),
      returns(
        'messages over responses',
        unaryReply.responses([MCP_CALL, assistantMessage('Read.')]),
        {
          body: {
            content: [
              { type: 'thinking' },
              { type: 'mcp_tool_use', server_name: 'files', name: 'read', input: { path: 'a' } },
              { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'text of a' }] },
              { type: 'text', text: 'Read.' },
            ],
          },
        },
        { next: { add: [user('go')], expect: { body: { input: [{}, MCP_CALL, {}, {}] }, nowhere: ['gw1.'] } } },
      ),
      returns(
        'responses over messages',
        unaryReply.messages([...RAN, { type: 'text', text: 'It is 42.' }]),
        {
          body: {
            output: [
              { type: 'reasoning', summary: [], encrypted_content: { $match: '^gw1\\.' } },
              {
                type: 'code_interpreter_call',
                status: 'completed',
                code: 'print(6*7)',
                outputs: [{ type: 'logs', logs: '42' }],
              },
              { type: 'message' },
            ],
          },
        },
        {
          next: {
            add: [user('go')],
            expect: { body: { messages: [{}, { content: [...RAN, { text: 'It is 42.' }] }, {}] }, nowhere: ['gw1.'] },
          },
        },
      ),
      ...(['responses over generate', 'messages over generate'] as const).map((conversion) =>
        returns(
          conversion,
          unaryReply.generate([...RAN_PARTS, { text: 'It is 42.' }]),
          { body: {} },
          {
            next: {
              add: [user('go')],
              expect: {
                body: { contents: [{}, { parts: [...RAN_PARTS, { text: 'It is 42.' }] }, {}] },
                nowhere: ['gw1.'],
              },
            },
          },
        ),
      ),
    ],
  },
  49: {
    summary: 'The text of a refusal is kept; its category is dropped.',
    conversions: OVER_MESSAGES,
    outcomes: ['dropped'],
    vectors: [
      returns('responses over messages', unaryReply.messages([], REFUSED), {
        body: { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: 'I will not.' }] }] },
        nowhere: ['cyber'],
      }),
      returns('chat over messages', unaryReply.messages([], REFUSED), {
        body: { choices: [{ message: { content: null, refusal: 'I will not.' }, finish_reason: 'stop' }] },
        nowhere: ['cyber'],
      }),
    ],
  },
  50: {
    summary: 'The gateway continues a paused provider turn; the client gets one response.',
    conversions: OVER_MESSAGES,
    outcomes: ['changed'],
    vectors: [],
    test: 'test/e2e/pause.test.ts',
  },
  51: {
    summary:
      'Text before and after a call becomes one text, because a chat message has no order between text and calls.',
    conversions: ['chat over messages', 'chat over generate', 'chat over responses'],
    outcomes: ['changed'],
    vectors: [
      returns('chat over messages', unaryReply.messages(TEXT_CALL_TEXT, { stop_reason: 'tool_use' }), {
        body: {
          choices: [{ message: { content: 'one two', tool_calls: [{ id: 'call_a' }] }, finish_reason: 'tool_calls' }],
        },
      }),
      returns(
        'chat over generate',
        unaryReply.generate([
          { text: 'one ' },
          { functionCall: { id: 'call_a', name: 'find', args: {} } },
          { text: 'two' },
        ]),
        {
          body: {
            choices: [{ message: { content: 'one two', tool_calls: [{ id: 'call_a' }] }, finish_reason: 'tool_calls' }],
          },
        },
        { request: { tools: [FIND.chat] } },
      ),
      returns(
        'chat over responses',
        unaryReply.responses([
          message('one '),
          { type: 'function_call', id: 'fc_1', call_id: 'call_a', name: 'find', arguments: '{}', status: 'completed' },
          message('two'),
        ]),
        {
          body: {
            choices: [{ message: { content: 'one two', tool_calls: [{ id: 'call_a' }] }, finish_reason: 'tool_calls' }],
          },
        },
      ),
    ],
  },
  52: {
    summary: 'Only the first of several candidates is returned.',
    conversions: ['messages over generate', 'chat over generate', 'responses over generate'],
    outcomes: ['dropped'],
    vectors: [
      returns('messages over generate', SEVERAL, {
        body: { content: [{ text: 'first' }] },
        nowhere: ['second'],
      }),
      returns('chat over generate', SEVERAL, {
        body: { choices: [{ message: { content: 'first' } }] },
        nowhere: ['second'],
      }),
      returns('responses over generate', SEVERAL, {
        body: { output: [{ content: [{ text: 'first' }] }] },
        nowhere: ['second'],
      }),
    ],
  },
  58: {
    summary:
      "The lifetimes of cache writes are reported in the two classes of the client's dialect; the sum is preserved.",
    conversions: ['responses over messages', 'messages over responses'],
    outcomes: ['changed'],
    vectors: [
      fromFile('responses-messages-usage-ttl.json'),
      returns(
        'messages over responses',
        unaryReply.responses([message('Hello.')], {
          usage: {
            input_tokens: 100,
            input_tokens_details: {
              cached_tokens: 60,
              cache_write_tokens: 10,
              cache_write_tokens_details: { ttl_30m_tokens: 4, ttl_12h_tokens: 6 },
            },
            output_tokens: 5,
            total_tokens: 105,
          },
        }),
        {
          body: {
            usage: {
              input_tokens: 30,
              cache_read_input_tokens: 60,
              cache_creation_input_tokens: 10,
              cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 6 },
            },
          },
        },
      ),
    ],
  },
  59: {
    summary: 'The usage of several provider iterations is summed.',
    conversions: OVER_MESSAGES,
    outcomes: ['changed'],
    vectors: [
      returns('responses over messages', unaryReply.messages([{ type: 'text', text: 'Hello.' }], ITERATIONS), {
        body: { usage: { input_tokens: 30, output_tokens: 11, total_tokens: 41 } },
      }),
      returns('chat over messages', unaryReply.messages([{ type: 'text', text: 'Hello.' }], ITERATIONS), {
        body: { usage: { prompt_tokens: 30, completion_tokens: 11, total_tokens: 41 } },
      }),
    ],
  },
  68: {
    summary:
      'Parts of a reply that no other dialect has a form for are dropped and named: log probabilities, suggestions of a Google search, the container of code that ran.',
    conversions: [...OVER_MESSAGES, 'messages over generate', 'chat over generate', 'responses over generate'],
    outcomes: ['dropped'],
    vectors: [],
    test: 'test/laws/fields.test.ts',
  },
};

function message(text: string) {
  return {
    type: 'message',
    id: `msg_${text.length}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}
