/** Tools that one side has in another form or not at all. */
import { answer, assistant, FIND, type Row, recorded, refuses, said, tells, user, type Way, writes } from './row.ts';

const FROM_RESPONSES = ['responses over messages', 'responses over generate'] as const satisfies readonly Way[];
const FROM_MESSAGES = ['messages over responses', 'messages over generate'] as const satisfies readonly Way[];

const GRAMMAR = 'start: "x"';
const CUSTOM = {
  responses: {
    tools: [{ type: 'custom', name: 'apply', format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR } }],
  },
  chat: {
    tools: [
      {
        type: 'custom',
        custom: { name: 'apply', format: { type: 'grammar', grammar: { syntax: 'lark', definition: GRAMMAR } } },
      },
    ],
  },
} as const;
const FREE_TEXT = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };
const DESCRIBED = { name: 'apply', description: { $match: 'start: "x"' } };

const NAMESPACE = { tools: [{ type: 'namespace', name: 'files', tools: [FIND.responses] }] };

const SEARCHED = {
  messages: {
    tools: [
      { ...FIND.messages, defer_loading: true },
      { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    ],
  },
  responses: { tools: [{ ...FIND.responses, defer_loading: true }, { type: 'tool_search' }] },
};

const MCP = {
  responses: {
    type: 'mcp',
    server_label: 'docs',
    server_url: 'https://mcp.example/',
    authorization: 'SECRET',
    allowed_tools: ['look'],
    require_approval: 'never',
  },
  messages: {
    mcp_servers: [{ type: 'url', name: 'docs', url: 'https://mcp.example/', authorization_token: 'SECRET' }],
    tools: [
      {
        type: 'mcp_toolset',
        mcp_server_name: 'docs',
        default_config: { enabled: false },
        configs: { look: { enabled: true } },
      },
    ],
  },
};

const CLOSED = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const strictTool = (n: number) => ({ type: 'function', name: `tool_${n}`, strict: true, parameters: CLOSED });
const STRICT_ROOM = 20;

const SEARCH = {
  messages: assistant([
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'pears' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    { type: 'text', text: 'Found.' },
  ]),
  responses: [
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'pears' } },
    said('Found.'),
  ],
};

const COMPUTED = {
  messages: assistant([
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: { code: '1' } },
    {
      type: 'code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'code_execution_result', content: [{ type: 'code_execution_output', file_id: 'file_out' }] },
    },
    { type: 'text', text: 'Done.' },
  ]),
  responses: [
    {
      type: 'code_interpreter_call',
      id: 'ci_1',
      code: '1',
      container_id: 'cntr_out',
      outputs: null,
      status: 'completed',
    },
    said('Done.'),
  ],
};

