/**
 * Client of the provider's asset library, an API of signed actions. Reports every outcome as a value.
 * Never sends a request twice: what a request without a clear response has created is found later by its name.
 */
import { type Account, publicMessage } from '../../catalog/index.ts';
import type { Clock } from '../../core/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { TIMEOUTS } from '../../rules/index.ts';
import { ASSET_ERROR_STATUS, assetErrorKindOf } from './asset-errors.ts';
import * as assets from './asset-provider.ts';
import { canonicalQuery, signRequest } from './asset-signer.ts';
import { exchangeJson, type JsonResponse, nonEmptyText, objectOf, type ResponseObject, secondsIn } from './exchange.ts';

const VERSION = '2024-01-01';
/** Groups that callers create. */
const GROUP_TYPE = 'AIGC';
/** Names are unique, so one page holds all that can match. */
const ONE_PAGE = { PageNumber: 1, PageSize: 100 } as const;

/** The library of an account of the provider itself. */
export const assetClient =
  (upstream: UpstreamClient, clock: Clock): assets.AssetProvider =>
  (account) => {
    const send = (action: string, body: ResponseObject): Promise<assets.AssetReply> =>
      sendAction(upstream, account, action, { content: body, now: clock.now() });
    const create = async <T>(action: string, body: ResponseObject, read: assets.AssetReader<T>) =>
      assets.creationIn(account, await send(action, body), read);
    const query = async <T>(action: string, body: ResponseObject, read: assets.AssetReader<T>) =>
      assets.answerIn(await send(action, body), read);
    const remove = async (action: string, id: string): Promise<assets.DeleteOutcome> => {
      const reply = await send(action, { Id: id });
      if ('code' in reply) return 'failed';
      if ('result' in reply || reply.failure === 'missing') return 'done';
      return reply.failure === 'request' ? 'rejected' : 'failed';
    };
    const asset = (value: ResponseObject) => assetIn(account, value);
    return {
      createGroup: ({ name, description }) => {
        const body = { Name: name, Description: description, GroupType: GROUP_TYPE };
        return create('CreateAssetGroup', body, ({ Id }) => named(Id, name));
      },
      findGroups: (name) => {
        const body = { Filter: { GroupType: GROUP_TYPE, Name: name }, ...ONE_PAGE };
        return query('ListAssetGroups', body, (result) => matches(result, name, groupIn));
      },
      deleteGroup: (id) => remove('DeleteAssetGroup', id),
      createAsset: ({ groupId, url, kind, name }) => {
        const body = { GroupId: groupId, URL: url, AssetType: kind, Name: name };
        return create('CreateAsset', body, ({ Id }) => named(Id, name));
      },
      getAsset: (id) => query('GetAsset', { Id: id }, assets.only(id, asset)),
      findAssets: ({ id, type }, name) => {
        const body = { Filter: { GroupType: type, GroupIds: [id], Name: name }, ...ONE_PAGE };
        return query('ListAssets', body, (result) => matches(result, name, asset));
      },
      deleteAsset: (id) => remove('DeleteAsset', id),
      startValidation: (callbackUrl) =>
        create('CreateVisualValidateSession', { CallbackURL: callbackUrl }, ({ BytedToken, H5Link }) =>
          assets.startedValidation(BytedToken, H5Link, account.assets?.baseUrl ?? ''),
        ),
      getValidation: (token) =>
        query('GetVisualValidateResult', { BytedToken: token }, ({ GroupId }) => {
          const groupId = nonEmptyText(GroupId);
          return groupId === undefined ? undefined : { groupId };
        }),
    };
  };

interface Action {
  readonly content: ResponseObject;
  readonly now: number;
}

async function sendAction(upstream: UpstreamClient, account: Account, action: string, { content, now }: Action) {
  const { assets: settings, proxy } = account;
  if (!settings) return { kind: 'unreachable', code: 'NO_ASSET_SETTINGS' } as const;
  const { origin, host, pathname: path } = new URL(settings.baseUrl);
  const query = { Action: action, Version: VERSION };
  const body = JSON.stringify({ ...content, ProjectName: settings.project });
  const signed = signRequest({ method: 'POST', host, path, query, body }, settings, now);
  const headers = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'dragoman'];
  const response = await exchangeJson(upstream, {
    method: 'POST',
    origin,
    path: `${path}?${canonicalQuery(query)}`,
    headers: [...headers, ...Object.entries(signed).flat()],
    body,
    timeouts: TIMEOUTS.assets,
    proxy,
    connection: 'new',
  });
  return 'code' in response ? response : replyIn(response);
}

/** Statuses after which the provider may or may not have created the object. */
const AMBIGUOUS: ReadonlySet<number> = new Set([408, 409, 425]);

/** Reads the envelope. Errors may come with status 200, and some results without an envelope. */
function replyIn({ status, headers, body }: JsonResponse): assets.AssetReply {
  const metadata = objectOf(body?.ResponseMetadata);
  const error = objectOf(metadata?.Error) ?? objectOf(body?.Error);
  const isSuccess = status >= 200 && status < 300;
  // The result of a deletion may be absent or null.
  if (isSuccess && body && !error) return { result: metadata ? (objectOf(body.Result) ?? {}) : body };
  const code = nonEmptyText(error?.Code) ?? '';
  const failure = assetErrorKindOf(isSuccess && !error ? ASSET_ERROR_STATUS.server : status, code);
  const meant = status >= 400 ? status : ASSET_ERROR_STATUS[failure];
  return {
    failure,
    error: { status: meant, code: code || `HTTP_${status}`, message: nonEmptyText(error?.Message) ?? '' },
    retryAfter: secondsIn(headers['retry-after']),
    isDecided: failure !== 'server' && !AMBIGUOUS.has(meant),
  };
}

const named = (id: unknown, name: string): assets.ReportedGroup | undefined => {
  const text = nonEmptyText(id);
  return text === undefined ? undefined : { id: text, name };
};

const groupIn = (value: ResponseObject): assets.ReportedGroup | undefined =>
  named(value.Id, nonEmptyText(value.Name) ?? '');

const STATUSES: Readonly<Record<string, assets.ReportedAsset['status']>> = {
  Processing: 'processing',
  Active: 'active',
  Failed: 'failed',
};

function assetIn(account: Account, value: ResponseObject): assets.ReportedAsset | undefined {
  const identity = groupIn(value);
  const status = STATUSES[nonEmptyText(value.Status) ?? ''];
  if (!identity || status === undefined) return undefined;
  const error = objectOf(value.Error);
  const failure = error && `${nonEmptyText(error.Code) ?? 'Unknown'}: ${nonEmptyText(error.Message) ?? ''}`;
  return {
    ...identity,
    status,
    failure: status === 'failed' && failure ? publicMessage(failure, { account }) : undefined,
  };
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
