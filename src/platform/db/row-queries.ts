/** Statements as text: ``firstRow(db)<Row>`select ...` `` for one row, `allRows` for all. */
import { sql } from 'kysely';
import type { Db } from './rows.ts';

export const allRows =
  (db: Db) =>
  async <T>(text: TemplateStringsArray, ...values: unknown[]): Promise<T[]> =>
    (await sql<T>(text, ...values).execute(db)).rows;

/** The only row, or the first one. */
export const firstRow =
  (db: Db) =>
  async <T>(text: TemplateStringsArray, ...values: unknown[]): Promise<T | undefined> =>
    (await sql<T>(text, ...values).execute(db)).rows[0];
