/** The database: Kysely over pg. The only folder that imports the driver. */
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import type { Rows } from './rows.ts';

export type Db = Kysely<Rows>;

export interface Database {
  readonly db: Db;
  readonly url: string;
  close(): Promise<void>;
}

/** Money and counters are bigint in the schema; pg would hand them over as text. */
const INT8_OID = 20;
pg.types.setTypeParser(INT8_OID, BigInt);

/** No query of ours is honestly slower; one that is must not pile up behind a lock. */
const STATEMENT_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;

export function openDatabase(url: string, connections = 10): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: 'dragoman',
  });
  // An idle connection that breaks is replaced at the next query; without a listener the process would die of it.
  pool.on('error', () => {});
  // So is one that breaks in the middle of a query; the query itself rejects, and that is where it is dealt with.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<Rows>({ dialect: new PostgresDialect({ pool }) });
  return { db, url, close: () => db.destroy() };
}

/** Everything that the task reads is of one moment; it waits for nobody and nobody waits for it. */
export const snapshot = <T>(db: Db, task: (tx: Transaction<Rows>) => Promise<T>): Promise<T> =>
  db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(task);

export class DatabaseUnavailable extends Error {}

/** One question, to tell a database that cannot be reached from one that has other troubles. */
export async function reach({ db }: Database): Promise<void> {
  await sql`select 1`.execute(db).catch((error: Error & { code?: string }) => {
    throw new DatabaseUnavailable(`The database cannot be used: ${error.message || error.code}.`, { cause: error });
  });
}

/** A connection of its own, for what lasts longer than a query (LISTEN, advisory locks). */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  return client;
}
