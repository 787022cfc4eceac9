/** The operations of document 1 in the reference: text, images, models and usage. */
import * as rules from '../../src/rules/index.ts';
import { BillingSubscription, BillingUsage, CallerUsage, RequestUsage } from '../../src/schemas/index.ts';
import { CHAT } from './dialects/chat.ts';
import type { DialectSchemas } from './dialects/dialect.ts';
import { GENERATE } from './dialects/generate.ts';
import { MESSAGES } from './dialects/messages.ts';
import { CACHED_CONTENT, INTERACTION, PROVIDER_OBJECT_SCHEMAS } from './dialects/provider-objects.ts';
import { RESPONSES } from './dialects/responses.ts';
import { errorResponses } from './errors.ts';
import type { HeaderSet } from './headers.ts';
import { IMAGE_BODIES } from './images.ts';
import { OPERATION_ERRORS } from './operation-errors.ts';
import {
  BYTES,
  bytes,
  INTEGER,
  JSON_TYPE,
  json,
  listExample,
  listsOf,
  queryOf,
  ref,
  type Schemas,
  schemaOf,
  schemasOf,
  TEXT,
  withStream,
} from './schema.ts';

type Inference = keyof typeof rules.INFERENCE_ENDPOINTS;
type WithBody = {
  [K in Inference]: (typeof rules.INFERENCE_ENDPOINTS)[K]['body']['content'] extends 'none' ? never : K;
}[Inference];

export interface OperationDescription {
  readonly parameters: readonly object[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
  /** Those that its successes have. */
  readonly headerSets?: readonly HeaderSet[];
}

export function describeInference(operation: Inference): OperationDescription {
  const row: rules.InferenceRow = rules.INFERENCE_ENDPOINTS[operation];
  const cells = Object.values(row.groups);
  const isServed = cells.some(({ kind }) => kind !== 'own' && kind !== 'refuse');
  const isNative = cells.some(({ kind }) => kind === 'native' || kind === 'prefer');
  const responses = {
    ...SUCCESSES[operation],
    ...errorResponses(row.errorFormat, errorCodes(row, isServed), {
      passesProviderErrors: isNative,
      // Two families share these paths (G 4.7).
      otherFormat: row.errorFormat === 'openai' && rules.takesGenerateCredentials(row.path) ? 'generate' : undefined,
    }),
  };
  return {
    parameters: [
      ...(QUERIES[operation] ?? []),
      ...(operation === 'googleFiles.upload' ? UPLOAD_PARAMETERS : []),
      ...(fallsBack(operation) ? [FALLBACK_PARAMETER] : []),
    ],
    ...(operation in BODIES && { requestBody: BODIES[operation as WithBody] }),
    responses,
    headerSets: [...headerSets(row, isServed), ...(fallsBack(operation) ? (['fallback'] as const) : [])],
  };
}

const fallsBack = (operation: Inference): boolean => operation !== 'responses.socket' && rules.mayFallBack(operation);

/** Pieces are sent to the link of the reply. */
const UPLOAD_PARAMETERS = Object.entries({
  'x-goog-upload-protocol': 'resumable',
  'x-goog-upload-command': 'start',
}).map(([name, value]) => ({ name, in: 'header', required: true, schema: { ...TEXT, enum: [value] } }));

const FALLBACK_PARAMETER = {
  name: rules.FALLBACK_HEADER,
  in: 'header',
  required: false,
  description: '`none`: no other group takes the call when the accounts of its own cannot',
  schema: { type: 'string', enum: ['none'] },
};

function errorCodes(row: rules.InferenceRow, isServed: boolean): rules.ErrorCode[] {
  const {
    every,
    key,
    refused,
    query,
    body,
    provider,
    metered,
    stored,
    model,
    request,
    files,
    socket,
    batches,
    caches,
    containers,
    conversations,
  } = OPERATION_ERRORS;
  return [
    ...every,
    ...key,
    ...query,
    ...(Object.values(row.groups).some(({ kind }) => kind === 'refuse' || kind === 'native') ? refused : []),
    ...(row.body.content === 'none' ? [] : body),
    ...(isServed ? provider : []),
    ...('billing' in row && row.billing === 'metered' ? metered : []),
    ...(row.path.includes('responses') ? stored : []),
    ...(row.path.includes('{model}') ? model : []),
    ...(row.path.includes('{request_id}') ? request : []),
    ...(/\/files|batches$/.test(row.path) || isServed ? files : []),
    ...(row.path.includes('{batch_id}') ? batches : []),
    ...(/cache_id|enerateContent$/.test(row.path) ? caches : []),
    ...(row.path.includes('{container_id}') ? containers : []),
    ...(row.path.includes('{conversation_id}') || /responses$/.test(row.path) ? conversations : []),
    ...('turns' in row ? socket : []),
  ];
}

const headerSets = (row: rules.InferenceRow, isServed: boolean): HeaderSet[] => [
  ...(isServed ? (['limited'] as const) : []),
  ...('converts' in row ? (['converted', ...(row.converts === 'count' ? (['counted'] as const) : [])] as const) : []),
  ...(row.errorFormat === 'messages' ? (['messages'] as const) : []),
];

// ---------------------------------------------------------------- bodies

const CONVERTED =
  'The fields that are commonly used; all others of the dialect are accepted too. On a group of another dialect the fields are converted; docs/fidelity.md lists what is kept, changed, dropped or rejected.';
const NATIVE =
  'The fields that are commonly used; all fields of the dialect are forwarded unchanged, but for the model name.';
const CHECKED =
  'Checked field by field before it is sent; fields that are not listed are forwarded unchanged, response_format is removed.';

const HELLO = 'Hello!';
const CONVERSATION = { messages: [{ role: 'user', content: HELLO }] };
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: HELLO }] }] };
const EMBED = { content: { parts: [{ text: HELLO }] } };

