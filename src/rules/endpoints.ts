/**
 * Every operation of both documents: one row each, and for document 1 the three cells of the matrix in G 4.1.
 * Routes, rejections, body limits, billing, timeouts, OpenAPI and docs/endpoints.md are derived from these rows. A row that lacks
 * one of these facts does not compile; neither does one whose cells demand a handler or a dialect that it does not name.
 */
import type { Deprecation } from './deprecation.ts';
import type { CountedDialect, Dialect, Feature, Style, UpstreamDialect } from './groups.ts';
import type { BodyClass } from './limits.ts';
import { type Lines, linesOf, type Words, withCode } from './notation.ts';
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
  /** Clouds do not have the endpoint, so that their accounts are not used. */
  readonly isDirect?: true;
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
  /** For a client that has a key of the style. */
  readonly why?: string;
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
  | { readonly content: 'json' | 'multipart' | 'multipart-or-json' | 'bytes'; readonly limit: BodyClass };

/** How the native path reads a request: what the body is, where the model is named, or the id of a stored object. `none` where no cell is native. */
export type RequestReader = Words<'json search interaction cache path-model path-embedding image stored none'>;

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
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly reader: RequestReader;
  readonly billing: BillingMode;
  readonly timeouts: TimeoutClass;
  /** `once`: slow and expensive, so that a request is not sent again when a provider may have accepted it. */
  readonly sends: 'again' | 'once';
  /** The reply is vectors: it has no output tokens, to be reserved or estimated. */
  readonly vectors?: true;
  /** The reply is a file, of which nothing is read. */
  readonly isFile?: true;
  /** Responds to HEAD as well, although a provider may hold what the path names. */
  readonly head?: true;
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

/** Where an operation is, and what it is for. */
const row = (doc: string, about: string, path: string) => ({ doc, about, path });
const openai = (doc: string, about: string, path: string) =>
  ({ ...row(doc, about, path), errorFormat: 'openai' }) as const;
/** Also at its root form. */
const rooted = (doc: string, about: string, path: string) =>
  ({ ...openai(doc, about, path), alias: path.replace(/^\/v1/, '') }) as const;

const NO_BODY = { content: 'none' } as const;
const JSON_TEXT = { content: 'json', limit: 'text' } as const;
const JSON_SMALL = { content: 'json', limit: 'small' } as const;
const JSON_IMAGE = { content: 'json', limit: 'image' } as const;
const FORM_IMAGE = { content: 'multipart-or-json', limit: 'image' } as const;
const JSON_VIDEO = { content: 'json', limit: 'video' } as const;

const POST_TEXT = { method: 'POST', body: JSON_TEXT, reader: 'json', sends: 'again' } as const;
/** A request that a provider replies to, and that is paid for. */
const REPLY = { ...POST_TEXT, billing: 'metered', timeouts: 'reply' } as const;
const IMAGE = { method: 'POST', reader: 'image', billing: 'metered', timeouts: 'image', sends: 'once' } as const;
const COUNT = { ...POST_TEXT, billing: 'free', timeouts: 'count', converts: 'count' } as const;
/** Reading and managing stored responses. */
const STORED = {
  method: 'GET',
  body: NO_BODY,
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
  groups: everywhere,
} as const;
/** Rows of one place that share most facts; `own` are those of one of them. */
const rowsAt =
  <const P extends object, const S extends object>(place: (about: string, path: string) => P, shared: S) =>
  <const F extends object = object>(about: string, path: string, own?: F) =>
    ({ ...place(about, path), ...shared, ...own }) as object as P & Omit<S, keyof NoInfer<F>> & NoInfer<F>;
const stored = rowsAt((about, path) => rooted('G 4.4', about, `/v1/responses/{response_id}${path}`), STORED);
/** What the gateway keeps itself, so that keys of every group have it. */
const ownAt = <const E extends ErrorFormat>(doc: string, errorFormat: E, base: string) =>
  rowsAt((about, path) => ({ ...row(doc, about, base + path), errorFormat }) as const, OWN_RECORDS);
