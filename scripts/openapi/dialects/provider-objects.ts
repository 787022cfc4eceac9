/**
 * What providers keep for callers in the reference (interactions, cached contents and containers), and the search of
 * Codex (G 4.4, G 4.6).
 */
import { json, schemasOf, withStream } from '../schema.ts';
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
  json('The interaction; a stream if the request asks for one', 'Interaction', INTERACTION_EXAMPLE),
  streamText(
    [undefined, { event_type: 'interaction.created', interaction: { ...BEGUN, status: 'in_progress' } }],
    [undefined, { event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'Hello!' } }],
    [undefined, { event_type: 'interaction.completed', interaction: INTERACTION_EXAMPLE }],
  ),
  'Events `interaction.created`, `step.start`, `step.delta`, `step.stop`, `interaction.status_update`, ' +
    '`interaction.completed` and `error`; each names itself in `event_type`.',
);

export const CACHED_CONTENT = json('What the provider says of it, without content', 'CachedContent', {
  name: 'cachedContents/7Hq2bVxN4sKd',
  model: 'models/demo-generate',
  createTime: '2030-01-31T09:30:00Z',
  updateTime: '2030-01-31T09:30:00Z',
  expireTime: '2030-01-31T09:40:00Z',
  usageMetadata: { totalTokenCount: 4_096 },
});

export const PROVIDER_OBJECT_SCHEMAS = schemasOf(`
InteractionRequest: model: model, input?: string | InteractionContent | InteractionContent[] | InteractionStep[] (a
  text, contents, or steps of a conversation), system_instruction?: string, previous_interaction_id?: string
  (continues an interaction), stream?: boolean, store?: boolean (whether the interaction can be read and continued
  later; true by default), background?: boolean (true: returns at once; read the interaction until it is complete),
  tools?: InteractionTool[], generation_config?: InteractionSettings, response_format?: object | object[] (form of the
  reply, such as a JSON Schema), response_modalities?: string[] (text, image, audio, ...), service_tier?: string,
  labels?: object
InteractionSettings: max_output_tokens?: integer, temperature?: number, top_p?: number, seed?: integer,
  stop_sequences?: string[], thinking_level?: string (minimal, low, medium, high), thinking_summaries?: string,
  tool_choice?: string | object
InteractionContent: type: string (text, image, audio, document, video), text?: string, data?: string (base64),
  mime_type?: string, uri?: string
InteractionStep: type: string (user_input, model_output, thought, function_call, function_result, ...), content?:
  InteractionContent[] (of 'user_input' and 'model_output'), signature?: string (send it back unchanged), summary?:
  InteractionContent[] (of 'thought'), id?: string (of a call), name?: string (of a function), arguments?: object (of
  a call), call_id?: string (of a result: the call that it belongs to), result?: any, is_error?: boolean
InteractionTool: type: string (function, google_search, code_execution, url_context, ...), name?: string,
  description?: string, parameters?: any (a JSON Schema)
Interaction: id: string, status: string (queued, in_progress, requires_action, completed, incomplete, failed,
  cancelled, ...), model?: string, created?: string, updated?: string, input?: any (as in the request, where it is
  asked for), steps?: InteractionStep[], previous_interaction_id?: string, system_instruction?: string, tools?:
  InteractionTool[], generation_config?: InteractionSettings, response_modalities?: string[], service_tier?: string,
  errors?: { code?: string, message?: string }[], usage?: InteractionUsage
InteractionUsage: total_input_tokens?: integer, total_cached_tokens?: integer, total_output_tokens?: integer,
  total_thought_tokens?: integer, total_tool_use_tokens?: integer, total_tokens?: integer
CachedContentRequest: model: string ('models/' and the name), contents?: GenerateContent[], systemInstruction?:
  GenerateContent, tools?: GenerateTool[], toolConfig?: object, ttl?: string (for how long, such as '300s'),
  expireTime?: time (in place of 'ttl'), displayName?: string
CachedContentChange: ttl?: string (from now on, such as '300s'), expireTime?: time (in place of 'ttl')
CachedContent: name?: string ('cachedContents/' and the id), displayName?: string, model?: string, createTime?: time,
  updateTime?: time, expireTime?: time, usageMetadata?: { totalTokenCount?: integer, textCount?: integer, imageCount?:
  integer, audioDurationSeconds?: integer, videoDurationSeconds?: integer }
CachedContentList: cachedContents?: CachedContent[], nextPageToken?: string
Container: id: string, object: string, created_at: seconds, name: string, status: string (running, or expired),
  last_active_at?: seconds, expires_after?: { anchor?: string, minutes?: integer }, memory_limit?: string,
  network_policy?: { type: string, allowed_domains?: string[] }
ContainerList: object: "list", data: Container[], first_id: string | null, last_id: string | null, has_more: boolean
ContainerDeleted: id: string, object: "container.deleted", deleted: boolean
ContainerFile: id: string, object: "container.file", container_id: string, created_at: seconds, bytes: integer | null,
  path: string (in the container), source: string (user, or assistant)
ContainerFileList: object: "list", data: ContainerFile[], first_id?: string | null, last_id?: string | null, has_more:
  boolean
SearchRequest: id?: string (of the session), model: model, input?: string | ResponsesItem[] (the conversation),
  commands?: SearchCommands, settings?: { search_context_size?: <low medium high>, user_location?: object,
  external_web_access?: boolean, filters?: { allowed_domains?: string[], blocked_domains?: string[] } }, reasoning?:
  object, max_output_tokens?: integer
SearchCommands: search_query?: SearchQuery[], image_query?: SearchQuery[], open?: { ref_id: string (of a result, or a
  URL), lineno?: integer }[], click?: { ref_id: string, id: integer (of a link of the page) }[], find?: { ref_id:
  string, pattern: string }[], screenshot?: { ref_id: string, pageno: integer }[] (of pages of a PDF), finance?:
  object[], weather?: object[], sports?: object[], time?: { utc_offset: string }[], response_length?: <short medium
  long>
SearchQuery: q: string, recency?: integer (only results of so many days), domains?: string[]
SearchReply: output: string (what the model reads), encrypted_output?: string | null, results?: any[] | null
`);
