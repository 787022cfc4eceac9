/**
 * What providers keep for callers in the reference (interactions, cached contents and containers), and the search of
 * Codex (G 4.4, G 4.6).
 */
import {
  ANY,
  anyOf,
  BOOLEAN,
  CURSORS,
  constant,
  described,
  INTEGER,
  json,
  list,
  MODEL,
  NUMBER,
  nullable,
  OBJECT,
  oneOf,
  open,
  optional,
  ref,
  type Schemas,
  SECONDS,
  TEXT,
  TIME,
  withStream,
} from '../schema.ts';
import { streamText } from './dialect.ts';

const INTERACTION_EXAMPLE = {
  id: 'v1_7Hq2bVxN4sKd9wRtYc3mZp',
  object: 'interaction',
  model: 'demo-generate',
  status: 'completed',
  steps: [{ type: 'model_output', content: [{ type: 'text', text: 'Hello! How can I help?' }] }],
  usage: { total_input_tokens: 12, total_output_tokens: 9, total_tokens: 21 },
} as const;
const { steps: _, usage: __, ...BEGUN } = INTERACTION_EXAMPLE;

/** Unary, or a stream if the request asks for one. */
export const INTERACTION = withStream(
  json('The interaction; a stream if the request asks for one', ref('Interaction'), INTERACTION_EXAMPLE),
  streamText(
    [undefined, { event_type: 'interaction.created', interaction: { ...BEGUN, status: 'in_progress' } }],
    [undefined, { event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'Hello!' } }],
    [undefined, { event_type: 'interaction.completed', interaction: INTERACTION_EXAMPLE }],
  ),
  'Events `interaction.created`, `step.start`, `step.delta`, `step.stop`, `interaction.status_update`, ' +
    '`interaction.completed` and `error`; each names itself in `event_type`.',
);

export const CACHED_CONTENT = json('What the provider says of it, without content', ref('CachedContent'), {
  name: 'cachedContents/7Hq2bVxN4sKd',
  model: 'models/demo-generate',
  createTime: '2030-01-31T09:30:00Z',
  updateTime: '2030-01-31T09:30:00Z',
  expireTime: '2030-01-31T09:40:00Z',
  usageMetadata: { totalTokenCount: 4_096 },
});

