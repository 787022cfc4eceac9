/**
 * Responses that callers may refer to later, by `previous_response_id`, by item, by GET and DELETE.
 * Written to the database in batches behind the request,
 * so that no request waits, and readable at once on the replica that wrote them. Per user, sealed, with an expiry.
 * Each holds what its turn adds and names the one before; a deleted one stays as the context of later ones.
 */
import { sql } from 'kysely';
import { DAY_MS, errorFields, fail, failAt, type KeptTexts, openTexts, type SealLocation } from '../../core/index.ts';
import { allRows, firstRow, type Row, type StoreServices, type Tx } from '../../platform/db/index.ts';
import { STORED } from '../../rules/index.ts';
import { noteContainers } from './containers.ts';
import {
  type CachedResponse,
  cachedOf,
  chainOf,
  ResponseCache,
  type StoredHead,
  type StoredResponse,
  storedHeadOf,
} from './response-cache.ts';
import { StoredRoom, type StoringKey } from './room.ts';
import { contentOfText, type StoredContent } from './turn-text.ts';

export interface StoreOptions extends StoreServices {
  /** 0 keeps responses only in the memory of this replica. */
  readonly days: number;
}

const FLUSH_MS = 100;
/** Of one statement. Sealing the bytes takes 20 ms. */
const MAX_BATCH = 200;
const BATCH_BYTES = 8 * 2 ** 20;
/** Content that waits for a slow database; more is kept in memory only. */
const QUEUE_BYTES = 64 * 2 ** 20;
/** Rows that a query for items reads; each id is in few of them. */
const MAX_ITEM_ROWS = 2_000;

const sealLocation = (id: string) => `stored_responses.sealed:${id}` as const;

