/**
 * Objects that providers keep for callers: which account holds one, and whose it is.
 * Written in the transaction of what it costs.
 */
import { sql } from 'kysely';
import { errorFields, fail, type Log } from '../../core/index.ts';
import { type Db, deleteBatch, type Row, type Tx } from '../../platform/db/index.ts';
import { type OwnPage, ownRows } from '../files/own-rows.ts';

export type ProviderObject = Row<'provider_objects'>;
export type ProviderKind = 'cache' | 'container';

export interface NewObject extends Omit<ProviderObject, 'kind' | 'shown' | 'created_at'> {
  readonly kind: ProviderKind;
  readonly shown: object;
}

export class ObjectStore {
  readonly #db: Db;
  readonly #log: Log;

  constructor({ db, log }: { readonly db: Db; readonly log: Log }) {
    this.#db = db;
    this.#log = log;
  }

  /** Undefined alike for unknown objects, expired ones and those of other users. */
  find(kind: ProviderKind, id: string, userId: string): Promise<ProviderObject | undefined> {
    return this.#db
      .selectFrom('provider_objects')
      .selectAll()
      .where('user_id', '=', userId)
      .where('kind', '=', kind)
      .where('id', '=', id)
      .where('expires_at', '>', sql<Date>`now()`)
      .executeTakeFirst();
  }

  /** Those on the given accounts, which the caller reaches. */
  list(kind: ProviderKind, userId: string, accounts: readonly string[], page: OwnPage): Promise<ProviderObject[]> {
    const isReached = sql<boolean>`kind = ${kind} and account_id = any(${accounts}::text[]) and expires_at > now()`;
    return ownRows(this.#db, 'provider_objects', { ...page, userId }, isReached);
  }

  /** Throws when the user has as many as a user may have. */
  async checkRoom(kind: ProviderKind, userId: string, limit: number): Promise<void> {
    const { rows } =
      await sql`select from provider_objects where user_id = ${userId} and kind = ${kind} limit ${limit}`.execute(
        this.#db,
      );
    if (rows.length >= limit)
      throw fail('invalid_request', `The user has ${limit} of them, the limit; delete some first.`);
  }

  /** After the provider deleted it. A row that remains leads to nothing, and expires. */
  async forget(kind: ProviderKind, id: string, userId: string): Promise<void> {
    await this.#db
      .deleteFrom('provider_objects')
      .where('user_id', '=', userId)
      .where('kind', '=', kind)
      .where('id', '=', id)
      .execute()
      .catch((error: unknown) => this.#log.warn('object.delete_failed', { kind, ...errorFields(error) }));
  }
}

/** A new object, or what the provider says of a known one after a change. */
export async function putObject(tx: Tx, { shown: given, ...object }: NewObject): Promise<void> {
  const shown = JSON.stringify(given);
  const { tokens, expires_at } = object;
  await tx
    .insertInto('provider_objects')
    .values({ ...object, shown })
    .onConflict((known) => known.columns(['user_id', 'kind', 'id']).doUpdateSet({ tokens, expires_at, shown }))
    .execute();
}

/** One batch per run: providers delete them by themselves. Returns how many were deleted. */
export const expireObjects = (db: Db): Promise<number> => deleteBatch(db, 'provider_objects', sql`expires_at <= now()`);