const POST_JSON = { method: 'POST', body: JSON_TEXT } as const;
const POST_SMALL = { method: 'POST', body: JSON_SMALL } as const;
const POST_IMAGE = { method: 'POST', body: JSON_IMAGE } as const;
const DELETE = { method: 'DELETE' } as const;
const ofKey = ownAt('G 4.7', 'openai', '/v1');
const file = ownAt('files', 'openai', '/v1/files');
const googleFile = ownAt('files', 'generate', '/v1beta/files');
/** Batches, which the gateway works through itself, so that they are made of calls to any group. */
const batch = ownAt('batches', 'openai', '/v1/batches');
const messageBatch = ownAt('batches', 'messages', '/v1/messages/batches');
/** Conversations, whose items the gateway keeps and puts into requests. */
const conversation = ownAt('conversations', 'openai', '/v1/conversations');
const inConversation = ownAt('conversations', 'openai', '/v1/conversations/{conversation_id}');
const googleModel = ownAt('G 4.6.4', 'generate', '/v1beta/models');
const OWN_GENERATE = { groups: onlyGenerate(own) };
/** A request in the native form of the generate dialect; the path names its model. */
const generate = (doc: string, about: string, verb: string) =>
  ({
    ...row(doc, about, `/v1beta/models/{model}:${verb}`),
    alias: `/v1/models/{model}:${verb}`,
    errorFormat: 'generate',
    reader: 'path-model',
  }) as const;
const GENERATE_REPLY = {
  ...REPLY,
  convertsFrom: 'generate',
  converts: 'reply',
  groups: onlyGenerate(nativeOr('generate', 'converse')),
} as const;
const EMBED = { reader: 'path-embedding', vectors: true, groups: onlyGenerate(native('generate')) } as const;

/** Interactions that the provider holds, of which the path names one like a stored response. */
const interaction = <P extends string>(about: string, path: P) =>
  ({ ...row('G 4.6', about, `/v1beta/interactions${path}`), alias: `/v1/interactions${path}` }) as const;
const storedInteraction = rowsAt((about, path) => interaction(about, `/{response_id}${path}`), {
  ...STORED,
  errorFormat: 'generate',
  groups: onlyGenerate(native('generate')),
});

/** Contents that the provider keeps for later requests, on the account that holds them. */
const cache = <P extends string>(about: string, path: P) =>
  ({
    ...row('objects', about, `/v1beta/cachedContents${path}`),
    alias: `/v1/cachedContents${path}`,
    errorFormat: 'generate',
  }) as const;
const CACHES = { groups: onlyGenerate({ kind: 'native', dialect: 'generate', isDirect: true }) } as const;
/** Paid for as long as the provider keeps it. */
const KEEP = { ...REPLY, ...CACHES, reader: 'cache', sends: 'once' } as const;

/** What the gateway keeps, or a file that code of a messages provider made, on the account that holds it. */
const OR_MADE = '; one that code of a messages provider made is passed through';
const MADE_FILE = {
  reader: 'stored',
  timeouts: 'reply',
  groups: { ...everywhere, messages: { kind: 'native', dialect: 'messages', isDirect: true } },
} as const;

/** Containers that tools of responses made, on the account that holds them. */
const container = <P extends string>(about: string, path: P) => openai('objects', about, `/v1/containers${path}`);
const inContainer = rowsAt((about, path) => container(about, `/{container_id}${path}`), {
  ...STORED,
  groups: onlyResponses('responses'),
});
const IS_FILE = { isFile: true } as const;

const TASKS = '/api/v3/contents/generations/tasks';
const SESSIONS = '/v1/assets/real-person/authorization-sessions';

