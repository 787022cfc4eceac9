/** The operations of document 1 in the reference: text, images, models and usage. */
import {
  type ErrorCode,
  FALLBACK_HEADER,
  INFERENCE_ENDPOINTS,
  type InferenceRow,
  mayFallBack,
  OPERATION_ERRORS,
  takesGenerateCredentials,
} from '../../rules/index.ts';
import { BillingSubscription, BillingUsage, CallerUsage, RequestUsage } from '../../schemas/index.ts';
import { CHAT } from './dialects/chat.ts';
import { type DialectSchemas, MODEL } from './dialects/dialect.ts';
import { GENERATE } from './dialects/generate.ts';
import { MESSAGES } from './dialects/messages.ts';
import { RESPONSES } from './dialects/responses.ts';
import { errorResponses } from './errors.ts';
import { type HeaderSet, withHeaders } from './headers.ts';
import { IMAGE_BODIES } from './images.ts';
import {
  ANY_OBJECT,
  arrayOf,
  described,
  INTEGER,
  JSON_TYPE,
  json,
  listSchema,
  NUMBER,
  object,
  openObject,
  ref,
  type Schema,
  SECONDS,
  TEXT,
  TIME,
  wordOf,
} from './schema.ts';

type Inference = keyof typeof INFERENCE_ENDPOINTS;
type WithBody = {
  [K in Inference]: (typeof INFERENCE_ENDPOINTS)[K]['body']['content'] extends 'none' ? never : K;
}[Inference];

