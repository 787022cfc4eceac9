/**
 * Client of the provider's asset library, an API of signed actions. Reports every outcome as a value. Never sends a request twice: what a
 * request without a clear response has created is found later by its name.
 */
import type { Account, AssetSettings } from '../../catalog/index.ts';
import type { Clock } from '../../core/index.ts';
import type { TransportError, UpstreamClient } from '../../providers/upstream/index.ts';
import { TIMEOUTS } from '../../rules/index.ts';
import { ASSET_ERROR_STATUS, type AssetErrorKind, assetErrorKindOf } from './asset-errors.ts';
import {
  type AssetCreateOutcome,
  type AssetProvider,
  type AssetProviderError,
  type DeleteOutcome,
  type ReportedAsset,
  type ReportedGroup,
  startedValidation,
} from './asset-provider.ts';
import { canonicalQuery, signRequest } from './asset-signer.ts';
import type { QueryOutcome } from './client.ts';
import { exchangeJson, type JsonResponse, nonEmptyText, objectOf, type ResponseObject, secondsIn } from './exchange.ts';

const VERSION = '2024-01-01';
/** Groups that callers create. */
const GROUP_TYPE = 'AIGC';
/** Names are unique, so one page holds all that can match. */
const ONE_PAGE = { PageNumber: 1, PageSize: 100 } as const;

interface Failure extends AssetProviderError {
  readonly kind: AssetErrorKind;
  readonly retryAfter: number | undefined;
}

type Reply = { readonly result: ResponseObject } | { readonly failure: Failure };

/** The library of accounts of the provider itself. */
export function assetClient(upstream: UpstreamClient, clock: Clock): AssetProvider {
  const actions = new SignedActions(upstream, clock);
  return {
    createGroup: (account, { name, description }) => {
      const body = { Name: name, Description: description, GroupType: GROUP_TYPE };
      return actions.create(account, 'CreateAssetGroup', body, ({ Id }) => named(Id, name));
    },
    findGroups: (account, name) => {
      const body = { Filter: { GroupType: GROUP_TYPE, Name: name }, ...ONE_PAGE };
      return actions.query(account, 'ListAssetGroups', body, (result) => matches(result, name, groupIn));
    },
    getGroup: (account, id) => actions.query(account, 'GetAssetGroup', { Id: id }, groupIn),
    deleteGroup: (account, id) => actions.delete(account, 'DeleteAssetGroup', id),
    createAsset: (account, { groupId, url, kind, name }) => {
      const body = { GroupId: groupId, URL: url, AssetType: kind, Name: name };
      return actions.create(account, 'CreateAsset', body, ({ Id }) => named(Id, name));
    },
    getAsset: (account, id) => actions.query(account, 'GetAsset', { Id: id }, assetIn),
    findAssets: (account, { id, type }, name) => {
      const body = { Filter: { GroupType: type, GroupIds: [id], Name: name }, ...ONE_PAGE };
      return actions.query(account, 'ListAssets', body, (result) => matches(result, name, assetIn));
    },
    deleteAsset: (account, id) => actions.delete(account, 'DeleteAsset', id),
    startValidation: (account, callbackUrl) =>
      actions.create(account, 'CreateVisualValidateSession', { CallbackURL: callbackUrl }, ({ BytedToken, H5Link }) =>
        startedValidation(BytedToken, H5Link, account.assets?.baseUrl ?? ''),
      ),
    getValidation: (account, token) =>
      actions.query(account, 'GetVisualValidateResult', { BytedToken: token }, ({ GroupId }) => {
        const groupId = nonEmptyText(GroupId);
        return groupId === undefined ? undefined : { groupId };
      }),
  };
}

class SignedActions {
  readonly #upstream: UpstreamClient;
  readonly #clock: Clock;

  constructor(upstream: UpstreamClient, clock: Clock) {
    this.#upstream = upstream;
    this.#clock = clock;
  }

  async create<T>(
    account: Account,
    action: string,
    body: ResponseObject,
    read: (result: ResponseObject) => T | undefined,
  ): Promise<AssetCreateOutcome<T>> {
    const response = await this.#send(account, action, body);
    if ('code' in response)
      return response.kind === 'unreachable' ? { kind: 'not_sent', retryAfter: undefined } : { kind: 'unknown' };
    const reply = replyIn(response);
    if ('result' in reply) {
      const value = read(reply.result);
      return value === undefined ? { kind: 'unknown' } : { kind: 'created', value };
    }
    const { kind, status, code, message, retryAfter } = reply.failure;
    if (kind === 'throttled') return { kind: 'not_sent', retryAfter };
    if (kind === 'server' || AMBIGUOUS.has(status)) return { kind: 'unknown' };
    return { kind: 'rejected', error: { status, code, message } };
  }

