/** Reading of a native request: the model it names, what it may cost, and how its path and body look for each account. */
import type { Account, Model } from '../../catalog/index.ts';
import { EVENT_STREAM, isGlob, type MaybePromise, whenReady } from '../../core/index.ts';
import { codecOf } from '../../dialects/index.ts';
import { type Call, readBody } from '../../platform/web/index.ts';
import { type Dialect, type Feature, inferenceRow, type RequestReader } from '../../rules/index.ts';
import { estimateBytes } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import { LegUnavailable, legError } from '../failover.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';
import { bodyClassOf, readJsonBody } from '../services.ts';
import { previousNotFound, responseNotFound, type StoredResponse } from '../stored/store.ts';
import { embeddingBytes, embeddingJob } from './embedding.ts';
import { isTunedModel } from './google-objects.ts';
import { canonicalPath, rejectReshapingHeaders } from './headers.ts';
import { readImageRequest } from './images/request.ts';
import type { NativeRequest, NativeServices, NativeTarget, RequestBounds } from './native-request.ts';
import type { ProviderIds } from './provider-ids.ts';
import { placeProviderIds } from './provider-objects.ts';
import { forwardedQuery } from './query.ts';
import { readNative, type ScannedBody } from './request.ts';
import { type NativeScan, scanJob } from './scan.ts';
import { holdsOpaque } from './strip-opaque.ts';

/** Without a promise when the body is complete and nothing has to be looked up. */
export const readRequest = (
  services: NativeServices,
  call: Call,
  caller: Caller,
  target: NativeTarget,
): MaybePromise<NativeRequest> => READERS[inferenceRow(target.operation).reader](services, call, caller, target);

type Reader = (
  services: NativeServices,
  call: Call,
  caller: Caller,
  target: NativeTarget,
) => MaybePromise<NativeRequest>;

const READERS: Readonly<Record<RequestReader, Reader>> = {
  json(services, call, caller, target) {
    return whenReady(readJsonBody(services, call, target.operation), (sent) => {
      const owner = { id: caller.key.id, bytes: sent.length };
      return whenReady(services.threads.run(scanJob, { ...target, bytes: sent }, owner), (scan) =>
        jsonRequest(services, call, caller, { ...target, owner, body: bodyAfter(sent, scan), scan }),
      );
    });
  },

  async 'path-model'(services, call, caller, { operation, dialect }) {
    rejectReshapingHeaders(call);
    const query = forwardedQuery(call.query, true);
    const body = await readJsonBody(services, call, operation);
    const owner = { id: caller.key.id, bytes: body.length };
    const input = { operation, dialect, bytes: body };
    const { bounds, tiers, ids } = await services.threads.run(scanJob, input, owner);
    const model = resolveModel(services.catalog(), caller, call.params.model);
    const isStream = verbOf(call) === ':streamGenerateContent';
    const request: NativeRequest = {
      ...(await googleFeature(services, caller, model, ids)),
      model,
      inputTokens: () => estimateBytes('generate', body),
      bounds,
      tiers,
      isStream,
      // Without `alt=sse` the stream is one JSON array.
      streamType: isStream && /\balt=sse\b/.test(query) ? EVENT_STREAM : undefined,
      withoutOpaque: () =>
        holdsOpaque(body)
          ? whenReady(services.threads.run(scanJob, { ...input, omitsOpaque: true }, owner), (scan) => {
              const rest = bodyAfter(body, scan);
              return { ...request, ...thoughtsDropped(dialect), bodyFor: () => rest };
            })
          : undefined,
      pathFor: (account) => nativePath(call, upstreamName(model, account), query),
      bodyFor: () => body,
    };
    return request;
  },

  async 'path-embedding'(services, call, caller, { operation }) {
    rejectReshapingHeaders(call);
    const query = forwardedQuery(call.query, true);
    const body = await readJsonBody(services, call, operation);
    const model = resolveModel(services.catalog(), caller, call.params.model);
    const owner = { id: caller.key.id, bytes: body.length };
    const scan = await services.threads.run(embeddingJob, { operation, bytes: body }, owner);
    const bodyFor = embeddingBytes(body, scan, model);
    return {
      ...(await googleFeature(services, caller, model, scan.ids)),
      model,
      inputTokens: () => estimateBytes('generate', body),
      bounds: scan.bounds,
      isStream: false,
      pathFor: (account) => nativePath(call, upstreamName(model, account), query),
      bodyFor,
    };
  },

  image: (services, call, caller, { operation }) => readImageRequest(services, call, caller, operation),

  async stored(services, call, caller, { operation }) {
    const id = call.params.response_id ?? '';
    const accountId = (await services.store.find(id, caller.key.userId))?.accountId;
    // It may be held by an account of another group of the user, which this key does not reach.
    if (accountId === undefined || !isInGroup(services.catalog().accounts(caller.group.id), accountId))
      throw responseNotFound(id);
    const hasBody = inferenceRow(operation).body.content !== 'none';
    const body = hasBody ? await readBody(call, services.bodyLimit(bodyClassOf(operation))) : null;
    return {
      inputTokens: () => 0,
      bounds: { bodyBytes: 0 },
      isStream: call.query.includes('stream=true'),
      accountId,
      pathFor: () => canonicalPath(call),
      bodyFor: () => body,
    };
  },

  none(_services, _call, _caller, { operation }) {
    throw new TypeError(`${operation} has a native cell but no reader in its row`);
  },
};

