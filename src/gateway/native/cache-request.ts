/** Requests about cached contents of generate-content: those that make or extend one, and those that use one. */
import type { Clock } from '../../core/index.ts';
import { CACHED_CONTENTS } from '../../rules/index.ts';
import { askedLifetime, cacheNotFound, keepLonger, keepNew } from '../objects/cached-content.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { forwardedQuery } from './headers.ts';
import type { NativeRequest, NativeSource } from './native-request.ts';
import { googleObjects } from './provider-objects.ts';
import { bytesFor } from './request.ts';
import type { NativeScan } from './scan.ts';

type Form = Pick<NativeRequest, 'model' | 'isStream' | 'objectsOf' | 'pathFor'> & Partial<NativeRequest>;
interface CacheServices {
  readonly objects: ObjectStore;
  readonly clock: Clock;
}

const HOUR_MS = 3_600_000;
/** The clock of the provider may be ahead. */
const CLOCK_MS = 60_000;

export async function cacheForm(
  { objects, clock }: CacheServices,
  { call, caller: { key } }: Pick<NativeSource, 'call' | 'caller'>,
  { body, scan }: { readonly body: Buffer; readonly scan: NativeScan },
): Promise<Form> {
  const askedMs = askedLifetime(body, clock.now());
  const path = cachePath(call);
  const form = { isStream: false, objectsOf: googleObjects(scan.ids), pathFor: () => path };
  const { cache_id: id } = call.params;
  if (id !== undefined) {
    const known = await objects.find('cache', id, key.userId);
    if (!known) throw cacheNotFound(id);
    const addedMs = Math.max(0, clock.now() + (askedMs ?? 0) + CLOCK_MS - known.expires_at.getTime());
    return {
      ...form,
      model: known.model,
      held: { accountId: known.account_id, isHere: false, notFound: cacheNotFound(id) },
      keeps: keepLonger(known, addedMs),
      bounds: { bodyBytes: 0, moreInput: Number(known.tokens), maxOutput: 0, keptHours: addedMs / HOUR_MS },
      bodyFor: () => body,
    };
  }
  await objects.checkRoom('cache', key.userId, CACHED_CONTENTS.perUser);
  const model = bareName(scan.model);
  const lifetimeMs = askedMs ?? CACHED_CONTENTS.defaultSeconds * 1_000;
  const owner = { user_id: key.userId, key_id: key.id, model: String(model) };
  const { bodyBytes, mediaTokens = 0 } = scan.bounds;
  return {
    ...form,
    model,
    keeps: keepNew(owner, bodyBytes + mediaTokens, lifetimeMs),
    bounds: { ...scan.bounds, maxOutput: 0, keptHours: lifetimeMs / HOUR_MS },
    bodyFor: (upstream, _, renames) =>
      bytesFor(body, scan, [upstream === model ? String(scan.model) : `models/${upstream}`, false, renames]),
    withoutOpaque: () => undefined,
  };
}

/** The provider gets the version that has every method, whichever the client uses. */
export const cachePath = ({ path, query }: Pick<NativeSource['call'], 'path' | 'query'>): string =>
  path.replace(/^\/v1\//, '/v1beta/') + forwardedQuery(query, true);

const bareName = (name: unknown): unknown => (typeof name === 'string' ? name.replace(/^models\//, '') : name);

/**
 * A request that names a cached content of its user goes to the account that holds it, and reads as many tokens more.
 */
export async function cachedUse(
  { objects }: Pick<CacheServices, 'objects'>,
  { caller }: Pick<NativeSource, 'caller'>,
  { ids, bounds }: NativeScan,
): Promise<Pick<NativeRequest, 'held' | 'objectsOf' | 'bounds'>> {
  const id = ids?.cache;
  if (id === undefined) return { objectsOf: googleObjects(ids), bounds };
  const found = await objects.find('cache', id, caller.key.userId);
  const notFound = cacheNotFound(id, ids?.objectsIn);
  const tuned = googleObjects(undefined);
  // Of another user, or of none.
  if (!found) return { objectsOf: (model) => tuned(model) ?? { refused: notFound, isFinal: true }, bounds };
  const { wholeContext, moreInput = 0 } = bounds;
  return {
    held: { accountId: found.account_id, isHere: false, notFound },
    objectsOf: tuned,
    bounds: {
      ...bounds,
      moreInput: moreInput + Number(found.tokens),
      wholeContext: wholeContext?.startsWith('cached') ? undefined : wholeContext,
    },
  };
}