const bodyOf = (description: string, type: string, example: object, required = true): object => ({
  required,
  ...json(description, type, example),
});
const CONVERTED_RESPONSE = bodyOf(CONVERTED, RESPONSES.request, { model: 'demo-responses', input: HELLO });
const GENERATED = bodyOf(NATIVE, GENERATE.request, CONTENTS);
const REQUESTS = [{ model: 'models/demo-embedding', ...EMBED }];

const NO_BODY_NEEDED = bodyOf('None is needed.', '{ }', {}, false);
const FORWARDED = bodyOf('None is needed; a body is forwarded unchanged.', '{ }', {}, false);
const FILE_ID_EXAMPLE = 'dgfile5b2d7c0e9f1a4b3c8d6e7f0a1b2c3d4e';

const BODIES: Readonly<Record<WithBody, object>> = {
  'messages.create': bodyOf(CONVERTED, MESSAGES.request, {
    model: 'demo-messages',
    max_tokens: 200,
    ...CONVERSATION,
  }),
  'messages.count': bodyOf(CONVERTED, 'MessagesCountRequest', { model: 'demo-messages', ...CONVERSATION }),
  'chat.create': bodyOf(CONVERTED, CHAT.request, { model: 'demo-messages', ...CONVERSATION }),
  'responses.create': CONVERTED_RESPONSE,
  'responses.inputTokens': CONVERTED_RESPONSE,
  'responses.compact': CONVERTED_RESPONSE,
  'responses.cancel': FORWARDED,
  'search.create': bodyOf(NATIVE, 'SearchRequest', {
    model: 'demo-responses',
    commands: { search_query: [{ q: 'news' }] },
  }),
  'embeddings.create': bodyOf(NATIVE, 'EmbeddingsRequest', { model: 'demo-embedding', input: HELLO }),
  'files.create': {
    required: true,
    description: `One file of at most ${rules.FILES.bytes / 2 ** 20} MiB. Requests then name it by its id, in the form of their dialect.`,
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          properties: {
            file: BYTES,
            purpose: { ...TEXT, enum: rules.FILE_PURPOSES, description: 'required of clients of OpenAI' },
            'expires_after[seconds]': { ...INTEGER, description: 'from now; the limit of the server holds' },
          },
          required: ['file'],
        },
        example: { file: 'report.pdf', purpose: 'user_data' },
      },
    },
  },
  'googleFiles.upload': {
    required: false,
    description: 'What is known of the file; its content is sent to the link of the reply.',
    content: {
      [JSON_TYPE]: { schema: ref('GenerateUpload'), example: { file: { displayName: 'report.pdf' } } },
    },
  },
  'conversations.create': bodyOf('Items are in the form of `input`.', 'ConversationRequest', {
    items: [{ type: 'message', role: 'user', content: HELLO }],
  }),
  'conversations.update': bodyOf('The new metadata.', 'ConversationChange', { metadata: { topic: 'demo' } }),
  'conversations.addItems': bodyOf(`At most ${rules.CONVERSATIONS.added} items.`, 'ConversationAddition', {
    items: [{ type: 'message', role: 'user', content: HELLO }],
  }),
  'batches.create': bodyOf(
    `The file has a request a line, as \`{"custom_id", "method": "POST", "url", "body"}\`; at most ${rules.BATCHES.lines}.`,
    'BatchRequest',
    { input_file_id: FILE_ID_EXAMPLE, endpoint: '/v1/responses', completion_window: '24h' },
  ),
  'batches.cancel': NO_BODY_NEEDED,
  'messageBatches.create': bodyOf(
    'Requests in the messages dialect, each with an id of its own.',
    'MessageBatchRequest',
    {
      requests: [{ custom_id: 'first', params: { model: 'demo-messages', max_tokens: 200, ...CONVERSATION } }],
    },
  ),
  'messageBatches.cancel': NO_BODY_NEEDED,
  'images.generate': { required: true, description: CHECKED, content: IMAGE_BODIES['images.generate'] },
  'images.edit': { required: true, description: CHECKED, content: IMAGE_BODIES['images.edit'] },
  'generate.create': GENERATED,
  'generate.stream': GENERATED,
  'generate.count': bodyOf(NATIVE, 'GenerateCountRequest', CONTENTS),
  'interactions.create': bodyOf(NATIVE, 'InteractionRequest', { model: 'demo-generate', input: HELLO }),
  'interactions.cancel': FORWARDED,
  'caches.create': bodyOf(NATIVE, 'CachedContentRequest', { model: 'models/demo-generate', ...CONTENTS, ttl: '600s' }),
  'caches.update': bodyOf('When it expires, as `ttl` or `expireTime`.', 'CachedContentChange', { ttl: '3600s' }),
  'generate.embed': bodyOf(NATIVE, 'GenerateEmbedRequest', EMBED),
  'generate.batchEmbed': bodyOf(NATIVE, 'GenerateBatchEmbedRequest', { requests: REQUESTS }),
};