export const TOOLS: Readonly<Record<number, Row>> = {
  24: {
    story: 'A tool that takes free text becomes a function with one text; its grammar can only be described.',
    ways: [...FROM_RESPONSES, 'chat over messages', 'chat over generate'],
    fate: ['changed'],
    proofs: [
      recorded('responses-messages-custom-tool.json'),
      recorded('responses-messages-custom-input.json'),
      ...(['responses', 'chat'] as const).flatMap((client) => [
        writes(`${client} over messages`, CUSTOM[client], {
          body: { tools: [{ ...DESCRIBED, input_schema: FREE_TEXT }] },
          dropped: [],
        }),
        writes(`${client} over generate`, CUSTOM[client], {
          body: { tools: [{ functionDeclarations: [{ ...DESCRIBED, parametersJsonSchema: FREE_TEXT }] }] },
          dropped: [],
        }),
      ]),
    ],
  },
  25: {
    story: 'Namespaces are written into the names of their tools, and calls come back with both.',
    ways: [...FROM_RESPONSES, 'responses over chat'],
    fate: ['changed'],
    proofs: [
      recorded('responses-messages-namespace.json'),
      recorded('responses-messages-namespace-answer.json'),
      writes('responses over chat', NAMESPACE, { body: { tools: [{ function: { name: 'files__find' } }] } }),
      writes('responses over generate', NAMESPACE, {
        body: { tools: [{ functionDeclarations: [{ name: 'files__find' }] }] },
      }),
      tells(
        'responses over generate',
        answer.generate([{ functionCall: { id: 'call_a', name: 'files__find', args: {} } }]),
        { body: { output: [{ type: 'function_call', name: 'find', namespace: 'files' }] } },
        { request: NAMESPACE },
      ),
    ],
  },
  26: {
    story:
      'A search among tools exists on two sides; elsewhere all tools are offered at once, also where the client would search itself.',
    ways: [...FROM_MESSAGES, ...FROM_RESPONSES],
    fate: ['changed', 'left out'],
    proofs: [
      writes('messages over responses', SEARCHED.messages, {
        body: { tools: [{ name: 'find', defer_loading: true }, { type: 'tool_search' }] },
        dropped: [],
      }),
      writes('responses over messages', SEARCHED.responses, {
        body: {
          tools: [
            { name: 'find', defer_loading: true },
            { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
          ],
        },
        dropped: [],
      }),
      writes(
        'responses over messages',
        {
          tools: [
            { ...FIND.responses, defer_loading: true },
            { type: 'tool_search', execution: 'client' },
          ],
        },
        { body: { tools: [{ name: 'find' }] }, nowhere: ['defer_loading', 'tool_search'], dropped: ['tools'] },
      ),
      ...(['messages', 'responses'] as const).map((client) =>
        writes(`${client} over generate`, SEARCHED[client], {
          body: { tools: [{ functionDeclarations: [{ name: 'find' }] }] },
          nowhere: ['defer_loading', 'tool_search'],
          dropped: ['tools'],
        }),
      ),
    ],
  },
  27: {
    story:
      'Hosted tools without a counterpart are left out, since agents list them always; one that must be used is refused.',
    ways: [...FROM_RESPONSES, 'messages over responses'],
    fate: ['left out', 'rejected'],
    proofs: [
      recorded('responses-messages-hosted-tools.json'),
      ...FROM_RESPONSES.flatMap((way) => [
        writes(
          way,
          {
            tools: [FIND.responses, { type: 'image_generation' }, { type: 'file_search', vector_store_ids: ['vs_1'] }],
          },
          { nowhere: ['image_generation', 'file_search'], dropped: ['tools'] },
        ),
        refuses(
          way,
          { tools: [FIND.responses, { type: 'image_generation' }], tool_choice: { type: 'image_generation' } },
          { code: 'unsupported_parameter', param: 'tool_choice' },
        ),
      ]),
      writes(
        'messages over responses',
        { tools: [FIND.messages, { type: 'web_fetch_20250910', name: 'web_fetch' }] },
        { body: { tools: [{ name: 'find' }] }, dropped: ['tools'] },
      ),
      refuses(
        'messages over responses',
        {
          tools: [FIND.messages, { type: 'web_fetch_20250910', name: 'web_fetch' }],
          tool_choice: { type: 'tool', name: 'web_fetch' },
        },
        { code: 'unsupported_parameter', param: 'tool_choice' },
      ),
    ],
  },
  28: {
    story:
      'Servers of tools go along with their token and the list of what may be called, or are refused: silence about a credential would surprise.',
    ways: [...FROM_RESPONSES, ...FROM_MESSAGES],
    fate: ['changed', 'rejected'],
    proofs: [
      writes(
        'responses over messages',
        { tools: [MCP.responses] },
        { body: MCP.messages, headers: { 'anthropic-beta': { $match: 'mcp-client' } }, dropped: [] },
      ),
      writes('messages over responses', MCP.messages, { body: { tools: [MCP.responses] }, dropped: [] }),
      // Everything but one tool cannot be said there; all of them would be too much.
      refuses(
        'messages over responses',
        {
          ...MCP.messages,
          tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs', configs: { remove: { enabled: false } } }],
        },
        { code: 'unsupported_parameter', param: 'tools' },
      ),
      refuses(
        'responses over generate',
        { tools: [MCP.responses] },
        { code: 'unsupported_parameter', param: 'tools', message: 'mcp' },
      ),
      refuses('messages over generate', MCP.messages, {
        code: 'unsupported_parameter',
        param: 'tools',
        message: 'mcp',
      }),
    ],
  },
  29: {
    story: 'What a hosted tool of another provider did is left out of the history; the words about it stay.',
    ways: [...FROM_RESPONSES, ...FROM_MESSAGES],
    fate: ['left out'],
    proofs: [
      writes(
        'responses over messages',
        { input: [user('hi'), ...SEARCH.responses, user('go')] },
        { body: { messages: [{}, { content: [{ type: 'text', text: 'Found.' }] }, {}] }, nowhere: ['ws_1'] },
      ),
      writes(
        'responses over generate',
        { input: [user('hi'), ...SEARCH.responses, user('go')] },
        { body: { contents: [{}, { parts: [{ text: 'Found.' }] }, {}] }, nowhere: ['ws_1'] },
      ),
      writes(
        'messages over responses',
        { messages: [user('hi'), SEARCH.messages, user('go')] },
        { body: { input: [{}, { content: [{ text: 'Found.' }] }, {}] }, nowhere: ['srvtoolu'] },
      ),
      writes(
        'messages over generate',
        { messages: [user('hi'), SEARCH.messages, user('go')] },
        { body: { contents: [{}, { parts: [{ text: 'Found.' }] }, {}] }, nowhere: ['srvtoolu'] },
      ),
    ],
  },
  46: {
    story: 'Strict tools beyond what the provider can enforce are offered without the promise.',
    ways: ['responses over messages', 'chat over messages'],
    fate: ['left out'],
    proofs: [
      writes(
        'responses over messages',
        { tools: Array.from({ length: STRICT_ROOM + 1 }, (_, n) => strictTool(n)) },
        {
          body: {
            tools: Array.from({ length: STRICT_ROOM + 1 }, (_, n) => ({
              name: `tool_${n}`,
              ...(n < STRICT_ROOM && { strict: true }),
            })),
          },
          absent: [`tools[${STRICT_ROOM}].strict`],
          dropped: ['tools.strict'],
        },
      ),
      writes(
        'responses over messages',
        { tools: [strictTool(0)] },
        { body: { tools: [{ strict: true }] }, dropped: [] },
      ),
      writes(
        'chat over messages',
        {
          tools: [
            {
              type: 'function',
              function: {
                name: 'loop',
                strict: true,
                parameters: { type: 'object', properties: { a: { $ref: '#' } } },
              },
            },
          ],
        },
        { absent: ['tools[0].strict'], dropped: ['tools.function.strict'] },
      ),
    ],
  },
  53: {
    story:
      'Machines of one provider, and files on them, are refused elsewhere; files that they made are left out of the history.',
    ways: [...FROM_RESPONSES, ...FROM_MESSAGES],
    fate: ['rejected', 'left out'],
    proofs: [
      ...FROM_MESSAGES.flatMap((way) => [
        refuses(
          way,
          { container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } },
          { code: 'unsupported_parameter', param: 'container' },
        ),
        refuses(
          way,
          { messages: [user([{ type: 'container_upload', file_id: 'file_in' }])] },
          { code: 'unsupported_parameter', message: 'container_upload' },
        ),
        writes(way, { messages: [user('hi'), COMPUTED.messages, user('go')] }, { nowhere: ['file_out', 'srvtoolu'] }),
      ]),
      ...FROM_RESPONSES.flatMap((way) => [
        ...['cntr_1', { type: 'auto', file_ids: ['file-1'] }].map((container) =>
          refuses(
            way,
            { tools: [{ type: 'code_interpreter', container }] },
            { code: 'unsupported_parameter', param: 'tools', message: 'container' },
          ),
        ),
        writes(way, { input: [user('hi'), ...COMPUTED.responses, user('go')] }, { nowhere: ['cntr_out'] }),
      ]),
    ],
  },
};
