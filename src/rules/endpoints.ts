/**
 * Every operation of both documents: one row each, and for document 1 the three cells of the matrix in G 4.1.
 * Routes, rejections, body limits, billing, timeouts, OpenAPI and docs/endpoints.md are derived from these rows. A row that lacks
 * one of these facts does not compile; neither does one whose cells demand a handler or a dialect that it does not name.
 */
import type { Deprecation } from './deprecation.ts';
import type { CountedDialect, Dialect, Feature, Style, UpstreamDialect } from './groups.ts';
import type { BodyClass } from './limits.ts';
import type { VideoRateName } from './video/limits.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The error body that a path responds with. */
export type ErrorFormat = 'messages' | 'generate' | 'openai' | 'video';

/** What a key of one group gets at an endpoint. */
export type Cell = ServedCell | RefuseCell | OwnCell;
/** A provider serves the request. */
export type ServedCell = NativeCell | ConvertCell | PreferCell;
/** Bytes through: the group speaks the dialect. Only accounts with the feature are used. */
export interface NativeCell {
  readonly kind: 'native';
  readonly dialect: Dialect;
  readonly feature?: Feature;
  /** Requests are converted to the first of these dialects that an account speaks, if it does not speak the one before. */
  readonly otherwise?: readonly UpstreamDialect[];
}
export interface ConvertCell {
  readonly kind: 'convert';
  readonly to: Dialect;
  /** As in a native cell. */
  readonly otherwise?: readonly UpstreamDialect[];
}
/** Native on accounts with the feature, converted on the others. With `to` = `dialect` the gateway estimates the count itself. */
export interface PreferCell {
  readonly kind: 'prefer';
  readonly dialect: Dialect;
  readonly feature: Feature;
  readonly to: Dialect;
  /** As in a native cell. */
  readonly otherwise?: readonly UpstreamDialect[];
}
export interface RefuseCell {
  readonly kind: 'refuse';
  /** Beyond the document: requests for a model with the capability are converted. */
  readonly optIn?: OptIn;
}
export interface OptIn {
  readonly capability: 'imagesEndpoint';
  readonly to: Dialect;
}
/** The gateway responds from its own records; no provider is called. */
export interface OwnCell {
  readonly kind: 'own';
}

/** `content` is the media type that a request carries; `limit` the size class of its body (`BODY_BYTES`). */
export type RequestBody =
  | { readonly content: 'none' }
  | { readonly content: 'json' | 'multipart-or-json'; readonly limit: BodyClass };

/**
 * How the native path reads a request: a JSON body that names the model, a JSON body whose model is in the path, texts to embed for
 * the model of the path, an image request that is checked field by field, or the id of a stored response. `none` where no cell is native.
 */
export type RequestReader = 'json' | 'path-model' | 'path-embedding' | 'image' | 'stored' | 'none';

/** `metered`: admitted against the balance and charged by usage. There is no default: a new row has to say `free` to be free. */
export type BillingMode = 'metered' | 'free';

/** Which limits of `TIMEOUTS` hold for the upstream call; `reply` is `stream` or `unary`, as the request asks. */
export type TimeoutClass = 'reply' | 'image' | 'count' | 'none';

interface Row {
  readonly doc: string;
  readonly about: string;
  readonly method: Method;
  /** `{name}` is one path segment; `{model}:verb` is a segment that ends in a verb. */
  readonly path: string;
  /** Another path of the operation: its root form without a version (G 4.1 r1), or the native endpoint under `/v1` (G 4.6). */
  readonly alias?: string;
  readonly errorFormat: ErrorFormat;
  readonly body: RequestBody;
  readonly deprecated?: Deprecation;
}

interface InferenceFacts extends Row {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly reader: RequestReader;
  readonly billing: BillingMode;
  readonly timeouts: TimeoutClass;
  /** `once`: slow and expensive, so that a request is not sent again when a provider may have accepted it. */
  readonly sends: 'again' | 'once';
  /** The reply is vectors: it has no output tokens, to be reserved or estimated. */
  readonly vectors?: true;
}
/** Some cell converts, so the row names the dialect of its requests and what a conversion does with them. */
type ConvertibleRow = InferenceFacts & { readonly groups: Readonly<Record<Style, Cell>> } & (
    | { readonly converts: 'reply'; readonly convertsFrom: Dialect }
    | { readonly converts: 'compact'; readonly convertsFrom: 'responses' }
    | { readonly converts: 'count'; readonly convertsFrom: CountedDialect }
  );