export interface OperationDescription {
  readonly parameters: readonly object[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

export function describeInference(operation: Inference): OperationDescription {
  const row: InferenceRow = INFERENCE_ENDPOINTS[operation];
  const cells = Object.values(row.groups);
  const isServed = cells.some(({ kind }) => kind !== 'own' && kind !== 'refuse');
  const isNative = cells.some(({ kind }) => kind === 'native' || kind === 'prefer');
  const responses = {
    ...SUCCESSES[operation],
    ...errorResponses(row.errorFormat, errorCodes(row, isServed), {
      passesProviderErrors: isNative,
      // Two families share these paths (G 4.7).
      otherFormat: row.errorFormat === 'openai' && takesGenerateCredentials(row.path) ? 'generate' : undefined,
    }),
  };
  return {
    parameters: [...(QUERIES[operation] ?? []), ...(fallsBack(operation) ? [FALLBACK_PARAMETER] : [])],
    ...(operation in BODIES && { requestBody: BODIES[operation as WithBody] }),
    responses: withHeaders(
      responses,
      ...headerSets(row, isServed),
      ...(fallsBack(operation) ? (['fallback'] as const) : []),
    ),
  };
}

const fallsBack = (operation: Inference): boolean => operation !== 'responses.socket' && mayFallBack(operation);

const FALLBACK_PARAMETER = {
  name: FALLBACK_HEADER,
  in: 'header',
  required: false,
  description: '`none`: no other group takes the call when the accounts of its own cannot',
  schema: { type: 'string', enum: ['none'] },
};

function errorCodes(row: InferenceRow, isServed: boolean): ErrorCode[] {
  const { every, key, refused, query, body, provider, metered, stored, model, request, socket } = OPERATION_ERRORS;
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
    ...('turns' in row ? socket : []),
  ];
}

const headerSets = (row: InferenceRow, isServed: boolean): HeaderSet[] => [
  ...(isServed ? (['limited'] as const) : []),
  ...('converts' in row ? (['converted', ...(row.converts === 'count' ? (['counted'] as const) : [])] as const) : []),
  ...(row.errorFormat === 'messages' ? (['messages'] as const) : []),
  ...(row.deprecated ? (['deprecated'] as const) : []),
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

const bodyOf = (description: string, schema: Schema, example: object, required = true): object => ({
  required,
  description,
  content: { [JSON_TYPE]: { schema, example } },
});
const CONVERTED_RESPONSE = bodyOf(CONVERTED, ref(RESPONSES.request), { model: 'demo-responses', input: HELLO });
const GENERATED = bodyOf(NATIVE, ref(GENERATE.request), CONTENTS);
const REQUESTS = [{ model: 'models/demo-embedding', ...EMBED }];

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
  'responses.cancel': bodyOf('None is needed; a body is forwarded unchanged.', ANY_OBJECT, {}, false),
  'embeddings.create': bodyOf(NATIVE, ref('EmbeddingsRequest'), { model: 'demo-embedding', input: HELLO }),
  'images.generate': { required: true, description: CHECKED, content: IMAGE_BODIES['images.generate'] },
  'images.edit': { required: true, description: CHECKED, content: IMAGE_BODIES['images.edit'] },
  'generate.create': GENERATED,
  'generate.stream': GENERATED,
  'generate.count': bodyOf(NATIVE, ref('GenerateCountRequest'), CONTENTS),
  'generate.embed': bodyOf(NATIVE, ref('GenerateEmbedRequest'), EMBED),
  'generate.batchEmbed': bodyOf(NATIVE, ref('GenerateBatchEmbedRequest'), { requests: REQUESTS }),
};

// ---------------------------------------------------------------- responses

const SSE_TYPE = 'text/event-stream';
const streamOf = ({ streamAbout, streamExample }: DialectSchemas): object => ({
  [SSE_TYPE]: { schema: described(streamAbout, TEXT), example: streamExample },
});
/** Unary, or a stream if the request asks for one. */
const replyOf = (dialect: DialectSchemas): object => ({
  description: 'The reply; a stream if the request asks for one',
  content: { [JSON_TYPE]: { schema: ref(dialect.reply), example: dialect.replyExample }, ...streamOf(dialect) },
});

const MODEL_EXAMPLE = {
  id: 'demo-messages',
  object: 'model',
  owned_by: 'claude',
  type: 'model',
  display_name: 'demo-messages',
  created: 0,
  created_at: '1970-01-01T00:00:00Z',
};
const IMAGES = {
  description: 'The images; a stream if the request asks for one',
  content: {
    [JSON_TYPE]: {
      schema: ref('ImagesReply'),
      example: { created: 1_767_225_600, data: [{ b64_json: 'iVBORw0KGgo...' }] },
    },
    [SSE_TYPE]: {
      schema: described(
        'Events `image_generation.partial_image` and `image_generation.completed`, or `image_edit.*`',
        TEXT,
      ),
      example:
        'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"iVBORw0KGgo..."}\n\n',
    },
  },
};
/** Clients of the generate-content family get their own form on these paths (G 4.7). */
const either = (schema: Schema, native: Schema): Schema => ({ anyOf: [schema, native] });

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
      either(ref('ModelList'), ref('GenerateModelList')),
      { object: 'list', data: [MODEL_EXAMPLE], first_id: MODEL_EXAMPLE.id, last_id: MODEL_EXAMPLE.id, has_more: false },
    ),
  },
  'models.get': { 200: json('The model', either(ref('Model'), ref('GenerateModel')), MODEL_EXAMPLE) },
  'usage.get': { 200: json('Balance, limits and usage', ref('Usage')) },
  'usage.request': { 200: json('The call', ref('RequestUsage')) },
  'billing.subscription': { 200: json('The limit of the key', ref('BillingSubscription')) },
  'billing.usage': { 200: json('What the key has spent', ref('BillingUsage')) },
  'generate.models': { 200: json('The models', ref('GenerateModelList')) },
  'generate.model': { 200: json('The model', ref('GenerateModel')) },
  'generate.create': { 200: json('The reply', ref(GENERATE.reply), GENERATE.replyExample) },
  'generate.stream': {
    200: {
      description: 'The reply in parts: server-sent events with `alt=sse`, else a JSON array',
      content: {
        ...streamOf(GENERATE),
        [JSON_TYPE]: { schema: arrayOf(ref(GENERATE.reply)), example: [GENERATE.replyExample] },
      },
    },
  },
  'generate.count': { 200: json('The number of tokens', ref('GenerateCount'), { totalTokens: 12 }) },
  'generate.embed': {
    200: json('The vector', ref('GenerateEmbedding'), { embedding: { values: [0.013, -0.021] } }),
  },
  'generate.batchEmbed': {
    200: json('The vectors', ref('GenerateBatchEmbedding'), { embeddings: [{ values: [0.013, -0.021] }] }),
  },
};

