/**
 * Lists of rows in a fixed order, a page at a time. Every parameter beside those of the page is compared with a column.
 */
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { countRows, type Db, likePattern, type SortedRow, snapshot, sortedRows } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';

/** `key` is the cursor of a page: the value of its last row, and its id where that is another column. */
const ORDERS = {
  id: { column: 'id', type: 'text', isAscending: true, key: rowKey.text },
  number: { column: 'id', type: 'bigint', isAscending: false, key: rowKey.id },
  position: { column: 'position', type: 'bigint', isAscending: true, key: rowKey.positionAndId },
  newest: { column: 'created_at', type: 'timestamptz', isAscending: false, key: rowKey.timeAndId },
  oldest: { column: 'created_at', type: 'timestamptz', isAscending: true, key: rowKey.timeAndId },
} as const;

export interface RowList<T> {
  readonly order: keyof typeof ORDERS;
  /** The column that the order is by, where it has another name. */
  readonly by?: string;
  /** The column that identifies a row; `id` by default. */
  readonly id?: keyof T & string;
  /** Without an order. */
  readonly from: RawBuilder<T>;
  readonly view: (row: T) => object;
  /** Members of the body beside the rows. */
  readonly more?: object;
  /**
   * Grows with every call or change. Its rows are not counted: with a filter that few of them match, all would be read.
   */
  readonly isLog?: true;
  /** Rows may have several groups; the filter finds any of them. */
  readonly hasGroups?: true;
}

/** Columns with other names than their parameters. */
const COLUMNS: Readonly<Record<string, string>> = {
  user: 'user_id',
  key: 'key_id',
  group: 'group_id',
  account: 'account_id',
  task: 'task_id',
  part: 'pattern',
};

/** The conditions of the filters that are given; `table` is the alias of their table. */
export const matching = (filters: object, table = ''): RawBuilder<unknown> =>
  sql.join(
    Object.entries(filters)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => {
        const column = sql.ref(table + (COLUMNS[name] ?? name));
        return name === 'part' ? sql`${column} ilike ${likePattern(`*${value}*`)}` : sql`${column} = ${value}`;
      })
      .concat(sql`true`),
    sql` and `,
  );

interface PageQuery {
  readonly limit: number;
  readonly cursor?: readonly unknown[] | undefined;
  readonly [filter: string]: unknown;
}

export function readList<T>(db: Db, list: Omit<RowList<T>, 'view'>, { limit, cursor, ...filters }: PageQuery) {
  const { column, key: _, ...order } = ORDERS[list.order];
  return sortedRows<T>(db, {
    from: filtered(list, filters),
    id: list.id ?? 'id',
    order: { ...order, column: list.by ?? column, hasIndex: true },
    after: cursor?.map(String),
    limit,
  });
}

const filtered = (
  { from, hasGroups }: Pick<RowList<never>, 'hasGroups'> & { from: RawBuilder<unknown> },
  filters: object,
) => {
  const { group, ...others }: { readonly group?: unknown } = filters;
  return hasGroups && group !== undefined
    ? sql`select * from (${from}) own where ${inGroup(String(group))} and ${matching(others)}`
    : sql`select * from (${from}) own where ${matching(filters)}`;
};

/** Of keys and accounts. */
export const inGroup = (group: string): RawBuilder<unknown> => sql`${group} = any(coalesce(groups, array[group_id]))`;

export async function sendRows<T>(call: Call, db: Db, list: RowList<T>, query: PageQuery): Promise<void> {
  const { limit, cursor: _, ...filters } = query;
  const [rows, count] = await snapshot(db, async (tx) => [
    await readList(tx, list, { ...query, limit: limit + 1 }),
    list.isLog ? undefined : await countRows(tx, filtered(list, filters)),
  ]);
  const id = (list.id ?? 'id') as keyof T;
  const isById = ORDERS[list.order].column === 'id';
  const key = (row: SortedRow<T>) => (isById ? [String(row[id])] : [row.sorted_by, String(row[id])]);
  const view = ({ sorted_by: _, ...row }: SortedRow<T>) => list.view(row as T);
  sendPage(call, rows, { limit, view, more: { ...list.more, ...(count !== undefined && { count }) }, key });
}

export const listOperation = <T>({ filters, ...list }: RowList<T> & { readonly filters?: z.ZodRawShape }) =>
  operation({
    query: z.strictObject({ ...filters, ...pageParams<z.ZodType>(ORDERS[list.order].key) }),
    handle: ({ call, query }, { db }) => sendRows(call, db, list, query as PageQuery),
  });