export const INFERENCE_ENDPOINTS = {
  'messages.create': {
    ...row('G 4.2', 'Send a messages-dialect request', '/v1/messages'),
    ...REPLY,
    errorFormat: 'messages',
    convertsFrom: 'messages',
    converts: 'reply',
    groups: {
      responses: convert('responses', 'chat', 'converse'),
      messages: nativeOr('messages', 'converse'),
      'generate-content': convert('generate', 'converse'),
    },
  },
  'messages.count': {
    ...row('G 4.3', 'Count the tokens of a messages-dialect request', '/v1/messages/count_tokens'),
    ...COUNT,
    errorFormat: 'messages',
    convertsFrom: 'messages',
    groups: {
      responses: refuse,
      messages: prefer('messages', 'count', 'messages'),
      'generate-content': convert('generate'),
    },
  },
  'chat.create': {
    ...rooted('G 4.7', 'Send a chat-completions request', '/v1/chat/completions'),
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
    ...rooted('G 4.4', 'Send a responses request', '/v1/responses'),
    ...REPLY,
    convertsFrom: 'responses',
    converts: 'reply',
    groups: responsesEverywhere,
  },
  'responses.socket': {
    ...rooted('G 4.7', 'Responses over a WebSocket', '/v1/responses'),
    method: 'GET',
    body: NO_BODY,
    turns: 'responses.create',
    groups: responsesEverywhere,
  },
  'responses.inputTokens': {
    ...rooted('G 4.4', 'Count the tokens of a responses request', '/v1/responses/input_tokens'),
    ...COUNT,
    convertsFrom: 'responses',
    groups: responsesEverywhere,
  },
  'responses.compact': {
    ...rooted('G 4.4', 'Compact a conversation', '/v1/responses/compact'),
    ...REPLY,
    convertsFrom: 'responses',
    // The group's own model writes the summary.
    converts: 'compact',
    groups: responsesEverywhere,
  },
  'responses.get': stored('Read a stored response', ''),
  'responses.delete': stored('Delete a stored response', '', DELETE),
  'responses.cancel': stored('Cancel a background response', '/cancel', POST_JSON),
  'responses.inputItems': stored('List the input items of a stored response', '/input_items'),
  'containers.create': {
    ...container('Create a container: refused, because it would not be charged', ''),
    ...OWN_RECORDS,
    method: 'POST',
    groups: {
      responses: {
        kind: 'refuse',
        why: 'It would not be charged; let a tool create one, by "container": {"type": "auto"}.',
      },
      messages: refuse,
      'generate-content': refuse,
    },
  },
  'containers.list': {
    ...container('List the containers of the user', ''),
    ...OWN_RECORDS,
    groups: { responses: own, messages: refuse, 'generate-content': refuse },
  },
  'containers.get': inContainer('Read what is known of a container', ''),
  'containers.delete': inContainer('Delete a container', '', DELETE),
  'containers.files': inContainer('List the files in a container', '/files'),
  'containers.file': inContainer('Read what is known of a file in a container', '/files/{file_id}'),
  'containers.content': inContainer('Read the content of a file in a container', '/files/{file_id}/content', IS_FILE),
  'search.create': {
    ...openai('G 4.4', 'Search the web, as Codex does', '/v1/alpha/search'),
    ...REPLY,
    reader: 'search',
    groups: onlyResponses('responses', 'search'),
  },
  'embeddings.create': {
    ...rooted('G 4.5', 'Turn text into vectors', '/v1/embeddings'),
    ...REPLY,
    vectors: true,
    // Their usage object has the members of chat completions.
    groups: onlyResponses('chat', 'embeddings'),
  },
  'images.generate': {
    ...rooted('G 4.8', 'Create images from a text', '/v1/images/generations'),
    ...IMAGE,
    body: JSON_IMAGE,
    groups: {
      ...onlyResponses('responses', 'images'),
      'generate-content': refuseUnless({ capability: 'imagesEndpoint', to: 'generate' }),
    },
  },
  'images.edit': {
    ...rooted('G 4.8', 'Edit an image', '/v1/images/edits'),
    ...IMAGE,
    body: FORM_IMAGE,
    groups: onlyResponses('responses', 'images'),
  },
  'models.list': ofKey('List the models this key may use', '/models'),
  'models.get': ofKey('Read one model', '/models/{model}'),
  'usage.get': ofKey("Usage and balance of the key's user", '/usage'),
  'usage.request': ofKey('What one call of this key cost', '/usage/requests/{request_id}'),
  'billing.subscription': {
    ...ofKey('What the key may spend, in the form of older tools', '/dashboard/billing/subscription'),
    alias: '/dashboard/billing/subscription',
  },
  'billing.usage': {
    ...ofKey('What the key has spent, in the form of older tools', '/dashboard/billing/usage'),
    alias: '/dashboard/billing/usage',
  },
  // In front of paths whose id would take the colon too.
  'googleFiles.content': {
    ...googleFile('Read the content of a file in the native form', '/{file_id}:download'),
    alias: '/v1/files/{file_id}:download',
  },
  'files.create': { ...file('Upload a file', ''), method: 'POST', body: { content: 'multipart', limit: 'image' } },
  'files.list': file('List the files of the user', ''),
  'files.get': { ...file(`Read what is known of a file${OR_MADE}`, '/{file_id}'), ...MADE_FILE, head: true },
  'files.content': {
    ...file(`Read the content of a file${OR_MADE}`, '/{file_id}/content'),
    ...MADE_FILE,
    isFile: true,
    head: true,
  },
  'files.delete': { ...file(`Delete a file${OR_MADE}`, '/{file_id}'), ...MADE_FILE, ...DELETE },
  'googleFiles.upload': {
    ...googleFile('Upload a file in pieces, in the native form', ''),
    method: 'POST',
    body: { content: 'bytes', limit: 'image' },
    path: '/upload/v1beta/files',
    alias: '/upload/v1/files',
  },
  'googleFiles.list': googleFile('List the files of the user in the native form', ''),
  'googleFiles.get': googleFile('Read what is known of a file in the native form', '/{file_id}'),
  'googleFiles.delete': googleFile('Delete a file in the native form', '/{file_id}', DELETE),
  'batches.create': batch('Send the requests of a file in the background', '', POST_SMALL),
  'batches.list': batch('List the batches of the user', ''),
  'batches.get': batch('Read a batch', '/{batch_id}'),
  'batches.cancel': batch('Cancel a batch', '/{batch_id}/cancel', POST_SMALL),
  'messageBatches.create': messageBatch('Send messages-dialect requests in the background', '', POST_IMAGE),
  'messageBatches.list': messageBatch('List the batches of messages-dialect requests', ''),
  'messageBatches.get': messageBatch('Read a batch of messages-dialect requests', '/{batch_id}'),
  'messageBatches.cancel': messageBatch(
    'Cancel a batch of messages-dialect requests',
    '/{batch_id}/cancel',
    POST_SMALL,
  ),
  'messageBatches.results': messageBatch('Read the results of a batch, a line each', '/{batch_id}/results'),
  'messageBatches.delete': messageBatch('Delete a batch with its results', '/{batch_id}', DELETE),
  'conversations.create': conversation('Create a conversation', '', POST_JSON),
  'conversations.get': inConversation('Read what is known of a conversation', ''),
  'conversations.update': inConversation('Change the metadata of a conversation', '', POST_SMALL),
  'conversations.delete': inConversation('Delete a conversation', '', DELETE),
  'conversations.addItems': inConversation('Add items to a conversation', '/items', POST_JSON),
  'conversations.items': inConversation('List the items of a conversation', '/items'),
  'conversations.item': inConversation('Read an item of a conversation', '/items/{item_id}'),
  'conversations.removeItem': inConversation('Delete an item of a conversation', '/items/{item_id}', DELETE),
  'generate.models': googleModel('List the models in the native form', '', OWN_GENERATE),
  'generate.model': googleModel('Read one model in the native form', '/{model}', OWN_GENERATE),
  'generate.create': {
    ...GENERATE_REPLY,
    ...generate('G 4.6.1', 'Send a native generate-content request', 'generateContent'),
  },
  'generate.stream': {
    ...GENERATE_REPLY,
    ...generate('G 4.6.2', 'Stream a native generate-content response', 'streamGenerateContent'),
  },
  'generate.count': {
    ...COUNT,
    ...generate('G 4.6.3', 'Count the tokens of a native request', 'countTokens'),
    convertsFrom: 'generate',
    groups: onlyGenerate(prefer('generate', 'count', 'generate')),
  },
  'interactions.create': {
    ...interaction('Create an interaction', ''),
    ...REPLY,
    errorFormat: 'generate',
    reader: 'interaction',
    groups: onlyGenerate(native('generate')),
  },
  'interactions.get': storedInteraction('Read an interaction', ''),
  'interactions.delete': storedInteraction('Delete an interaction', '', DELETE),
  'interactions.cancel': storedInteraction('Cancel an interaction', '/cancel', POST_JSON),
  'caches.create': { ...cache('Keep contents for later requests', ''), ...KEEP },
  'caches.list': { ...OWN_RECORDS, ...OWN_GENERATE, ...cache('List the cached contents of the user', '') },
  'caches.get': { ...STORED, ...CACHES, ...cache('Read what is known of a cached content', '/{cache_id}') },
  'caches.update': {
    ...cache('Change when a cached content expires', '/{cache_id}'),
    ...KEEP,
    method: 'PATCH',
    body: JSON_SMALL,
  },
  'caches.delete': { ...STORED, ...CACHES, ...cache('Delete a cached content', '/{cache_id}'), ...DELETE },
  'generate.embed': { ...REPLY, ...generate('G 4.6', 'Turn a text into a vector', 'embedContent'), ...EMBED },
  'generate.batchEmbed': {
    ...REPLY,
    ...generate('G 4.6', 'Turn several texts into vectors', 'batchEmbedContents'),
    ...EMBED,
  },
} as const satisfies Record<string, InferenceRow>;

