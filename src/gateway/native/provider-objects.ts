/** Which accounts may serve a request that names objects of a provider account (ADR 12). */
import type { Account } from '../../catalog/index.ts';
import { fail } from '../../core/index.ts';
import type { Feature } from '../../rules/index.ts';
import { itemNotFound } from '../stored/references.ts';
import { type ResponseStore, referenceSet } from '../stored/store.ts';
import type { ProviderIds } from './provider-ids.ts';

interface Owner {
  readonly store: ResponseStore;
  readonly userId: string;
  readonly accounts: readonly Account[];
}

/**
 * Items and containers of the user's own stored responses are on the account that holds them. Everything else needs an account with the
 * feature `objects`. Throws when the group has none.
 */
export async function placeProviderIds(
  { references, objectsIn }: ProviderIds,
  { store, userId, accounts }: Owner,
): Promise<{ accountId?: string | undefined; feature?: Feature }> {
  const ids = referenceSet(references);
  const holders = await store.findHolders(ids, userId);
  const unknown = [...ids].find((id) => !holders.has(id));
  if (unknown === undefined && objectsIn === undefined) return { accountId: [...holders.values()][0] };
  if (accounts.some(({ features }) => features.has('objects'))) return { feature: 'objects' };
  if (objectsIn === undefined) throw itemNotFound(unknown ?? '');
  throw fail(
    'unsupported_parameter',
    `${objectsIn}: files, caches, stores, conversations and tuned models of the provider cannot be named here, because other users share its account; send the content itself.`,
    { param: objectsIn },
  );
}
