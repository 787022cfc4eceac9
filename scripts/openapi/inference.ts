/** The operations of document 1 in the reference: text, images, models and usage. */
import * as rules from '../../src/rules/index.ts';
import { CHAT } from './dialects/chat.ts';
import type { DialectSchemas } from './dialects/dialect.ts';
import { GENERATE } from './dialects/generate.ts';
import { MESSAGES } from './dialects/messages.ts';
import { CACHED_CONTENT, INTERACTION } from './dialects/provider-objects.ts';
import { RESPONSES } from './dialects/responses.ts';
import { errorResponses } from './errors.ts';
import type { HeaderSet } from './headers.ts';
import { IMAGE_BODIES } from './images.ts';
import { INFERENCE_QUERIES } from './inference-queries.ts';
import { OPERATION_ERRORS } from './operation-errors.ts';
import {
  anyOf,
  BYTES,
  bytes,
  closed,
  INTEGER,
  JSON_TYPE,
  json,
  list,
  listExample,
  optional,
  ref,
  type Schema,
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
      ...(INFERENCE_QUERIES[operation] ?? []),
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
  'The fields that are commonly used; all others of the dialect are accepted too. ' +
  'On a group of another dialect the fields are converted; ' +
  'docs/fidelity.md lists what is kept, changed, dropped or rejected.';
const NATIVE =
  'The fields that are commonly used; all fields of the dialect are forwarded unchanged, but for the model name.';
const CHECKED =
  'Checked field by field before it is sent; fields that are not listed are forwarded unchanged, ' +
  'response_format is removed.';

const HELLO = 'Hello!';
const CONVERSATION = { messages: [{ role: 'user', content: HELLO }] };
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: HELLO }] }] };
const EMBED = { content: { parts: [{ text: HELLO }] } };

const bodyOf = (description: string, schema: Schema, example: object, required = true): object => ({
  required,
  ...json(description, schema, example),
});
const CONVERTED_RESPONSE = bodyOf(CONVERTED, ref(RESPONSES.request), { model: 'demo-responses', input: HELLO });
const GENERATED = bodyOf(NATIVE, ref(GENERATE.request), CONTENTS);
const REQUESTS = [{ model: 'models/demo-embedding', ...EMBED }];

const NO_BODY_NEEDED = bodyOf('None is needed.', closed({}), {}, false);
const FORWARDED = bodyOf('None is needed; a body is forwarded unchanged.', closed({}), {}, false);
const FILE_ID_EXAMPLE = 'dgfile5b2d7c0e9f1a4b3c8d6e7f0a1b2c3d4e';

