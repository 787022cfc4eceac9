/** Pages of a list: the `limit` and `cursor` parameters, and the response body. */
import { z } from 'zod';
import { type Call, sendJson } from '../web/index.ts';

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

/** Kinds of row keys. */
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

const encodeCursor = (key: readonly (string | number | bigint)[]): string =>
  Buffer.from(JSON.stringify(key.map(String))).toString('base64url');

function decodeCursor(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
