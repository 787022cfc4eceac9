/** References of a responses request to stored turns and items, and the request with what they refer to. Pure: a thread can do it. */
import { fail } from '../../core/index.ts';

type Json = Readonly<Record<string, unknown>>;

export interface StoredReferences {
  readonly previousId: string | undefined;
  /** Items by id. */
  readonly itemIds: readonly string[];
}

/** What the references lead to. */
export interface StoredTurns {
  /** Input and output of the response before, and of those before it. */
  readonly earlier: readonly unknown[];
  readonly items: readonly (readonly [id: string, item: unknown])[];
}

export interface Expanded {
  readonly body: Json;
  /** All of the input, earlier turns included. */
  readonly input: readonly unknown[];
  readonly previousId: string | undefined;
}

export const storedReferencesIn = (body: Json): StoredReferences => ({
  previousId: typeof body.previous_response_id === 'string' ? body.previous_response_id : undefined,
  itemIds: referencesIn(Array.isArray(body.input) ? body.input : []),
});

/** The request without references, so that a provider without stored state gets the whole conversation. */
export function withStoredTurns(body: Json, { earlier, items }: StoredTurns): Expanded {
  const { previousId, itemIds } = storedReferencesIn(body);
  const found = new Map(items);
  const input = [...earlier, ...inputItems(body.input)].map((item) => {
    const id = referenceOf(item);
    if (id === undefined) return item;
    if (!found.has(id)) throw itemNotFound(id);
    return found.get(id);
  });
  const { previous_response_id: _, ...rest } = body;
  return { body: previousId === undefined && itemIds.length === 0 ? body : { ...rest, input }, input, previousId };
}

export const NO_STORED_TURNS: StoredTurns = { earlier: [], items: [] };

/** The input as items; a string is one user message. */
export const inputItems = (input: unknown): readonly unknown[] => {
  if (Array.isArray(input)) return input;
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : [];
};

export const referencesIn = (items: readonly unknown[]): string[] => items.flatMap((item) => referenceOf(item) ?? []);

function referenceOf(item: unknown): string | undefined {
  const { type, id } = (item ?? {}) as { type?: unknown; id?: unknown };
  return type === 'item_reference' && typeof id === 'string' ? id : undefined;
}

export const itemNotFound = (id: string) =>
  fail('invalid_request', `Item with id '${id.slice(0, 100)}' not found.`, { param: 'input' });