export const INFERENCE_OBJECTS = [CallerUsage, RequestUsage, BillingSubscription, BillingUsage];

export const INFERENCE_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...MESSAGES.schemas,
  ...CHAT.schemas,
  ...RESPONSES.schemas,
  ...GENERATE.schemas,
  EmbeddingsRequest: openObject(
    { model: MODEL, input: described('a text, several, or token numbers', { anyOf: [TEXT, arrayOf({})] }) },
    { dimensions: INTEGER, encoding_format: wordOf(['float', 'base64']), user: TEXT },
  ),
  EmbeddingsReply: openObject(
    {
      object: { const: 'list' },
      model: TEXT,
      data: arrayOf(openObject({ object: TEXT, index: INTEGER, embedding: { anyOf: [arrayOf(NUMBER), TEXT] } })),
    },
    { usage: openObject({ prompt_tokens: INTEGER, total_tokens: INTEGER }) },
  ),
  ImagesReply: openObject(
    { created: SECONDS },
    { data: arrayOf(openObject({}, { b64_json: TEXT, url: TEXT, revised_prompt: TEXT })), usage: ANY_OBJECT },
  ),
  Model: object({
    id: TEXT,
    object: { const: 'model' },
    owned_by: described('the group', TEXT),
    type: { const: 'model' },
    display_name: TEXT,
    created: SECONDS,
    created_at: TIME,
  }),
  ModelList: listSchema('Model'),
};

// ---------------------------------------------------------------- queries

const query = (name: string, description: string, schema: Schema = TEXT): object => ({
  name,
  in: 'query',
  description,
  schema,
});
const COUNT = { ...INTEGER, minimum: 1 } as const;

const QUERIES: Readonly<Partial<Record<Inference, readonly object[]>>> = {
  'responses.get': [
    query('stream', '`true`: the events of the response', wordOf(['true', 'false'])),
    query('starting_after', 'with `stream`: only events after this `sequence_number`', INTEGER),
  ],
  'responses.inputItems': [
    query('limit', 'items of a page', COUNT),
    query('after', '`last_id` of the previous page'),
    query('order', '`desc` by default', wordOf(['asc', 'desc'])),
  ],
  'models.list': [
    query('limit', 'models of a page; all by default', COUNT),
    query('after_id', '`last_id` of the previous page'),
    query('before_id', '`first_id` of the next page'),
  ],
  'usage.get': [
    query('start_date', 'first day, such as 2030-01-31; by default 30 days up to `end_date`'),
    query('end_date', 'last day; by default today'),
    query('timezone', 'IANA name, such as Europe/Berlin; UTC by default'),
  ],
  'billing.usage': [
    query('start_date', 'first UTC day; by default that of the month, or 30 days up to `end_date`'),
    query('end_date', 'last UTC day; by default today'),
  ],
  'generate.models': [
    query('pageSize', 'models of a page', COUNT),
    query('pageToken', '`nextPageToken` of the previous page'),
  ],
  'generate.stream': [query('alt', '`sse`: server-sent events', wordOf(['json', 'sse']))],
};

/** What a path accepts as a credential. */
export const securityOf = (path: string): readonly object[] => [
  { key: [] },
  { apiKeyHeader: [] },
  ...(takesGenerateCredentials(path) ? [{ googApiKey: [] }] : []),
];
