/**
 * Asset library of another Dragoman, over its public API (V 4.8 to 4.10).
 * Reports every outcome as a value, as asset-client.ts does. Our ids are sent as names and as Idempotency-Key.
 * HC models have no groups there: their group exists in our records only.
 */
import { type Account, type Catalog, publicMessage } from '../../catalog/index.ts';
import { isGlob, publicUrl } from '../../core/index.ts';
import type { UpstreamClient, UpstreamRequest } from '../../providers/upstream/index.ts';
import { TIMEOUTS } from '../../rules/index.ts';
import { assetErrorKindOf } from './asset-errors.ts';
import * as assets from './asset-provider.ts';
import type { QueryOutcome } from './client.ts';
import {
  type AccountRequest,
  exchangeAs,
  type JsonAnswer,
  type JsonResponse,
  nonEmptyText,
  objectOf,
  type ResponseObject,
  secondsIn,
} from './exchange.ts';

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

/** The library of an account of another Dragoman. */
export const dragomanAssets =
  (upstream: UpstreamClient, catalog: () => Catalog): assets.AssetProvider =>
  (account) => {
    const send = (method: Method, path: string, content?: Content) =>
      sendTo(upstream, account, { method, path, content });
    const hasGroups = catalog().group(account.groupId)?.variant !== 'HC';
    const model = modelOf(catalog(), account);
    const create = async <T>(path: string, body: ResponseObject, read: assets.AssetReader<T>, key?: string) => {
      const headers = key === undefined ? [] : ['idempotency-key', key];
      const reply = await send('POST', path, { body: JSON.stringify({ ...body, ...model }), headers });
      return assets.creationIn(account, replyIn(reply), read);
    };
    const query = async <T>(method: Method, path: string, read: assets.AssetReader<T>) =>
      assets.answerIn(replyIn(await send(method, path)), read);
    /** A deletion that is running there is repeated until it is done. */
    const remove = async (path: string): Promise<assets.DeleteOutcome> => {
      const response = await send('DELETE', path);
      if ('code' in response) return 'failed';
      const { status, body } = response;
      if (status >= 200 && status < 300) return body?.status === 'deleted' || status === 204 ? 'done' : 'failed';
      if (assetErrorKindOf(status, codeIn(response)) === 'missing') return 'done';
      return status === 400 ? 'rejected' : 'failed';
    };
    const asset = (value: ResponseObject) => {
      const found = namedIn(value);
      return found && reportedAsset(account, found);
    };
    return {
      createGroup: async ({ name, description }) =>
        hasGroups
          ? create(GROUPS, { name, description }, namedIn, name)
          : { kind: 'created', value: { id: name, name } },
      findGroups: async (name) =>
        hasGroups ? find(query, GROUPS, name) : { kind: 'found', value: [{ id: name, name }] },
      deleteGroup: async (id) => (hasGroups ? remove(at(GROUPS, id)) : 'done'),
      createAsset: ({ groupId, url, kind, name }) => {
        const group = hasGroups ? { group_id: groupId } : {};
        return create(ASSETS, { url, asset_type: kind, name, ...group }, namedIn, name);
      },
      // Refreshes the asset there, because a plain read returns the state as last saved.
      getAsset: (id) => query('POST', `${at(ASSETS, id)}/refresh`, assets.only(id, asset)),
      findAssets: async (group, name) => {
        const found = await find(query, ASSETS, name, hasGroups ? { group_id: group.id } : {});
        if (found.kind !== 'found') return found;
        const reports = found.value.map((one) => reportedAsset(account, one));
        return { kind: 'found', value: reports.filter((report) => report !== 'missing') };
      },
      deleteAsset: (id) => remove(at(ASSETS, id)),
      startValidation: (callbackUrl) => {
        // Without a public address of ours the person ends on the page of the other gateway;
        // the result is found by polling.
        const redirect = publicUrl(callbackUrl, []) instanceof URL ? { redirect_url: callbackUrl } : {};
        return create(SESSIONS, redirect, (session) =>
          assets.startedValidation(session.id, session.authorization_url, account.baseUrl),
        );
      },
      getValidation: async (token) => {
        const session = await query('GET', at(SESSIONS, token), (body) => body);
        // `missing` would mean that the person is not done yet.
        if (session.kind === 'missing') return { kind: 'failed', status: 404 };
        if (session.kind === 'failed') return session;
        const groupId = nonEmptyText(session.value.asset_group_id);
        if (session.value.status === 'failed') return { kind: 'failed', status: VALIDATION_FAILED };
        return groupId === undefined ? { kind: 'missing' } : { kind: 'found', value: { groupId } };
      },
    };
  };

