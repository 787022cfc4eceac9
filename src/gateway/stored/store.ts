/**
 * Responses that callers may refer to later, by `previous_response_id`, by item, by GET and DELETE. Written to the database in batches
 * behind the request, so that no request waits, and readable at once on the replica that wrote them. Per user, sealed, with an expiry.
 */
import { sql } from 'kysely';
import { errorFields, fail, parseJson } from '../../core/index.ts';
import type { StoreServices, Tx } from '../../platform/db/index.ts';

/** Converted groups store the content; native groups only the account that holds the response. */
export interface StoredResponse {
  readonly id: string;
  readonly userId: string;
  readonly accountId?: string;
  /** Ids of the items in a response that the provider holds. */
  readonly itemIds?: readonly string[];
  /** Input and output tokens together: what a following response reads. */
  readonly tokens?: number | undefined;
  readonly content?: StoredContent;
}
export interface StoredContent {
  /** Input items as the client sent them, with those of earlier turns. */
  readonly input: readonly unknown[];
  /** The response as the client received it. */
  readonly response: Readonly<Record<string, unknown>> & { readonly output?: unknown };
  /** Number of the last event of a background response, so that a reader who has earlier ones gets it. */
  readonly lastEvent?: number;
}

/** The background response has no result yet. */
export const isRunning = ({ response }: StoredContent): boolean =>
  response.status === 'queued' || response.status === 'in_progress';

export interface StoreOptions extends StoreServices {
  /** 0 keeps responses only in the memory of this replica. */
  readonly days: number;
}

const DAY_MS = 86_400_000;
const FLUSH_MS = 100;
const MAX_BATCH = 200;
/** Larger conversations are not stored; the client has to send its input again. */
const MAX_BYTES = 8 * 2 ** 20;
const CACHE_ENTRIES = 2_000;
const CACHE_BYTES = 128 * 2 ** 20;
/** Rows that a query for items reads; each id is in few of them. */
const MAX_ITEM_ROWS = 2_000;
/** Content that the references of one request may load. */
const MAX_LOADED_BYTES = 64 * 2 ** 20;

interface CachedResponse {
  readonly response: StoredResponse;
  readonly bytes: number;
  /** The database has it, so that another process may delete it. */
  isWritten: boolean;
}

const sealLocation = (id: string) => `stored_responses.sealed:${id}` as const;

export class ResponseStore {
  readonly #options: StoreOptions;
  readonly #cache = new Map<string, CachedResponse>();
  #cacheBytes = 0;
  #queue: StoredResponse[] = [];
  #flushing: Promise<void> = Promise.resolve();
  #cancel: (() => void) | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  save(response: StoredResponse): void {
    const bytes = response.content ? JSON.stringify(response.content).length : 100;
    if (bytes > MAX_BYTES) return;
    this.#putInCache({ response, bytes, isWritten: false });
    if (this.#options.days === 0) return;
    this.#queue.push(response);
    this.#cancel ??= this.#options.clock.after(FLUSH_MS, () => void this.flush());
  }

  /** False when other processes cannot read what this one stores. */
  get isShared(): boolean {
    return this.#options.days > 0;
  }