  async query<T>(
    account: Account,
    action: string,
    body: ResponseObject,
    read: (result: ResponseObject) => T | undefined,
  ): Promise<QueryOutcome<T>> {
    const response = await this.#send(account, action, body);
    if ('code' in response) return { kind: 'failed', status: undefined };
    const reply = replyIn(response);
    if ('failure' in reply) {
      const { kind, status, retryAfter } = reply.failure;
      return kind === 'missing' ? { kind: 'missing' } : { kind: 'failed', status, retryAfter };
    }
    const value = read(reply.result);
    return value === undefined ? { kind: 'failed', status: ASSET_ERROR_STATUS.server } : { kind: 'found', value };
  }

  /** `rejected` only when the provider will not delete the object; other failures may pass. */
  async delete(account: Account, action: string, id: string): Promise<DeleteOutcome> {
    const response = await this.#send(account, action, { Id: id });
    if ('code' in response) return 'failed';
    const reply = replyIn(response);
    if ('result' in reply || reply.failure.kind === 'missing') return 'done';
    return reply.failure.kind === 'request' ? 'rejected' : 'failed';
  }

  async #send(account: Account, action: string, content: ResponseObject): Promise<JsonResponse | TransportError> {
    const settings = account.assets;
    if (!settings) return { kind: 'unreachable', code: 'NO_ASSET_SETTINGS' };
    const { origin, host, path } = addressOf(settings);
    const query = { Action: action, Version: VERSION };
    const body = JSON.stringify({ ...content, ProjectName: settings.project });
    const signed = signRequest({ method: 'POST', host, path, query, body }, settings, this.#clock.now());
    const headers = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'dragoman'];
    return exchangeJson(this.#upstream, {
      method: 'POST',
      origin,
      path: `${path}?${canonicalQuery(query)}`,
      headers: [...headers, ...Object.entries(signed).flat()],
      body,
      timeouts: TIMEOUTS.assets,
      proxy: account.proxy,
      connection: 'new',
    });
  }
}

/** Statuses after which the provider may or may not have created the object. */
const AMBIGUOUS: ReadonlySet<number> = new Set([408, 409, 425]);

function addressOf({ baseUrl }: AssetSettings): {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
} {
  const { origin, host, pathname } = new URL(baseUrl);
  return { origin, host, path: pathname };
}

/** Reads the envelope. Errors may come with status 200, and some results without an envelope. */
function replyIn({ status, headers, body }: JsonResponse): Reply {
  const metadata = objectOf(body?.ResponseMetadata);
  const error = objectOf(metadata?.Error) ?? objectOf(body?.Error);
  const isSuccess = status >= 200 && status < 300;
  // The result of a deletion may be absent or null.
  if (isSuccess && body && !error) return { result: metadata ? (objectOf(body.Result) ?? {}) : body };
  const code = nonEmptyText(error?.Code) ?? '';
  const kind = assetErrorKindOf(isSuccess && !error ? ASSET_ERROR_STATUS.server : status, code);
  return {
    failure: {
      kind,
      status: status >= 400 ? status : ASSET_ERROR_STATUS[kind],
      code: code === '' ? `HTTP_${status}` : code,
      message: nonEmptyText(error?.Message) ?? '',
      retryAfter: secondsIn(headers['retry-after']),
    },
  };
}

const named = (id: unknown, name: string): ReportedGroup | undefined => {
  const text = nonEmptyText(id);
  return text === undefined ? undefined : { id: text, name };
};

const groupIn = (value: ResponseObject): ReportedGroup | undefined => named(value.Id, nonEmptyText(value.Name) ?? '');

const STATUSES: Readonly<Record<string, ReportedAsset['status']>> = {
  Processing: 'processing',
  Active: 'active',
  Failed: 'failed',
};

function assetIn(value: ResponseObject): ReportedAsset | undefined {
  const identity = groupIn(value);
  const status = STATUSES[nonEmptyText(value.Status) ?? ''];
  if (!identity || status === undefined) return undefined;
  const error = objectOf(value.Error);
  const failure = error && `${nonEmptyText(error.Code) ?? 'Unknown'}: ${nonEmptyText(error.Message) ?? ''}`;
  return { ...identity, status, failure: status === 'failed' ? failure : undefined };
}

/** The items with exactly this name: the provider's filter also finds names that contain it. */
function matches<T extends { readonly name: string }>(
  { Items: items }: ResponseObject,
  name: string,
  read: (item: ResponseObject) => T | undefined,
): readonly T[] | undefined {
  if (!Array.isArray(items)) return undefined;
  return items.flatMap((item) => {
    const found = read(objectOf(item) ?? {});
    return found?.name === name ? [found] : [];
  });
}
