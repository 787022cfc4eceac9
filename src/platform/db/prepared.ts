/**
 * Statements of every second: their text is built once, and a connection parses and plans them once. Behind a pooler it
 * is done each time.
 */
import { CompiledQuery } from 'kysely';
import type { Db } from './rows.ts';

/** Text -> the name of the statement in a session. Kysely hands only the text to the pool. */
const names = new Map<string, string>();

export interface Prepared<Row> {
  (db: Db, parameters: readonly unknown[]): Promise<Row[]>;
  /** For `commitWith`. */
  query(parameters: readonly unknown[]): CompiledQuery<Row>;
}

/** `name` is unique; parameters are `$1`, `$2` and so on. */
export function prepare<Row>(name: string, text: string): Prepared<Row> {
  names.set(text, name);
  const query = (parameters: readonly unknown[]) => CompiledQuery.raw(text, [...parameters]) as CompiledQuery<Row>;
  const run = async (db: Db, parameters: readonly unknown[]) => (await db.executeQuery(query(parameters))).rows;
  return Object.assign(run, { query });
}

export const statementName = (text: string): string | undefined => names.get(text);