interface UnconvertedRow extends InferenceFacts {
  readonly groups: Readonly<Record<Style, NativeCell | RefuseCell | OwnCell>>;
}
/** A WebSocket: each turn is read, admitted, limited and charged as one request of another operation. */
interface WebSocketRow extends Row {
  readonly groups: Readonly<Record<Style, Cell>>;
  readonly turns: string;
}
export type InferenceRow = ConvertibleRow | UnconvertedRow | WebSocketRow;

export interface VideoRow extends Row {
  readonly errorFormat: 'video';
  /** Takes an Idempotency-Key (V 8). */
  readonly idempotent?: true;
  readonly billing: BillingMode;
  /** The row of `VIDEO_REQUESTS_PER_MINUTE` that limits the requests of a user. */
  readonly rate: VideoRateName;
  /** Not offered by this version: the operation responds with 501 `not_implemented`. */
  readonly status?: 'planned';
  /** Takes a range of bytes. */
  readonly ranges?: true;
  /** Headers of every response, errors included. */
  readonly headers?: Readonly<Record<string, string>>;
}
export type EndpointRow = InferenceRow | VideoRow;

const native = (dialect: Dialect, feature?: Feature): NativeCell =>
  feature ? { kind: 'native', dialect, feature } : { kind: 'native', dialect };
/** Accounts that speak only one of the other dialects go beyond the document (G 4.1). */
const nativeOr = (dialect: Dialect, ...otherwise: UpstreamDialect[]): NativeCell => ({
  kind: 'native',
  dialect,
  feature: dialect,
  otherwise,
});
const convert = (to: Dialect, ...otherwise: UpstreamDialect[]): ConvertCell => ({ kind: 'convert', to, otherwise });
const prefer = (dialect: Dialect, feature: Feature, to: Dialect): PreferCell => ({
  kind: 'prefer',
  dialect,
  feature,
  to,
});
const refuse: RefuseCell = { kind: 'refuse' };
const own: OwnCell = { kind: 'own' };
const refuseUnless = (optIn: OptIn): RefuseCell => ({ kind: 'refuse', optIn });

const everywhere = { responses: own, messages: own, 'generate-content': own } as const;
const onlyResponses = (dialect: Dialect, feature?: Feature) =>
  ({ responses: native(dialect, feature), messages: refuse, 'generate-content': refuse }) as const;
const onlyGenerate = <C extends Cell>(cell: C) =>
  ({ responses: refuse, messages: refuse, 'generate-content': cell }) as const;

/** Reaches every group by conversion; the responses on the generate side go beyond the document (G 4.1). */
const responsesEverywhere = {
  responses: nativeOr('responses', 'chat', 'converse'),
  messages: convert('messages', 'converse'),
  'generate-content': convert('generate', 'converse'),
} as const;
/** Stored responses: the account that made one on the responses side, our own store elsewhere. */
const storedResponses = { responses: native('responses'), messages: own, 'generate-content': own } as const;

const NO_BODY = { content: 'none' } as const;
const JSON_TEXT = { content: 'json', limit: 'text' } as const;
const JSON_SMALL = { content: 'json', limit: 'small' } as const;
const JSON_IMAGE = { content: 'json', limit: 'image' } as const;
const FORM_IMAGE = { content: 'multipart-or-json', limit: 'image' } as const;
const JSON_VIDEO = { content: 'json', limit: 'video' } as const;

/** A request that a provider replies to, and that is paid for. */
const REPLY = { reader: 'json', billing: 'metered', timeouts: 'reply', sends: 'again' } as const;
const EMBED = { ...REPLY, reader: 'path-embedding', vectors: true } as const;
const IMAGE = { reader: 'image', billing: 'metered', timeouts: 'image', sends: 'once' } as const;
const COUNT = { billing: 'free', timeouts: 'count', sends: 'again' } as const;
/** Reading and managing stored responses. */
const STORED = {
  errorFormat: 'openai',
  reader: 'stored',
  billing: 'free',
  timeouts: 'reply',
  sends: 'again',
  groups: storedResponses,
} as const;
const OWN_RECORDS = {
  method: 'GET',
  body: NO_BODY,
  reader: 'none',
  billing: 'free',
  timeouts: 'none',
  sends: 'again',
} as const;
/** A request in the native form of the generate dialect; the path names its model. */
const GENERATE = { method: 'POST', errorFormat: 'generate', body: JSON_TEXT, reader: 'path-model' } as const;

