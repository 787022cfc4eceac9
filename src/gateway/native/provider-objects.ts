/** Objects of a provider account that a request names, and who may use them (ADR 12). */
import type { Model } from '../../catalog/index.ts';
import { fail, failAt, isGlob } from '../../core/index.ts';
import type { Dialect } from '../../rules/index.ts';
import type { NamedObjects } from '../plan.ts';
import { itemNotFound } from '../stored/references.ts';
import { type ResponseStore, referenceSet } from '../stored/store.ts';
import { isTunedModel } from './google-objects.ts';
import type { ProviderIds } from './provider-ids.ts';

/** Items and containers of the user's own replies are on the account that holds them. Everything else is an object. */
export async function findObjects(
  { references, objectsIn }: ProviderIds,
  { store, userId, dialect }: { readonly store: ResponseStore; readonly userId: string; readonly dialect: Dialect },
): Promise<NamedObjects | undefined> {
  const ids = referenceSet(references);
  const holders = await store.findHolders(ids, userId);
  if (objectsIn !== undefined) return { ...sharedObject(objectsIn), isFinal: false };
  const unknown = [...ids].find((id) => !holders.has(id));
  const accountId = unknown === undefined ? [...holders.values()][0] : undefined;
  if (dialect === 'messages') {
    // Another replica may have made it, which nothing tells where replies are not stored.
    if (unknown !== undefined && !store.isShared) return undefined;
    return { accountId, refused: containerNotFound(unknown ?? ''), isFinal: true };
  }
  // The items may be those of a response in our own store, which a conversion puts in.
  return { accountId, refused: itemNotFound(unknown ?? ''), isFinal: false };
}

const containerNotFound = (id: string) =>
  fail('invalid_request', `Container with id '${id.slice(0, 100)}' not found.`, { param: 'container' });

/** An object that no call through the gateway creates. */
export const sharedObject = (field: string): NamedObjects => ({
  refused: failAt(
    'unsupported_parameter',
    field,
    'files, caches, stores, conversations and tuned models of the provider cannot be named here, ' +
      'because other users share its account; send the content itself.',
  ),
  isFinal: true,
});

/** A tuned model that the operator lists is offered to all. */
export const googleObjects =
  (ids: ProviderIds | undefined) =>
  ({ line, upstream }: Model): NamedObjects | undefined => {
    if (isGlob(line.pattern) && line.upstream === null && isTunedModel(upstream)) return sharedObject('model');
    return ids?.objectsIn === undefined ? undefined : sharedObject(ids.objectsIn);
  };
