/** Lossy points of tools. */
import {
  assistant,
  assistantMessage,
  type Conversion,
  encodes,
  FIND,
  fromFile,
  type Row,
  rejects,
  returns,
  unaryReply,
  user,
} from './row.ts';

const FROM_RESPONSES = ['responses over messages', 'responses over generate'] as const satisfies readonly Conversion[];
const FROM_MESSAGES = ['messages over responses', 'messages over generate'] as const satisfies readonly Conversion[];

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

const WEB = { messages: { type: 'web_search_20250305', name: 'web_search' } };
const FETCH = { type: 'web_fetch_20250910', name: 'web_fetch' };
const PLACE = { type: 'approximate', country: 'DE' };

const allowed = (tools: readonly unknown[]) => (mode: string, entry: object) => ({
  tools,
  tool_choice: { type: 'allowed_tools', mode, tools: [entry] },
});
const ALLOWED_GENERATE = allowed([FIND.responses, ...NAMESPACE.tools, { type: 'web_search' }]);
const ALLOWED = allowed([
  ...[FIND.responses, ...NAMESPACE.tools, { type: 'web_search' }, MCP.responses],
  { ...MCP.responses, server_label: 'other' },
]);

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
    assistantMessage('Found.'),
  ],
};

const SEARCH_TEXT = '<tool_call tool="web_search">\n<input>\npears\n</input>\n</tool_call>';

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
    assistantMessage('Done.'),
  ],
};
const COMPUTED_TEXT = '<tool_call tool="code_execution">\n<input>\n1\n</input>\n</tool_call>';