const TASKS = '/api/v3/contents/generations/tasks';
const SESSIONS = '/v1/assets/real-person/authorization-sessions';

export const INFERENCE_ENDPOINTS = {
  'messages.create': {
    doc: 'G 4.2',
    about: 'Send a messages-dialect request',
    method: 'POST',
    path: '/v1/messages',
    errorFormat: 'messages',
    body: JSON_TEXT,
    ...REPLY,
    convertsFrom: 'messages',
    converts: 'reply',
    groups: {
      responses: convert('responses', 'chat', 'converse'),
      messages: nativeOr('messages', 'converse'),
      'generate-content': convert('generate', 'converse'),
    },
  },
  'messages.count': {
    doc: 'G 4.3',
    about: 'Count the tokens of a messages-dialect request',
    method: 'POST',
    path: '/v1/messages/count_tokens',
    errorFormat: 'messages',
    body: JSON_TEXT,
    reader: 'json',
    ...COUNT,
    convertsFrom: 'messages',
    converts: 'count',
    groups: {
      responses: refuse,
      messages: prefer('messages', 'count', 'messages'),
      'generate-content': convert('generate'),
    },
  },
  'chat.create': {
    doc: 'G 4.7',
    about: 'Send a chat-completions request',
    method: 'POST',
    path: '/v1/chat/completions',
    alias: '/chat/completions',
    errorFormat: 'openai',
    body: JSON_TEXT,
    ...REPLY,
    convertsFrom: 'chat',
    converts: 'reply',
    groups: {
      responses: { ...prefer('chat', 'chat', 'responses'), otherwise: ['converse'] },
      messages: convert('messages', 'converse'),
      'generate-content': convert('generate', 'converse'),
    },
  },
  'responses.create': {
    doc: 'G 4.4',
    about: 'Send a responses request',
    method: 'POST',
    path: '/v1/responses',
    alias: '/responses',
    errorFormat: 'openai',
    body: JSON_TEXT,
    ...REPLY,
    convertsFrom: 'responses',
    converts: 'reply',
    groups: responsesEverywhere,
  },
  'responses.socket': {
    doc: 'G 4.7',
    about: 'Responses over a WebSocket',
    method: 'GET',
    path: '/v1/responses',
    alias: '/responses',
    errorFormat: 'openai',
    body: NO_BODY,
    turns: 'responses.create',
    groups: responsesEverywhere,
  },
  'responses.inputTokens': {
    doc: 'G 4.4',
    about: 'Count the tokens of a responses request',
    method: 'POST',
    path: '/v1/responses/input_tokens',
    alias: '/responses/input_tokens',
    errorFormat: 'openai',
    body: JSON_TEXT,
    reader: 'json',
    ...COUNT,
    convertsFrom: 'responses',
    converts: 'count',
    groups: responsesEverywhere,
  },
  'responses.compact': {
    doc: 'G 4.4',
    about: 'Compact a conversation',
    method: 'POST',
    path: '/v1/responses/compact',
    alias: '/responses/compact',
    errorFormat: 'openai',
    body: JSON_TEXT,
    ...REPLY,
    convertsFrom: 'responses',
    // The group's own model writes the summary.
    converts: 'compact',
    groups: responsesEverywhere,
  },
  'responses.get': {
    doc: 'G 4.4',
    about: 'Read a stored response',
    method: 'GET',
    path: '/v1/responses/{response_id}',
    alias: '/responses/{response_id}',
    body: NO_BODY,
    ...STORED,
  },
  'responses.delete': {
    doc: 'G 4.4',
    about: 'Delete a stored response',
    method: 'DELETE',
    path: '/v1/responses/{response_id}',
    alias: '/responses/{response_id}',
    body: NO_BODY,
    ...STORED,
  },
  'responses.cancel': {
    doc: 'G 4.4',
    about: 'Cancel a background response',
    method: 'POST',
    path: '/v1/responses/{response_id}/cancel',
    alias: '/responses/{response_id}/cancel',
    body: JSON_TEXT,
    ...STORED,
  },
  'responses.inputItems': {
    doc: 'G 4.4',
    about: 'List the input items of a stored response',
    method: 'GET',
    path: '/v1/responses/{response_id}/input_items',
    alias: '/responses/{response_id}/input_items',
    body: NO_BODY,
    ...STORED,
  },
  'embeddings.create': {
    doc: 'G 4.5',
    about: 'Turn text into vectors',
    method: 'POST',
    path: '/v1/embeddings',
    alias: '/embeddings',
    errorFormat: 'openai',
    body: JSON_TEXT,
    ...REPLY,
    vectors: true,
    // Their usage object has the members of chat completions.
    groups: onlyResponses('chat', 'embeddings'),
  },
  'images.generate': {
    doc: 'G 4.8',
    about: 'Create images from a text',
    method: 'POST',
    path: '/v1/images/generations',
    alias: '/images/generations',
    errorFormat: 'openai',
    body: JSON_IMAGE,
    ...IMAGE,
    groups: {
      ...onlyResponses('responses', 'images'),
      'generate-content': refuseUnless({ capability: 'imagesEndpoint', to: 'generate' }),
    },
  },
  'images.edit': {
    doc: 'G 4.8',
    about: 'Edit an image',
    method: 'POST',
    path: '/v1/images/edits',
    alias: '/images/edits',
    errorFormat: 'openai',
    body: FORM_IMAGE,
    ...IMAGE,
    groups: onlyResponses('responses', 'images'),
  },
  'models.list': {
    doc: 'G 4.7',
    about: 'List the models this key may use',
    path: '/v1/models',
    errorFormat: 'openai',
    ...OWN_RECORDS,
    groups: everywhere,
  },
  'models.get': {
    doc: 'G 4.7',
    about: 'Read one model',
    path: '/v1/models/{model}',
    errorFormat: 'openai',
    ...OWN_RECORDS,
    groups: everywhere,
  },
  'usage.get': {
    doc: 'G 4.7',
    about: "Usage and balance of the key's user",
    path: '/v1/usage',
    errorFormat: 'openai',
    ...OWN_RECORDS,
    groups: everywhere,
  },
  'usage.request': {
    doc: 'G 4.7',
    about: 'What one call of this key cost',
    path: '/v1/usage/requests/{request_id}',
    errorFormat: 'openai',
    ...OWN_RECORDS,
    groups: everywhere,
  },
  'billing.subscription': {
    doc: 'G 4.7',
    about: 'What the key may spend, in the form of older tools',
    path: '/v1/dashboard/billing/subscription',
    alias: '/dashboard/billing/subscription',
    errorFormat: 'openai',
    ...OWN_RECORDS,
    groups: everywhere,
  },
  'billing.usage': {
    doc: 'G 4.7',
    about: 'What the key has spent, in the form of older tools',
    path: '/v1/dashboard/billing/usage',
    alias: '/dashboard/billing/usage',
    errorFormat: 'openai',
    ...OWN_RECORDS,
    groups: everywhere,
  },
  'generate.models': {
    doc: 'G 4.6.4',
    about: 'List the models in the native form',
    path: '/v1beta/models',
    errorFormat: 'generate',
    ...OWN_RECORDS,
    groups: onlyGenerate(own),
  },
  'generate.model': {
    doc: 'G 4.6.4',
    about: 'Read one model in the native form',
    path: '/v1beta/models/{model}',
    errorFormat: 'generate',
    ...OWN_RECORDS,
    groups: onlyGenerate(own),
  },
  'generate.create': {
    doc: 'G 4.6.1',
    about: 'Send a native generate-content request',
    path: '/v1beta/models/{model}:generateContent',
    alias: '/v1/models/{model}:generateContent',
    ...REPLY,
    ...GENERATE,
    convertsFrom: 'generate',
    converts: 'reply',
    groups: onlyGenerate(nativeOr('generate', 'converse')),
  },
  'generate.stream': {
    doc: 'G 4.6.2',
    about: 'Stream a native generate-content response',
    path: '/v1beta/models/{model}:streamGenerateContent',
    alias: '/v1/models/{model}:streamGenerateContent',
    ...REPLY,
    ...GENERATE,
    convertsFrom: 'generate',
    converts: 'reply',
    groups: onlyGenerate(nativeOr('generate', 'converse')),
  },
  'generate.count': {
    doc: 'G 4.6.3',
    about: 'Count the tokens of a native request',
    path: '/v1beta/models/{model}:countTokens',
    alias: '/v1/models/{model}:countTokens',
    ...GENERATE,
    ...COUNT,
    convertsFrom: 'generate',
    converts: 'count',
    groups: onlyGenerate(prefer('generate', 'count', 'generate')),
  },
  'generate.embed': {
    doc: 'G 4.6',
    about: 'Turn a text into a vector',
    path: '/v1beta/models/{model}:embedContent',
    alias: '/v1/models/{model}:embedContent',
    ...GENERATE,
    ...EMBED,
    groups: onlyGenerate(native('generate')),
  },
  'generate.batchEmbed': {
    doc: 'G 4.6',
    about: 'Turn several texts into vectors',
    path: '/v1beta/models/{model}:batchEmbedContents',
    alias: '/v1/models/{model}:batchEmbedContents',
    ...GENERATE,
    ...EMBED,
    groups: onlyGenerate(native('generate')),
  },
} as const satisfies Record<string, InferenceRow>;