// ---------------------------------------------------------------- responses

/** Unary, or a stream if the request asks for one. */
const replyOf = ({ reply, replyExample, streamAbout, streamExample }: DialectSchemas): object =>
  withStream(json('The reply; a stream if the request asks for one', reply, replyExample), streamExample, streamAbout);

const MODEL_EXAMPLE = {
  id: 'demo-messages',
  object: 'model',
  owned_by: 'claude',
  type: 'model',
  display_name: 'demo-messages',
  created: 0,
  created_at: '1970-01-01T00:00:00Z',
};
const IMAGES = withStream(
  json('The images; a stream if the request asks for one', 'ImagesReply', {
    created: 1_767_225_600,
    data: [{ b64_json: 'iVBORw0KGgo...' }],
  }),
  'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"iVBORw0KGgo..."}\n\n',
  'Events `image_generation.partial_image` and `image_generation.completed`, or `image_edit.*`',
);

const CACHE = { 200: CACHED_CONTENT };
/** As Google's APIs say that something is gone. */
const GONE = json('It is deleted', '{ }', {});
const FILE_EXAMPLE = {
  id: FILE_ID_EXAMPLE,
  object: 'file',
  bytes: 120_000,
  created_at: 1_767_225_600,
  expires_at: 1_769_817_600,
  filename: 'report.pdf',
  purpose: 'user_data',
  status: 'processed',
  status_details: null,
};
const FILE = json(
  'The file; clients that send `anthropic-version` get the form of messages',
  'File | MessagesFile',
  FILE_EXAMPLE,
);
const CONTENT = bytes('The content, with the type of the file', '*/*');

const BATCH = { 200: json('The batch', 'Batch') };
const MESSAGE_BATCH = { 200: json('The batch', 'MessageBatch') };

const CONVERSATION_REPLY = { 200: json('The conversation', 'Conversation') };
const CONVERSATION_ITEMS = { 200: json('The items', 'ConversationItems') };