/** Results must not stay in any cache (V 4.6 r3). */
const RESULT = { ranges: true, headers: { 'cache-control': 'private, no-store' } } as const;

/** The kinds of operations of document 2. `FREE` is the base of the others; only creating a video costs. */
const FREE = { errorFormat: 'video', body: NO_BODY, billing: 'free' } as const;
const rowsOf =
  <const F extends object>(facts: F) =>
  (doc: string, about: string, path: string) => ({ ...facts, ...row(doc, about, path) });
const ESTIMATE = { ...FREE, method: 'POST', body: JSON_VIDEO, rate: 'create' } as const;
const estimate = rowsOf(ESTIMATE);
const createVideo = rowsOf({ ...ESTIMATE, billing: 'metered', idempotent: true });
const create = rowsOf({ ...FREE, method: 'POST', body: JSON_SMALL, rate: 'create', idempotent: true });
const list = rowsOf({ ...FREE, method: 'GET', rate: 'list' });
const read = rowsOf({ ...FREE, method: 'GET', rate: 'read' });
const readResult = rowsOf({ ...FREE, method: 'GET', rate: 'read', ...RESULT });
const remove = rowsOf({ ...FREE, method: 'DELETE', rate: 'delete' });
const act = <R extends VideoRateName>(rate: R) => rowsOf({ ...FREE, method: 'POST', rate });

