/**
 * Expansion of a responses request that refers to stored turns or items: they are inserted from the store, so that a provider without
 * stored state gets the whole conversation.
 */
import { fail } from '../../core/index.ts';
import { isRunning, itemNotFound, previousNotFound, type ResponseStore, referenceSet } from './store.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Expanded {
  readonly body: Json;
  /** All of the input, earlier turns included. */
  readonly input: readonly unknown[];
  readonly previousId: string | undefined;
}

export async function expandHistory(body: Json, userId: string, store: ResponseStore): Promise<Expanded> {
  const previousId = typeof body.previous_response_id === 'string' ? body.previous_response_id : undefined;
  const earlier = previousId === undefined ? [] : await earlierItems(previousId, userId, store);
  const input = await resolveReferences([...earlier, ...inputItems(body.input)], userId, store);
  const { previous_response_id: _, ...rest } = body;
  return { body: previousId === undefined && !hasReference(body.input) ? body : { ...rest, input }, input, previousId };
}

/** The input as items; a string is one user message. */
export const inputItems = (input: unknown): readonly unknown[] => {
  if (Array.isArray(input)) return input;
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : [];
};

async function earlierItems(id: string, userId: string, store: ResponseStore): Promise<readonly unknown[]> {
  const content = (await store.find(id, userId))?.content;
  if (!content) throw previousNotFound(id);
  if (isRunning(content))
    throw fail('invalid_request', 'previous_response_id: the response is still running; wait until it has ended.', {
      param: 'previous_response_id',
    });
  return [...content.input, ...(Array.isArray(content.response.output) ? content.response.output : [])];
}

async function resolveReferences(
  items: readonly unknown[],
  userId: string,
  store: ResponseStore,
): Promise<readonly unknown[]> {
  const ids = referenceSet(items.flatMap((item) => referenceOf(item) ?? []));
  if (ids.size === 0) return items;
  const found = await store.findItems(ids, userId);
  return items.map((item) => {
    const id = referenceOf(item);
    if (id === undefined) return item;
    if (!found.has(id)) throw itemNotFound(id);
    return found.get(id);
  });
}

const hasReference = (input: unknown): boolean =>
  Array.isArray(input) && input.some((item) => referenceOf(item) !== undefined);

function referenceOf(item: unknown): string | undefined {
  const { type, id } = (item ?? {}) as { type?: unknown; id?: unknown };
  return type === 'item_reference' && typeof id === 'string' ? id : undefined;
}
