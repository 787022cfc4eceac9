/**
 * Every operation of both documents: one row each, and for document 1 the three cells of the matrix in G 4.1.
 * Routes, refusals, OpenAPI and docs/endpoints.md are all derived from these rows; no second copy of a path exists.
 */
import type { Dialect, Feature, Style } from './groups.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Which error body a path answers with. */
export type ErrorFormat = 'messages' | 'generate' | 'openai' | 'video';

/** What a key of one group gets at an endpoint. */
export type Cell =
  | { readonly kind: 'native'; readonly dialect: Dialect; readonly feature?: Feature }
  | { readonly kind: 'convert'; readonly to: Dialect }
  /** Bytes through where the account has the endpoint, converted where it has not. */
  | { readonly kind: 'prefer'; readonly dialect: Dialect; readonly feature: Feature; readonly to: Dialect }
  | { readonly kind: 'refuse' }
  /** Answered by the gateway from its own records, whatever the group. */
  | { readonly kind: 'own' };

export type BodyKind = 'none' | 'json' | 'multipart';

interface Row {
  readonly doc: string;
  readonly about: string;
  readonly method: Method;
  /** `{name}` is one path segment; `{model}:verb` is a segment that ends in a verb. */
  readonly path: string;
  /** Root form without a version (G 4.1 r1). */
  readonly alias?: string;
  readonly errorFormat: ErrorFormat;
  readonly body: BodyKind;
  /** Takes an Idempotency-Key (V 8). */
  readonly idempotent?: true;
}
export interface TextRow extends Row {
  readonly groups: Readonly<Record<Style, Cell>>;
}
export interface VideoRow extends Row {
  readonly errorFormat: 'video';
}
export type EndpointRow = TextRow | VideoRow;

const native = (dialect: Dialect, feature?: Feature): Cell =>
  feature ? { kind: 'native', dialect, feature } : { kind: 'native', dialect };
const convert = (to: Dialect): Cell => ({ kind: 'convert', to });
const prefer = (dialect: Dialect, feature: Feature, to: Dialect): Cell => ({ kind: 'prefer', dialect, feature, to });
const refuse: Cell = { kind: 'refuse' };
const own: Cell = { kind: 'own' };

const everywhere = { responses: own, messages: own, 'generate-content': own } as const;
const onlyResponses = (dialect: Dialect, feature: Feature) =>
  ({ responses: native(dialect, feature), messages: refuse, 'generate-content': refuse }) as const;
const onlyGenerate = { responses: refuse, messages: refuse, 'generate-content': native('generate') } as const;

/** Reaches every group by conversion; the responses on the generate side go beyond the document (G 4.1). */
const responsesEverywhere = {
  responses: native('responses'),
  messages: convert('messages'),
  'generate-content': convert('generate'),
} as const;
/** Stored responses: the account that made one on the responses side, our own store elsewhere. */
const storedResponses = { responses: native('responses'), messages: own, 'generate-content': own } as const;

const TASKS = '/api/v3/contents/generations/tasks';
const SESSIONS = '/v1/assets/real-person/authorization-sessions';

