/**
 * Expansion of a responses request that refers to stored turns or items: they are inserted from the store, so that a provider without
 * stored state gets the whole conversation.
 */
import { fail } from '../../core/index.ts';
import { NO_STORED_TURNS, referencesIn, type StoredReferences, type StoredTurns } from './references.ts';
import { isRunning, previousNotFound, type ResponseStore, referenceSet } from './store.ts';

export async function loadStoredTurns(
  { previousId, itemIds }: StoredReferences,
  userId: string,
  store: ResponseStore,
): Promise<StoredTurns> {
  if (previousId === undefined && itemIds.length === 0) return NO_STORED_TURNS;
  const earlier = previousId === undefined ? [] : await earlierItems(previousId, userId, store);
  const ids = referenceSet([...referencesIn(earlier), ...itemIds]);
  return { earlier, items: ids.size === 0 ? [] : [...(await store.findItems(ids, userId))] };
}

async function earlierItems(id: string, userId: string, store: ResponseStore): Promise<readonly unknown[]> {
  const content = (await store.find(id, userId))?.content;
  if (!content) throw previousNotFound(id);
  if (isRunning(content))
    throw fail('invalid_request', 'previous_response_id: the response is still running; wait until it has ended.', {
      param: 'previous_response_id',
    });
  return [...content.input, ...(Array.isArray(content.response.output) ? content.response.output : [])];
}
