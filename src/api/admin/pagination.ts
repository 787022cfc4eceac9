/** Pages of a list: the `limit` and `cursor` parameters, and the response body. */
import { z } from 'zod';
import { valueOfJson } from '../../core/index.ts';
import type { RowOrder } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { LIST_SORTS, type ListSort, SORTED_ROWS, type SortedList } from '../../rules/index.ts';
import { rejection } from './request-body.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

/** `key` is the schema of what identifies the last row of a page; `max` bounds pages of large rows. */
export const pageParams = <K extends z.ZodType>(key: K, max = MAX_PAGE) => ({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(max)
    .default(DEFAULT_PAGE)
    .describe(`rows of a page, 1 to ${max}; ${DEFAULT_PAGE} by default`),
  cursor: z
    .string()
    .transform((text, context): z.output<K> => {
      const result = key.safeParse(decodeCursor(text));
      if (result.success) return result.data;
      context.addIssue(CURSOR_EXPECTED);
      return z.NEVER;
    })
    .describe('`next_cursor` of the previous page')
    .optional(),
});

export const CURSOR_EXPECTED = 'the next_cursor of a page of this list';

/** PostgreSQL rejects NUL characters, even in a comparison. */
const part = z.string().refine((text) => !text.includes('\0'));

const TIMESTAMP = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/;
const SECONDS_CHARS = '2026-01-01T00:00:00'.length;

/** PostgreSQL rejects days that are in no calendar, such as February 31, which `Date` accepts. */
function isTimestamp(text: string): boolean {
  const at = new Date(TIMESTAMP.test(text) ? text : Number.NaN);
  return !Number.isNaN(at.getTime()) && at.toISOString().slice(0, SECONDS_CHARS) === text.slice(0, SECONDS_CHARS);
}

export const rowKey = {
  text: z.tuple([part]),
  id: z.tuple([
    z
      .string()
      .regex(/^\d{1,18}$/)
      .transform(BigInt),
  ]),
  positionAndId: z.tuple([
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
    part,
  ]),
  timeAndId: z.tuple([z.string().refine(isTimestamp), part]),
  valueTimeAndId: z.tuple([z.string().regex(/^-?\d{1,18}(?:\.\d{1,12})?$/), z.string().refine(isTimestamp), part]),
  texts: z.array(part),
};

const ASCENDING = '.asc';
const sortsOf = (list: SortedList): Readonly<Record<string, ListSort>> => LIST_SORTS[list];

export function sortedParams(list: SortedList) {
  const names = Object.keys(sortsOf(list));
  const searched = names.filter((name) => !sortsOf(list)[name]?.hasIndex);
  const bound = searched.length === 0 ? '' : `; \`${searched.join('` and `')}\` among the first ${SORTED_ROWS} rows`;
  return {
    sort: z
      .enum(names.flatMap((name) => [name, `${name}${ASCENDING}`]))
      .describe(`the largest first by this value, or the smallest with \`${ASCENDING}\`${bound}`)
      .optional(),
    ...pageParams(rowKey.texts),
  };
}

type SortedPageQuery = z.output<z.ZodObject<ReturnType<typeof sortedParams>>>;

/**
 * The page that a query asks for. A cursor belongs to one order: it has the value of the last row, where the id alone
 * is not the order.
 */
export function sortedPage(list: SortedList, { sort, cursor, limit }: SortedPageQuery, own?: string) {
  const name = sort ?? own;
  const order: RowOrder | undefined = name === undefined ? undefined : orderOf(list, name);
  const kinds = order ? [CURSOR_PARTS[order.type], part] : [part];
  if (cursor && !(cursor.length === kinds.length && kinds.every((kind, n) => kind.safeParse(cursor[n]).success)))
    throw rejection([`cursor: ${CURSOR_EXPECTED}`], 'invalid_value');
  return { order, after: cursor, limit: limit + 1 };
}

function orderOf(list: SortedList, name: string): RowOrder | undefined {
  const isAscending = name.endsWith(ASCENDING);
  const sort = sortsOf(list)[isAscending ? name.slice(0, -ASCENDING.length) : name];
  return sort && { ...sort, isAscending };
}

const CURSOR_PARTS: Readonly<Record<ListSort['type'], z.ZodType>> = {
  text: part,
  // PostgreSQL rejects a larger number.
  bigint: z
    .string()
    .regex(/^-?\d{1,19}$/)
    .refine((text) => BigInt.asIntN(64, BigInt(text)) === BigInt(text)),
  timestamptz: z.string().refine(isTimestamp),
};

/** What the next page begins after. */
export const sortedKey = ({ sorted_by }: { readonly sorted_by: string }, id: string, order?: RowOrder): string[] =>
  order ? [sorted_by, id] : [id];

export interface PageOptions<T> {
  readonly limit: number;
  readonly view: (row: T) => object;
  readonly key: (row: T) => readonly (string | number | bigint)[];
  /** The key of the next page, where it does not begin after the last row. */
  readonly next?: readonly string[] | undefined;
  /** Members of the body beside the rows. */
  readonly more?: object | undefined;
}

/** `rows` holds one row more than `limit` when there is another page. */
export function sendPage<T>(call: Call, rows: readonly T[], { limit, view, key, next, more }: PageOptions<T>): void {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit || next !== undefined;
  const after = next ?? (last === undefined ? undefined : key(last));
  sendJson(call, 200, {
    object: 'list',
    ...more,
    data: shown.map(view),
    has_more: hasMore,
    next_cursor: hasMore && after !== undefined ? encodeCursor(after) : null,
  });
}

export const wholeList = (data: readonly object[], more?: object) => ({
  object: 'list',
  ...more,
  data,
  has_more: false,
  next_cursor: null,
});

const encodeCursor = (key: readonly (string | number | bigint)[]): string =>
  Buffer.from(JSON.stringify(key.map(String))).toString('base64url');

const decodeCursor = (text: string): unknown => valueOfJson(Buffer.from(text, 'base64url').toString());