export class ResponseStore {
  readonly #options: StoreOptions;
  readonly #room: StoredRoom;
  readonly #cache = new ResponseCache();
  #queue: CachedResponse[] = [];
  #queueBytes = 0;
  #flushing: Promise<void> = Promise.resolve();
  #cancel: (() => void) | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#room = new StoredRoom(options.db);
  }

  /** Without effect where a limit is reached; `limitOf` tells so before the call is made. */
  save(response: StoredResponse): void {
    const entry = cachedOf(response);
    const { userId, keyId } = entry;
    const key = keyId === undefined ? undefined : { userId, keyId };
    if (chainOf(entry).bytes > STORED.conversationBytes || (key && this.#room.reached(key) !== undefined)) return;
    this.#cache.set(entry);
    if (this.#options.days === 0 || this.#queueBytes + entry.bytes > QUEUE_BYTES) return;
    if (key) this.#room.add(key, entry.bytes);
    this.#queue.push(entry);
    this.#queueBytes += entry.bytes;
    this.#cancel ??= this.#options.clock.after(FLUSH_MS, () => void this.flush());
  }

  /** Which limit of the key or its user is reached, in words; undefined while there is room for further content. */
  limitOf(key: StoringKey): Promise<string | undefined> {
    return this.#room.limitOf(key);
  }

  /** False when other processes cannot read what this one stores. */
  get isShared(): boolean {
    return this.#options.days > 0;
  }

  /** Stores a response in the caller's transaction. It is not cached, because it will be replaced. */
  async insert(tx: Tx, response: StoredResponse): Promise<void> {
    await tx
      .insertInto('stored_responses')
      .values(this.#rowOf(cachedOf(response)))
      .execute();
  }

  /** Without effect on a response that was deleted meanwhile. The response before it stays the same. */
  async replace(tx: Tx, response: StoredResponse): Promise<void> {
    const { id, user_id, sealed, item_ids, bytes } = this.#rowOf(cachedOf(response));
    await tx
      .updateTable('stored_responses')
      .set({ sealed, item_ids, bytes, chain_bytes: sql`chain_bytes - bytes + ${bytes}::bigint` })
      .where('id', '=', id)
      .where('user_id', '=', user_id)
      .execute();
  }

  /** Undefined alike for unknown responses, expired ones and those of other users. */
  async find(id: string, userId: string): Promise<StoredHead | undefined> {
    const cached = this.#cache.own(id, userId);
    // The response of another user takes the same query as an unknown one, so that time does not show that it exists.
    if (!cached) return this.#readHead(id, userId);
    if (cached.isHidden) return undefined;
    const [kept] = await this.#undeleted([cached], userId);
    return kept && storedHeadOf(kept);
  }

  /** What the response adds to its conversation. */
  async content(id: string, userId: string): Promise<StoredContent | undefined> {
    const head = await this.find(id, userId);
    const [text] = head?.isHere ? openTexts(await this.texts([id], userId)) : [];
    return text === undefined ? undefined : contentOfText(text);
  }

  /**
   * The texts of the response and of all before it, the earliest first.
   * Undefined when one of them is lost, or follows itself.
   */
  async conversation({ id, turns }: StoredHead, userId: string): Promise<KeptTexts | undefined> {
    const texts: KeptText[] = [];
    const seen = new Set<string>();
    let next: string | undefined = id;
    // Those that are not written yet are the last ones.
    for (let cached = this.#cache.own(id, userId); cached?.text !== undefined; ) {
      if (texts.length === turns || seen.has(cached.id)) return undefined;
      seen.add(cached.id);
      texts.push({ text: cached.text });
      next = cached.previous?.id;
      cached = next === undefined ? undefined : this.#cache.own(next, userId);
    }
    if (next !== undefined) texts.push(...(await this.#readChain(next, turns - texts.length, { userId, seen })));
    return texts.length === turns ? this.#kept(texts.reverse()) : undefined;
  }

  /** The last one first. Only ids are read until it is certain that none comes twice. */
  async #readChain(
    id: string,
    turns: number,
    { userId, seen }: { readonly userId: string; readonly seen: ReadonlySet<string> },
  ): Promise<KeptText[]> {
    if (this.#options.days === 0 || turns === 0) return [];
    const { rows: links } = await sql<{ id: string }>`
      with recursive chain as (
        select id, previous_id, 1 as turn from stored_responses where id = ${id} and user_id = ${userId}
        union all
        select before.id, before.previous_id, turn + 1 from stored_responses before
        join chain on before.id = chain.previous_id
        where before.user_id = ${userId} and turn < ${turns}
      )
      select id from chain order by turn`.execute(this.#options.db);
    const ids = links.map((link) => link.id);
    if (new Set([...seen, ...ids]).size < seen.size + ids.length) return [];
    const { rows } = await sql<{ id: string; sealed: string }>`
      select id, sealed from stored_responses where user_id = ${userId} and id = any(${ids}::text[])
        and sealed is not null order by array_position(${ids}::text[], id)`.execute(this.#options.db);
    return rows.map(sealedText);
  }

  /**
   * The texts of responses that `find` or `findHoldingItems` has found, in this order.
   * Those deleted meanwhile are missing.
   */
  async texts(ids: readonly string[], userId: string): Promise<KeptTexts> {
    const missing = ids.filter((id) => this.#cache.own(id, userId)?.text === undefined);
    const rows = await this.#readTexts(missing, userId);
    const textOf = (id: string): KeptText | undefined => {
      const text = this.#cache.own(id, userId)?.text;
      return text === undefined ? rows.get(id) : { text };
    };
    return this.#kept(ids.flatMap((id) => textOf(id) ?? []));
  }

  async #readTexts(ids: readonly string[], userId: string): Promise<ReadonlyMap<string, KeptText>> {
    if (ids.length === 0 || this.#options.days === 0) return new Map();
    const { rows } = await sql<{ id: string; sealed: string }>`
      select id, sealed from stored_responses where user_id = ${userId} and id = any(${ids}::text[])
        and not is_hidden and sealed is not null`.execute(this.#options.db);
    return new Map(rows.map((row) => [row.id, sealedText(row)]));
  }

  /** What is sealed is opened where it is read: many or large ones in a thread. */
  #kept(texts: readonly KeptText[]): KeptTexts {
    return {
      keys: this.#options.sealer.keys,
      texts: texts.map(({ text }) => text),
      locations: texts.map(({ location }) => location),
    };
  }

  /** The newest responses of the user with the items whose content we hold, and what reading them takes. */
  async findHoldingItems(
    itemIds: ReadonlySet<string>,
    userId: string,
  ): Promise<readonly { readonly id: string; readonly bytes: number }[]> {
    const missing = new Set(itemIds);
    const take = (ids: readonly string[]): boolean => ids.filter((id) => missing.delete(id)).length > 0;
    const cached = this.#cache
      .visibleOf(userId)
      .filter(({ text, itemIds: ids }) => text && ids.some((id) => itemIds.has(id)));
    const held: { readonly id: string; readonly bytes: number }[] = (await this.#undeleted(cached, userId)).filter(
      (one) => take(one.itemIds),
    );
    for (const { id, item_ids, bytes } of await this.#rowsWith([...missing], userId))
      if (bytes > 0 && take(item_ids)) held.push({ id, bytes });
    if (held.reduce((sum, { bytes }) => sum + bytes, 0) > STORED.referencedBytes)
      throw failAt(
        'invalid_request',
        'input',
        `the item references load more than ${STORED.referencedBytes / 2 ** 20} MiB; ` +
          'send fewer of them, or the items themselves.',
      );
    return held;
  }

  /** The accounts that hold the items, by item id. Items of other users and unknown ones are missing in the result. */
  async findHolders(itemIds: ReadonlySet<string>, userId: string): Promise<Map<string, string>> {
    const holders = new Map<string, string>();
    const collect = (ids: readonly string[], accountId: string | null | undefined): void => {
      for (const id of ids) if (accountId && itemIds.has(id) && !holders.has(id)) holders.set(id, accountId);
    };
    for (const { itemIds: ids, accountId } of this.#cache.visibleOf(userId)) collect(ids, accountId);
    const missing = [...itemIds].filter((id) => !holders.has(id));
    for (const row of await this.#rowsWith(missing, userId)) collect(row.item_ids, row.account_id);
    return holders;
  }

  async findHolder(itemId: string, userId: string): Promise<string | undefined> {
    return (await this.findHolders(new Set([itemId]), userId)).get(itemId);
  }

  /** Those of the cached responses that no other process has deleted; all while the database cannot say so. */
  async #undeleted(cached: readonly CachedResponse[], userId: string): Promise<readonly CachedResponse[]> {
    const ids = cached.filter(({ text, isWritten }) => text !== undefined && isWritten).map(({ id }) => id);
    if (ids.length === 0) return cached;
    const query = sql<{ id: string }>`
      select id from stored_responses where user_id = ${userId} and id = any(${ids}::text[]) and not is_hidden`;
    const found = await query.execute(this.#options.db).catch(() => undefined);
    if (!found) return cached;
    const gone = new Set(ids).difference(new Set(found.rows.map(({ id }) => id)));
    for (const id of gone) this.#cache.delete(id, userId);
    return cached.filter(({ id }) => !gone.has(id));
  }

  /**
   * Later turns keep what they continue.
   * The row itself goes with its last later turn, and not while a call may still continue it.
   */
  async remove(id: string, userId: string): Promise<boolean> {
    const known = await this.find(id, userId);
    if (!known) return false;
    const cached = this.#cache.own(id, userId);
    if (cached && known.isHere) cached.isHidden = true;
    else this.#cache.delete(id, userId);
    if (!this.isShared) return true;
    await this.flush();
    const { db, clock } = this.#options;
    const hidden = { is_hidden: true, expires_at: new Date(clock.now() + STORED.graceMs) };
    await (known.isHere
      ? db.updateTable('stored_responses').set(hidden).where('id', '=', id).where('user_id', '=', userId).execute()
      : db.deleteFrom('stored_responses').where('id', '=', id).where('user_id', '=', userId).execute());
    return true;
  }

  /** After the provider deleted the response. If our row remains, it refers to nothing until it expires. */
  async drop(id: string, userId: string): Promise<void> {
    await this.remove(id, userId).catch((error: unknown) =>
      this.#options.log.warn('stored_response.delete_failed', errorFields(error)),
    );
  }

  /**
   * Writes the queue. While the database is down, responses stay readable here,
   * and those that cannot be written are lost.
   */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  async #write(): Promise<void> {
    const { db, log } = this.#options;
    while (this.#queue.length > 0) {
      const batch = this.#nextBatch();
      try {
        await db
          .insertInto('stored_responses')
          .values(newestOf(batch).map((entry) => this.#rowOf(entry)))
          .onConflict((conflict) =>
            conflict
              .columns(['user_id', 'id'])
              .doUpdateSet((row) => ({
                account_id: row.ref('excluded.account_id'),
                item_ids: row.ref('excluded.item_ids'),
                tokens: row.ref('excluded.tokens'),
                expires_at: row.ref('excluded.expires_at'),
                is_hidden: false,
              }))
              // A provider repeats its ids: the newest response is the one that it still has.
              // Content of ours is never replaced.
              .where('stored_responses.sealed', 'is', null),
          )
          .execute();
        for (const entry of batch) entry.isWritten = true;
        const stored = batch.filter(({ text }) => text !== undefined).map(({ userId }) => userId);
        if (stored.length > 0) await this.#room.learn(stored);
        await noteContainers(db, batch);
      } catch (error) {
        log.warn('stored_response.save_failed', { responses: batch.length, ...errorFields(error) });
      }
    }
  }

  #nextBatch(): CachedResponse[] {
    let bytes = 0;
    const end = this.#queue.findIndex((entry, n) => {
      bytes += entry.bytes;
      return n >= MAX_BATCH || (n > 0 && bytes > BATCH_BYTES);
    });
    const batch = this.#queue.splice(0, end === -1 ? this.#queue.length : end);
    this.#queueBytes -= batch.reduce((sum, entry) => sum + entry.bytes, 0);
    return batch;
  }

  #rowOf(entry: CachedResponse) {
    const { sealer, clock, days } = this.#options;
    const { id, text, previous } = entry;
    const chain = chainOf(entry);
    return {
      id,
      user_id: entry.userId,
      account_id: entry.accountId ?? null,
      tokens: entry.tokens === undefined ? null : BigInt(entry.tokens),
      item_ids: [...entry.itemIds],
      sealed: text === undefined ? null : sealer.seal(text, sealLocation(id)),
      expires_at: new Date(clock.now() + days * DAY_MS),
      ...(text !== undefined && {
        previous_id: previous?.id ?? null,
        key_id: entry.keyId ?? null,
        bytes: BigInt(entry.bytes),
        chain_bytes: BigInt(chain.bytes),
        chain_turns: chain.turns,
      }),
    };
  }

  async #readHead(id: string, userId: string): Promise<StoredHead | undefined> {
    const { db, clock, days } = this.#options;
    if (days === 0) return undefined;
    const row = await firstRow(db)<HeadRow>`
      select account_id, tokens, chain_turns, ${sizeOf('chain_bytes')} as size from stored_responses
      where id = ${id} and user_id = ${userId} and not is_hidden and expires_at > ${new Date(clock.now())}`;
    return (
      row && {
        id,
        ...(row.account_id !== null && { accountId: row.account_id }),
        ...(row.tokens !== null && { tokens: Number(row.tokens) }),
        isHere: row.size > 0,
        bytes: row.size,
        turns: row.chain_turns ?? 1,
      }
    );
  }

  /** Which rows of the user hold the items, without their content, newest first. One query for all items. */
  async #rowsWith(itemIds: readonly string[], userId: string): Promise<ItemRow[]> {
    const { db, clock, days } = this.#options;
    if (days === 0 || itemIds.length === 0) return [];
    return allRows(db)<ItemRow>`
      select id, account_id, item_ids, ${sizeOf('bytes')} as bytes from stored_responses
      where item_ids && ${itemIds}::text[] and user_id = ${userId} and not is_hidden
        and expires_at > ${new Date(clock.now())} order by created_at desc limit ${MAX_ITEM_ROWS}`;
  }
}

interface KeptText {
  readonly text: string;
  /** Where it is sealed; undefined where it is not. */
  readonly location?: SealLocation;
}

const sealedText = ({ id, sealed }: { readonly id: string; readonly sealed: string }): KeptText => ({
  text: sealed,
  location: sealLocation(id),
});

type HeadRow = Pick<Row<'stored_responses'>, 'account_id' | 'tokens' | 'chain_turns'> & { readonly size: number };

interface ItemRow extends Pick<Row<'stored_responses'>, 'id' | 'account_id' | 'item_ids'> {
  /** Of the content; 0 without any. */
  readonly bytes: number;
}

/** The size of the content; of an older row that of its sealed text. 0 without content. */
const sizeOf = (column: 'bytes' | 'chain_bytes') =>
  sql<number>`
    case when sealed is null then 0
      else coalesce(nullif(${sql.ref(column)}, 0), octet_length(sealed)) end::float8`;

/** One statement may write a row only once. */
const newestOf = (batch: readonly CachedResponse[]): CachedResponse[] => [
  ...new Map(batch.map((entry) => [JSON.stringify([entry.userId, entry.id]), entry])).values(),
];

export const previousNotFound = (id: string) =>
  fail('previous_response_not_found', `Previous response with id '${id.slice(0, 100)}' not found.`, {
    param: 'previous_response_id',
  });

/** A turn before it was lost, or the turns name each other in a circle. */
export const cannotContinue = (id: string) =>
  fail(
    'previous_response_not_found',
    `The response '${id.slice(0, 100)}' cannot be continued, because its earlier turns are incomplete; ` +
      'send the conversation as input.',
    { param: 'previous_response_id' },
  );

/** References to single items in one request. */
const MAX_REFERENCES = 1_000;

/** The ids as a set; throws when there are too many. */
export function referenceSet(itemIds: readonly string[]): ReadonlySet<string> {
  const ids = new Set(itemIds);
  if (ids.size > MAX_REFERENCES)
    throw failAt('invalid_request', 'input', `${ids.size} item references, at most ${MAX_REFERENCES} are allowed.`);
  return ids;
}

export const responseNotFound = (id: string) =>
  fail('response_not_found', `Response with id '${id.slice(0, 100)}' not found.`);
