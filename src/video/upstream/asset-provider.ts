/**
 * What the gateway needs of a provider's asset library, and what its answers mean.
 * Outcomes are values, as in client.ts.
 */
import { type Account, publicMessage } from '../../catalog/index.ts';
import type { TransportError } from '../../providers/upstream/index.ts';
import { ASSET_ERROR_STATUS, type AssetErrorKind } from './asset-errors.ts';
import type { QueryOutcome } from './client.ts';
import { browserLink, nonEmptyText, type ResponseObject } from './exchange.ts';

export interface NewAsset extends Readonly<Record<'groupId' | 'url' | 'name', string>> {
  readonly kind: 'Image' | 'Video' | 'Audio';
}

/** Outcome of a request that creates something. */
export type AssetCreateOutcome<T> =
  | { readonly kind: 'created'; readonly value: T }
  | { readonly kind: 'rejected'; readonly error: AssetProviderError }
  /** No byte of the request left this process, or the provider rejected it for its rate. */
  | { readonly kind: 'not_sent'; readonly retryAfter: number | undefined }
  /** The provider may have created it. */
  | { readonly kind: 'unknown' };

export interface AssetProviderError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

export interface ReportedGroup {
  readonly id: string;
  readonly name: string;
}

export interface ReportedAsset {
  readonly id: string;
  readonly name: string;
  readonly status: 'processing' | 'active' | 'failed';
  /** The provider's reason for a failure, without our secrets: its code, a colon and its message. */
  readonly failure: string | undefined;
}

export interface StartedValidation {
  readonly token: string;
  /** For the browser of the person. */
  readonly link: string;
}

/** Undefined unless the provider sent both. */
export function startedValidation(id: unknown, url: unknown, accountUrl: string): StartedValidation | undefined {
  const [token, link] = [nonEmptyText(id), browserLink(url, accountUrl)];
  return token === undefined || link === undefined ? undefined : { token, link };
}

/** `done` also when the object was gone before. */
export type DeleteOutcome = 'done' | 'rejected' | 'failed';

export interface AssetLibrary {
  createGroup(group: { name: string; description: string }): Promise<AssetCreateOutcome<ReportedGroup>>;
  /** Groups with exactly this name: ours carry our id as their name. */
  findGroups(name: string): Promise<QueryOutcome<readonly ReportedGroup[]>>;
  /** The provider deletes the assets of the group too; check before that it has none. */
  deleteGroup(id: string): Promise<DeleteOutcome>;
  createAsset(asset: NewAsset): Promise<AssetCreateOutcome<{ readonly id: string }>>;
  getAsset(id: string): Promise<QueryOutcome<ReportedAsset>>;
  /** Assets of the group with exactly this name. */
  findAssets(group: { id: string; type: string }, name: string): Promise<QueryOutcome<readonly ReportedAsset[]>>;
  deleteAsset(id: string): Promise<DeleteOutcome>;
  startValidation(callbackUrl: string): Promise<AssetCreateOutcome<StartedValidation>>;
  /**
   * The group of the person once the validation has passed;
   * `missing` while it is pending, `failed` with a 4xx status when it failed.
   */
  getValidation(token: string): Promise<QueryOutcome<{ readonly groupId: string }>>;
}
export type AssetProvider = (account: Account) => AssetLibrary;

/** What a library answers: the content of a success, or a failure by the table of errors. */
export type AssetReply = TransportError | { readonly result: ResponseObject } | AssetFailure;
export interface AssetFailure {
  readonly failure: AssetErrorKind;
  readonly error: AssetProviderError;
  readonly retryAfter: number | undefined;
  /** A request that creates has created nothing. */
  readonly isDecided: boolean;
}
/** Undefined for content that is not understood. */
export type AssetReader<T> = (result: ResponseObject) => T | 'missing' | undefined;

export function creationIn<T>(account: Account, reply: AssetReply, read: AssetReader<T>): AssetCreateOutcome<T> {
  if ('code' in reply)
    return reply.kind === 'unreachable' ? { kind: 'not_sent', retryAfter: undefined } : { kind: 'unknown' };
  if ('result' in reply) {
    const value = read(reply.result);
    return value === undefined || value === 'missing' ? { kind: 'unknown' } : { kind: 'created', value };
  }
  const { failure, error, retryAfter, isDecided } = reply;
  if (failure === 'throttled') return { kind: 'not_sent', retryAfter };
  if (!isDecided) return { kind: 'unknown' };
  return { kind: 'rejected', error: { ...error, message: publicMessage(error.message, { account }) } };
}

export function answerIn<T>(reply: AssetReply, read: AssetReader<T>): QueryOutcome<T> {
  if ('code' in reply) return { kind: 'failed', status: undefined };
  if ('failure' in reply) {
    const { failure, error, retryAfter } = reply;
    return failure === 'missing' ? { kind: 'missing' } : { kind: 'failed', status: error.status, retryAfter };
  }
  const value = read(reply.result);
  if (value === undefined) return { kind: 'failed', status: ASSET_ERROR_STATUS.server };
  return value === 'missing' ? { kind: 'missing' } : { kind: 'found', value };
}

/** Reads what is about this asset: a report about another one says nothing. */
export const only =
  (id: string, read: AssetReader<ReportedAsset>): AssetReader<ReportedAsset> =>
  (result) => {
    const asset = read(result);
    return typeof asset === 'object' && asset.id !== id ? undefined : asset;
  };
