/**
 * Asset library of another Dragoman, over its public API (V 4.8 to 4.10). Reports every outcome as a value, as asset-client.ts does. Our
 * ids are sent as names and as Idempotency-Key. HC models have no groups there: their group exists in our records only.
 */
import type { Account, Catalog } from '../../catalog/index.ts';
import { isGlob, publicUrl } from '../../core/index.ts';
import type { TransportError, UpstreamClient, UpstreamRequest } from '../../providers/upstream/index.ts';
import { TIMEOUTS } from '../../rules/index.ts';
import { assetErrorKindOf } from './asset-errors.ts';
import {
  type AssetCreateOutcome,
  type AssetProvider,
  type AssetProviderError,
  type DeleteOutcome,
  type ReportedAsset,
  startedValidation,
} from './asset-provider.ts';
import type { QueryOutcome } from './client.ts';
import { exchangeAs, type JsonResponse, nonEmptyText, objectOf, type ResponseObject, secondsIn } from './exchange.ts';

const GROUPS = '/v1/asset-groups';
const ASSETS = '/v1/assets';
const SESSIONS = '/v1/assets/real-person/authorization-sessions';
/** Lists are newest first, and objects are looked for soon after their creation. */
const SEARCH = { pageSize: 100, pages: 10 } as const;
/** Status of a validation that failed there. */
const VALIDATION_FAILED = 400;

interface Named {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  /** Of an asset that failed there. */
  readonly failure?: string | undefined;
}

/** The library of accounts of another Dragoman. */
export function dragomanAssets(upstream: UpstreamClient, catalog: () => Catalog): AssetProvider {
  const api = new AssetApi(upstream, catalog);
  return {
    createGroup: async (account, { name, description }) => {
      if (!api.hasGroups(account)) return { kind: 'created', value: { id: name, name } };
      const body = { name, description, ...api.model(account) };
      return api.create(account, { path: GROUPS, body, key: name }, namedIn);
    },
    findGroups: async (account, name) =>
      api.hasGroups(account) ? api.find(account, GROUPS, name) : { kind: 'found', value: [{ id: name, name }] },
    getGroup: async (account, id) =>
      api.hasGroups(account)
        ? api.query(account, 'GET', at(GROUPS, id), namedIn)
        : { kind: 'found', value: { id, name: id } },
    deleteGroup: async (account, id) => (api.hasGroups(account) ? api.delete(account, at(GROUPS, id)) : 'done'),
    createAsset: (account, { groupId, url, kind, name }) => {
      const group = api.hasGroups(account) ? { group_id: groupId } : {};
      const body = { url, asset_type: kind, name, ...group, ...api.model(account) };
      return api.create(account, { path: ASSETS, body, key: name }, namedIn);
    },
    // Refreshes the asset there, because a plain read returns the state as last saved.
    getAsset: (account, id) => api.query(account, 'POST', `${at(ASSETS, id)}/refresh`, assetIn),
    findAssets: async (account, group, name) => {
      const filter = api.hasGroups(account) ? { group_id: group.id } : {};
      const found = await api.find(account, ASSETS, name, filter);
      if (found.kind !== 'found') return found;
      return { kind: 'found', value: found.value.map(reportedAsset).filter((asset) => asset !== 'gone') };
    },
    deleteAsset: (account, id) => api.delete(account, at(ASSETS, id)),
    startValidation: (account, callbackUrl) => {
      // Without a public address of ours the person ends on the page of the other gateway; the result is found by polling.
      const redirect = publicUrl(callbackUrl, []) instanceof URL ? { redirect_url: callbackUrl } : {};
      const body = { ...redirect, ...api.model(account) };
      return api.create(account, { path: SESSIONS, body }, (session) =>
        startedValidation(session.id, session.authorization_url, account.baseUrl),
      );
    },
    getValidation: async (account, token) => {
      const session = await api.query(account, 'GET', at(SESSIONS, token), (body) => body);
      // `missing` would mean that the person is not done yet.
      if (session.kind === 'missing') return { kind: 'failed', status: 404 };
      if (session.kind === 'failed') return session;
      const groupId = nonEmptyText(session.value.asset_group_id);
      if (session.value.status === 'failed') return { kind: 'failed', status: VALIDATION_FAILED };
      return groupId === undefined ? { kind: 'missing' } : { kind: 'found', value: { groupId } };
    },
  };
}

const at = (path: string, id: string): string => `${path}/${encodeURIComponent(id)}`;

class AssetApi {
  readonly #upstream: UpstreamClient;
  readonly #catalog: () => Catalog;

  constructor(upstream: UpstreamClient, catalog: () => Catalog) {
    this.#upstream = upstream;
    this.#catalog = catalog;
  }

  hasGroups({ groupId }: Account): boolean {
    return this.#catalog().group(groupId)?.variant !== 'HC';
  }

  /** A model of the account's group selects the service group there (V 4.8); the key may reach several. */
  model({ groupId, models }: Account): { readonly model?: string } {
    const line = this.#catalog()
      .lines(groupId)
      .find(({ pattern, upstream }) => upstream !== null || !isGlob(pattern));
    const name = line && (line.upstream ?? line.pattern);
    return name === undefined ? {} : { model: models.get(name) ?? name };
  }