export const TEXT_ENDPOINTS = {
  'messages.create': {
    doc: 'G 4.2',
    about: 'Send a messages-dialect request',
    method: 'POST',
    path: '/v1/messages',
    errorFormat: 'messages',
    body: 'json',
    groups: { responses: convert('responses'), messages: native('messages'), 'generate-content': convert('generate') },
  },
  'messages.count': {
    doc: 'G 4.3',
    about: 'Count the tokens of a messages-dialect request',
    method: 'POST',
    path: '/v1/messages/count_tokens',
    errorFormat: 'messages',
    body: 'json',
    groups: { responses: refuse, messages: native('messages', 'count'), 'generate-content': convert('generate') },
  },
  'chat.create': {
    doc: 'G 4.7',
    about: 'Send a chat-completions request',
    method: 'POST',
    path: '/v1/chat/completions',
    alias: '/chat/completions',
    errorFormat: 'openai',
    body: 'json',
    groups: {
      responses: prefer('chat', 'chat', 'responses'),
      messages: convert('messages'),
      'generate-content': convert('generate'),
    },
  },
  'responses.create': {
    doc: 'G 4.4',
    about: 'Send a responses request',
    method: 'POST',
    path: '/v1/responses',
    alias: '/responses',
    errorFormat: 'openai',
    body: 'json',
    groups: responsesEverywhere,
  },
  'responses.socket': {
    doc: 'G 4.7',
    about: 'Responses over a WebSocket',
    method: 'GET',
    path: '/v1/responses',
    alias: '/responses',
    errorFormat: 'openai',
    body: 'none',
    groups: responsesEverywhere,
  },
  'responses.inputTokens': {
    doc: 'G 4.4',
    about: 'Count the tokens of a responses request',
    method: 'POST',
    path: '/v1/responses/input_tokens',
    alias: '/responses/input_tokens',
    errorFormat: 'openai',
    body: 'json',
    groups: responsesEverywhere,
  },
  'responses.compact': {
    doc: 'G 4.4',
    about: 'Compact a conversation',
    method: 'POST',
    path: '/v1/responses/compact',
    alias: '/responses/compact',
    errorFormat: 'openai',
    body: 'json',
    groups: { responses: native('responses'), messages: refuse, 'generate-content': refuse },
  },
  'responses.get': {
    doc: 'G 4.4',
    about: 'Read a stored response',
    method: 'GET',
    path: '/v1/responses/{response_id}',
    alias: '/responses/{response_id}',
    errorFormat: 'openai',
    body: 'none',
    groups: storedResponses,
  },
  'responses.delete': {
    doc: 'G 4.4',
    about: 'Delete a stored response',
    method: 'DELETE',
    path: '/v1/responses/{response_id}',
    alias: '/responses/{response_id}',
    errorFormat: 'openai',
    body: 'none',
    groups: storedResponses,
  },
  'responses.cancel': {
    doc: 'G 4.4',
    about: 'Cancel a background response',
    method: 'POST',
    path: '/v1/responses/{response_id}/cancel',
    alias: '/responses/{response_id}/cancel',
    errorFormat: 'openai',
    body: 'json',
    groups: { responses: native('responses'), messages: refuse, 'generate-content': refuse },
  },
  'responses.inputItems': {
    doc: 'G 4.4',
    about: 'List the input items of a stored response',
    method: 'GET',
    path: '/v1/responses/{response_id}/input_items',
    alias: '/responses/{response_id}/input_items',
    errorFormat: 'openai',
    body: 'none',
    groups: storedResponses,
  },
  'embeddings.create': {
    doc: 'G 4.5',
    about: 'Turn text into vectors',
    method: 'POST',
    path: '/v1/embeddings',
    alias: '/embeddings',
    errorFormat: 'openai',
    body: 'json',
    // Their usage is counted in the words of chat completions.
    groups: onlyResponses('chat', 'embeddings'),
  },
  'images.generate': {
    doc: 'G 4.8',
    about: 'Make images from a text',
    method: 'POST',
    path: '/v1/images/generations',
    alias: '/images/generations',
    errorFormat: 'openai',
    body: 'json',
    groups: onlyResponses('responses', 'images'),
  },
  'images.edit': {
    doc: 'G 4.8',
    about: 'Edit an image',
    method: 'POST',
    path: '/v1/images/edits',
    alias: '/images/edits',
    errorFormat: 'openai',
    body: 'multipart',
    groups: onlyResponses('responses', 'images'),
  },
  'models.list': {
    doc: 'G 4.7',
    about: 'List the models this key may use',
    method: 'GET',
    path: '/v1/models',
    errorFormat: 'openai',
    body: 'none',
    groups: everywhere,
  },
  'models.get': {
    doc: 'G 4.7',
    about: 'Read one model',
    method: 'GET',
    path: '/v1/models/{model}',
    errorFormat: 'openai',
    body: 'none',
    groups: everywhere,
  },
  'usage.get': {
    doc: 'G 4.7',
    about: "Usage and balance of the key's user",
    method: 'GET',
    path: '/v1/usage',
    errorFormat: 'openai',
    body: 'none',
    groups: everywhere,
  },
  'generate.models': {
    doc: 'G 4.6.4',
    about: 'List the models in the native form',
    method: 'GET',
    path: '/v1beta/models',
    errorFormat: 'generate',
    body: 'none',
    groups: { ...onlyGenerate, 'generate-content': own },
  },
  'generate.model': {
    doc: 'G 4.6.4',
    about: 'Read one model in the native form',
    method: 'GET',
    path: '/v1beta/models/{model}',
    errorFormat: 'generate',
    body: 'none',
    groups: { ...onlyGenerate, 'generate-content': own },
  },
  'generate.create': {
    doc: 'G 4.6.1',
    about: 'Send a native generate-content request',
    method: 'POST',
    path: '/v1beta/models/{model}:generateContent',
    errorFormat: 'generate',
    body: 'json',
    groups: onlyGenerate,
  },
  'generate.stream': {
    doc: 'G 4.6.2',
    about: 'Stream a native generate-content answer',
    method: 'POST',
    path: '/v1beta/models/{model}:streamGenerateContent',
    errorFormat: 'generate',
    body: 'json',
    groups: onlyGenerate,
  },
  'generate.count': {
    doc: 'G 4.6.3',
    about: 'Count the tokens of a native request',
    method: 'POST',
    path: '/v1beta/models/{model}:countTokens',
    errorFormat: 'generate',
    body: 'json',
    groups: { ...onlyGenerate, 'generate-content': native('generate', 'count') },
  },
} as const satisfies Record<string, TextRow>;