const BODIES: Readonly<Record<WithBody, object>> = {
  'messages.create': bodyOf(CONVERTED, ref(MESSAGES.request), {
    model: 'demo-messages',
    max_tokens: 200,
    ...CONVERSATION,
  }),
  'messages.count': bodyOf(CONVERTED, ref('MessagesCountRequest'), { model: 'demo-messages', ...CONVERSATION }),
  'chat.create': bodyOf(CONVERTED, ref(CHAT.request), { model: 'demo-messages', ...CONVERSATION }),
  'responses.create': CONVERTED_RESPONSE,
  'responses.inputTokens': CONVERTED_RESPONSE,
  'responses.compact': CONVERTED_RESPONSE,
  'responses.cancel': FORWARDED,
  'search.create': bodyOf(NATIVE, ref('SearchRequest'), {
    model: 'demo-responses',
    commands: { search_query: [{ q: 'news' }] },
  }),
  'embeddings.create': bodyOf(NATIVE, ref('EmbeddingsRequest'), { model: 'demo-embedding', input: HELLO }),
  'files.create': {
    required: true,
    description:
      `One file of at most ${rules.FILES.bytes / 2 ** 20} MiB. ` +
      'Requests then name it by its id, in the form of their dialect.',
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
  'conversations.create': bodyOf('Items are in the form of `input`.', ref('ConversationRequest'), {
    items: [{ type: 'message', role: 'user', content: HELLO }],
  }),
  'conversations.update': bodyOf('The new metadata.', ref('ConversationChange'), { metadata: { topic: 'demo' } }),
  'conversations.addItems': bodyOf(`At most ${rules.CONVERSATIONS.added} items.`, ref('ConversationAddition'), {
    items: [{ type: 'message', role: 'user', content: HELLO }],
  }),
  'batches.create': bodyOf(
    `The file has a request a line, as \`{"custom_id", "method": "POST", "url", "body"}\`; at most ${rules.BATCHES.lines}.`,
    ref('BatchRequest'),
    { input_file_id: FILE_ID_EXAMPLE, endpoint: '/v1/responses', completion_window: '24h' },
  ),
  'batches.cancel': NO_BODY_NEEDED,
  'messageBatches.create': bodyOf(
    'Requests in the messages dialect, each with an id of its own.',
    ref('MessageBatchRequest'),
    {
      requests: [{ custom_id: 'first', params: { model: 'demo-messages', max_tokens: 200, ...CONVERSATION } }],
    },
  ),
  'messageBatches.cancel': NO_BODY_NEEDED,
  'images.generate': { required: true, description: CHECKED, content: IMAGE_BODIES['images.generate'] },
  'images.edit': { required: true, description: CHECKED, content: IMAGE_BODIES['images.edit'] },
  'generate.create': GENERATED,
  'generate.stream': GENERATED,
  'generate.count': bodyOf(NATIVE, ref('GenerateCountRequest'), CONTENTS),
  'interactions.create': bodyOf(NATIVE, ref('InteractionRequest'), { model: 'demo-generate', input: HELLO }),
  'interactions.cancel': FORWARDED,
  'caches.create': bodyOf(NATIVE, ref('CachedContentRequest'), {
    model: 'models/demo-generate',
    ...CONTENTS,
    ttl: '600s',
  }),
  'caches.update': bodyOf('When it expires, as `ttl` or `expireTime`.', ref('CachedContentChange'), { ttl: '3600s' }),
  'generate.embed': bodyOf(NATIVE, ref('GenerateEmbedRequest'), EMBED),
  'generate.batchEmbed': bodyOf(NATIVE, ref('GenerateBatchEmbedRequest'), { requests: REQUESTS }),
};

// ---------------------------------------------------------------- responses

/** Unary, or a stream if the request asks for one. */
const replyOf = ({ reply, replyExample, streamAbout, streamExample }: DialectSchemas): object =>
  withStream(
    json('The reply; a stream if the request asks for one', ref(reply), replyExample),
    streamExample,
    streamAbout,
  );

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
  json('The images; a stream if the request asks for one', ref('ImagesReply'), {
    created: 1_767_225_600,
    data: [{ b64_json: 'iVBORw0KGgo...' }],
  }),
  'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"iVBORw0KGgo..."}\n\n',
  'Events `image_generation.partial_image` and `image_generation.completed`, or `image_edit.*`',
);

const CACHE = { 200: CACHED_CONTENT };
/** As Google's APIs say that something is gone. */
const GONE = json('It is deleted', closed({}), {});
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
  anyOf(ref('File'), ref('MessagesFile')),
  FILE_EXAMPLE,
);
const CONTENT = bytes('The content, with the type of the file', '*/*');

const BATCH = { 200: json('The batch', ref('Batch')) };
const MESSAGE_BATCH = { 200: json('The batch', ref('MessageBatch')) };

const CONVERSATION_REPLY = { 200: json('The conversation', ref('Conversation')) };
const CONVERSATION_ITEMS = { 200: json('The items', ref('ConversationItems')) };