  /** Stores a response in the caller's transaction. It is not cached, because it will be replaced. */
  async insert(tx: Tx, response: StoredResponse): Promise<void> {
    await tx.insertInto('stored_responses').values(this.#rowOf(response)).execute();
  }

  /** Without effect on a response that was deleted meanwhile. */
  async replace(tx: Tx, response: StoredResponse): Promise<void> {
    const { id, user_id, expires_at: _, ...changed } = this.#rowOf(response);
    await tx.updateTable('stored_responses').set(changed).where('id', '=', id).where('user_id', '=', user_id).execute();
  }

  /** Undefined alike for unknown responses, expired ones and those of other users. */
  async find(id: string, userId: string): Promise<StoredResponse | undefined> {
    const cached = this.#cache.get(id)?.response;
    // The response of another user takes the same query as an unknown one, so that time does not show that it exists.
    if (cached?.userId !== userId) return this.#read(id, userId);
    const [kept] = await this.#kept([cached], userId);
    return kept;
  }

  /** Finds items by id in the responses of the user, the newest first. Unknown ids are missing in the result. */
  async findItems(itemIds: ReadonlySet<string>, userId: string): Promise<Map<string, unknown>> {
    const found = new Map<string, unknown>();
    const cached = this.#cachedOf(userId).filter((one) => itemsOf(one).some((item) => itemIds.has(idOf(item) ?? '')));
    for (const response of await this.#kept(cached, userId)) collectItems(found, response, itemIds);
    const missing = [...itemIds].filter((id) => !found.has(id));
    for (const response of await this.#readContents(missing, userId)) collectItems(found, response, itemIds);
    return found;
  }

  /** The accounts that hold the items, by item id. Items of other users and unknown ones are missing in the result. */
  async findHolders(itemIds: ReadonlySet<string>, userId: string): Promise<Map<string, string>> {
    const holders = new Map<string, string>();
    const collect = (ids: readonly string[], accountId: string | null | undefined): void => {
      for (const id of ids) if (accountId && itemIds.has(id) && !holders.has(id)) holders.set(id, accountId);
    };
    for (const { itemIds: ids = [], accountId } of this.#cachedOf(userId)) collect(ids, accountId);
    const missing = [...itemIds].filter((id) => !holders.has(id));
    for (const row of await this.#rowsWith(missing, userId)) collect(row.item_ids, row.account_id);
    return holders;
  }

  /**
   * Those of the cached responses that no other process has deleted; all while the database cannot say so. What a provider holds, it
   * knows itself.
   */
  async #kept(cached: readonly StoredResponse[], userId: string): Promise<readonly StoredResponse[]> {
    const isDoubtful = ({ id, content }: StoredResponse): boolean =>
      !!content && this.#cache.get(id)?.isWritten === true;
    const ids = cached.filter(isDoubtful).map(({ id }) => id);
    if (ids.length === 0) return cached;
    const rows = await this.#options.db
      .selectFrom('stored_responses')
      .select('id')
      .where('id', 'in', ids)
      .where('user_id', '=', userId)
      .execute()
      .catch(() => undefined);
    if (!rows) return cached;
    const gone = new Set(ids).difference(new Set(rows.map(({ id }) => id)));
    for (const id of gone) this.#dropFromCache(id);
    return cached.filter(({ id }) => !gone.has(id));
  }

  /** Newest first. */
  #cachedOf(userId: string): StoredResponse[] {
    const own: StoredResponse[] = [];
    for (const { response } of this.#cache.values()) if (response.userId === userId) own.push(response);
    return own.reverse();
  }

  async remove(id: string, userId: string): Promise<boolean> {
    const known = await this.find(id, userId);
    if (!known) return false;
    this.#dropFromCache(id);
    this.#queue = this.#queue.filter((response) => response.id !== id);
    await this.flush();
    await this.#options.db.deleteFrom('stored_responses').where('id', '=', id).where('user_id', '=', userId).execute();
    return true;
  }

  /** After the provider deleted the response. If our row remains, it refers to nothing until it expires. */
  async drop(id: string, userId: string): Promise<void> {
    await this.remove(id, userId).catch((error: unknown) =>
      this.#options.log.warn('stored_response.delete_failed', errorFields(error)),
    );
  }

  /** Writes the queue. While the database is down, responses stay readable here, and those that cannot be written are lost. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  async #write(): Promise<void> {
    const { db, log } = this.#options;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MAX_BATCH);
      const rows = batch.map((response) => this.#rowOf(response));
      try {
        await db
          .insertInto('stored_responses')
          .values(rows)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        for (const { id } of batch) {
          const cached = this.#cache.get(id);
          if (cached) cached.isWritten = true;
        }
      } catch (error) {
        log.warn('stored_response.save_failed', { responses: batch.length, ...errorFields(error) });
      }
    }
  }

  #rowOf(response: StoredResponse) {
    const { sealer, clock, days } = this.#options;
    return {
      id: response.id,
      user_id: response.userId,
      account_id: response.accountId ?? null,
      tokens: response.tokens === undefined ? null : BigInt(response.tokens),
      item_ids: [...(response.itemIds ?? itemsOf(response).flatMap((item) => idOf(item) ?? []))],
      sealed: response.content ? sealer.seal(JSON.stringify(response.content), sealLocation(response.id)) : null,
      expires_at: new Date(clock.now() + days * DAY_MS),
    };
  }

  async #read(id: string, userId: string): Promise<StoredResponse | undefined> {
    if (this.#options.days === 0) return undefined;
    const row = await this.#options.db
      .selectFrom('stored_responses')
      .selectAll()
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .executeTakeFirst();
    return this.#open(row);
  }

  /** Which rows of the user hold the items, without their content, newest first. One query for all items. */
  async #rowsWith(itemIds: readonly string[], userId: string): Promise<ItemRow[]> {
    const { db, clock, days } = this.#options;
    if (days === 0 || itemIds.length === 0) return [];
    return db
      .selectFrom('stored_responses')
      .select(['id', 'account_id', 'item_ids', sql<number>`coalesce(octet_length(sealed), 0)`.as('bytes')])
      .where(sql<boolean>`item_ids && ${itemIds}::text[]`)
      .where('user_id', '=', userId)
      .where('expires_at', '>', new Date(clock.now()))
      .orderBy('created_at', 'desc')
      .limit(MAX_ITEM_ROWS)
      .execute();
  }

  /** The newest response for each item, as far as we hold its content. */
  async #readContents(itemIds: readonly string[], userId: string): Promise<StoredResponse[]> {
    const missing = new Set(itemIds);
    const wanted = (await this.#rowsWith(itemIds, userId)).filter(({ item_ids, bytes }) => {
      const held = bytes === 0 ? [] : item_ids.filter((id) => missing.has(id));
      for (const id of held) missing.delete(id);
      return held.length > 0;
    });
    if (wanted.length === 0) return [];
    if (wanted.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_LOADED_BYTES) throw tooMuchContent();
    const rows = await this.#options.db
      .selectFrom('stored_responses')
      .selectAll()
      .where(
        'id',
        'in',
        wanted.map(({ id }) => id),
      )
      .where('user_id', '=', userId)
      .orderBy('created_at', 'desc')
      .execute();
    return rows.flatMap((row) => this.#open(row) ?? []);
  }

  #open(
    row:
      | {
          id: string;
          user_id: string;
          account_id: string | null;
          tokens: bigint | null;
          sealed: string | null;
          expires_at: Date;
        }
      | undefined,
  ): StoredResponse | undefined {
    const { clock, sealer } = this.#options;
    if (!row || row.expires_at.getTime() <= clock.now()) return undefined;
    const content =
      row.sealed === null ? undefined : (parseJson(sealer.open(row.sealed, sealLocation(row.id))) as StoredContent);
    return {
      id: row.id,
      userId: row.user_id,
      ...(row.account_id !== null && { accountId: row.account_id }),
      ...(row.tokens !== null && { tokens: Number(row.tokens) }),
      ...(content && { content }),
    };
  }

  #putInCache(row: CachedResponse): void {
    this.#dropFromCache(row.response.id);
    this.#cache.set(row.response.id, row);
    this.#cacheBytes += row.bytes;
    for (const id of this.#cache.keys()) {
      if (this.#cache.size <= CACHE_ENTRIES && this.#cacheBytes <= CACHE_BYTES) return;
      this.#dropFromCache(id);
    }
  }

  #dropFromCache(id: string): void {
    this.#cacheBytes -= this.#cache.get(id)?.bytes ?? 0;
    this.#cache.delete(id);
  }
}

interface ItemRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly item_ids: string[];
  /** Of the sealed content; 0 without any. */
  readonly bytes: number;
}

const tooMuchContent = () =>
  fail(
    'invalid_request',
    'input: the item references load more than 64 MiB; send fewer of them, or the items themselves.',
    {
      param: 'input',
    },
  );

function collectItems(found: Map<string, unknown>, response: StoredResponse, wanted: ReadonlySet<string>): void {
  for (const item of itemsOf(response)) {
    const id = idOf(item);
    if (id !== undefined && wanted.has(id) && !found.has(id)) found.set(id, item);
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

/** References to single items in one request. */
const MAX_REFERENCES = 1_000;

/** The ids as a set; throws when there are too many. */
export function referenceSet(itemIds: readonly string[]): ReadonlySet<string> {
  const ids = new Set(itemIds);
  if (ids.size > MAX_REFERENCES)
    throw fail('invalid_request', `input: ${ids.size} item references, at most ${MAX_REFERENCES} are allowed.`, {
      param: 'input',
    });
  return ids;
}

export const responseNotFound = (id: string) =>
  fail('response_not_found', `Response with id '${id.slice(0, 100)}' not found.`);
