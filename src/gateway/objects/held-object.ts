/** What the path of a request names, and where it is held. */
import type { Call } from '../../platform/web/index.ts';
import type { HeldResponse } from '../stored/held-response.ts';
import { type ResponseStore, responseNotFound } from '../stored/store.ts';
import { cacheNotFound } from './cached-content.ts';
import type { ObjectStore } from './object-store.ts';

export interface HoldingServices {
  readonly store: ResponseStore;
  readonly objects: ObjectStore;
}

/** Undefined for a path that names nothing. Unknown objects and those of other users are held nowhere. */
export async function heldByPath(
  { store, objects }: HoldingServices,
  { params: { response_id: response, cache_id: cache } }: Pick<Call, 'params'>,
  userId: string,
): Promise<HeldResponse | undefined> {
  if (cache !== undefined) {
    const found = await objects.find('cache', cache, userId);
    return { accountId: found?.account_id, isHere: false, notFound: cacheNotFound(cache) };
  }
  if (response === undefined) return undefined;
  const found = await store.find(response, userId);
  return { accountId: found?.accountId, isHere: found?.isHere === true, notFound: responseNotFound(response) };
}
