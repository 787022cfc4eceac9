/** Conversations of users: lists of items, sealed, that requests continue. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { fail, type KeptTexts } from '../../core/index.ts';
import {
  allRows,
  type Db,
  deleteBatch,
  firstRow,
  type Row,
  type StoreServices,
  type Tx,
} from '../../platform/db/index.ts';
import { CONVERSATION_ID, CONVERSATIONS } from '../../rules/index.ts';
import { fullInputItem } from '../stored/input-items.ts';
import { type ItemsToView, joinedList, type NewPage, pageLocation } from './pages.ts';
import { itemsOfText } from './place-items.ts';

export interface ConversationOptions extends StoreServices {
  /** Days without a new item; 0 takes no conversations. */
  readonly days: number;
}

export type KeptConversation = Row<'conversations'>;
type PageRow = Row<'conversation_pages'>;
type Json = Readonly<Record<string, unknown>>;

/** Items by their ids, or those after one. */
export type ItemRange =
  | { readonly ids: readonly string[] }
  | { readonly after: string | null; readonly limit: number; readonly isAscending: boolean };

/** Where an item is: in a page, or in a row of its own, as earlier versions wrote it. */
interface ItemHead {
  readonly id: string;
  /** Of the row, or of the first item of the page. */
  readonly n: number;
  readonly page: string | null;
  /** Of what is read for it. */
  readonly bytes: number;
}

/** A row that holds sealed items. */
interface SealedRow {
  readonly n: number;
  readonly page: string | null;
  readonly ids: readonly string[];
  readonly sealed: string;
}

/** An item of an earlier version. */
const itemLocation = (conversationId: string, n: number) => `conversation_items.sealed:${conversationId}/${n}` as const;

export class ConversationStore {
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** What pages are sealed with. */
  get keys() {
    return this.#options.sealer.keys;
  }

  static newId(): string {
    return CONVERSATION_ID.prefix + randomBytes(16).toString('hex');
  }

