/** What the path of a request names, and where it is held. */
import { fail } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { CONTAINERS } from '../../rules/index.ts';
import { fileNotFound } from '../files/file-store.ts';
import type { HeldResponse } from '../stored/held-response.ts';
import { MADE_FILE } from '../stored/owned-ids.ts';
import { type ResponseStore, responseNotFound } from '../stored/store.ts';
import { cacheNotFound } from './cached-content.ts';
import type { ObjectStore } from './object-store.ts';

type NamingCall = Pick<Call, 'params' | 'errorFormat'>;

export interface HoldingServices {
  readonly store: ResponseStore;
  readonly objects: ObjectStore;
}

/** Undefined for a path that names nothing. Unknown objects and those of other users are held nowhere. */
export async function heldByPath(
  { store, objects }: HoldingServices,
  {
    params: { response_id: response, cache_id: cache, container_id: container, file_id: file },
    errorFormat,
  }: NamingCall,
  userId: string,
): Promise<HeldResponse | undefined> {
  if (cache !== undefined) {
    const found = await objects.find('cache', cache, userId);
    return { accountId: found?.account_id, isHere: false, notFound: cacheNotFound(cache) };
  }
  if (container !== undefined) {
    // The provider reads the rest of the path too.
    const isNamed = CONTAINERS.id.test(container) && (file === undefined || /^[\w-]{1,200}$/.test(file));
    const accountId = isNamed ? await store.findHolder(container, userId) : undefined;
    return { accountId, isHere: false, notFound: containerNotFound(container) };
  }
  if (file !== undefined) {
    const isMade = errorFormat === 'messages' && MADE_FILE.test(file);
    const accountId = isMade ? await store.findHolder(file, userId) : undefined;
    // All others are our own.
    return { accountId, isHere: !isMade, notFound: fileNotFound(file) };
  }
  if (response === undefined) return undefined;
  const found = await store.find(response, userId);
  return { accountId: found?.accountId, isHere: found?.isHere === true, notFound: responseNotFound(response) };
}

const containerNotFound = (id: string) =>
  fail('container_not_found', `Container with id '${id.slice(0, 100)}' not found.`);
