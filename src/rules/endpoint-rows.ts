/** The form of the rows of every operation: what a row of each kind has to say. */
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
  /**
   * Requests are converted to the first of these dialects that an account speaks, if it does not speak the one before.
   */
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
/**
 * Native on accounts with the feature, converted on the others. With `to` = `dialect` the gateway estimates the count
 * itself.
 */
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

/**
 * How the native path reads a request: what the body is, where the model is named, or the id of a stored object. `none`
 * where no cell is native.
 */
export type RequestReader =
  | 'json'
  | 'search'
  | 'interaction'
  | 'cache'
  | 'path-model'
  | 'path-embedding'
  | 'image'
  | 'stored'
  | 'none';

/**
 * `metered`: admitted against the balance and charged by usage. There is no default: a new row has to say `free` to be
 * free.
 */
export type BillingMode = 'metered' | 'free';

/** Which limits of `TIMEOUTS` hold for the upstream call; `reply` is `stream` or `unary`, as the request asks. */
export type TimeoutClass = 'reply' | 'image' | 'count' | 'none';

interface Row {
  readonly doc: string;
  readonly about: string;
  readonly method: Method;
  /** `{name}` is one path segment; `{model}:verb` is a segment that ends in a verb. */
  readonly path: string;
  /**
   * Another path of the operation: its root form without a version (G 4.1 r1), or the native endpoint under `/v1` (G
   * 4.6).
   */
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
export type ConvertibleRow = InferenceFacts & { readonly groups: Readonly<Record<Style, Cell>> } & (
    | { readonly converts: 'reply'; readonly convertsFrom: Dialect }
    | { readonly converts: 'compact'; readonly convertsFrom: 'responses' }
    | { readonly converts: 'count'; readonly convertsFrom: CountedDialect }
  );
export interface UnconvertedRow extends InferenceFacts {
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

export interface OperatorRow {
  readonly method: Method;
  readonly path: string;
  readonly about: string;
  readonly deprecated?: Deprecation;
  /** Responds to HEAD as well, which load balancers and players send. */
  readonly head?: true;
}

export const NO_BODY = { content: 'none' } as const;
export const JSON_SMALL = { content: 'json', limit: 'small' } as const;
