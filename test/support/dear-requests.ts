/**
 * Requests that make a provider read or write more than they seem to ask for, with what it reports then. `TRIED_FIRST`
 * passed the bound once or was found with the tables of known members; `TRIED_LATER` was tried after them.
 */
export type Api = keyof typeof APIS;
export const APIS = {
  chat: { group: 'openai', path: '/v1/chat/completions' },
  responses: { group: 'openai', path: '/v1/responses' },
  embeddings: { group: 'openai', path: '/v1/embeddings' },
  messages: { group: 'claude', path: '/v1/messages' },
  generate: { group: 'gemini', path: '/v1beta/models/MODEL:generateContent' },
  pictures: { group: 'openai', path: '/v1/images/generations' },
  edits: { group: 'openai', path: '/v1/images/edits' },
  form: { group: 'openai', path: '/v1/images/edits' },
} as const;

/** What the provider reports: tokens read, tokens written. */
export type Report = readonly [input: number, output: number];
const LONG: Report = [100_000, 16];
const WORDY: Report = [10, 8_000];

export interface Way {
  readonly about: string;
  readonly api: Api;
  /** Beside the members of a small request. */
  readonly more?: object;
  /** In place of its text. */
  readonly content?: unknown;
  readonly report: Report;
}
const way = (api: Api, about: string, more: object, report: Report = LONG): Way => ({ api, about, more, report });
const part = (api: Api, about: string, content: object, report: Report = LONG): Way => ({
  api,
  about,
  content: [content],
  report,
});
export const FILM_URL = 'https://example.com/a.mp4';
const MCP = { type: 'mcp', server_label: 'a', server_url: 'https://example.com' };
const SEARCH = { type: 'web_fetch_20250910', name: 'web_fetch' };

