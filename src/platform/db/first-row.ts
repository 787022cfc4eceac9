/** For statements of which one row is needed: ``firstRow(db)<Row>`select ...` ``. */
import { sql } from 'kysely';
import type { Db } from './rows.ts';

export const firstRow =
  (db: Db) =>
  async <T>(text: TemplateStringsArray, ...values: unknown[]): Promise<T | undefined> =>
    (await sql<T>(text, ...values).execute(db)).rows[0];