export const VIDEO_ENDPOINTS = {
  'tasks.create': {
    doc: 'V 4.2',
    about: 'Create a video task',
    method: 'POST',
    path: TASKS,
    errorFormat: 'video',
    body: 'json',
    idempotent: true,
  },
  'tasks.list': {
    doc: 'V 4.4',
    about: 'List video tasks',
    method: 'GET',
    path: TASKS,
    errorFormat: 'video',
    body: 'none',
  },
  'tasks.get': {
    doc: 'V 4.3',
    about: 'Read a video task',
    method: 'GET',
    path: `${TASKS}/{task_id}`,
    errorFormat: 'video',
    body: 'none',
  },
  'tasks.delete': {
    doc: 'V 4.5',
    about: 'Cancel or delete a video task',
    method: 'DELETE',
    path: `${TASKS}/{task_id}`,
    errorFormat: 'video',
    body: 'none',
  },
  'videos.create': {
    doc: 'V 4.7',
    about: 'Create a video task, compatibility form',
    method: 'POST',
    path: '/v1/videos',
    errorFormat: 'video',
    body: 'json',
    idempotent: true,
  },
  'videos.list': {
    doc: 'V 4.7',
    about: 'List video tasks, compatibility form',
    method: 'GET',
    path: '/v1/videos',
    errorFormat: 'video',
    body: 'none',
  },
  'videos.get': {
    doc: 'V 4.7',
    about: 'Read a video task, compatibility form',
    method: 'GET',
    path: '/v1/videos/{task_id}',
    errorFormat: 'video',
    body: 'none',
  },
  'videos.content': {
    doc: 'V 4.6 r1',
    about: 'Read the video',
    method: 'GET',
    path: '/v1/videos/{task_id}/content',
    errorFormat: 'video',
    body: 'none',
  },
  'videos.lastFrame': {
    doc: 'V 4.6 r2',
    about: 'Read the last frame',
    method: 'GET',
    path: '/v1/videos/{task_id}/last-frame',
    errorFormat: 'video',
    body: 'none',
  },
  'assetGroups.create': {
    doc: 'V 4.8 r1',
    about: 'Create an asset group',
    method: 'POST',
    path: '/v1/asset-groups',
    errorFormat: 'video',
    body: 'json',
    idempotent: true,
  },
  'assetGroups.list': {
    doc: 'V 4.8 r2',
    about: 'List asset groups',
    method: 'GET',
    path: '/v1/asset-groups',
    errorFormat: 'video',
    body: 'none',
  },
  'assetGroups.get': {
    doc: 'V 4.8 r2',
    about: 'Read an asset group',
    method: 'GET',
    path: '/v1/asset-groups/{group_id}',
    errorFormat: 'video',
    body: 'none',
  },
  'assetGroups.delete': {
    doc: 'V 4.8 r3',
    about: 'Delete an asset group',
    method: 'DELETE',
    path: '/v1/asset-groups/{group_id}',
    errorFormat: 'video',
    body: 'none',
  },
  'assets.create': {
    doc: 'V 4.9 r1',
    about: 'Register a private asset',
    method: 'POST',
    path: '/v1/assets',
    errorFormat: 'video',
    body: 'json',
    idempotent: true,
  },
  'assets.list': {
    doc: 'V 4.9 r3',
    about: 'List private assets',
    method: 'GET',
    path: '/v1/assets',
    errorFormat: 'video',
    body: 'none',
  },
  'assets.get': {
    doc: 'V 4.9 r4',
    about: 'Read a private asset',
    method: 'GET',
    path: '/v1/assets/{asset_id}',
    errorFormat: 'video',
    body: 'none',
  },
  'assets.refresh': {
    doc: 'V 4.9 r5',
    about: 'Ask for the present state of an asset',
    method: 'POST',
    path: '/v1/assets/{asset_id}/refresh',
    errorFormat: 'video',
    body: 'none',
  },
  'assets.delete': {
    doc: 'V 4.9 r6',
    about: 'Delete a private asset',
    method: 'DELETE',
    path: '/v1/assets/{asset_id}',
    errorFormat: 'video',
    body: 'none',
  },
  'sessions.create': {
    doc: 'V 4.10 r1',
    about: 'Start a real-person authorization',
    method: 'POST',
    path: SESSIONS,
    errorFormat: 'video',
    body: 'json',
    idempotent: true,
  },
  'sessions.get': {
    doc: 'V 4.10 r2',
    about: 'Read a real-person authorization',
    method: 'GET',
    path: `${SESSIONS}/{session_id}`,
    errorFormat: 'video',
    body: 'none',
  },
  'characters.list': {
    doc: 'V 4.11 r1',
    about: 'List public characters',
    method: 'GET',
    path: '/v1/public-characters',
    errorFormat: 'video',
    body: 'none',
  },
  'characters.get': {
    doc: 'V 4.11 r2',
    about: 'Read a public character',
    method: 'GET',
    path: '/v1/public-characters/{character_id}',
    errorFormat: 'video',
    body: 'none',
  },
} as const satisfies Record<string, VideoRow>;