export const VIDEO_ENDPOINTS = {
  'tasks.create': createVideo('V 4.2', 'Create a video task', TASKS),
  'tasks.estimate': estimate('V 4.2', 'Max cost of a video task, without creating it', `${TASKS}/estimate`),
  'tasks.list': list('V 4.4', 'List video tasks', TASKS),
  'tasks.get': read('V 4.3', 'Read a video task', `${TASKS}/{task_id}`),
  'tasks.delete': remove('V 4.5', 'Cancel or delete a video task', `${TASKS}/{task_id}`),
  'videos.create': createVideo('V 4.7', 'Create a video task, compatibility form', '/v1/videos'),
  'videos.estimate': estimate('V 4.7', 'Max cost of a video task, compatibility form', '/v1/videos/estimate'),
  'videos.list': list('V 4.7', 'List video tasks, compatibility form', '/v1/videos'),
  'videos.get': read('V 4.7', 'Read a video task, compatibility form', '/v1/videos/{task_id}'),
  'videos.delete': remove('V 4.7', 'Cancel or delete a video task, compatibility form', '/v1/videos/{task_id}'),
  'videos.content': readResult('V 4.6 r1', 'Read the video', '/v1/videos/{task_id}/content'),
  'videos.lastFrame': readResult('V 4.6 r2', 'Read the last frame', '/v1/videos/{task_id}/last-frame'),
  'links.create': act('read')(
    'V 4.6',
    'Create signed links to the results, which need no key',
    '/v1/videos/{task_id}/links',
  ),
  'links.revoke': remove('V 4.6', 'Revoke all signed links of a task', '/v1/videos/{task_id}/links'),
  'callbacks.setDefault': {
    ...act('create')(
      'V 6',
      'Set where callbacks of tasks without a URL go, and which events',
      '/v1/video-callbacks/default',
    ),
    body: JSON_SMALL,
  },
  'callbacks.getDefault': read('V 6', 'Read the default callback', '/v1/video-callbacks/default'),
  'callbacks.removeDefault': remove('V 6', 'Remove the default callback', '/v1/video-callbacks/default'),
  'callbacks.list': list('V 6', 'List callback deliveries', '/v1/video-callbacks'),
  'callbacks.get': read('V 6', 'Read a callback with its request and its attempts', '/v1/video-callbacks/{event_id}'),
  'callbacks.redeliver': act('create')('V 6', 'Deliver a callback again', '/v1/video-callbacks/{event_id}/redeliver'),
  'callbacks.test': act('create')(
    'V 6',
    'Send a test event to the callback URL of a task',
    '/v1/videos/{task_id}/test-callback',
  ),
  'assetGroups.create': create('V 4.8 r1', 'Create an asset group', '/v1/asset-groups'),
  'assetGroups.list': list('V 4.8 r2', 'List asset groups', '/v1/asset-groups'),
  'assetGroups.get': read('V 4.8 r2', 'Read an asset group', '/v1/asset-groups/{group_id}'),
  'assetGroups.delete': remove('V 4.8 r3', 'Delete an asset group', '/v1/asset-groups/{group_id}'),
  'assets.create': create('V 4.9 r1', 'Register a private asset', '/v1/assets'),
  'assets.list': list('V 4.9 r3', 'List private assets', '/v1/assets'),
  'assets.get': read('V 4.9 r4', 'Read a private asset', '/v1/assets/{asset_id}'),
  'assets.refresh': act('refresh')('V 4.9 r5', 'Refresh the state of an asset', '/v1/assets/{asset_id}/refresh'),
  'assets.delete': remove('V 4.9 r6', 'Delete a private asset', '/v1/assets/{asset_id}'),
  'sessions.create': create('V 4.10 r1', 'Start a real-person authorization', SESSIONS),
  'sessions.get': read('V 4.10 r2', 'Read a real-person authorization', `${SESSIONS}/{session_id}`),
  'characters.list': list('V 4.11 r1', 'List public characters', '/v1/public-characters'),
  'characters.get': read('V 4.11 r2', 'Read a public character', '/v1/public-characters/{character_id}'),
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

type RowsIn<S extends string, F> = {
  readonly [L in Lines<S> as L extends `${infer N} ${Method} /${string}` ? N : never]: OperatorRow &
    F & { readonly method: L extends `${string} ${infer M} /${string}` ? M : never };
};
/** Rows of operations below one path, with facts that all of them share. A line is `name METHOD /path | about`. */
export const rowsBelow = <const S extends string, const F extends object>(base: string, facts: F, text: S) =>
  Object.fromEntries(
    linesOf(text).map((line) => {
      const [, name = '', method, path, about = ''] = /^(\S+) (\S+) (\S+) \| (.*)$/.exec(line) ?? [];
      return [name, { method, path: `${base}${path}`, about: withCode(about), ...facts }];
    }),
  ) as RowsIn<S, F>;

/** Endpoints of operators and providers: they take no caller's key and belong to no group. */
export const OPERATOR_ENDPOINTS = {
  ...rowsBelow(
    '',
    { head: true },
    `
operator.alive GET /healthz | The process is alive
operator.ready GET /readyz | Database reachable, migrations done, not draining
operator.metrics GET /metrics | Prometheus metrics
operator.openapi GET /openapi.json | This API as OpenAPI
characters.preview GET /public/characters/{character_id}/preview | Picture of a public character
results.link GET /public/videos/{task_id}/{file} | A result by its signed link: 'content' or 'last-frame'
files.link GET /public/files/{file_id} | A file by the signed link that the provider of a video task or asset gets
`,
  ),
  ...rowsBelow(
    '',
    {},
    `
files.piece POST /public/uploads/{file_id} | A piece of an upload, at the signed link that its beginning gave
sessions.return GET /return/real-person/{secret} | Page to which the browser returns after a real-person authorization; the secret path names the session
provider.report POST /upstream/callbacks/{secret} | State of a video task, sent by its provider; the secret path names the task
`,
  ),
} as const satisfies Record<string, OperatorRow>;
export type OperatorOperation = keyof typeof OPERATOR_ENDPOINTS;
export const OPERATOR_OPERATIONS = Object.keys(OPERATOR_ENDPOINTS) as OperatorOperation[];
export const operatorRow = (operation: OperatorOperation): OperatorRow => OPERATOR_ENDPOINTS[operation];

/** Paths of other APIs that a row with a parameter would match: 404, and not 405 with the methods of that row. */
export const FOREIGN_PATHS = /^\/v1\/videos\/(?:edits|extensions|characters|generations|remix)$|:predictLongRunning$/;

/** The error format of an unknown path, so that the SDK of the caller can read the error. */
const ERROR_FORMAT_BY_PATH: readonly (readonly [RegExp, ErrorFormat])[] = [
  [/^\/v1\/messages/, 'messages'],
  [/^\/(?:upload\/v1(?:beta)?|public\/uploads)\//, 'generate'],
  [/^\/v1\/files\/[^/]+:download$/, 'generate'],
  [/^\/v1(?:beta|\/(?:interactions|cachedContents)(?:\/|$))/, 'generate'],
  // Names of models may contain colons too, so only the native verbs count.
  [/^\/v1\/models\/[^/]+:\w*(?:Contents?|Tokens)(?![\w:.-])/, 'generate'],
  [/^\/api\/v3/, 'video'],
  [/^\/v1\/(?:videos|video-callbacks|asset|public-characters)/, 'video'],
];
export const errorFormatOf = (path: string): ErrorFormat =>
  ERROR_FORMAT_BY_PATH.find(([pattern]) => pattern.test(path))?.[1] ?? 'openai';