type Method = UpstreamRequest['method'];
type Content = AccountRequest['content'];
type AssetRequest = Pick<AccountRequest, 'method' | 'path' | 'content'>;
type Query = <T>(method: Method, path: string, read: assets.AssetReader<T>) => Promise<QueryOutcome<T>>;

const at = (path: string, id: string): string => `${path}/${encodeURIComponent(id)}`;

const sendTo = (upstream: UpstreamClient, account: Account, request: AssetRequest) =>
  exchangeAs(upstream, account, {
    ...request,
    timeouts: TIMEOUTS.assets,
    connection: request.method === 'GET' ? 'any' : 'new',
  });

/** A model of the account's group selects the service group there (V 4.8); the key may reach several. */
function modelOf(catalog: Catalog, { groupId, models }: Account): { readonly model?: string } {
  const line = catalog.lines(groupId).find(({ pattern, upstream }) => upstream !== null || !isGlob(pattern));
  const name = line && (line.upstream ?? line.pattern);
  return name === undefined ? {} : { model: models.get(name) ?? name };
}

/** Objects with exactly this name. One whose creation is not decided there is not decided here. */
async function find(
  query: Query,
  path: string,
  name: string,
  filter: Readonly<Record<string, string>> = {},
): Promise<QueryOutcome<readonly Named[]>> {
  let after: string | undefined;
  for (let page = 0; page < SEARCH.pages; page += 1) {
    const parameters = new URLSearchParams({ ...filter, limit: `${SEARCH.pageSize}`, ...(after && { after }) });
    const list = await query('GET', `${path}?${parameters}`, (body) => body);
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

/** A request with our key arrived before: it may have created the object. */
const AMBIGUOUS = /^idempotency_/;
const UNDECIDED: ReadonlySet<string> = new Set(['creating', 'create_unknown']);
const GONE: ReadonlySet<string> = new Set(['invalid', 'deleting', 'deleted']);

/** The provider's code for a group that it no longer has. */
const CODES: Readonly<Record<string, string>> = { asset_group_not_found: 'NotFound.group' };

const codeIn = ({ body }: JsonResponse): string => nonEmptyText(objectOf(body?.error)?.code) ?? '';

function replyIn(response: JsonAnswer): assets.AssetReply {
  if ('code' in response) return response;
  const { status, headers, body } = response;
  if (status >= 200 && status < 300) return { result: body ?? {} };
  const code = codeIn(response);
  const message = nonEmptyText(objectOf(body?.error)?.message) ?? '';
  return {
    failure: assetErrorKindOf(status, code),
    error: { status, code: CODES[code] ?? (code || `HTTP_${status}`), message },
    retryAfter: secondsIn(headers['retry-after']),
    isDecided: status < 500 && !AMBIGUOUS.test(code),
  };
}

function namedIn(value: ResponseObject): Named | undefined {
  const [id, status] = [nonEmptyText(value.id), nonEmptyText(value.status)];
  if (id === undefined || status === undefined) return undefined;
  const error = objectOf(value.error);
  const failure = error && `${nonEmptyText(error.code) ?? 'asset_failed'}: ${nonEmptyText(error.message) ?? ''}`;
  return { id, name: nonEmptyText(value.name) ?? '', status, failure };
}

function reportedAsset(account: Account, { id, name, status, failure = 'asset_failed: ' }: Named) {
  if (GONE.has(status)) return 'missing';
  const shown = status === 'failed' ? publicMessage(failure, { account }) : undefined;
  return { id, name, status: STATUSES[status] ?? 'processing', failure: shown };
}

/** Others are not decided yet. */
const STATUSES: Readonly<Record<string, assets.ReportedAsset['status']>> = {
  active: 'active',
  delete_failed: 'active',
  failed: 'failed',
};