const SUCCESSES: Readonly<Record<Inference, Readonly<Record<string, object>>>> = {
  'messages.create': { 200: replyOf(MESSAGES) },
  'messages.count': { 200: json('The number of tokens', ref('MessagesCount'), { input_tokens: 12 }) },
  'chat.create': { 200: replyOf(CHAT) },
  'responses.create': { 200: replyOf(RESPONSES) },
  'responses.socket': {
    101: { description: 'The WebSocket is open; each message `response.create` starts a turn, whose events follow' },
  },
  'responses.inputTokens': {
    200: json('The number of tokens', ref('ResponsesCount'), { object: 'response.input_tokens', input_tokens: 12 }),
  },
  'responses.compact': { 200: json('The items that replace the conversation', ref('ResponsesCompaction')) },
  'responses.get': { 200: replyOf(RESPONSES) },
  'responses.delete': {
    200: json('It is deleted', ref('ResponsesDeleted'), { id: 'resp_7Hq2bVxN', object: 'response', deleted: true }),
  },
  'responses.cancel': { 200: json('The cancelled response', ref(RESPONSES.reply)) },
  'responses.inputItems': { 200: json('A page of items, newest first', ref('ResponsesInputItems')) },
  'search.create': {
    200: json('What was found, as the provider returns it', ref('SearchReply'), { output: 'Found.', results: [] }),
  },
  'embeddings.create': {
    200: json('The vectors', ref('EmbeddingsReply'), {
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
      anyOf(ref('ModelList'), ref('GenerateModelList')),
      listExample(MODEL_EXAMPLE),
    ),
  },
  'models.get': { 200: json('The model', anyOf(ref('Model'), ref('GenerateModel')), MODEL_EXAMPLE) },
  'files.create': { 200: FILE },
  'files.list': { 200: json('A page of files, newest first', anyOf(ref('FileList'), ref('MessagesFileList'))) },
  'files.get': { 200: FILE },
  'files.content': { 200: CONTENT },
  'files.delete': {
    200: json('It is deleted', anyOf(ref('FileDeleted'), ref('MessagesFileDeleted')), {
      id: FILE_ID_EXAMPLE,
      object: 'file',
      deleted: true,
    }),
  },
  'googleFiles.upload': {
    200: { description: 'The upload has begun; the header `x-goog-upload-url` says where to send the pieces' },
  },
  'googleFiles.list': {
    200: json('A page of files', closed({ files: list(ref('GenerateFile')), nextPageToken: optional(TEXT) })),
  },
  'googleFiles.get': { 200: json('The file', ref('GenerateFile')) },
  'googleFiles.content': { 200: CONTENT },
  'googleFiles.delete': { 200: GONE },
  'conversations.create': CONVERSATION_REPLY,
  'conversations.get': CONVERSATION_REPLY,
  'conversations.update': CONVERSATION_REPLY,
  'conversations.delete': {
    200: json('It is deleted', ref('ConversationDeleted'), {
      id: 'conv_dg5b2d',
      object: 'conversation.deleted',
      deleted: true,
    }),
  },
  'conversations.addItems': CONVERSATION_ITEMS,
  'conversations.items': CONVERSATION_ITEMS,
  'conversations.item': { 200: json('The item', ref('ConversationItem')) },
  'conversations.removeItem': CONVERSATION_REPLY,
  'batches.create': BATCH,
  'batches.list': { 200: json('A page of batches, newest first', ref('BatchList')) },
  'batches.get': BATCH,
  'batches.cancel': BATCH,
  'messageBatches.create': MESSAGE_BATCH,
  'messageBatches.list': { 200: json('A page of batches, newest first', ref('MessageBatchList')) },
  'messageBatches.get': MESSAGE_BATCH,
  'messageBatches.cancel': MESSAGE_BATCH,
  'messageBatches.results': { 200: bytes('A line for each request', 'application/jsonl', TEXT) },
  'messageBatches.delete': {
    200: json('It is deleted', ref('MessageBatchDeleted'), { id: 'batch_7Hq2bVxN', type: 'message_batch_deleted' }),
  },
  'usage.get': { 200: json('Balance, limits and usage', ref('Usage')) },
  'usage.request': { 200: json('The call', ref('RequestUsage')) },
  'billing.subscription': { 200: json('The limit of the key', ref('BillingSubscription')) },
  'billing.usage': { 200: json('What the key has spent', ref('BillingUsage')) },
  'generate.models': { 200: json('The models', ref('GenerateModelList')) },
  'generate.model': { 200: json('The model', ref('GenerateModel')) },
  'generate.create': { 200: json('The reply', ref(GENERATE.reply), GENERATE.replyExample) },
  'generate.stream': {
    200: withStream(
      json('The reply in parts: server-sent events with `alt=sse`, else a JSON array', list(ref(GENERATE.reply)), [
        GENERATE.replyExample,
      ]),
      GENERATE.streamExample,
      GENERATE.streamAbout,
    ),
  },
  'generate.count': { 200: json('The number of tokens', ref('GenerateCount'), { totalTokens: 12 }) },
  'interactions.create': { 200: INTERACTION },
  'interactions.get': { 200: INTERACTION },
  'interactions.delete': { 200: GONE },
  'interactions.cancel': { 200: json('The cancelled interaction', ref('Interaction')) },
  'containers.create': {},
  'containers.list': {
    200: json('A page, newest first', ref('ContainerList')),
  },
  'containers.get': { 200: json('What the provider says of it', ref('Container')) },
  'containers.delete': { 200: json('It is deleted', ref('ContainerDeleted')) },
  'containers.files': { 200: json('A page of what the provider says', ref('ContainerFileList')) },
  'containers.file': { 200: json('What the provider says of it', ref('ContainerFile')) },
  'containers.content': { 200: CONTENT },
  'caches.create': CACHE,
  'caches.list': { 200: json('A page, newest first', ref('CachedContentList')) },
  'caches.get': CACHE,
  'caches.update': CACHE,
  'caches.delete': { 200: GONE },
  'generate.embed': {
    200: json('The vector', ref('GenerateEmbedding'), { embedding: { values: [0.013, -0.021] } }),
  },
  'generate.batchEmbed': {
    200: json('The vectors', ref('GenerateBatchEmbedding'), { embeddings: [{ values: [0.013, -0.021] }] }),
  },
};

/** What a path accepts as a credential. */
export const securityOf = (path: string): readonly object[] => [
  { key: [] },
  { apiKeyHeader: [] },
  ...(rules.takesGenerateCredentials(path) ? [{ googApiKey: [] }] : []),
];
