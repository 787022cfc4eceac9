/**
 * Reading of a native request: the model it names, what it may cost, and how its path and body look for each account.
 */
import * as core from '../../core/index.ts';
import { codecOf } from '../../dialects/index.ts';
import { LARGE_BODY_BYTES } from '../../platform/threads/index.ts';
import { type Call, readBody } from '../../platform/web/index.ts';
import { type Dialect, inferenceRow, JSON_LIMITS, type RequestReader, tiersOfHeaders } from '../../rules/index.ts';
import type { BodyFacts } from '../billing/call-facts.ts';
import { estimateBytes, estimateJob, estimateLarge, type LargeFacts } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import { heldByPath } from '../objects/held-object.ts';
import type { NamedObjects } from '../plan.ts';
import { asJson } from '../request-scan.ts';
import { bodyClassOf, jobOwner } from '../services.ts';
import { heldPrevious } from '../stored/held-response.ts';
import { cachedUse, cacheForm, cachePath } from './cache-request.ts';
import { embeddingBytes, embeddingJob } from './embedding.ts';
import { canonicalPath, forwardedQuery, rejectReshapingHeaders } from './headers.ts';
import { asksForUsage } from './hidden-usage.ts';
import { readImageRequest } from './images/request.ts';
import type { NativeReadServices, NativeRequest, NativeSource } from './native-request.ts';
import { findObjects, googleObjects, sharedObject } from './provider-objects.ts';
import { bytesFor } from './request.ts';
import { bodyAfter, type NativeScan, scanJob } from './scan.ts';
import { searchesAskedIn } from './searches.ts';
import { holdsOpaque } from './strip-opaque.ts';

/** Without a promise when the body is complete and nothing has to be looked up. */
export const readNative = (services: NativeReadServices, source: NativeSource): core.MaybePromise<NativeRequest> =>
  READERS[inferenceRow(source.operation).reader](services, source);

type Reader = (services: NativeReadServices, source: NativeSource) => core.MaybePromise<NativeRequest>;

const READERS: Readonly<Record<RequestReader, Reader>> = {
  json: (services, source) => core.whenReady(scanned(services, source), (sent) => jsonRequest(services, source, sent)),

  async 'path-model'(services, source) {
    const { call } = source;
    rejectReshapingHeaders(call);
    const query = forwardedQuery(call.query, true);
    const sent = await scanned(services, source);
    const isStream = verbOf(call) === ':streamGenerateContent';
    return scannedRequest(services, source, sent, {
      model: call.params.model,
      isStream,
      // Without `alt=sse` the stream is one JSON array.
      streamType: isStream && /\balt=sse\b/.test(query) ? core.EVENT_STREAM : undefined,
      ...(await cachedUse(services, source, sent.scan)),
      pathFor: (model) => nativePath(call, model, query),
    });
  },

  async 'path-embedding'(services, source) {
    const { call, caller, operation } = source;
    rejectReshapingHeaders(call);
    const query = forwardedQuery(call.query, true);
    const body = await source.body();
    const owner = jobOwner(call, caller, body.length);
    const scan = await services.threads.run(embeddingJob, { operation, bytes: body }, owner);
    return {
      model: call.params.model,
      inputTokens: () => estimateOnLoop('generate', body, scan.bounds),
      bounds: scan.bounds,
      isStream: false,
      objectsOf: googleObjects(scan.ids),
      pathFor: (model) => nativePath(call, model, query),
      bodyFor: embeddingBytes(body, scan, call.params.model ?? ''),
    };
  },

  image: (services, source) => readImageRequest(services, source),

  async interaction(services, source) {
    const { call, caller } = source;
    rejectReshapingHeaders(call);
    const query = forwardedQuery(call.query, true);
    const bytes = await source.body();
    const names = asJson(() => namesInInteraction(bytes));
    const sent = await scanned(services, source);
    const { scan } = sent;
    const isBackground = scan.background === true;
    if (isBackground && !caller.key.store) throw noBackground(caller);
    const { previousId } = names;
    const previous = previousId === undefined ? undefined : await services.store.find(previousId, caller.key.userId);
    const isStream = scan.stream === true;
    return scannedRequest(services, source, sent, {
      model: scan.model,
      isStream,
      streamType: isStream ? core.EVENT_STREAM : undefined,
      isBackground,
      repliesAs: 'responses',
      bounds: { ...scan.bounds, ...storedBounds(previous, scan.bounds.wholeContext) },
      held: previousId === undefined ? undefined : heldPrevious(previousId, previous),
      objectsOf: names.hasEnvironment ? () => sharedObject('environment') : googleObjects(scan.ids),
      pathFor: () => call.path + query,
    });
  },

  async cache(services, source) {
    rejectReshapingHeaders(source.call);
    const sent = await scanned(services, source);
    return scannedRequest(services, source, sent, await cacheForm(services, source, sent));
  },

  async search(services, source) {
    const request = await READERS.json(services, source);
    const searches = searchesAskedIn(await source.body());
    const { named: _, ...rest } = request;
    return { ...rest, searches, inputTokens: () => 0, bounds: { bodyBytes: 0, maxOutput: 0, maxSearches: searches } };
  },

  async stored(services, { call, caller, operation }) {
    const { userId } = caller.key;
    const { cache_id: cache, container_id: container } = call.params;
    const held = await heldByPath(services, call, userId);
    const hasBody = held?.accountId !== undefined && inferenceRow(operation).body.content !== 'none';
    const body = hasBody ? await readBody(call, services.bodyLimit(bodyClassOf(operation))) : null;
    return {
      model: undefined,
      inputTokens: () => 0,
      bounds: { bodyBytes: 0 },
      isStream: call.query.includes('stream=true'),
      // It may be held by an account of another group of the user, which this key does not reach.
      held: held && { ...held, isHere: false },
      pathFor: () => (cache === undefined ? canonicalPath(call) : cachePath(call)),
      bodyFor: () => body,
      ...(operation === 'caches.delete' && { forget: () => services.objects.forget('cache', cache ?? '', userId) }),
      ...(operation === 'containers.delete' && {
        forget: () => services.objects.forget('container', container ?? '', userId),
      }),
    };
  },

  none(_services, { operation }) {
    throw new TypeError(`${operation} has a native cell but no reader in its row`);
  },
};

