/** Stored responses in the memory of this process, and what is known of one without reading its content. */
import { RecentMap } from '../../core/index.ts';
import { idOfItem, outputOf, type StoringContent, textOfContent } from './turn-text.ts';

/** Converted groups store the content; native groups only the account that holds the response. */
export interface StoredResponse {
  readonly id: string;
  readonly userId: string;
  readonly accountId?: string;
  /** Ids of the items in a response that the provider holds. */
  readonly itemIds?: readonly string[];
  /** Input and output tokens together: what a following response reads. */
  readonly tokens?: number | undefined;
  readonly content?: StoringContent;
  /** The key that stores the content. */
  readonly keyId?: string;
  /** The stored response that it continues. */
  readonly previous?: StoredHead | undefined;
}

/** What is known of a stored response without reading its content. */
export interface StoredHead {
  readonly id: string;
  readonly accountId?: string;
  readonly tokens?: number;
  /** We hold its content. */
  readonly isHere: boolean;
  /** Of its conversation as JSON, and the responses in it. */
  readonly bytes: number;
  readonly turns: number;
}

const CACHE_ENTRIES = 2_000;
const CACHE_BYTES = 128 * 2 ** 20;
/** Of an entry without content. */
const HEAD_BYTES = 100;
/** Kept as text, because parsed content takes many times its size. */
export interface CachedResponse extends Omit<StoredResponse, 'content'> {
  readonly text: string | undefined;
  readonly itemIds: readonly string[];
  readonly bytes: number;
  /** The database has it, so that another process may delete it. */
  isWritten: boolean;
  /** Deleted here; later turns still need it. */
  isHidden: boolean;
}

export function cachedOf({ content, ...response }: StoredResponse): CachedResponse {
  const text = content && textOfContent(content);
  const itemIds = response.itemIds ?? (content ? outputOf(content) : []).flatMap((item) => idOfItem(item) ?? []);
  return { ...response, text, itemIds, bytes: text?.length ?? HEAD_BYTES, isWritten: false, isHidden: false };
}

export const chainOf = ({ bytes, previous }: CachedResponse): { readonly bytes: number; readonly turns: number } => ({
  bytes: bytes + (previous?.bytes ?? 0),
  turns: 1 + (previous?.turns ?? 0),
});

export const storedHeadOf = (entry: CachedResponse): StoredHead => ({
  id: entry.id,
  ...(entry.accountId !== undefined && { accountId: entry.accountId }),
  ...(entry.tokens !== undefined && { tokens: entry.tokens }),
  isHere: entry.text !== undefined,
  ...chainOf(entry),
});

/** By user and id: providers may give two users the same id. */
export class ResponseCache {
  readonly #entries = new RecentMap<string, CachedResponse>({
    entries: CACHE_ENTRIES,
    size: CACHE_BYTES,
    sizeOf: ({ bytes }) => bytes,
  });

  set(entry: CachedResponse): void {
    this.#entries.set(keyOf(entry.id, entry.userId), entry);
  }

  own(id: string, userId: string): CachedResponse | undefined {
    return this.#entries.get(keyOf(id, userId));
  }

  delete(id: string, userId: string): void {
    this.#entries.delete(keyOf(id, userId));
  }

  /** Newest first. */
  visibleOf(userId: string): CachedResponse[] {
    const own = this.#entries.values().filter((entry) => entry.userId === userId && !entry.isHidden);
    return own.reverse();
  }
}

const keyOf = (id: string, userId: string): string => JSON.stringify([userId, id]);