export const ENDPOINTS = { ...TEXT_ENDPOINTS, ...VIDEO_ENDPOINTS } as const;
export type TextOperation = keyof typeof TEXT_ENDPOINTS;
export type VideoOperation = keyof typeof VIDEO_ENDPOINTS;
export type Operation = keyof typeof ENDPOINTS;

export const OPERATIONS = Object.keys(ENDPOINTS) as Operation[];

export const endpoint = (operation: Operation): EndpointRow => ENDPOINTS[operation];
export const isText = (operation: Operation): operation is TextOperation => operation in TEXT_ENDPOINTS;

interface OperatorRow {
  readonly method: Method;
  readonly path: string;
  readonly about: string;
  /** Answers HEAD as well, which load balancers ask. */
  readonly head?: true;
}

/** Endpoints of operators: no caller's key opens them, no group refuses them. */
export const OPERATOR_ENDPOINTS = {
  'operator.alive': { method: 'GET', path: '/healthz', about: 'The process is alive', head: true },
  'operator.ready': {
    method: 'GET',
    path: '/readyz',
    about: 'Database reachable, migrations done, not draining',
    head: true,
  },
  'operator.metrics': { method: 'GET', path: '/metrics', about: 'Prometheus metrics' },
  'operator.openapi': { method: 'GET', path: '/openapi.json', about: 'This API as OpenAPI' },
} as const satisfies Record<string, OperatorRow>;
export type OperatorOperation = keyof typeof OPERATOR_ENDPOINTS;

/** The error body of a path that is no endpoint, by its beginning; a wrong path still gets an answer its SDK can read. */
const ERROR_FORMAT_BY_PREFIX: readonly (readonly [string, ErrorFormat])[] = [
  ['/v1/messages', 'messages'],
  ['/v1beta', 'generate'],
  ['/api/v3', 'video'],
  ['/v1/videos', 'video'],
  ['/v1/asset', 'video'],
  ['/v1/public-characters', 'video'],
];
export const errorFormatOf = (path: string): ErrorFormat =>
  ERROR_FORMAT_BY_PREFIX.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'openai';