/** Results must not stay in any cache (V 4.6 r3). */
const RESULT = { ranges: true, headers: { 'cache-control': 'private, no-store' } } as const;

/** The kinds of operations of document 2. `FREE` is the base of the others; only creating a video costs. */
const FREE = { errorFormat: 'video', body: NO_BODY, billing: 'free' } as const;
const LIST = { ...FREE, method: 'GET', rate: 'list' } as const;
const READ = { ...FREE, method: 'GET', rate: 'read' } as const;
const DELETE = { ...FREE, method: 'DELETE', rate: 'delete' } as const;
const CREATE = { ...FREE, method: 'POST', body: JSON_SMALL, rate: 'create', idempotent: true } as const;
const ESTIMATE = { ...FREE, method: 'POST', body: JSON_VIDEO, rate: 'create' } as const;
const CREATE_VIDEO = { ...ESTIMATE, billing: 'metered', idempotent: true } as const;

export const VIDEO_ENDPOINTS = {
  'tasks.create': { ...CREATE_VIDEO, doc: 'V 4.2', about: 'Create a video task', path: TASKS },
  'tasks.estimate': {
    ...ESTIMATE,
    doc: 'V 4.2',
    about: 'Max cost of a video task, without creating it',
    path: `${TASKS}/estimate`,
  },
  'tasks.list': { ...LIST, doc: 'V 4.4', about: 'List video tasks', path: TASKS },
  'tasks.get': { ...READ, doc: 'V 4.3', about: 'Read a video task', path: `${TASKS}/{task_id}` },
  'tasks.delete': { ...DELETE, doc: 'V 4.5', about: 'Cancel or delete a video task', path: `${TASKS}/{task_id}` },
  'videos.create': {
    ...CREATE_VIDEO,
    doc: 'V 4.7',
    about: 'Create a video task, compatibility form',
    path: '/v1/videos',
  },
  'videos.estimate': {
    ...ESTIMATE,
    doc: 'V 4.7',
    about: 'Max cost of a video task, compatibility form',
    path: '/v1/videos/estimate',
  },
  'videos.list': { ...LIST, doc: 'V 4.7', about: 'List video tasks, compatibility form', path: '/v1/videos' },
  'videos.get': { ...READ, doc: 'V 4.7', about: 'Read a video task, compatibility form', path: '/v1/videos/{task_id}' },
  'videos.delete': {
    ...DELETE,
    doc: 'V 4.7',
    about: 'Cancel or delete a video task, compatibility form',
    path: '/v1/videos/{task_id}',
  },
  'videos.content': {
    ...READ,
    doc: 'V 4.6 r1',
    about: 'Read the video',
    path: '/v1/videos/{task_id}/content',
    ...RESULT,
  },
  'videos.lastFrame': {
    ...READ,
    doc: 'V 4.6 r2',
    about: 'Read the last frame',
    path: '/v1/videos/{task_id}/last-frame',
    ...RESULT,
  },
  'links.create': {
    ...FREE,
    doc: 'V 4.6',
    about: 'Create signed links to the results, which need no key',
    method: 'POST',
    path: '/v1/videos/{task_id}/links',
    rate: 'read',
  },
  'links.revoke': {
    ...DELETE,
    doc: 'V 4.6',
    about: 'Revoke all signed links of a task',
    path: '/v1/videos/{task_id}/links',
  },
  'callbacks.list': { ...LIST, doc: 'V 6', about: 'List callback deliveries', path: '/v1/video-callbacks' },
  'callbacks.get': {
    ...READ,
    doc: 'V 6',
    about: 'Read a callback with its request and its attempts',
    path: '/v1/video-callbacks/{event_id}',
  },
  'callbacks.redeliver': {
    ...FREE,
    doc: 'V 6',
    about: 'Deliver a callback again',
    method: 'POST',
    path: '/v1/video-callbacks/{event_id}/redeliver',
    rate: 'create',
  },
  'callbacks.test': {
    ...FREE,
    doc: 'V 6',
    about: 'Send a test event to the callback URL of a task',
    method: 'POST',
    path: '/v1/videos/{task_id}/test-callback',
    rate: 'create',
  },
  'assetGroups.create': { ...CREATE, doc: 'V 4.8 r1', about: 'Create an asset group', path: '/v1/asset-groups' },
  'assetGroups.list': { ...LIST, doc: 'V 4.8 r2', about: 'List asset groups', path: '/v1/asset-groups' },
  'assetGroups.get': { ...READ, doc: 'V 4.8 r2', about: 'Read an asset group', path: '/v1/asset-groups/{group_id}' },
  'assetGroups.delete': {
    ...DELETE,
    doc: 'V 4.8 r3',
    about: 'Delete an asset group',
    path: '/v1/asset-groups/{group_id}',
  },
  'assets.create': { ...CREATE, doc: 'V 4.9 r1', about: 'Register a private asset', path: '/v1/assets' },
  'assets.list': { ...LIST, doc: 'V 4.9 r3', about: 'List private assets', path: '/v1/assets' },
  'assets.get': { ...READ, doc: 'V 4.9 r4', about: 'Read a private asset', path: '/v1/assets/{asset_id}' },
  'assets.refresh': {
    ...FREE,
    doc: 'V 4.9 r5',
    about: 'Refresh the state of an asset',
    method: 'POST',
    path: '/v1/assets/{asset_id}/refresh',
    rate: 'refresh',
  },
  'assets.delete': { ...DELETE, doc: 'V 4.9 r6', about: 'Delete a private asset', path: '/v1/assets/{asset_id}' },
  'sessions.create': { ...CREATE, doc: 'V 4.10 r1', about: 'Start a real-person authorization', path: SESSIONS },
  'sessions.get': {
    ...READ,
    doc: 'V 4.10 r2',
    about: 'Read a real-person authorization',
    path: `${SESSIONS}/{session_id}`,
  },
  'characters.list': { ...LIST, doc: 'V 4.11 r1', about: 'List public characters', path: '/v1/public-characters' },
  'characters.get': {
    ...READ,
    doc: 'V 4.11 r2',
    about: 'Read a public character',
    path: '/v1/public-characters/{character_id}',
  },
} as const satisfies Record<string, VideoRow>;