/** A body after its scan, without what the scan has removed. */
interface ScannedBody {
  readonly body: Buffer;
  readonly scan: NativeScan;
}

const scanned = (services: NativeReadServices, source: NativeSource): core.MaybePromise<ScannedBody> =>
  core.whenReady(source.body(), (sent) =>
    core.whenReady(scanOf(services, source, sent), (scan) => ({ body: bodyAfter(sent, scan), scan })),
  );

function scanOf(
  { threads, keptPrompts }: NativeReadServices,
  { call, caller, operation, dialect }: NativeSource,
  bytes: Buffer,
  omitsOpaque = false,
): core.MaybePromise<NativeScan> {
  const owner = `${caller.key.id} ${operation} ${dialect}`;
  const begun = omitsOpaque ? undefined : keptPrompts?.beginning(owner, bytes);
  const input = { operation, dialect, bytes, omitsOpaque, trail: begun?.trail };
  const scan = threads.run(scanJob, input, jobOwner(call, caller, bytes.length));
  if (!begun) return scan;
  return core.whenReady(scan, (done) => {
    if (done.trail) keptPrompts?.keep(begun, bytes, done.trail);
    return done;
  });
}

/** A response may end in any turn of the event loop, so that the estimate of a large request must not parse it. */
const estimateOnLoop = (dialect: Dialect, body: Buffer, facts: LargeFacts): number =>
  body.length > LARGE_BODY_BYTES ? estimateLarge(body, facts) : estimateBytes(dialect, body);

/** The provider gets the version that has every method and field, whichever the client uses. */
const nativePath = (call: Call, model: string, query: string): string =>
  `/v1beta/models/${encodeURIComponent(model)}${verbOf(call)}${query}`;

type RequestForm = Pick<NativeRequest, 'model' | 'isStream' | 'streamType' | 'objectsOf' | 'pathFor'>;