export const TRIED_FIRST: readonly Way[] = [
  way('chat', 'openrouter: a plugin that searches', { plugins: [{ id: 'web' }] }),
  way('chat', 'xai: search_parameters', { search_parameters: { mode: 'on' } }),
  way('chat', 'qwen: enable_search', { enable_search: true }),
  way('chat', 'llama.cpp: n_predict beside max_tokens', { n_predict: 8_000 }, WORDY),
  part('chat', 'mistral: a document by address', { type: 'document_url', document_url: FILM_URL }),
  part('chat', 'qwen: frames of a video', { type: 'video', video: [FILM_URL] }),
  way('generate', 'tools as an object, googleSearch', { tools: { googleSearch: {} } }, [50_000, 900]),
  way('generate', 'tools as an object, urlContext', { tools: { urlContext: {} } }),
  way('responses', 'a namespace that holds an MCP server', { tools: [{ type: 'namespace', name: 'n', tools: [MCP] }] }),
  way(
    'generate',
    'a picture longer than the limit',
    { generationConfig: { maxOutputTokens: 700, responseModalities: ['IMAGE'] } },
    [10, 1_990],
  ),
  // Found in the types of the SDKs and in the documentation of servers.
  way('messages', 'a hosted tool that a message adds', {
    messages: [
      {
        role: 'system',
        content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: SEARCH } }],
      },
      { role: 'user', content: 'hi' },
    ],
  }),
  way('messages', 'a thread that goes on', { thread: { type: 'continue', previous_message_id: 'msg_1' } }),
  way('messages', 'skills of a container', { container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } }),
  way('messages', 'an MCP server as an object', { mcp_servers: { type: 'url', url: FILM_URL, name: 'a' } }),
  way('messages', 'a toolset of an MCP server', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }] }),
  way('messages', 'a member of next year', { deep_reading: { enabled: true } }),
  way('messages', 'a member of next year inside the thinking', { thinking: { type: 'enabled', swarm: 40 } }, WORDY),
  way('messages', 'a tool of next year', { tools: [{ type: 'video_editor_20270101', name: 'v' }] }),
  way('messages', 'a new member of a known tool', {
    tools: [{ type: 'bash_20250124', name: 'bash', runs_at: 'provider' }],
  }),
  part('messages', 'a part of next year', { type: 'film', source: { type: 'url', url: FILM_URL } }),
  part('messages', 'a source of next year', { type: 'image', source: { type: 'album', url: FILM_URL } }),
  way('responses', 'tools that the input adds', {
    input: [
      { type: 'additional_tools', role: 'developer', tools: [MCP] },
      { role: 'user', content: 'hi' },
    ],
  }),
  way('responses', 'reasoning in several runs', { reasoning: { mode: 'pro' } }, WORDY),
  way('responses', 'a stored prompt with files', { prompt: { id: 'p', variables: { f: { type: 'input_file' } } } }),
  way('responses', 'a moving picture', { tools: [{ type: 'image_generation', frame_count: 60 }] }, [10, 60_000]),
  part('responses', 'a part of another dialect', { type: 'video_url', video_url: { url: FILM_URL } }),
  way('responses', 'a tool as an object', { tools: MCP }),
  way('chat', 'groq: a browser that the provider runs', { tools: [{ type: 'browser_search' }] }),
  way('chat', 'groq: compound models', { compound_custom: { tools: { enabled_tools: ['visit_website'] } } }),
  way('chat', 'moonshot: a search as a built-in function', {
    tools: [{ type: 'builtin_function', function: { name: '$web_search' } }],
  }),
  way('chat', 'zai: a search as a tool', { tools: [{ type: 'web_search', web_search: { enable: true } }] }),
  way('chat', 'qwen: thinking beside the limit', { enable_thinking: true }, WORDY),
  way('chat', 'ollama: options', { options: { num_predict: 8_000 } }, WORDY),
  way('chat', 'ollama: num_predict without an end', { num_predict: -1 }, WORDY),
  way('chat', 'google: extra_body', { extra_body: { google: { cached_content: 'cachedContents/1' } } }),
  way('chat', 'vllm: options of the media processor', { mm_processor_kwargs: { max_pixels: 9_000_000 } }),
  way('chat', 'qwen: pictures in full resolution', { vl_high_resolution_images: true }),
  way(
    'chat',
    'a prediction that is not used',
    { prediction: { type: 'content', content: 'x '.repeat(4_000) } },
    [10, 8_000],
  ),
  part('chat', 'zai: a file by address', { type: 'file_url', file_url: { url: FILM_URL } }),
  part('chat', 'qwen: a video by address', { type: 'video_url', video_url: { url: FILM_URL } }),
  part('chat', 'more pixels for a picture', {
    type: 'image_url',
    image_url: { url: FILM_URL },
    max_pixels: 99_999_999,
  }),
  way('chat', 'a known member in the wrong shape', { temperature: { search: true } }),
  way('generate', 'a model that the provider selects', {
    generationConfig: {
      maxOutputTokens: 16,
      modelSelectionConfig: { featureSelectionPreference: 'PRIORITIZE_QUALITY' },
    },
  }),
  way('generate', 'a reply that is continued by itself', { automaticContinuation: true }, WORDY),
  way('generate', 'tools in the other spelling', { tools: [{ url_context: {} }] }),
  way('generate', 'a picture of so many tokens', {
    contents: [
      { parts: [{ inlineData: { mimeType: 'image/png', data: '' }, mediaResolution: { numTokens: 90_000 } }] },
    ],
  }),
  way(
    'generate',
    'a film as reply',
    { generationConfig: { maxOutputTokens: 16, responseFormat: { video: {} } } },
    WORDY,
  ),
  way('embeddings', 'a picture to embed', { input: [{ type: 'image_url', image_url: { url: FILM_URL } }] }),
  way('embeddings', 'messages to embed', { messages: [{ role: 'user', content: 'hi' }] }),
  way('pictures', 'planning before a picture', { complexity: 'high' }, WORDY),
  way('pictures', 'frames of a moving picture', { frame_count: 16, frame_duration_ms: 100 }, [10, 16_000]),
  way('pictures', 'a prompt that the provider rewrites', { prompt_rewriter: { enabled: true } }, [50_000, 16]),
  way('pictures', 'a picture of another server', { image: 'https://example.com/a.png', strength: 1 }, [90_000, 272]),
  way('pictures', 'a known member in the wrong shape', { style: { frames: 60 } }, WORDY),
  way('edits', 'an overlay', { markup: { image_url: FILM_URL } }, [90_000, 272]),
  way('edits', 'a source of next year', { images: [{ image_url: FILM_URL, frames: 60 }] }, [90_000, 272]),
  way('form', 'an overlay', { markup: 'x' }, [90_000, 272]),
  way('form', 'a count in brackets', { 'n[]': '10' }, [10, 20_000]),
];

/**
 * Thirty and more that were tried after the tables were written, from the types of the SDKs and the pages of servers.
 */