export const ENDPOINTS = { ...INFERENCE_ENDPOINTS, ...VIDEO_ENDPOINTS } as const;
export type Operation = keyof typeof ENDPOINTS;
export const OPERATIONS = Object.keys(ENDPOINTS) as Operation[];

type Inference = typeof INFERENCE_ENDPOINTS;
type Video = typeof VIDEO_ENDPOINTS;

export type WebSocketOperation = {
  [Name in keyof Inference]: Inference[Name] extends { turns: string } ? Name : never;
}[keyof Inference];
/** Every operation of document 1 that is one request and one response. */
export type InferenceOperation = Exclude<keyof Inference, WebSocketOperation>;
/** Operations that the gateway responds to itself for some group; `src/api/caller` must have a handler for each. */
export type OwnOperation = {
  [Name in InferenceOperation]: OwnCell extends Inference[Name]['groups'][Style] ? Name : never;
}[InferenceOperation];
/** Operations of document 2 that this version offers; `src/api/caller` must have a handler for each. */
export type OfferedVideoOperation = {
  [Name in keyof Video]: Video[Name] extends { status: 'planned' } ? never : Name;
}[keyof Video];

export const isInference = (operation: Operation): operation is InferenceOperation =>
  operation in INFERENCE_ENDPOINTS && !isWebSocket(operation);
