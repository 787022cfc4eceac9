/**
 * Sorts of lists beside their own order. With an index a page reads its own rows; elsewhere up to `SORTED_ROWS`,
 * because an index would cost every write.
 */
export const SORTED_ROWS = 100_000;
/** A list says how many rows it has, up to this number. */
export const COUNTED_ROWS = 10_000;

export interface ListSort {
  readonly column: string;
  readonly type: 'text' | 'bigint' | 'timestamptz';
  readonly hasIndex?: true;
}

export const LIST_SORTS = {
  balances: {
    user: { column: 'user_id', type: 'text', hasIndex: true },
    available: { column: 'available', type: 'bigint' },
    created: { column: 'created_at', type: 'timestamptz' },
  },
  keys: {
    name: { column: 'name', type: 'text' },
    user: { column: 'user_id', type: 'text', hasIndex: true },
    created: { column: 'created_at', type: 'timestamptz' },
  },
  tasks: { created: { column: 'created_at', type: 'timestamptz', hasIndex: true } },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ListSort>>>>;

export type SortedList = keyof typeof LIST_SORTS;
