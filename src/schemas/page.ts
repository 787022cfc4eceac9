/** A page of a list of the admin API or the console. */
import { z } from 'zod';
import { COUNTED_ROWS } from '../rules/index.ts';
import * as f from './field.ts';

const END = {
  count: f.someInteger
    .describe(`rows on all pages, where the list counts them; null beyond ${COUNTED_ROWS}`)
    .optional(),
  has_more: f.flag,
  next_cursor: f.someText.describe('`cursor` of the next page; null on the last one'),
};

/** `more` are members beside the rows. */
export const pageOf = <R extends z.ZodType, M extends z.ZodRawShape>(row: R, more?: M) =>
  z.strictObject({ object: z.literal('list'), ...(more as M), data: f.list(row), ...END });

export type Page<T> = Readonly<z.infer<z.ZodObject<typeof END>>> & { readonly data: readonly T[] };