export const isWebSocket = (operation: Operation): operation is WebSocketOperation => 'turns' in ENDPOINTS[operation];

export const isOfferedVideo = (operation: Operation): operation is OfferedVideoOperation =>
  operation in VIDEO_ENDPOINTS && !('status' in ENDPOINTS[operation]);

/** One way to serve a request: the dialect of the accounts that it uses, and whether bytes pass or are converted. */
export type CellWay =
  | { readonly isNative: true; readonly dialect: Dialect }
  | { readonly isNative: false; readonly dialect: UpstreamDialect };

/** The ways of a cell to serve a request, the best first. */
export function waysOfCell(cell: ServedCell): readonly CellWay[] {
  const converted = (dialect: UpstreamDialect): CellWay => ({ isNative: false, dialect });
  const otherwise = (cell.otherwise ?? []).map(converted);
  if (cell.kind === 'convert') return [converted(cell.to), ...otherwise];
  const native: CellWay = { isNative: true, dialect: cell.dialect };
  return [native, ...(cell.kind === 'prefer' ? [converted(cell.to)] : []), ...otherwise];
}

/** The row of a request, with the facts that the path of a call reads. */
export const inferenceRow = (operation: InferenceOperation): ConvertibleRow | UnconvertedRow =>
  INFERENCE_ENDPOINTS[operation];

