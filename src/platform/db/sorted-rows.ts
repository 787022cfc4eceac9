/** Pages of a list in an order of `LIST_SORTS`, each after the last row of the one before. */
import { type RawBuilder, sql } from 'kysely';
import { COUNTED_ROWS, type ListSort, SORTED_ROWS } from '../../rules/index.ts';
import type { Db } from './rows.ts';

export interface RowOrder extends ListSort {
  readonly isAscending: boolean;
}

export interface SortedPage {
  /** The rows of the list, without an order. Contains the owner. */
  readonly from: RawBuilder<unknown>;
  /** The column that identifies a row, and breaks ties. */
  readonly id: string;
  /** By `id` without one. */
  readonly order?: RowOrder | undefined;
  /** `sorted_by` of the last row, and its id. */
  readonly after?: readonly string[] | undefined;
  readonly limit: number;
}

/** Rows have their value as exact text in `sorted_by`: a JavaScript Date has no microseconds. */
export type SortedRow<T> = T & { readonly sorted_by: string };

export function sortedQuery<T>({ from, id, order, after, limit }: SortedPage): RawBuilder<SortedRow<T>> {
  const { column, type, hasIndex, isAscending } = order ?? byId(id);
  const [value, key] = [sql.ref(column), sql.ref(id)];
  const sign = sql.raw(isAscending ? '>' : '<');
  const [last = '', lastId = last] = after ?? [];
  const end = sql`${last}::${sql.raw(type)}`;
  return sql`
    select listed.*, ${type === 'timestamptz' ? exactTime(value) : sql`${value}::text`} as sorted_by
    from (${from} ${hasIndex ? sql`` : sql`order by ${key} limit ${SORTED_ROWS}`}) listed
    ${
      // The first condition is implied by the second, and lets an index of the column alone begin at the page.
      after ? sql`where ${value} ${sign}= ${end} and (${value}, ${key}) ${sign} (${end}, ${lastId})` : sql``
    }
    ${orderBy(order, id)} limit ${limit}`;
}

/** For a query around the page, which would lose its order. */
export function orderBy(order: RowOrder | undefined, id: string): RawBuilder<unknown> {
  const { column, isAscending } = order ?? byId(id);
  const direction = sql.raw(isAscending ? 'asc' : 'desc');
  return sql`order by ${sql.ref(column)} ${direction}, ${sql.ref(id)} ${direction}`;
}

const byId = (id: string): RowOrder => ({ column: id, type: 'text', hasIndex: true, isAscending: true });

const exactTime = (value: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

export const sortedRows = async <T>(db: Db, page: SortedPage): Promise<SortedRow<T>[]> =>
  (await sortedQuery<T>(page).execute(db)).rows;

/** How many rows a list has; null beyond `COUNTED_ROWS`, where counting would cost more than the page. */
export async function countRows(db: Db, from: RawBuilder<unknown>): Promise<number | null> {
  const { rows } = await sql<{ count: bigint }>`
    select count(*) from (select from (${from}) listed limit ${COUNTED_ROWS + 1}) counted`.execute(db);
  const count = Number(rows[0]?.count ?? 0);
  return count > COUNTED_ROWS ? null : count;
}
