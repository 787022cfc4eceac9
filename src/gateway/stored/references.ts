/**
 * References of a responses request to stored turns and items,
 * and the request with what they refer to. Pure: a thread can do it.
 */
import { fail, failAt, type KeptTexts, openTexts } from '../../core/index.ts';
import { REQUEST_LIMITS } from '../../rules/index.ts';
import { contentOfText, idOfItem, isRunning, outputOf, type StoredContent } from './turn-text.ts';

type Json = Readonly<Record<string, unknown>>;

export interface StoredReferences {
  readonly previousId: string | undefined;
  /** Items by id. */
  readonly itemIds: readonly string[];
}

/** What the references lead to, as JSON texts of contents: opening and parsing them may take long. */
export interface StoredTurns {
  /** The response before and those before it, the earliest first. */
  readonly earlier: KeptTexts;
  /** Responses that hold the items, the newest first. */
  readonly holders: KeptTexts;
}

export const storedReferencesIn = (body: Json): StoredReferences => ({
  previousId: typeof body.previous_response_id === 'string' ? body.previous_response_id : undefined,
  itemIds: (Array.isArray(body.input) ? body.input : []).flatMap((item) => referenceOf(item) ?? []),
});

/**
 * The request without references, so that a provider without stored state gets the whole conversation.
 * `input`: all of it, earlier turns included. `added`: what the request itself adds.
 */
export function withStoredTurns(body: Json, { earlier, holders }: StoredTurns) {
  const { previousId, itemIds } = storedReferencesIn(body);
  const found = itemsIn(openTexts(holders), new Set(itemIds));
  const added = inputItems(body.input).map((item) => {
    const id = referenceOf(item);
    if (id === undefined) return item;
    if (!found.has(id)) throw itemNotFound(id);
    return found.get(id);
  });
  if (previousId === undefined && itemIds.length === 0) return { body, input: added, added, previousId };
  const turns = openTexts(earlier).map(contentOfText);
  const last = turns.at(-1);
  if (last && isRunning(last))
    throw failAt('invalid_request', 'previous_response_id', 'the response is still running; wait until it has ended.');
  const input = [...turns.flatMap(itemsOfTurn), ...added];
  if (input.length > REQUEST_LIMITS.turns)
    throw failAt(
      'invalid_request',
      'input',
      `with earlier turns the list has more than ${REQUEST_LIMITS.turns} entries; ` +
        'start a new conversation, or compact this one.',
    );
  const { previous_response_id: _, ...rest } = body;
  const expanded: Json = { ...rest, input };
  return { body: expanded, input, added, previousId };
}

const NO_TEXTS: KeptTexts = { keys: new Map(), texts: [], locations: [] };
export const NO_STORED_TURNS: StoredTurns = { earlier: NO_TEXTS, holders: NO_TEXTS };

export const itemsOfTurn = (content: StoredContent): unknown[] => [...content.input, ...outputOf(content)];

function itemsIn(holders: readonly string[], wanted: ReadonlySet<string>): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  for (const text of holders)
    for (const item of outputOf(contentOfText(text))) {
      const id = idOfItem(item);
      if (id !== undefined && wanted.has(id) && !found.has(id)) found.set(id, item);
    }
  return found;
}

/** The input as items; a string is one user message. */
export const inputItems = (input: unknown): readonly unknown[] => {
  if (Array.isArray(input)) return input;
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : [];
};

function referenceOf(item: unknown): string | undefined {
  const { type, id } = (item ?? {}) as { type?: unknown; id?: unknown };
  return type === 'item_reference' && typeof id === 'string' ? id : undefined;
}

export const itemNotFound = (id: string) =>
  fail('invalid_request', `Item with id '${id.slice(0, 100)}' not found.`, { param: 'input' });
