/** Database access: Kysely over pg. Only this folder imports the driver. */
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import type { Rows } from './rows.ts';

export type Db = Kysely<Rows>;

export interface Database {
  readonly db: Db;
  readonly url: string;
  close(): Promise<void>;
}

/** Money and counters are bigint in the schema; by default pg returns them as text. */
const INT8_OID = 20;
pg.types.setTypeParser(INT8_OID, BigInt);

/** Far above any expected query: slower ones are blocked by a lock and must not pile up. */
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
  // The pool replaces a broken idle connection at the next query. Without a listener the error would end the process.
  pool.on('error', () => {});
  // A connection that breaks during a query rejects that query, so the event itself needs no handling.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<Rows>({ dialect: new PostgresDialect({ pool }) });
  return { db, url, close: () => db.destroy() };
}

/** Runs the task on a snapshot: it reads the state of one moment, and neither takes nor waits for row locks. */
export const snapshot = <T>(db: Db, task: (tx: Transaction<Rows>) => Promise<T>): Promise<T> =>
  db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(task);

export class DatabaseUnavailable extends Error {}

/** Runs one query, so that an unreachable database is reported as such before other errors. */
export async function checkConnection({ db }: Database): Promise<void> {
  await sql`select 1`.execute(db).catch((error: Error & { code?: string }) => {
    throw new DatabaseUnavailable(`The database cannot be used: ${error.message || error.code}.`, { cause: error });
  });
}

/** Opens a dedicated connection, for state that outlasts a query (LISTEN, advisory locks). */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  return client;
}