export const TRIED_LATER: readonly Way[] = [
  way('chat', 'openrouter: a search by the name of the model', { model: 'MODEL:online' }),
  way('chat', 'openrouter: a stored preset', { preset: 'research' }),
  way('chat', 'openrouter: pictures in the reply', { image_config: { image_size: '4K' } }, WORDY),
  way('chat', 'openrouter: a tool of the server', { tools: [{ type: 'openrouter:web_search' }] }),
  way('chat', 'azure: data of the operator', { data_sources: [{ type: 'azure_search', parameters: {} }] }),
  way('chat', 'qwen: thinking as text', { enable_thinking: 'true' }, WORDY),
  way('chat', 'qwen: thinking as a number', { enable_thinking: 1 }, WORDY),
  way('chat', 'qwen: a budget of thinking as text', { thinking_budget: '8000' }, WORDY),
  way('chat', 'qwen: code that the provider runs', { enable_code_interpreter: true }),
  way('chat', 'zai: a knowledge base', { tools: [{ type: 'retrieval', retrieval: { knowledge_id: '1' } }] }),
  way('chat', 'xai: sources of a live search', { tools: [{ type: 'live_search', sources: [{ type: 'web' }] }] }),
  way('chat', 'mistral: a library of documents', { tools: [{ type: 'document_library', library_ids: ['1'] }] }),
  way('chat', 'mistral: an agent', { agent_id: 'ag_1' }),
  way('chat', 'cohere: connectors', { connectors: [{ id: 'web-search' }] }),
  way('chat', 'perplexity: media in the reply', { media_response: { overrides: { return_videos: true } } }),
  way('chat', 'perplexity: a deeper search', { web_search_options: { search_type: 'pro' } }),
  way('chat', 'minimax: a plugin by its name', { plugins: ['plugin_web_search'] }),
  way('chat', 'vllm: embeddings as the prompt', { prompt_embeds: 'AAAA' }),
  way('chat', 'vllm: arguments of the engine', { vllm_xargs: { samples: 40 } }, WORDY),
  way('chat', 'a search in the form of another dialect', { tools: [{ googleSearch: {} }] }),
  way('chat', 'messages of another dialect', { mcp_servers: [{ type: 'url', url: FILM_URL, name: 'a' }] }),
  way('chat', 'turns as an object', {
    messages: { role: 'user', content: [{ type: 'file', file: { file_url: FILM_URL } }] },
  }),
  part('chat', 'an address in place of an object', { type: 'video_url', video_url: FILM_URL }),
  part('chat', 'a part without a type', { video_url: { url: FILM_URL } }),
  way('messages', 'a document inside the result of a tool', {
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 't',
            content: [{ type: 'document', source: { type: 'url', url: FILM_URL } }],
          },
        ],
      },
    ],
  }),
  way('messages', 'a document among the instructions', {
    system: [{ type: 'document', source: { type: 'url', url: FILM_URL } }],
  }),
  way('messages', 'a document whose content is a document', {
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'content', content: [{ type: 'document', source: { type: 'url', url: FILM_URL } }] },
          },
        ],
      },
    ],
  }),
  way(
    'messages',
    'a summary of the conversation',
    {
      context_management: { edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 1 } }] },
    },
    [60, 48],
  ),
  way('messages', 'code that the provider runs', { tools: [{ type: 'code_execution_20250825', name: 'c' }] }),
  way('messages', 'tools as an object', { tools: { type: 'web_fetch_20250910', name: 'web_fetch' } }),
  way('responses', 'a shell of the provider', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }),
  way('responses', 'a search in stored files', {
    tools: [{ type: 'file_search', vector_store_ids: [], max_num_results: 50 }],
  }),
  way('responses', 'a file inside the output of a function', {
    input: [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_url: FILM_URL }] },
    ],
  }),
  way('responses', 'a search of a newer date', { tools: [{ type: 'web_search_2025_08_26' }] }),
  way('responses', 'tools that a search found', {
    input: [
      { type: 'tool_search_output', call_id: 'c', tools: [{ type: 'namespace', name: 'n', tools: [MCP] }] },
      { role: 'user', content: 'hi' },
    ],
  }),
  way('generate', 'a file inside the response of a function', {
    contents: [
      {
        parts: [
          {
            functionResponse: {
              name: 'f',
              response: {},
              parts: [{ fileData: { fileUri: FILM_URL, mimeType: 'video/mp4' } }],
            },
          },
        ],
      },
    ],
  }),
  way('generate', 'a film in the instructions', {
    systemInstruction: { parts: [{ fileData: { fileUri: FILM_URL, mimeType: 'video/mp4' } }] },
  }),
  way('generate', 'one turn in place of a list', {
    contents: { parts: { fileData: { fileUri: FILM_URL, mimeType: 'video/mp4' } } },
  }),
  way('generate', 'two tools in one', { tools: [{ functionDeclarations: [], googleMaps: {}, fileSearch: {} }] }),
  way('generate', 'a search by an MCP server', { tools: [{ mcpServers: [{ name: 'a' }] }] }),
  way('generate', 'a corpus that another model ranks', {
    tools: [{ retrieval: { vertexRagStore: { ragCorpora: ['a'], hybrid: 1 } } }],
  }),
  way('embeddings', 'a film to embed', { input: [{ video: FILM_URL }] }),
  way('pictures', 'as many as the provider makes', { n: 10, quality: 'high', size: '2880x2880' }, [10, 4_000]),
];

/** Small requests that every wallet of this size pays for, with members that the tables call harmless. */
export const HARMLESS: readonly Way[] = [
  way('chat', 'sampling of other servers', { top_k: 40, min_p: 0.1, repetition_penalty: 1.1 }, [10, 16]),
  way('chat', 'a template', { chat_template_kwargs: { enable_thinking: false, anything: { goes: 1 } } }, [10, 16]),
  way(
    'messages',
    'metadata, caching and thinking',
    {
      metadata: { user_id: 'u' },
      cache_control: { type: 'ephemeral' },
      thinking: { type: 'disabled' },
    },
    [10, 16],
  ),
  way(
    'responses',
    'a function with a schema of any form',
    {
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: { video: { url: 1 } } } }],
      metadata: { deep: { er: 1 } },
    },
    [10, 16],
  ),
  way('generate', 'both spellings', { system_instruction: { parts: [{ text: 'a' }] }, labels: { a: 'b' } }, [10, 16]),
  way('pictures', 'the form of a small picture', { size: '256x256', style: 'vivid', user: 'u' }, [10, 16]),
  way('embeddings', 'a dimension', { dimensions: 256, encoding_format: 'float' }, [10, 0]),
];