const SUCCESSES: Readonly<Record<Inference, Readonly<Record<string, object>>>> = {
  'messages.create': { 200: replyOf(MESSAGES) },
  'messages.count': { 200: json('The number of tokens', 'MessagesCount', { input_tokens: 12 }) },
  'chat.create': { 200: replyOf(CHAT) },
  'responses.create': { 200: replyOf(RESPONSES) },
  'responses.socket': {
    101: { description: 'The WebSocket is open; each message `response.create` starts a turn, whose events follow' },
  },
  'responses.inputTokens': {
    200: json('The number of tokens', 'ResponsesCount', { object: 'response.input_tokens', input_tokens: 12 }),
  },
  'responses.compact': { 200: json('The items that replace the conversation', 'ResponsesCompaction') },
  'responses.get': { 200: replyOf(RESPONSES) },
  'responses.delete': {
    200: json('It is deleted', 'ResponsesDeleted', { id: 'resp_7Hq2bVxN', object: 'response', deleted: true }),
  },
  'responses.cancel': { 200: json('The cancelled response', RESPONSES.reply) },
  'responses.inputItems': { 200: json('A page of items, newest first', 'ResponsesInputItems') },
  'search.create': {
    200: json('What was found, as the provider returns it', 'SearchReply', { output: 'Found.', results: [] }),
  },
  'embeddings.create': {
    200: json('The vectors', 'EmbeddingsReply', {
      object: 'list',
      model: 'demo-embedding',
      data: [{ object: 'embedding', index: 0, embedding: [0.013, -0.021] }],
      usage: { prompt_tokens: 2, total_tokens: 2 },
    }),
  },
  'images.generate': { 200: IMAGES },
  'images.edit': { 200: IMAGES },
  'models.list': {
    200: json(
      'The models; a client of the generate-content family gets its own form',
      'ModelList | GenerateModelList',
      listExample(MODEL_EXAMPLE),
    ),
  },
  'models.get': { 200: json('The model', 'Model | GenerateModel', MODEL_EXAMPLE) },
  'files.create': { 200: FILE },
  'files.list': { 200: json('A page of files, newest first', 'FileList | MessagesFileList') },
  'files.get': { 200: FILE },
  'files.content': { 200: CONTENT },
  'files.delete': {
    200: json('It is deleted', 'FileDeleted | MessagesFileDeleted', {
      id: FILE_ID_EXAMPLE,
      object: 'file',
      deleted: true,
    }),
  },
  'googleFiles.upload': {
    200: { description: 'The upload has begun; the header `x-goog-upload-url` says where to send the pieces' },
  },
  'googleFiles.list': { 200: json('A page of files', '{ files: GenerateFile[], nextPageToken?: string }') },
  'googleFiles.get': { 200: json('The file', 'GenerateFile') },
  'googleFiles.content': { 200: CONTENT },
  'googleFiles.delete': { 200: GONE },
  'conversations.create': CONVERSATION_REPLY,
  'conversations.get': CONVERSATION_REPLY,
  'conversations.update': CONVERSATION_REPLY,
  'conversations.delete': {
    200: json('It is deleted', 'ConversationDeleted', {
      id: 'conv_dg5b2d',
      object: 'conversation.deleted',
      deleted: true,
    }),
  },
  'conversations.addItems': CONVERSATION_ITEMS,
  'conversations.items': CONVERSATION_ITEMS,
  'conversations.item': { 200: json('The item', 'ConversationItem') },
  'conversations.removeItem': CONVERSATION_REPLY,
  'batches.create': BATCH,
  'batches.list': { 200: json('A page of batches, newest first', 'BatchList') },
  'batches.get': BATCH,
  'batches.cancel': BATCH,
  'messageBatches.create': MESSAGE_BATCH,
  'messageBatches.list': { 200: json('A page of batches, newest first', 'MessageBatchList') },
  'messageBatches.get': MESSAGE_BATCH,
  'messageBatches.cancel': MESSAGE_BATCH,
  'messageBatches.results': { 200: bytes('A line for each request', 'application/jsonl', TEXT) },
  'messageBatches.delete': {
    200: json('It is deleted', 'MessageBatchDeleted', { id: 'batch_7Hq2bVxN', type: 'message_batch_deleted' }),
  },
  'usage.get': { 200: json('Balance, limits and usage', 'Usage') },
  'usage.request': { 200: json('The call', 'RequestUsage') },
  'billing.subscription': { 200: json('The limit of the key', 'BillingSubscription') },
  'billing.usage': { 200: json('What the key has spent', 'BillingUsage') },
  'generate.models': { 200: json('The models', 'GenerateModelList') },
  'generate.model': { 200: json('The model', 'GenerateModel') },
  'generate.create': { 200: json('The reply', GENERATE.reply, GENERATE.replyExample) },
  'generate.stream': {
    200: withStream(
      json('The reply in parts: server-sent events with `alt=sse`, else a JSON array', `${GENERATE.reply}[]`, [
        GENERATE.replyExample,
      ]),
      GENERATE.streamExample,
      GENERATE.streamAbout,
    ),
  },
  'generate.count': { 200: json('The number of tokens', 'GenerateCount', { totalTokens: 12 }) },
  'interactions.create': { 200: INTERACTION },
  'interactions.get': { 200: INTERACTION },
  'interactions.delete': { 200: GONE },
  'interactions.cancel': { 200: json('The cancelled interaction', 'Interaction') },
  'containers.create': {},
  'containers.list': {
    200: json('A page, newest first', 'ContainerList'),
  },
  'containers.get': { 200: json('What the provider says of it', 'Container') },
  'containers.delete': { 200: json('It is deleted', 'ContainerDeleted') },
  'containers.files': { 200: json('A page of what the provider says', 'ContainerFileList') },
  'containers.file': { 200: json('What the provider says of it', 'ContainerFile') },
  'containers.content': { 200: CONTENT },
  'caches.create': CACHE,
  'caches.list': { 200: json('A page, newest first', 'CachedContentList') },
  'caches.get': CACHE,
  'caches.update': CACHE,
  'caches.delete': { 200: GONE },
  'generate.embed': {
    200: json('The vector', 'GenerateEmbedding', { embedding: { values: [0.013, -0.021] } }),
  },
  'generate.batchEmbed': {
    200: json('The vectors', 'GenerateBatchEmbedding', { embeddings: [{ values: [0.013, -0.021] }] }),
  },
};

