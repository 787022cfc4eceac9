/**
 * Responses that callers refer to later: `previous_response_id`, single items, GET and DELETE. Written behind in batches, so that
 * no call waits for the database, and readable at once on the replica that wrote them. Per user, sealed, for a limited time.
 */
import { sql } from 'kysely';
import { type Clock, errorFields, fail, type Log, type Sealer } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';

/** What is kept: on converted groups everything, on native ones only where it is. */
export interface StoredResponse {
  readonly id: string;
  readonly userId: string;
  readonly accountId?: string;
  readonly content?: StoredContent;
}
export interface StoredContent {
  /** Input items as the client sent them, those of earlier turns included. */
  readonly input: readonly unknown[];
  /** The response as the client got it. */
  readonly response: Readonly<Record<string, unknown>> & { readonly output?: unknown };
}

export interface StoreOptions {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 keeps nothing beyond the memory of this replica. */
  readonly days: number;
}

const DAY_MS = 86_400_000;
const FLUSH_MS = 100;
const MAX_BATCH = 200;
/** Larger conversations are not kept; a client that needs them sends its input again. */
const MAX_BYTES = 8 * 2 ** 20;
const MEMORY_ENTRIES = 2_000;
const MEMORY_BYTES = 128 * 2 ** 20;

interface Row {
  readonly response: StoredResponse;
  readonly bytes: number;
}

const placeOf = (id: string) => `stored_responses.sealed:${id}` as const;

export class ResponseStore {
  readonly #options: StoreOptions;
  readonly #memory = new Map<string, Row>();
  #memoryBytes = 0;
  #queue: StoredResponse[] = [];
  #flushing: Promise<void> = Promise.resolve();
  #cancel: (() => void) | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  save(response: StoredResponse): void {
    const bytes = response.content ? JSON.stringify(response.content).length : 100;
    if (bytes > MAX_BYTES) return;
    this.#remember({ response, bytes });
    if (this.#options.days === 0) return;
    this.#queue.push(response);
    this.#cancel ??= this.#options.clock.after(FLUSH_MS, () => void this.flush());
  }

  /** Unknown, expired and other users' responses are the same nothing. */
  async find(id: string, userId: string): Promise<StoredResponse | undefined> {
    const known = this.#memory.get(id)?.response ?? (await this.#read(id));
    return known?.userId === userId ? known : undefined;
  }

  /** The item of that id in any response of the user. */
  async findItem(itemId: string, userId: string): Promise<unknown> {
    const inMemory = [...this.#memory.values()].reverse().map(({ response }) => response);
    const own = inMemory.find(
      (response) => response.userId === userId && itemsOf(response).some((item) => idOf(item) === itemId),
    );
    const response = own ?? (await this.#readByItem(itemId, userId));
    return response && itemsOf(response).find((item) => idOf(item) === itemId);
  }

  async remove(id: string, userId: string): Promise<boolean> {
    const known = await this.find(id, userId);
    if (!known) return false;
    this.#forget(id);
    this.#queue = this.#queue.filter((response) => response.id !== id);
    await this.flush();
    await this.#options.db.deleteFrom('stored_responses').where('id', '=', id).where('user_id', '=', userId).execute();
    return true;
  }

  /** For a response that its provider has deleted: where ours is left behind, it leads nowhere until it expires. */
  async drop(id: string, userId: string): Promise<void> {
    await this.remove(id, userId).catch((error: unknown) =>
      this.#options.log.warn('stored_response.delete_failed', errorFields(error)),
    );
  }

  /** Writes what waits. A database that is down loses nothing of a call; what cannot be written is given up after a while. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  async #write(): Promise<void> {
    const { db, sealer, clock, log, days } = this.#options;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MAX_BATCH);
      const expires = new Date(clock.now() + days * DAY_MS);
      const rows = batch.map((response) => ({
        id: response.id,
        user_id: response.userId,
        account_id: response.accountId ?? null,
        item_ids: itemsOf(response).flatMap((item) => idOf(item) ?? []),
        sealed: response.content ? sealer.seal(JSON.stringify(response.content), placeOf(response.id)) : null,
        expires_at: expires,
      }));
      try {
        await db
          .insertInto('stored_responses')
          .values(rows)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      } catch (error) {
        log.warn('stored_response.save_failed', { lost: batch.length, ...errorFields(error) });
      }
    }
  }

  async #read(id: string): Promise<StoredResponse | undefined> {
    if (this.#options.days === 0) return undefined;
    const row = await this.#options.db
      .selectFrom('stored_responses')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    return this.#open(row);
  }

  async #readByItem(itemId: string, userId: string): Promise<StoredResponse | undefined> {
    if (this.#options.days === 0) return undefined;
    const row = await this.#options.db
      .selectFrom('stored_responses')
      .selectAll()
      .where(sql<boolean>`item_ids @> array[${itemId}]::text[]`)
      .where('user_id', '=', userId)
      .where('sealed', 'is not', null)
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    return this.#open(row);
  }

  #open(
    row:
      | { id: string; user_id: string; account_id: string | null; sealed: string | null; expires_at: Date }
      | undefined,
  ): StoredResponse | undefined {
    const { clock, sealer } = this.#options;
    if (!row || row.expires_at.getTime() <= clock.now()) return undefined;
    const content =
      row.sealed === null ? undefined : (JSON.parse(sealer.open(row.sealed, placeOf(row.id))) as StoredContent);
    return {
      id: row.id,
      userId: row.user_id,
      ...(row.account_id !== null && { accountId: row.account_id }),
      ...(content && { content }),
    };
  }

  #remember(row: Row): void {
    this.#forget(row.response.id);
    this.#memory.set(row.response.id, row);
    this.#memoryBytes += row.bytes;
    for (const id of this.#memory.keys()) {
      if (this.#memory.size <= MEMORY_ENTRIES && this.#memoryBytes <= MEMORY_BYTES) return;
      this.#forget(id);
    }
  }

  #forget(id: string): void {
    this.#memoryBytes -= this.#memory.get(id)?.bytes ?? 0;
    this.#memory.delete(id);
  }
}

const itemsOf = ({ content }: StoredResponse): readonly unknown[] =>
  Array.isArray(content?.response.output) ? content.response.output : [];
const idOf = (item: unknown): string | undefined => {
  const { id } = (item ?? {}) as { id?: unknown };
  return typeof id === 'string' ? id : undefined;
};

export const previousNotFound = (id: string) =>
  fail('previous_response_not_found', `Previous response with id '${id.slice(0, 100)}' not found.`, {
    param: 'previous_response_id',
  });

export const responseNotFound = (id: string) =>
  fail('response_not_found', `Response with id '${id.slice(0, 100)}' not found.`);