  async create(id: string, userId: string, metadata: Json, pages: readonly NewPage[]): Promise<KeptConversation> {
    const { db, days } = this.#options;
    if (days === 0) throw fail('invalid_request', 'This gateway keeps no conversations; send the items themselves.');
    return db.transaction().execute(async (tx) => {
      await checkRoom(tx, userId);
      await tx
        .insertInto('conversations')
        .values({ user_id: userId, id, metadata: JSON.stringify(metadata), expires_at: this.#expiry() })
        .execute();
      await this.#append(tx, id, userId, pages);
      return findIn(tx, id, userId);
    });
  }

  /** Foreign conversations are missing ones. */
  find(id: string, userId: string): Promise<KeptConversation> {
    return findIn(this.#options.db, id, userId);
  }

  async update(id: string, userId: string, metadata: Json): Promise<KeptConversation> {
    await sql`
      update conversations set metadata = ${JSON.stringify(metadata)}::jsonb
      where id = ${id} and user_id = ${userId}`.execute(this.#options.db);
    return this.find(id, userId);
  }

  async remove(id: string, userId: string): Promise<void> {
    await this.find(id, userId);
    await this.#options.db.deleteFrom('conversations').where('id', '=', id).where('user_id', '=', userId).execute();
  }

  /** Returns the ids of the items. */
  append(id: string, userId: string, pages: readonly NewPage[]): Promise<string[]> {
    return this.#options.db.transaction().execute(async (tx) => {
      await checkRoom(tx, userId);
      return this.#append(tx, id, userId, pages);
    });
  }

  /** All items, the earliest first. They are sealed: opening many of them is work for a thread. */
  async texts(id: string, userId: string): Promise<KeptTexts> {
    return this.#texts(id, await this.#sealedRows(id, userId));
  }

  /** Which items are in the range. It ends early where reading them takes more than one request may. */
  async range(
    id: string,
    userId: string,
    range: ItemRange,
  ): Promise<{ readonly items: readonly ItemHead[]; readonly bytes: number; readonly hasMore: boolean }> {
    const own = sql`user_id = ${userId} and conversation_id = ${id}`;
    const isAscending = 'ids' in range || range.isAscending;
    const order = sql.raw(isAscending ? 'asc' : 'desc');
    const compared = sql.raw(isAscending ? '>' : '<');
    const isWanted =
      'ids' in range
        ? sql`id = any(${range.ids}::text[])`
        : range.after === null
          ? sql`true`
          : sql`(n, at) ${compared} (select n, at from items where id = ${range.after})`;
    const limit = 'ids' in range ? range.ids.length : range.limit;
    const rows = await allRows(this.#options.db)<ItemHead>`
      with items as (
        select n, 0::bigint as at, id, null::text as page, bytes from conversation_items where ${own}
        union all
        select first_n, item.at, item.id, page.id, page.bytes
        from conversation_pages page, unnest(item_ids) with ordinality as item (id, at) where ${own})
      select id, n, page, bytes from items where ${isWanted} order by n ${order}, at ${order} limit ${limit + 1}`;
    const items: ItemHead[] = [];
    const read = new Set<number>();
    let bytes = 0;
    for (const row of rows.slice(0, limit)) {
      const more = read.has(row.n) ? 0 : row.bytes;
      if (items.length > 0 && bytes + more > CONVERSATIONS.bytes) break;
      items.push(row);
      read.add(row.n);
      bytes += more;
    }
    return { items, bytes, hasMore: items.length < rows.length };
  }

  /** Those of the items that are still there, sealed. */
  async open(id: string, userId: string, items: readonly ItemHead[]): Promise<ItemsToView> {
    const rows = await this.#sealedRows(id, userId, [...new Set(items.map(({ n }) => n))]);
    const places = new Map(
      rows.flatMap(({ ids }, text) => ids.map((itemId, at) => [itemId, { id: itemId, text, at }] as const)),
    );
    return { texts: this.#texts(id, rows), wanted: items.flatMap((item) => places.get(item.id) ?? []) };
  }

  removeItem(id: string, userId: string, itemId: string): Promise<KeptConversation> {
    return this.#options.db.transaction().execute(async (tx) => {
      await findIn(tx, id, userId);
      const bytes = (await removeRow(tx, id, userId, itemId)) ?? (await this.#removeFromPage(tx, id, userId, itemId));
      if (bytes === undefined) throw conversationItemNotFound(itemId);
      await sql`
        update conversations set items = items - 1, bytes = bytes - ${bytes}
        where id = ${id} and user_id = ${userId}`.execute(tx);
      return findIn(tx, id, userId);
    });
  }

  #expiry() {
    return sql<Date>`now() + ${this.#options.days} * interval '1 day'`;
  }

  /** In their order: all, or those that begin with one of the numbers. */
  async #sealedRows(id: string, userId: string, numbers?: readonly number[]): Promise<SealedRow[]> {
    const own = sql`user_id = ${userId} and conversation_id = ${id}`;
    const among = (column: string) => (numbers ? sql`and ${sql.raw(column)} = any(${numbers}::int[])` : sql``);
    return allRows(this.#options.db)<SealedRow>`
      select n, null as page, array[id] as ids, sealed from conversation_items where ${own} ${among('n')}
      union all
      select first_n, id, item_ids, sealed from conversation_pages where ${own} ${among('first_n')}
      order by n`;
  }

  #texts(id: string, rows: readonly SealedRow[]): KeptTexts {
    return {
      keys: this.keys,
      texts: rows.map(({ sealed }) => sealed),
      locations: rows.map(({ n, page }) => (page === null ? itemLocation(id, n) : pageLocation(id, page))),
    };
  }

  /** The bytes of the removed item; undefined where no page has it. Pages of several items are small. */
  async #removeFromPage(tx: Tx, id: string, userId: string, itemId: string): Promise<number | undefined> {
    const row = await firstRow(tx)<PageRow>`
      select * from conversation_pages
      where user_id = ${userId} and conversation_id = ${id} and item_ids @> array[${itemId}]::text[] for update`;
    if (!row) return undefined;
    const own = sql`user_id = ${userId} and conversation_id = ${id} and first_n = ${row.first_n}`;
    if (row.item_ids.length === 1) {
      await sql`delete from conversation_pages where ${own}`.execute(tx);
      return row.bytes;
    }
    const { sealer } = this.#options;
    const at = row.item_ids.indexOf(itemId);
    const left = itemsOfText(sealer.open(row.sealed, pageLocation(id, row.id))).filter((_, n) => n !== at);
    const bytes = left.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)), 0);
    await sql`
      update conversation_pages set item_ids = ${row.item_ids.filter((_, n) => n !== at)}::text[], bytes = ${bytes},
        sealed = ${sealer.seal(JSON.stringify(left), pageLocation(id, row.id))} where ${own}`.execute(tx);
    return row.bytes - bytes;
  }

  /** Turns of one conversation wait for each other. */
  async #append(tx: Tx, id: string, userId: string, pages: readonly NewPage[]): Promise<string[]> {
    const names = pages.flatMap((page) => page.names);
    const bytes = pages.reduce((sum, page) => sum + page.bytes, 0);
    const row = await firstRow(tx)<{ first: number }>`
      update conversations set items = items + ${names.length}, bytes = bytes + ${bytes},
        next_n = next_n + ${names.length}, expires_at = ${this.#expiry()}
      where id = ${id} and user_id = ${userId} returning next_n - ${names.length} as first`;
    if (!row) throw conversationNotFound(id);
    const given = names.flatMap((name) => name.id ?? []);
    const taken = await idsIn(tx, id, userId, given);
    const ids = names.map((name, at) => {
      const idOf = (item: Json): string => fullInputItem(item, id.replace('conv_', ''), row.first + at).id;
      const wanted = idOf({ ...name });
      // Providers repeat ids, and an item must be found by its own.
      const free = taken.has(wanted) ? idOf({ type: name.type }) : wanted;
      taken.add(free);
      return free;
    });
    let { first } = row;
    for (const page of pages) {
      const count = page.names.length;
      const pageIds = ids.slice(first - row.first, first - row.first + count);
      if (first > row.first || !(await this.#extendLast(tx, id, userId, { page, first, ids: pageIds })))
        await tx
          .insertInto('conversation_pages')
          .values({
            user_id: userId,
            conversation_id: id,
            id: page.id,
            first_n: first,
            next_n: first + count,
            item_ids: pageIds,
            bytes: page.bytes,
            sealed: page.sealed,
          })
          .execute();
      first += count;
    }
    return ids;
  }

  /** Puts short pages together, so that a conversation of many turns has few. */
  async #extendLast(
    tx: Tx,
    id: string,
    userId: string,
    { page, first, ids }: { readonly page: NewPage; readonly first: number; readonly ids: readonly string[] },
  ): Promise<boolean> {
    if (page.bytes > CONVERSATIONS.pageBytes) return false;
    const last = await firstRow(tx)<PageRow>`
      select * from conversation_pages where user_id = ${userId} and conversation_id = ${id} and next_n = ${first}
        and bytes <= ${CONVERSATIONS.pageBytes - page.bytes} and cardinality(item_ids) <= ${CONVERSATIONS.pageItems - ids.length}`;
    if (!last) return false;
    const { sealer } = this.#options;
    const list = joinedList(
      sealer.open(last.sealed, pageLocation(id, last.id)),
      sealer.open(page.sealed, pageLocation(id, page.id)),
    );
    await sql`
      update conversation_pages set next_n = ${first + ids.length}, item_ids = ${[...last.item_ids, ...ids]}::text[],
        bytes = ${last.bytes + page.bytes}, sealed = ${sealer.seal(list, pageLocation(id, last.id))}
      where user_id = ${userId} and conversation_id = ${id} and first_n = ${last.first_n}`.execute(tx);
    return true;
  }
}

/** Those of the ids that the conversation has already. */
async function idsIn(tx: Tx, id: string, userId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const own = sql`user_id = ${userId} and conversation_id = ${id}`;
  const rows = await allRows(tx)<{ id: string }>`
    select id from conversation_items where ${own} and id = any(${ids}::text[])
    union
    select item.id from conversation_pages, unnest(item_ids) as item (id)
    where ${own} and item_ids && ${ids}::text[] and item.id = any(${ids}::text[])`;
  return new Set(rows.map((row) => row.id));
}

/** The bytes of the removed item of an earlier version. */
async function removeRow(tx: Tx, id: string, userId: string, itemId: string): Promise<number | undefined> {
  const row = await firstRow(tx)<{ bytes: number }>`
    delete from conversation_items
    where user_id = ${userId} and conversation_id = ${id} and id = ${itemId} returning bytes`;
  return row?.bytes;
}

async function findIn(db: Db | Tx, id: string, userId: string): Promise<KeptConversation> {
  const row = await firstRow(db)<KeptConversation>`
    select * from conversations where id = ${id} and user_id = ${userId} and expires_at > now()`;
  if (!row) throw conversationNotFound(id);
  return row;
}

/** Conversations of one user wait for each other, so that two at once do not pass the limit. */
async function checkRoom(tx: Tx, userId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${userId}, 51))`.execute(tx);
  const { rows } = await sql<{ all: string; bytes: string }>`
    select count(*) as all, coalesce(sum(bytes), 0) as bytes from conversations where user_id = ${userId}`.execute(tx);
  const { all = '0', bytes = '0' } = rows[0] ?? {};
  if (Number(all) >= CONVERSATIONS.perUser || Number(bytes) >= CONVERSATIONS.userBytes)
    throw fail(
      'invalid_request',
      `The user has ${CONVERSATIONS.perUser} conversations or ${CONVERSATIONS.userBytes / 2 ** 20} MiB of ` +
        'items, the limits; delete some first.',
    );
}

/** One batch per run. Returns how many were deleted. */
export const expireConversations = (db: Db): Promise<number> =>
  deleteBatch(db, 'conversations', sql`expires_at <= now()`, 100);

const conversationNotFound = (id: string) =>
  fail('conversation_not_found', `Conversation with id '${id.slice(0, 100)}' not found.`, {
    param: 'conversation',
  });

export const conversationItemNotFound = (id: string) =>
  fail('conversation_not_found', `Item with id '${id.slice(0, 100)}' not found in the conversation.`, {
    param: 'item_id',
  });
