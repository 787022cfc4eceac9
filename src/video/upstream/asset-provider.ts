/** What the gateway needs of a provider's asset library. Outcomes are values, as in client.ts. */
import type { Account } from '../../catalog/index.ts';
import type { QueryOutcome } from './client.ts';
import { browserLink, nonEmptyText } from './exchange.ts';

export type AssetKind = 'Image' | 'Video' | 'Audio';

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
  /** The provider's reason for a failure: its code, a colon and its message. */
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

export interface AssetProvider {
  createGroup(
    account: Account,
    group: { name: string; description: string },
  ): Promise<AssetCreateOutcome<ReportedGroup>>;
  /** Groups with exactly this name: ours carry our id as their name. */
  findGroups(account: Account, name: string): Promise<QueryOutcome<readonly ReportedGroup[]>>;
  getGroup(account: Account, id: string): Promise<QueryOutcome<ReportedGroup>>;
  /** The provider deletes the assets of the group too; check before that it has none. */
  deleteGroup(account: Account, id: string): Promise<DeleteOutcome>;
  createAsset(
    account: Account,
    asset: { groupId: string; url: string; kind: AssetKind; name: string },
  ): Promise<AssetCreateOutcome<{ readonly id: string }>>;
  getAsset(account: Account, id: string): Promise<QueryOutcome<ReportedAsset>>;
  /** Assets of the group with exactly this name. */
  findAssets(
    account: Account,
    group: { id: string; type: string },
    name: string,
  ): Promise<QueryOutcome<readonly ReportedAsset[]>>;
  deleteAsset(account: Account, id: string): Promise<DeleteOutcome>;
  startValidation(account: Account, callbackUrl: string): Promise<AssetCreateOutcome<StartedValidation>>;
  /** The group of the person once the validation has passed; `missing` while it is pending, `failed` with a 4xx status when it failed. */
  getValidation(account: Account, token: string): Promise<QueryOutcome<{ readonly groupId: string }>>;
}