function scannedRequest(
  services: NativeReadServices,
  source: NativeSource,
  { body, scan }: ScannedBody,
  form: RequestForm & Partial<NativeRequest>,
): NativeRequest {
  const { dialect } = source;
  const request: NativeRequest = {
    inputTokens: () => estimateOnLoop(dialect, body, scan.bounds),
    bounds: scan.bounds,
    tiers: [...scan.tiers, ...tiersOfHeaders(source.call.request.headers)],
    named: scan.named,
    withoutOpaque: () =>
      holdsOpaque(body)
        ? core.whenReady(scanOf(services, source, body, true), (rest) => {
            const bytes = bodyAfter(body, rest);
            const bodyFor: NativeRequest['bodyFor'] = (...change) => bytesFor(bytes, rest, change);
            const dropped = [...new Set([codecOf(dialect).client.fieldNames.thoughts, ...scan.dropped])];
            return { ...request, dropped, named: rest.named, bodyFor };
          })
        : undefined,
    bodyFor: (...change) => bytesFor(body, scan, change),
    ...(scan.dropped.length > 0 && { dropped: scan.dropped }),
    ...form,
  };
  return request;
}

const verbOf = ({ path }: Call): string => path.slice(path.lastIndexOf(':'));

function jsonRequest(services: NativeReadServices, source: NativeSource, sent: ScannedBody) {
  const { operation, dialect, call, caller } = source;
  const { body, scan } = sent;
  const { bounds, ids } = scan;
  const isBackground = scan.background === true;
  if (isBackground && (operation !== 'responses.create' || !caller.key.store)) throw noBackground(caller);
  const isStream = scan.stream === true;
  const requestFor = (found: Found = {}): NativeRequest => {
    const { moreInput = 0 } = found.bounds ?? {};
    return scannedRequest(services, source, sent, {
      model: scan.model,
      inputTokens: () => estimateOnLoop(dialect, body, bounds) + moreInput,
      heldTokens: async () => {
        const owner = jobOwner(call, caller, body.length);
        return moreInput + (await services.threads.run(estimateJob, { bytes: body, dialect }, owner));
      },
      bounds: found.bounds ? { ...bounds, ...found.bounds } : bounds,
      isStream,
      isBackground,
      streamType: isStream ? core.EVENT_STREAM : undefined,
      hidesUsage: operation === 'chat.create' && isStream && !asksForUsage(scan.usageOption),
      session: scan.session,
      held: found.held,
      objectsOf: found.objects && (() => found.objects),
      pathFor: () => canonicalPath(call),
    });
  };
  const previousId = typeof scan.previousId === 'string' ? scan.previousId : undefined;
  if (previousId === undefined && !ids) return requestFor();
  return (async () => {
    const { store } = services;
    const { userId } = caller.key;
    const previous = previousId === undefined ? undefined : await store.find(previousId, userId);
    return requestFor({
      held: previousId === undefined ? undefined : heldPrevious(previousId, previous),
      objects: ids && (await findObjects(ids, { store, userId, dialect })),
      bounds: storedBounds(previous, ids ? 'an object of the account' : bounds.wholeContext),
    });
  })();
}

/** Members that name what the provider holds. An agent has no price, and no limit. */
function namesInInteraction(body: Buffer): { previousId: string | undefined; hasEnvironment: boolean } {
  const found = core.scanMembers(body, new Set(['agent', 'previous_interaction_id', 'environment']), JSON_LIMITS);
  if (found.has('agent'))
    throw core.failAt('unsupported_parameter', 'agent', 'agents have no price at this gateway; name a model instead.');
  const previousId = core.valueAt(body, found.get('previous_interaction_id'));
  return {
    previousId: typeof previousId === 'string' ? previousId : undefined,
    hasEnvironment: found.has('environment'),
  };
}

const noBackground = ({ key }: Caller) =>
  core.failAt(
    'unsupported_parameter',
    'background',
    key.store
      ? 'only responses and interactions are made in the background; leave the field out.'
      : 'this API key stores no responses, so that the result could not be read; leave the field out.',
  );

interface Found {
  readonly held?: NativeRequest['held'];
  readonly objects?: NamedObjects | undefined;
  readonly bounds?: Partial<BodyFacts>;
}

/** The provider reads the stored turns too. Their size is that of the response before, which older rows do not have. */
export const storedBounds = (
  previous: { readonly tokens?: number | undefined } | undefined,
  named: string | undefined,
): Partial<BodyFacts> => ({
  moreInput: previous?.tokens ?? 0,
  wholeContext: named ?? (previous && previous.tokens === undefined ? 'previous_response_id' : undefined),
});