export const INFERENCE_OBJECTS = [CallerUsage, RequestUsage, BillingSubscription, BillingUsage];

export const INFERENCE_SCHEMAS: Schemas = {
  ...MESSAGES.schemas,
  ...CHAT.schemas,
  ...RESPONSES.schemas,
  ...GENERATE.schemas,
  ...PROVIDER_OBJECT_SCHEMAS,
  ...schemasOf(
    `
EmbeddingsRequest: model: model, input: string | any[] (a text, several, or token numbers), dimensions?: integer,
  encoding_format?: <float base64>, user?: string
EmbeddingsReply: object: "list", model: string, data: { object: string, index: integer, embedding: number[] | string }[],
  usage?: { prompt_tokens: integer, total_tokens: integer }
closed File: id: string, object: "file", bytes: integer, created_at: seconds, expires_at: seconds, filename: string, purpose: string,
  status: "processed", status_details: null
closed FileList: object: "list", data: File[], first_id: string | null, last_id: string | null, has_more: boolean
closed FileDeleted: id: string, object: "file", deleted: true
MessagesFile: id: string, type: "file", filename: string, mime_type: string, size_bytes: integer, created_at: time,
  expires_at?: time | null, downloadable?: boolean
MessagesFileDeleted: id: string, type: "file_deleted"
closed MessagesFileList: data: MessagesFile[], next_page: string | null, first_id: string | null, last_id: string | null, has_more: boolean
closed GenerateFile: name: string, displayName: string, mimeType: string, sizeBytes: string, createTime: time, updateTime: time,
  expirationTime: time, uri: string, downloadUri: string, state: "ACTIVE", source: "UPLOADED"
GenerateUpload: file?: { displayName?: string, mimeType?: string }
closed GenerateUploaded: file: GenerateFile
ConversationRequest: items?: ResponsesItem[], metadata?: object
ConversationChange: metadata: object
ConversationAddition: items: ResponsesItem[]
ConversationItem: id: string, type: string (message, function_call, function_call_output, reasoning, ...), status?: any, role?: any,
  content?: any (of a message: a list of parts)
closed ConversationDeleted: id: string, object: "conversation.deleted", deleted: true
closed Conversation: id: string, object: "conversation", created_at: seconds, metadata: object
closed ConversationItems: object: "list", data: ConversationItem[], first_id: string | null, last_id: string | null, has_more: boolean
BatchRequest: input_file_id: string (of the requests), endpoint: <${Object.keys(rules.BATCH_ENDPOINTS).join(' ')}>, completion_window?: "24h",
  metadata?: object
MessageBatchRequest: requests: { custom_id: string, params: MessagesRequest }[]
closed Batch: id: string, object: "batch", endpoint: string, errors: BatchErrors | null (of a failed batch), input_file_id: string,
  completion_window: "24h", status: <in_progress completed failed expired cancelling cancelled>, output_file_id: string | null,
  error_file_id: string | null, created_at: seconds, in_progress_at: seconds, expires_at: seconds, finalizing_at: seconds | null,
  completed_at: seconds | null, failed_at: seconds | null, expired_at: seconds | null, cancelling_at: seconds | null, cancelled_at: seconds | null,
  request_counts: { total: integer, completed: integer, failed: integer }, metadata: object
closed BatchErrors: object: "list", data: { code: string, message: string, param: string, line: integer }[] (what is wrong with lines)
closed BatchList: object: "list", data: Batch[], first_id: string | null, last_id: string | null, has_more: boolean
closed MessageBatch: id: string, type: "message_batch", processing_status: <in_progress canceling ended>,
  request_counts: { processing: integer, succeeded: integer, errored: integer, canceled: integer, expired: integer }, created_at: time,
  expires_at: time, ended_at: time | null, cancel_initiated_at: time | null, archived_at: null, results_url: string | null
closed MessageBatchDeleted: id: string, type: "message_batch_deleted"
closed MessageBatchList: data: MessageBatch[], next_page: string | null, first_id: string | null, last_id: string | null, has_more: boolean
ImagesReply: created: seconds, data?: { b64_json?: string, url?: string, revised_prompt?: string }[], usage?: object
closed Model: id: string, object: "model", owned_by: string (the group), type: "model", display_name: string,
  created: seconds, created_at: time
${listsOf('Model')}
`,
  ),
};