  async create<T>(
    account: Account,
    { path, body, key }: { readonly path: string; readonly body: ResponseObject; readonly key?: string },
    read: (body: ResponseObject) => T | undefined,
  ): Promise<AssetCreateOutcome<T>> {
    const headers = key === undefined ? [] : ['idempotency-key', key];
    const response = await this.#send(account, 'POST', path, { body: JSON.stringify(body), headers });
    if ('code' in response)
      return response.kind === 'unreachable' ? { kind: 'not_sent', retryAfter: undefined } : { kind: 'unknown' };
    if (response.status >= 200 && response.status < 300) {
      const value = response.body && read(response.body);
      return value === undefined ? { kind: 'unknown' } : { kind: 'created', value };
    }
    if (response.status === 429) return { kind: 'not_sent', retryAfter: secondsIn(response.headers['retry-after']) };
    const error = errorIn(response);
    const isDecided = response.status >= 400 && response.status < 500 && !AMBIGUOUS.test(error.code);
    return isDecided ? { kind: 'rejected', error } : { kind: 'unknown' };
  }

  async query<T>(
    account: Account,
    method: 'GET' | 'POST',
    path: string,
    read: (body: ResponseObject) => T | 'gone' | undefined,
  ): Promise<QueryOutcome<T>> {
    const response = await this.#send(account, method, path);
    if ('code' in response) return { kind: 'failed', status: undefined };
    const { status, headers } = response;
    if (status === 404 && assetErrorKindOf(status, codeIn(response)) === 'missing') return { kind: 'missing' };
    const value = status === 200 && response.body ? read(response.body) : undefined;
    if (value === 'gone') return { kind: 'missing' };
    if (value !== undefined) return { kind: 'found', value };
    return { kind: 'failed', status: status === 200 ? 502 : status, retryAfter: secondsIn(headers['retry-after']) };
  }

  /** Objects with exactly this name. One whose creation is not decided there is not decided here. */
  async find(
    account: Account,
    path: string,
    name: string,
    filter: Readonly<Record<string, string>> = {},
  ): Promise<QueryOutcome<readonly Named[]>> {
    let after: string | undefined;
    for (let page = 0; page < SEARCH.pages; page += 1) {
      const query = new URLSearchParams({ ...filter, limit: `${SEARCH.pageSize}`, ...(after && { after }) });
      const list = await this.query(account, 'GET', `${path}?${query}`, (body) => body);
      if (list.kind !== 'found') return list;
      const { data, has_more: hasMore, last_id: lastId } = list.value;
      if (!Array.isArray(data)) return { kind: 'failed', status: 502 };
      const named = data.flatMap((item) => namedIn(objectOf(item) ?? {}) ?? []).filter((one) => one.name === name);
      if (named.some(({ status }) => UNDECIDED.has(status))) return { kind: 'failed', status: undefined };
      const usable = named.filter(({ status }) => !GONE.has(status) && (path === ASSETS || status === 'active'));
      if (usable.length > 0) return { kind: 'found', value: usable };
      after = nonEmptyText(lastId);
      if (hasMore !== true || after === undefined) break;
    }
    return { kind: 'found', value: [] };
  }

  /** A deletion that is running there is repeated until it is done. */
  async delete(account: Account, path: string): Promise<DeleteOutcome> {
    const response = await this.#send(account, 'DELETE', path);
    if ('code' in response) return 'failed';
    const { status, body } = response;
    if (status >= 200 && status < 300) return body?.status === 'deleted' || status === 204 ? 'done' : 'failed';
    if (assetErrorKindOf(status, codeIn(response)) === 'missing') return 'done';
    return status === 400 ? 'rejected' : 'failed';
  }

  #send(
    account: Account,
    method: UpstreamRequest['method'],
    path: string,
    content?: { readonly body: string; readonly headers: readonly string[] },
  ): Promise<JsonResponse | TransportError> {
    const connection = method === 'GET' ? 'any' : 'new';
    return exchangeAs(this.#upstream, account, { method, path, content, timeouts: TIMEOUTS.assets, connection });
  }
}

/** A request with our key arrived before: it may have created the object. */
const AMBIGUOUS = /^idempotency_/;
const UNDECIDED: ReadonlySet<string> = new Set(['creating', 'create_unknown']);
const GONE: ReadonlySet<string> = new Set(['invalid', 'deleting', 'deleted']);

/** The provider's code for a group that it no longer has. */
const CODES: Readonly<Record<string, string>> = { asset_group_not_found: 'NotFound.group' };

const codeIn = ({ body }: JsonResponse): string => nonEmptyText(objectOf(body?.error)?.code) ?? '';

function errorIn(response: JsonResponse): AssetProviderError {
  const code = codeIn(response);
  const message = nonEmptyText(objectOf(response.body?.error)?.message) ?? '';
  return { status: response.status, code: CODES[code] ?? (code === '' ? `HTTP_${response.status}` : code), message };
}

function namedIn(value: ResponseObject): Named | undefined {
  const [id, status] = [nonEmptyText(value.id), nonEmptyText(value.status)];
  if (id === undefined || status === undefined) return undefined;
  const error = objectOf(value.error);
  const failure = error && `${nonEmptyText(error.code) ?? 'asset_failed'}: ${nonEmptyText(error.message) ?? ''}`;
  return { id, name: nonEmptyText(value.name) ?? '', status, failure };
}

function reportedAsset({ id, name, status, failure = 'asset_failed: ' }: Named): ReportedAsset | 'gone' {
  if (GONE.has(status)) return 'gone';
  return { id, name, status: STATUSES[status] ?? 'processing', failure: status === 'failed' ? failure : undefined };
}

/** Others are not decided yet. */
const STATUSES: Readonly<Record<string, ReportedAsset['status']>> = {
  active: 'active',
  delete_failed: 'active',
  failed: 'failed',
};

const assetIn = (value: ResponseObject): ReportedAsset | 'gone' | undefined => {
  const named = namedIn(value);
  return named && reportedAsset(named);
};
