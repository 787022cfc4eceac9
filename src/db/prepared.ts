/** Statements of every second: their text is built once, and a connection parses and plans them once. Behind a pooler it is done each time. */
import { CompiledQuery, type Kysely } from 'kysely';
import type { Rows } from './rows.ts';

/** Text -> the name of the statement in a session. Kysely hands only the text to the pool. */
const names = new Map<string, string>();

export type Prepared<Row> = (db: Kysely<Rows>, parameters: readonly unknown[]) => Promise<Row[]>;

/** `name` is unique; parameters are `$1`, `$2` and so on. */
export function prepare<Row>(name: string, text: string): Prepared<Row> {
  names.set(text, name);
  return async (db, parameters) => (await db.executeQuery<Row>(CompiledQuery.raw(text, [...parameters]))).rows;
}

export const statementName = (text: string): string | undefined => names.get(text);