/** The feature that an account needs for the objects of a generate-content request. A tuned model that the operator lists is offered to all. */
async function googleFeature(
  { catalog, store }: NativeServices,
  { key, group }: Caller,
  { line, upstream }: Model,
  named: ProviderIds | undefined,
): Promise<{ feature?: Feature | undefined }> {
  const isTuned = isGlob(line.pattern) && line.upstream === null && isTunedModel(upstream);
  const ids = isTuned ? { references: [], objectsIn: 'model' } : named;
  if (!ids) return {};
  const { feature } = await placeProviderIds(ids, {
    store,
    userId: key.userId,
    accounts: catalog().accounts(group.id),
  });
  return { feature };
}

/** What `x-gateway-dropped` says of a request whose opaque values were left out. */
const thoughtsDropped = (dialect: Dialect): Pick<NativeRequest, 'dropped'> => ({
  dropped: [codecOf(dialect).client.fieldNames.thoughts],
});

/** Where the scan removed something, the rest. */
const bodyAfter = (sent: Buffer, { cut }: NativeScan): Buffer =>
  cut ? Buffer.from(cut.buffer, cut.byteOffset, cut.byteLength) : sent;

/** The provider gets the version that has every method and field, whichever the client uses. */
const nativePath = (call: Call, model: string, query: string): string =>
  `/v1beta/models/${encodeURIComponent(model)}${verbOf(call)}${query}`;

const verbOf = ({ path }: Call): string => path.slice(path.lastIndexOf(':'));

function jsonRequest(
  { catalog, store, threads }: NativeServices,
  call: Call,
  caller: Caller,
  scanned: ScannedBody & NativeTarget & { readonly owner: { readonly id: string; readonly bytes: number } },
): MaybePromise<NativeRequest> {
  const { operation, dialect, body, scan, owner } = scanned;
  const { bounds, tiers, session, ids } = scan;
  const { model, isStream, isBackground, hidesUsage, previousId, bytesFor } = readNative(scanned, caller, catalog());
  const requestFor = (place: Place = {}): NativeRequest => {
    const request: NativeRequest = {
      model,
      inputTokens: () => estimateBytes(dialect, body) + (place.bounds?.moreInput ?? 0),
      bounds: { ...bounds, ...place.bounds },
      tiers,
      isStream,
      isBackground,
      streamType: isStream ? EVENT_STREAM : undefined,
      hidesUsage,
      session,
      accountId: place.accountId,
      feature: place.feature,
      withoutOpaque: () =>
        holdsOpaque(body)
          ? whenReady(threads.run(scanJob, { operation, dialect, bytes: body, omitsOpaque: true }, owner), (rest) => {
              const read = readNative({ operation, body: bodyAfter(body, rest), scan: rest }, caller, catalog());
              return { ...request, ...thoughtsDropped(dialect), bodyFor: read.bytesFor };
            })
          : undefined,
      pathFor: () => canonicalPath(call),
      bodyFor: bytesFor,
    };
    return request;
  };
  if (previousId === undefined && !ids) return requestFor();
  const { userId } = caller.key;
  const accounts = catalog().accounts(caller.group.id);
  return (async () => {
    const found = previousId === undefined ? undefined : await store.find(previousId, userId);
    // A response in our own store can be continued by conversion only, one of another group by the line that made it.
    if (previousId !== undefined && !isInGroup(accounts, found?.accountId))
      throw new LegUnavailable(previousNotFound(previousId), found ? 'elsewhere' : 'request', { model });
    // A continued response fixes the account, so that only its features count.
    const possible = found ? accounts.filter(({ id }) => id === found.accountId) : accounts;
    const { accountId, feature } = ids
      ? // The items may be those of a response in our own store.
        await placeProviderIds(ids, { store, userId, accounts: possible }).catch((error: unknown) =>
          Promise.reject(legError(error)),
        )
      : {};
    return requestFor({
      accountId: found?.accountId ?? accountId,
      feature,
      bounds: storedBounds(found, ids ? 'an object of the account' : bounds.wholeContext),
    });
  })();
}

const isInGroup = (accounts: readonly Account[], accountId: string | undefined): boolean =>
  accounts.some(({ id }) => id === accountId);

/** Where a request must go, and what it reads there. */
interface Place {
  readonly accountId?: string | undefined;
  readonly feature?: Feature | undefined;
  readonly bounds?: Partial<RequestBounds>;
}

/** The provider reads the stored turns too. Their size is that of the response before, which older rows do not have. */
const storedBounds = (previous: StoredResponse | undefined, named: string | undefined): Partial<RequestBounds> => ({
  moreInput: previous?.tokens ?? 0,
  wholeContext: named ?? (previous && previous.tokens === undefined ? 'previous_response_id' : undefined),
});