// ---------------------------------------------------------------- queries

const query = (members: string): readonly object[] => queryOf(schemaOf(`{ ${members} }`));

const QUERIES: Readonly<Partial<Record<Inference, readonly object[]>>> = {
  'responses.get': query(`stream?: <true false> ('true': the events of the response),
    starting_after?: integer (with 'stream': only events after this 'sequence_number')`),
  'responses.inputItems': query(`limit?: count (items of a page), after?: string ('last_id' of the previous page),
    order?: <asc desc> ('desc' by default)`),
  'models.list': query(`limit?: count (models of a page; all by default),
    after_id?: string ('last_id' of the previous page), before_id?: string ('first_id' of the next page)`),
  'files.list':
    query(`limit?: count (files of a page), after?: string ('last_id' of the previous page), order?: <asc desc>,
    purpose?: string, after_id?: string (of messages clients), before_id?: string (of messages clients),
    page?: string ('next_page' of the previous page, of messages clients)`),
  'conversations.items': query(`limit?: count (items of a page), after?: string ('last_id' of the previous page),
    order?: <asc desc> ('desc' by default)`),
  'interactions.get': query(`stream?: <true false> ('true': the events of the interaction),
    last_event_id?: string (with 'stream': only events after this one), include_input?: <true false>`),
  'containers.files': query(`limit?: count (files of a page), after?: string ('last_id' of the previous page),
    order?: <asc desc> ('desc' by default)`),
  'containers.list': query("limit?: count (containers of a page), after?: string ('last_id' of the previous page)"),
  'batches.list': query("limit?: count (batches of a page), after?: string ('last_id' of the previous page)"),
  'messageBatches.list': query(`limit?: count (batches of a page), after_id?: string ('last_id' of the previous page),
    before_id?: string ('first_id' of the next page)`),
  'googleFiles.list': query(
    "pageSize?: count (files of a page), pageToken?: string ('nextPageToken' of the previous page)",
  ),
  'googleFiles.content': query('alt?: <media> (accepted as SDKs send it)'),
  'usage.get': query(`start_date?: string (first day, such as 2030-01-31; by default 30 days up to 'end_date'),
    end_date?: string (last day; by default today), timezone?: string (IANA name, such as Europe/Berlin; UTC by default)`),
  'billing.usage': query(`
    start_date?: string (first UTC day; by default that of the month, or 30 days up to 'end_date'),
    end_date?: string (last UTC day; by default today)`),
  'generate.models': query(
    "pageSize?: count (models of a page), pageToken?: string ('nextPageToken' of the previous page)",
  ),
  'caches.list': query("pageSize?: count (of a page), pageToken?: string ('nextPageToken' of the previous page)"),
  'generate.stream': query("alt?: <json sse> ('sse': server-sent events)"),
};

/** What a path accepts as a credential. */
export const securityOf = (path: string): readonly object[] => [
  { key: [] },
  { apiKeyHeader: [] },
  ...(rules.takesGenerateCredentials(path) ? [{ googApiKey: [] }] : []),
];