export const PROVIDER_OBJECT_SCHEMAS: Schemas = {
  InteractionRequest: open({
    model: MODEL,
    input: optional(
      anyOf(TEXT, ref('InteractionContent'), list(ref('InteractionContent')), list(ref('InteractionStep'))),
      'a text, contents, or steps of a conversation',
    ),
    system_instruction: optional(TEXT),
    previous_interaction_id: optional(TEXT, 'continues an interaction'),
    stream: optional(BOOLEAN),
    store: optional(BOOLEAN, 'whether the interaction can be read and continued later; true by default'),
    background: optional(BOOLEAN, 'true: returns at once; read the interaction until it is complete'),
    tools: optional(list(ref('InteractionTool'))),
    generation_config: optional(ref('InteractionSettings')),
    response_format: optional(anyOf(OBJECT, list(OBJECT)), 'form of the reply, such as a JSON Schema'),
    response_modalities: optional(list(TEXT), 'text, image, audio, ...'),
    service_tier: optional(TEXT),
    labels: optional(OBJECT),
  }),
  InteractionSettings: open({
    max_output_tokens: optional(INTEGER),
    temperature: optional(NUMBER),
    top_p: optional(NUMBER),
    seed: optional(INTEGER),
    stop_sequences: optional(list(TEXT)),
    thinking_level: optional(TEXT, 'minimal, low, medium, high'),
    thinking_summaries: optional(TEXT),
    tool_choice: optional(anyOf(TEXT, OBJECT)),
  }),
  InteractionContent: open({
    type: described(TEXT, 'text, image, audio, document, video'),
    text: optional(TEXT),
    data: optional(TEXT, 'base64'),
    mime_type: optional(TEXT),
    uri: optional(TEXT),
  }),
  InteractionStep: open({
    type: described(TEXT, 'user_input, model_output, thought, function_call, function_result, ...'),
    content: optional(list(ref('InteractionContent')), 'of `user_input` and `model_output`'),
    signature: optional(TEXT, 'send it back unchanged'),
    summary: optional(list(ref('InteractionContent')), 'of `thought`'),
    id: optional(TEXT, 'of a call'),
    name: optional(TEXT, 'of a function'),
    arguments: optional(OBJECT, 'of a call'),
    call_id: optional(TEXT, 'of a result: the call that it belongs to'),
    result: optional(ANY),
    is_error: optional(BOOLEAN),
  }),
  InteractionTool: open({
    type: described(TEXT, 'function, google_search, code_execution, url_context, ...'),
    name: optional(TEXT),
    description: optional(TEXT),
    parameters: optional(ANY, 'a JSON Schema'),
  }),
  Interaction: open({
    id: TEXT,
    status: described(TEXT, 'queued, in_progress, requires_action, completed, incomplete, failed, cancelled, ...'),
    model: optional(TEXT),
    created: optional(TEXT),
    updated: optional(TEXT),
    input: optional(ANY, 'as in the request, where it is asked for'),
    steps: optional(list(ref('InteractionStep'))),
    previous_interaction_id: optional(TEXT),
    system_instruction: optional(TEXT),
    tools: optional(list(ref('InteractionTool'))),
    generation_config: optional(ref('InteractionSettings')),
    response_modalities: optional(list(TEXT)),
    service_tier: optional(TEXT),
    errors: optional(list(open({ code: optional(TEXT), message: optional(TEXT) }))),
    usage: optional(ref('InteractionUsage')),
  }),
  InteractionUsage: open({
    total_input_tokens: optional(INTEGER),
    total_cached_tokens: optional(INTEGER),
    total_output_tokens: optional(INTEGER),
    total_thought_tokens: optional(INTEGER),
    total_tool_use_tokens: optional(INTEGER),
    total_tokens: optional(INTEGER),
  }),
  CachedContentRequest: open({
    model: described(TEXT, '`models/` and the name'),
    contents: optional(list(ref('GenerateContent'))),
    systemInstruction: optional(ref('GenerateContent')),
    tools: optional(list(ref('GenerateTool'))),
    toolConfig: optional(OBJECT),
    ttl: optional(TEXT, 'for how long, such as `300s`'),
    expireTime: optional(TIME, 'in place of `ttl`'),
    displayName: optional(TEXT),
  }),
  CachedContentChange: open({
    ttl: optional(TEXT, 'from now on, such as `300s`'),
    expireTime: optional(TIME, 'in place of `ttl`'),
  }),
  CachedContent: open({
    name: optional(TEXT, '`cachedContents/` and the id'),
    displayName: optional(TEXT),
    model: optional(TEXT),
    createTime: optional(TIME),
    updateTime: optional(TIME),
    expireTime: optional(TIME),
    usageMetadata: optional(
      open({
        totalTokenCount: optional(INTEGER),
        textCount: optional(INTEGER),
        imageCount: optional(INTEGER),
        audioDurationSeconds: optional(INTEGER),
        videoDurationSeconds: optional(INTEGER),
      }),
    ),
  }),
  CachedContentList: open({
    cachedContents: optional(list(ref('CachedContent'))),
    nextPageToken: optional(TEXT),
  }),
  Container: open({
    id: TEXT,
    object: TEXT,
    created_at: SECONDS,
    name: TEXT,
    status: described(TEXT, 'running, or expired'),
    last_active_at: optional(SECONDS),
    expires_after: optional(open({ anchor: optional(TEXT), minutes: optional(INTEGER) })),
    memory_limit: optional(TEXT),
    network_policy: optional(open({ type: TEXT, allowed_domains: optional(list(TEXT)) })),
  }),
  ContainerList: open({
    object: constant('list'),
    data: list(ref('Container')),
    ...CURSORS,
  }),
  ContainerDeleted: open({
    id: TEXT,
    object: constant('container.deleted'),
    deleted: BOOLEAN,
  }),
  ContainerFile: open({
    id: TEXT,
    object: constant('container.file'),
    container_id: TEXT,
    created_at: SECONDS,
    bytes: nullable(INTEGER),
    path: described(TEXT, 'in the container'),
    source: described(TEXT, 'user, or assistant'),
  }),
  ContainerFileList: open({
    object: constant('list'),
    data: list(ref('ContainerFile')),
    first_id: optional(nullable(TEXT)),
    last_id: optional(nullable(TEXT)),
    has_more: BOOLEAN,
  }),
  SearchRequest: open({
    id: optional(TEXT, 'of the session'),
    model: MODEL,
    input: optional(anyOf(TEXT, list(ref('ResponsesItem'))), 'the conversation'),
    commands: optional(ref('SearchCommands')),
    settings: optional(
      open({
        search_context_size: optional(oneOf('low', 'medium', 'high')),
        user_location: optional(OBJECT),
        external_web_access: optional(BOOLEAN),
        filters: optional(open({ allowed_domains: optional(list(TEXT)), blocked_domains: optional(list(TEXT)) })),
      }),
    ),
    reasoning: optional(OBJECT),
    max_output_tokens: optional(INTEGER),
  }),
  SearchCommands: open({
    search_query: optional(list(ref('SearchQuery'))),
    image_query: optional(list(ref('SearchQuery'))),
    open: optional(
      list(
        open({
          ref_id: described(TEXT, 'of a result, or a URL'),
          lineno: optional(INTEGER),
        }),
      ),
    ),
    click: optional(
      list(
        open({
          ref_id: TEXT,
          id: described(INTEGER, 'of a link of the page'),
        }),
      ),
    ),
    find: optional(list(open({ ref_id: TEXT, pattern: TEXT }))),
    screenshot: optional(list(open({ ref_id: TEXT, pageno: INTEGER })), 'of pages of a PDF'),
    finance: optional(list(OBJECT)),
    weather: optional(list(OBJECT)),
    sports: optional(list(OBJECT)),
    time: optional(list(open({ utc_offset: TEXT }))),
    response_length: optional(oneOf('short', 'medium', 'long')),
  }),
  SearchQuery: open({
    q: TEXT,
    recency: optional(INTEGER, 'only results of so many days'),
    domains: optional(list(TEXT)),
  }),
  SearchReply: open({
    output: described(TEXT, 'what the model reads'),
    encrypted_output: optional(nullable(TEXT)),
    results: optional(nullable(list(ANY))),
  }),
};
