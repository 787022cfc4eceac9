/** Conversations of users: lists of items, sealed, that requests continue. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { fail } from '../../core/index.ts';
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

export interface ConversationOptions extends StoreServices {
  /** Days without a new item; 0 takes no conversations. */
  readonly days: number;
}

export type KeptConversation = Row<'conversations'>;
type ItemRow = Row<'conversation_items'>;
type Json = Readonly<Record<string, unknown>>;

const sealLocation = (conversationId: string, n: number) => `conversation_items.sealed:${conversationId}/${n}` as const;

export class ConversationStore {
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  async create(userId: string, metadata: Json, items: readonly Json[]): Promise<KeptConversation> {
    const { db, days } = this.#options;
    if (days === 0) throw fail('invalid_request', 'This gateway keeps no conversations; send the items themselves.');
    const id = CONVERSATION_ID.prefix + randomBytes(16).toString('hex');
    return db.transaction().execute(async (tx) => {
      await checkRoom(tx, userId);
      await tx
        .insertInto('conversations')
        .values({ user_id: userId, id, metadata: JSON.stringify(metadata), expires_at: this.#expiry() })
        .execute();
      await this.#append(tx, id, userId, items);
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

  /** Returns the items as a list shows them. */
  append(id: string, userId: string, items: readonly Json[]): Promise<Json[]> {
    return this.#options.db.transaction().execute(async (tx) => {
      await checkRoom(tx, userId);
      return this.#append(tx, id, userId, items);
    });
  }

  /** The texts of all items, the earliest first. */
  async texts(id: string, userId: string): Promise<string[]> {
    return (await this.#rows(id, userId)).map((row) => this.#open(row));
  }

  /** One more item than the limit tells that more follow. */
  async list(
    id: string,
    userId: string,
    page: { readonly after: string | null; readonly limit: number; readonly isAscending: boolean },
  ): Promise<Json[]> {
    const { after, limit, isAscending } = page;
    const own = sql`user_id = ${userId} and conversation_id = ${id}`;
    const compared = sql.raw(isAscending ? '>' : '<');
    const isNext =
      after === null ? sql`true` : sql`n ${compared} (select n from conversation_items where ${own} and id = ${after})`;
    const { rows } = await sql<ItemRow>`
      select * from conversation_items where ${own} and ${isNext}
      order by n ${sql.raw(isAscending ? 'asc' : 'desc')} limit ${limit + 1}`.execute(this.#options.db);
    return rows.map((row) => this.#view(row));
  }

  async item(id: string, userId: string, itemId: string): Promise<Json> {
    const [row] = await this.#rows(id, userId, itemId);
    if (!row) throw itemNotFound(itemId);
    return this.#view(row);
  }

  removeItem(id: string, userId: string, itemId: string): Promise<KeptConversation> {
    return this.#options.db.transaction().execute(async (tx) => {
      await findIn(tx, id, userId);
      const { numAffectedRows } = await sql`
        with gone as (
          delete from conversation_items
          where user_id = ${userId} and conversation_id = ${id} and id = ${itemId} returning bytes)
        update conversations c set items = c.items - 1, bytes = c.bytes - gone.bytes from gone
        where c.id = ${id} and c.user_id = ${userId}`.execute(tx);
      if (!numAffectedRows) throw itemNotFound(itemId);
      return findIn(tx, id, userId);
    });
  }

  #expiry() {
    return sql<Date>`now() + ${this.#options.days} * interval '1 day'`;
  }

  async #rows(id: string, userId: string, itemId?: string): Promise<ItemRow[]> {
    return allRows(this.#options.db)<ItemRow>`
      select * from conversation_items where user_id = ${userId} and conversation_id = ${id}
        and ${itemId === undefined ? sql`true` : sql`id = ${itemId}`} order by n`;
  }

  #open({ conversation_id: id, n, sealed }: ItemRow): string {
    return this.#options.sealer.open(sealed, sealLocation(id, n));
  }

  #view(row: ItemRow): Json {
    return fullInputItem({ ...JSON.parse(this.#open(row)), id: row.id }, row.conversation_id, row.n);
  }

  /** Those ids of the new items that the conversation has already. */
  async #idsIn(
    tx: Tx,
    { user_id, conversation_id, items }: Pick<ItemRow, 'conversation_id'> & { user_id: string; items: readonly Json[] },
  ): Promise<Set<string>> {
    const ids = items.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
    if (ids.length === 0) return new Set();
    const { rows } = await sql<{ id: string }>`
      select distinct id from conversation_items where user_id = ${user_id} and conversation_id = ${conversation_id}
        and id = any(${ids}::text[])`.execute(tx);
    return new Set(rows.map(({ id }) => id));
  }

  /** Turns of one conversation wait for each other. */
  async #append(tx: Tx, id: string, userId: string, items: readonly Json[]): Promise<Json[]> {
    const bytes = items.map((item) => Buffer.byteLength(JSON.stringify(item)));
    const sum = bytes.reduce((total, one) => total + one, 0);
    const row = await firstRow(tx)<{ first: number }>`
      update conversations set items = items + ${items.length}, bytes = bytes + ${sum},
        next_n = next_n + ${items.length}, expires_at = ${this.#expiry()}
      where id = ${id} and user_id = ${userId} returning next_n - ${items.length} as first`;
    if (!row) throw conversationNotFound(id);
    const taken = await this.#idsIn(tx, { user_id: userId, conversation_id: id, items });
    const shown = items.map((item, at) => {
      const view = fullInputItem(item, id.replace('conv_', ''), row.first + at);
      if (!taken.has(view.id)) {
        taken.add(view.id);
        return view;
      }
      // Providers repeat ids, and an item must be found by its own.
      const { id: _, ...nameless } = item;
      return fullInputItem(nameless, id.replace('conv_', ''), row.first + at);
    });
    if (items.length > 0)
      await tx
        .insertInto('conversation_items')
        .values(
          items.map((item, at) => {
            const n = row.first + at;
            const sealed = this.#options.sealer.seal(JSON.stringify(item), sealLocation(id, n));
            const itemId = String(shown[at]?.id);
            return { user_id: userId, conversation_id: id, n, id: itemId, bytes: bytes[at] ?? 0, sealed };
          }),
        )
        .execute();
    return shown;
  }
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

const itemNotFound = (id: string) =>
  fail('conversation_not_found', `Item with id '${id.slice(0, 100)}' not found in the conversation.`, {
    param: 'item_id',
  });