export const TOOLS: Readonly<Record<number, Row>> = {
  24: {
    summary: 'A custom tool becomes a function with one string; its grammar moves into the description.',
    conversions: [...FROM_RESPONSES, 'chat over messages', 'chat over generate'],
    outcomes: ['changed'],
    vectors: [
      fromFile('responses-messages-custom-tool.json'),
      fromFile('responses-messages-custom-input.json'),
      ...(['responses', 'chat'] as const).flatMap((client) => [
        encodes(`${client} over messages`, CUSTOM[client], {
          body: { tools: [{ ...DESCRIBED, input_schema: FREE_TEXT }] },
          dropped: [],
        }),
        encodes(`${client} over generate`, CUSTOM[client], {
          body: { tools: [{ functionDeclarations: [{ ...DESCRIBED, parametersJsonSchema: FREE_TEXT }] }] },
          dropped: [],
        }),
      ]),
    ],
  },
  25: {
    summary: 'Namespaces become part of the tool names; calls return with namespace and name.',
    conversions: [...FROM_RESPONSES, 'responses over chat'],
    outcomes: ['changed'],
    vectors: [
      fromFile('responses-messages-namespace.json'),
      fromFile('responses-messages-namespaced-call.json'),
      encodes('responses over chat', NAMESPACE, { body: { tools: [{ function: { name: 'files__find' } }] } }),
      encodes('responses over generate', NAMESPACE, {
        body: { tools: [{ functionDeclarations: [{ name: 'files__find' }] }] },
      }),
      returns(
        'responses over generate',
        unaryReply.generate([{ functionCall: { id: 'call_a', name: 'files__find', args: {} } }]),
        { body: { output: [{ type: 'function_call', name: 'find', namespace: 'files' }] } },
        { request: NAMESPACE },
      ),
    ],
  },
  26: {
    summary:
      'Tool search is converted between the two dialects that have it; elsewhere all tools are sent at once. Without a tool search, `defer_loading` is dropped and named.',
    conversions: [...FROM_MESSAGES, ...FROM_RESPONSES],
    outcomes: ['changed', 'dropped'],
    vectors: [
      encodes('messages over responses', SEARCHED.messages, {
        body: { tools: [{ name: 'find', defer_loading: true }, { type: 'tool_search' }] },
        dropped: [],
      }),
      encodes('responses over messages', SEARCHED.responses, {
        body: {
          tools: [
            { name: 'find', defer_loading: true },
            { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
          ],
        },
        dropped: [],
      }),
      encodes(
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
        encodes(`${client} over generate`, SEARCHED[client], {
          body: { tools: [{ functionDeclarations: [{ name: 'find' }] }] },
          nowhere: ['defer_loading', 'tool_search'],
          dropped: ['tools'],
        }),
      ),
    ],
  },
  27: {
    summary:
      'Hosted tools without a counterpart are dropped where agents always list them, and rejected where a request has no meaning without them; forcing one is rejected.',
    conversions: [...FROM_RESPONSES, 'messages over responses'],
    outcomes: ['dropped', 'rejected'],
    vectors: [
      fromFile('responses-messages-hosted-tools.json'),
      ...FROM_RESPONSES.flatMap((conversion) => [
        encodes(
          conversion,
          {
            tools: [FIND.responses, { type: 'image_generation' }],
          },
          { nowhere: ['image_generation'], dropped: ['tools'] },
        ),
        rejects(
          conversion,
          { tools: [FIND.responses, { type: 'file_search', vector_store_ids: ['vs_1'] }] },
          { code: 'unsupported_parameter', param: 'tools[1]', message: 'file_search' },
        ),
        rejects(
          conversion,
          { tools: [FIND.responses, { type: 'image_generation' }], tool_choice: { type: 'image_generation' } },
          { code: 'unsupported_parameter', param: 'tools[1]' },
        ),
      ]),
      encodes(
        'messages over responses',
        { tools: [FIND.messages, { type: 'web_fetch_20250910', name: 'web_fetch' }] },
        { body: { tools: [{ name: 'find' }] }, dropped: ['tools'] },
      ),
      rejects(
        'messages over responses',
        {
          tools: [FIND.messages, { type: 'web_fetch_20250910', name: 'web_fetch' }],
          tool_choice: { type: 'tool', name: 'web_fetch' },
        },
        { code: 'unsupported_parameter', param: 'tools[1]' },
      ),
    ],
  },
  28: {
    summary:
      'MCP servers are sent with their token and allowed tools, or rejected: a request with credentials must not be changed silently.',
    conversions: [...FROM_RESPONSES, ...FROM_MESSAGES],
    outcomes: ['changed', 'rejected'],
    vectors: [
      encodes(
        'responses over messages',
        { tools: [MCP.responses] },
        { body: MCP.messages, headers: { 'anthropic-beta': { $match: 'mcp-client' } }, dropped: [] },
      ),
      encodes('messages over responses', MCP.messages, { body: { tools: [MCP.responses] }, dropped: [] }),
      // Without `require_approval` the client is asked before each call, which the other provider cannot do.
      ...[undefined, null, 'always', { never: { tool_names: ['look'] } }].map((require_approval) =>
        rejects(
          'responses over messages',
          { tools: [{ ...MCP.responses, require_approval }] },
          { code: 'unsupported_parameter', param: 'tools.require_approval', message: 'require_approval to "never"' },
        ),
      ),
      rejects(
        'responses over messages',
        { tools: [{ ...MCP.responses, allowed_tools: { read_only: true } }] },
        { code: 'unsupported_parameter', param: 'tools' },
      ),
      // Everything is switched off, so the server is left out.
      ...[{ enabled: false }, { enabled: true, allowed_tools: [] }].map((tool_configuration) =>
        encodes(
          'messages over responses',
          { mcp_servers: [{ ...MCP.messages.mcp_servers[0], tool_configuration }], tools: [FIND.messages] },
          { body: { tools: [{ name: 'find' }] }, nowhere: ['mcp'], dropped: [] },
        ),
      ),
      encodes(
        'messages over responses',
        { mcp_servers: MCP.messages.mcp_servers, tools: [FIND.messages, { ...MCP.messages.tools[0], configs: {} }] },
        { body: { tools: [{ name: 'find' }] }, nowhere: ['mcp'], dropped: [] },
      ),
      // The provider cannot express "all tools but one", and allowing all of them would be too much.
      rejects(
        'messages over responses',
        {
          ...MCP.messages,
          tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs', configs: { remove: { enabled: false } } }],
        },
        { code: 'unsupported_parameter', param: 'tools' },
      ),
      rejects(
        'responses over generate',
        { tools: [MCP.responses] },
        { code: 'unsupported_parameter', param: 'tools[0]', message: 'mcp' },
      ),
      rejects('messages over generate', MCP.messages, {
        code: 'unsupported_parameter',
        param: 'mcp_servers[0]',
        message: 'mcp',
      }),
    ],
  },
  29: {
    summary:
      'Calls of hosted tools of another provider become text in the history: what the model asked for, and what it got. Content of an unknown type is dropped and named.',
    conversions: [...FROM_RESPONSES, ...FROM_MESSAGES, 'responses over chat', 'messages over chat'],
    outcomes: ['changed', 'dropped'],
    vectors: [
      encodes(
        'responses over messages',
        { input: [user('hi'), ...SEARCH.responses, user('go')] },
        {
          body: { messages: [{}, { content: [{ text: SEARCH_TEXT }, { text: 'Found.' }] }, {}] },
          nowhere: ['ws_1'],
          dropped: [],
        },
      ),
      encodes(
        'responses over generate',
        { input: [user('hi'), ...COMPUTED.responses, { type: 'program', code: '1' }, user('go')] },
        {
          body: { contents: [{}, { parts: [{ text: COMPUTED_TEXT }, { text: 'Done.' }] }, {}] },
          nowhere: ['ci_1', 'cntr_out'],
          dropped: ['input.program'],
        },
      ),
      encodes(
        'responses over chat',
        { input: [user('hi'), ...SEARCH.responses, user('go')] },
        { body: { messages: [{}, { content: `${SEARCH_TEXT}\nFound.` }, {}] }, nowhere: ['ws_1'] },
      ),
      encodes(
        'messages over responses',
        { messages: [user('hi'), SEARCH.messages, user('go')] },
        {
          body: { input: [{}, { content: [{ text: SEARCH_TEXT }] }, { content: [{ text: 'Found.' }] }, {}] },
          nowhere: ['srvtoolu'],
          dropped: [],
        },
      ),
      encodes(
        'messages over generate',
        { messages: [user('hi'), SEARCH.messages, user('go')] },
        { body: { contents: [{}, { parts: [{ text: SEARCH_TEXT }, { text: 'Found.' }] }, {}] }, nowhere: ['srvtoolu'] },
      ),
      encodes(
        'messages over chat',
        { messages: [user('hi'), assistant([{ type: 'fallback' }, { type: 'text', text: 'Hello.' }]), user('go')] },
        { body: { messages: [{}, { content: 'Hello.' }, {}] }, dropped: ['messages.fallback'] },
      ),
    ],
  },
  65: {
    summary:
      'Restrictions of a web search (domains, uses, no access to the web) are kept or rejected; its preferences are kept or dropped by name.',
    conversions: [
      ...FROM_MESSAGES,
      ...FROM_RESPONSES,
      'chat over responses',
      'chat over messages',
      'chat over generate',
    ],
    outcomes: ['changed', 'dropped', 'rejected'],
    vectors: [
      encodes(
        'messages over responses',
        { tools: [{ ...WEB.messages, max_uses: 3, allowed_domains: ['a.example'], user_location: PLACE }] },
        {
          body: {
            tools: [{ type: 'web_search', filters: { allowed_domains: ['a.example'] }, user_location: PLACE }],
            max_tool_calls: 3,
          },
          dropped: [],
        },
      ),
      rejects(
        'messages over responses',
        { tools: [{ ...WEB.messages, blocked_domains: ['b.example'] }] },
        { code: 'unsupported_parameter', param: 'tools.blocked_domains', message: 'blocked_domains' },
      ),
      // The limit of the provider counts the calls of all hosted tools.
      rejects(
        'messages over responses',
        {
          tools: [
            { ...WEB.messages, max_uses: 3 },
            { type: 'code_execution_20250825', name: 'code_execution' },
          ],
        },
        { code: 'unsupported_parameter', param: 'tools.max_uses' },
      ),
      ...Object.entries({ allowed_domains: ['a.example'], blocked_domains: ['b.example'], max_uses: 3 }).flatMap(
        ([option, value]) =>
          [WEB.messages, FETCH].map((tool) =>
            rejects(
              'messages over generate',
              { tools: [{ ...tool, [option]: value }] },
              { code: 'unsupported_parameter', param: `tools.${option}`, message: option },
            ),
          ),
      ),
      encodes(
        'messages over generate',
        { tools: [{ ...WEB.messages, user_location: PLACE }] },
        { body: { tools: [{ googleSearch: {} }] }, dropped: ['tools.user_location'] },
      ),
      encodes(
        'responses over messages',
        {
          tools: [
            {
              type: 'web_search',
              filters: { allowed_domains: ['a.example'] },
              search_context_size: 'low',
              external_web_access: true,
              search_content_types: ['text'],
            },
          ],
        },
        {
          body: { tools: [{ name: 'web_search', allowed_domains: ['a.example'] }] },
          dropped: ['tools.search_context_size', 'tools.search_content_types'],
        },
      ),
      rejects(
        'responses over generate',
        { tools: [{ type: 'web_search', filters: { allowed_domains: ['a.example'] } }] },
        { code: 'unsupported_parameter', param: 'tools.filters.allowed_domains', message: 'allowed_domains' },
      ),
      encodes(
        'responses over generate',
        { tools: [{ type: 'web_search', search_context_size: 'low', user_location: PLACE }] },
        {
          body: { tools: [{ googleSearch: {} }] },
          dropped: ['tools.user_location', 'tools.search_context_size'],
        },
      ),
      ...FROM_RESPONSES.flatMap((conversion) => [
        rejects(
          conversion,
          { tools: [{ type: 'web_search', filters: { published_after: '2026-01-01' } }] },
          { code: 'unsupported_parameter', param: 'tools.filters.published_after' },
        ),
        // Agents list such a search in every request. Without a counterpart it is not offered, so nothing reaches the web.
        encodes(
          conversion,
          { tools: [FIND.responses, { type: 'web_search', external_web_access: false }] },
          { nowhere: ['web_search', 'googleSearch'], dropped: ['tools'] },
        ),
        rejects(
          conversion,
          {
            tools: [FIND.responses, { type: 'web_search', external_web_access: false }],
            tool_choice: { type: 'web_search' },
          },
          { code: 'unsupported_parameter', param: 'tools[1]' },
        ),
      ]),
      encodes(
        'chat over responses',
        {
          web_search_options: { search_context_size: 'high', user_location: { type: 'approximate', approximate: {} } },
        },
        { body: { tools: [{ type: 'web_search', search_context_size: 'high' }] }, dropped: [] },
      ),
      ...(['chat over messages', 'chat over generate'] as const).map((conversion) =>
        encodes(
          conversion,
          { web_search_options: { search_context_size: 'high' } },
          { dropped: ['web_search_options.search_context_size'] },
        ),
      ),
    ],
  },
  66: {
    summary: 'A forced hosted tool is rejected where the provider can only offer it.',
    conversions: ['messages over generate', 'responses over generate'],
    outcomes: ['rejected'],
    vectors: [
      rejects(
        'messages over generate',
        { tools: [FIND.messages, WEB.messages], tool_choice: { type: 'tool', name: 'web_search' } },
        { code: 'unsupported_parameter', param: 'tool_choice', message: 'web_search' },
      ),
      rejects(
        'messages over generate',
        { tools: [WEB.messages], tool_choice: { type: 'any' } },
        { code: 'unsupported_parameter', param: 'tool_choice', message: 'web_search' },
      ),
      rejects(
        'responses over generate',
        { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
        { code: 'unsupported_parameter', param: 'tool_choice', message: 'web_search' },
      ),
      rejects(
        'responses over generate',
        { tools: [{ type: 'web_search' }], tool_choice: 'required' },
        { code: 'unsupported_parameter', param: 'tool_choice', message: 'web_search' },
      ),
    ],
  },
  67: {
    summary:
      'A list of allowed tools also bounds hosted tools, MCP servers and namespaces; what is not listed cannot be called.',
    conversions: [...FROM_RESPONSES],
    outcomes: ['changed', 'rejected'],
    vectors: [
      encodes('responses over messages', ALLOWED('auto', { type: 'web_search' }), {
        body: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
        absent: ['tools[1]', 'tool_choice', 'mcp_servers'],
        dropped: [],
      }),
      encodes('responses over messages', ALLOWED('required', { type: 'mcp', server_label: 'docs' }), {
        body: { tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs' }], tool_choice: { type: 'any' } },
        absent: ['tools[1]'],
      }),
      encodes('responses over messages', ALLOWED('auto', { type: 'function', name: 'find' }), {
        body: { tools: [{ name: 'find' }] },
        absent: ['tools[1]'],
      }),
      encodes('responses over messages', ALLOWED('auto', { type: 'function', name: 'find', namespace: 'files' }), {
        body: { tools: [{ name: 'files__find' }] },
        absent: ['tools[1]'],
      }),
      encodes('responses over generate', ALLOWED_GENERATE('auto', { type: 'web_search' }), {
        body: {
          tools: [{ functionDeclarations: [{ name: 'find' }, { name: 'files__find' }] }, { googleSearch: {} }],
          toolConfig: { functionCallingConfig: { mode: 'NONE' } },
        },
      }),
      encodes('responses over generate', ALLOWED_GENERATE('required', { type: 'function', name: 'find' }), {
        body: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['find'] } } },
        nowhere: ['googleSearch'],
        dropped: [],
      }),
      rejects('responses over generate', ALLOWED_GENERATE('required', { type: 'web_search' }), {
        code: 'unsupported_parameter',
        param: 'tool_choice',
        message: 'web_search',
      }),
    ],
  },
  46: {
    summary: 'Strict tools beyond the limit of the provider are sent without `strict`.',
    conversions: ['responses over messages', 'chat over messages'],
    outcomes: ['dropped'],
    vectors: [
      encodes(
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
      encodes(
        'responses over messages',
        { tools: [strictTool(0)] },
        { body: { tools: [{ strict: true }] }, dropped: [] },
      ),
      encodes(
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
    summary: 'Containers and files in them are rejected elsewhere; files they produced are dropped from the history.',
    conversions: [...FROM_RESPONSES, ...FROM_MESSAGES],
    outcomes: ['rejected', 'dropped'],
    vectors: [
      ...FROM_MESSAGES.flatMap((conversion) => [
        rejects(
          conversion,
          { container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } },
          { code: 'unsupported_parameter', param: 'container' },
        ),
        rejects(
          conversion,
          { messages: [user([{ type: 'container_upload', file_id: 'file_in' }])] },
          { code: 'unsupported_parameter', message: 'container_upload' },
        ),
        encodes(
          conversion,
          { messages: [user('hi'), COMPUTED.messages, user('go')] },
          { nowhere: ['file_out', 'srvtoolu'] },
        ),
      ]),
      ...FROM_RESPONSES.flatMap((conversion) => [
        ...['cntr_1', { type: 'auto', file_ids: ['file-1'] }].map((container) =>
          rejects(
            conversion,
            { tools: [{ type: 'code_interpreter', container }] },
            { code: 'unsupported_parameter', param: 'tools', message: '[Cc]ontainer' },
          ),
        ),
        encodes(conversion, { input: [user('hi'), ...COMPUTED.responses, user('go')] }, { nowhere: ['cntr_out'] }),
      ]),
    ],
  },
};
