/** Objects of a provider account that a request names, and who may use them (ADR 12). */
import type { Model } from '../../catalog/index.ts';
import { failAt, isGlob } from '../../core/index.ts';
import type { NamedObjects } from '../plan.ts';
import { itemNotFound } from '../stored/references.ts';
import { type ResponseStore, referenceSet } from '../stored/store.ts';
import { isTunedModel } from './google-objects.ts';
import type { ProviderIds } from './provider-ids.ts';

/** Items and containers of the user's own stored responses are on the account that holds them. Everything else is an object. */
export async function findObjects(found: ProviderIds, store: ResponseStore, userId: string): Promise<NamedObjects> {
  const { references, objectsIn } = found;
  const ids = referenceSet(references);
  const holders = await store.findHolders(ids, userId);
  if (objectsIn !== undefined) return { ...sharedObject(objectsIn), isFinal: false };
  const unknown = [...ids].find((id) => !holders.has(id));
  const accountId = unknown === undefined ? [...holders.values()][0] : undefined;
  // The items may be those of a response in our own store, which a conversion puts in.
  return { accountId, refused: itemNotFound(unknown ?? ''), isFinal: false };
}

/** An object that no call through the gateway creates. */
export const sharedObject = (field: string): NamedObjects => ({
  refused: failAt(
    'unsupported_parameter',
    field,
    'files, caches, stores, conversations and tuned models of the provider cannot be named here, because other users share its account; send the content itself.',
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
