/**
 * Loads the stored turns and items that a responses request refers to,
 * within the memory for bodies, for providers without state.
 */
import { failAt, workOf } from '../../core/index.ts';
import { type BodyReservation, SMALL_BODY_BYTES } from '../../platform/web/index.ts';
import { SEALED_COPIES, STORED } from '../../rules/index.ts';
import { NO_STORED_TURNS, type StoredReferences } from './references.ts';
import type { StoredHead } from './response-cache.ts';
import { cannotContinue, previousNotFound, type ResponseStore, referenceSet } from './store.ts';

export interface StoredLoad {
  readonly userId: string;
  readonly store: ResponseStore;
  readonly reserve: () => BodyReservation;
}

/** `previous`: the response before, where the caller has found it already. */
export async function loadStoredTurns(references: StoredReferences, load: StoredLoad, previous?: StoredHead) {
  const { previousId, itemIds } = references;
  const { userId, store, reserve } = load;
  if (previousId === undefined && itemIds.length === 0) return { turns: NO_STORED_TURNS, bytes: 0, work: 0 };
  const head = previousId === undefined ? undefined : (previous ?? (await store.find(previousId, userId)));
  if (previousId !== undefined && !head?.isHere) throw previousNotFound(previousId);
  if (head && (head.bytes > STORED.conversationBytes || head.turns >= STORED.turns))
    throw failAt(
      'invalid_request',
      'previous_response_id',
      `the conversation has reached ${STORED.conversationBytes / 2 ** 20} MiB or ${STORED.turns} turns, ` +
        'the limit of stored ones; start a new one, or compact it.',
    );
  const held = itemIds.length === 0 ? [] : await store.findHoldingItems(referenceSet(itemIds), userId);
  const bytes = held.reduce((sum, one) => sum + one.bytes, head?.bytes ?? 0);
  // Before anything is read.
  if (bytes > SMALL_BODY_BYTES) reserve().add(bytes * SEALED_COPIES);
  const earlier = head ? await store.conversation(head, userId) : NO_STORED_TURNS.earlier;
  if (!earlier) throw cannotContinue(previousId ?? '');
  const holders = await store.texts(
    held.map(({ id }) => id),
    userId,
  );
  return { turns: { earlier, holders }, bytes, work: workOf(earlier) + workOf(holders) };
}