export interface OperatorRow {
  readonly method: Method;
  readonly path: string;
  readonly about: string;
  readonly deprecated?: Deprecation;
  /** Responds to HEAD as well, which load balancers and players send. */
  readonly head?: true;
}

/** Endpoints of operators and providers: they take no caller's key and belong to no group. */
export const OPERATOR_ENDPOINTS = {
  'operator.alive': { method: 'GET', path: '/healthz', about: 'The process is alive', head: true },
  'operator.ready': {
    method: 'GET',
    path: '/readyz',
    about: 'Database reachable, migrations done, not draining',
    head: true,
  },
  'operator.metrics': { method: 'GET', path: '/metrics', about: 'Prometheus metrics', head: true },
  'operator.openapi': { method: 'GET', path: '/openapi.json', about: 'This API as OpenAPI', head: true },
  'characters.preview': {
    method: 'GET',
    path: '/public/characters/{character_id}/preview',
    about: 'Picture of a public character',
    head: true,
  },
  'results.link': {
    method: 'GET',
    path: '/public/videos/{task_id}/{file}',
    about: 'A result by its signed link: `content` or `last-frame`',
    head: true,
  },
  'sessions.return': {
    method: 'GET',
    path: '/return/real-person/{secret}',
    about: 'Page to which the browser returns after a real-person authorization; the secret path names the session',
  },
  'provider.report': {
    method: 'POST',
    path: '/upstream/callbacks/{secret}',
    about: 'State of a video task, sent by its provider; the secret path names the task',
  },
} as const satisfies Record<string, OperatorRow>;
export type OperatorOperation = keyof typeof OPERATOR_ENDPOINTS;
export const OPERATOR_OPERATIONS = Object.keys(OPERATOR_ENDPOINTS) as OperatorOperation[];
export const operatorRow = (operation: OperatorOperation): OperatorRow => OPERATOR_ENDPOINTS[operation];

/** The error format of an unknown path, so that the SDK of the caller can read the error. */
const ERROR_FORMAT_BY_PATH: readonly (readonly [RegExp, ErrorFormat])[] = [
  [/^\/v1\/messages/, 'messages'],
  [/^\/v1beta/, 'generate'],
  // Names of models may contain colons too, so only the native verbs count.
  [/^\/v1\/models\/[^/]+:\w*(?:Contents?|Tokens)(?![\w:.-])/, 'generate'],
  [/^\/api\/v3/, 'video'],
  [/^\/v1\/(?:videos|video-callbacks|asset|public-characters)/, 'video'],
];
export const errorFormatOf = (path: string): ErrorFormat =>
  ERROR_FORMAT_BY_PATH.find(([pattern]) => pattern.test(path))?.[1] ?? 'openai';
