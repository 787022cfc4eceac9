/** Database access: Kysely over pg. Only this folder imports the driver. */
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Clock, Log, Sealer } from '../../core/index.ts';
import type { SeverableClient } from './client.ts';
import { connectToPrimary } from './hosts.ts';
import { DatabasePool, POOL_LIMITS, type PoolLimits, ServerSilence } from './pool.ts';
import type { Db, Rows, Tx } from './rows.ts';

/** What most modules that store something use. */
export interface StoreServices {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Database {
  readonly db: Db;
  /**
   * Connections of their own for short statements that a call waits for: they fail sooner, and background work cannot
   * take them.
   */
  readonly forCalls: Db;
  /** For connections that keep a session: those of `connect`, migrations, and further pools. */
  readonly url: string;
  close(): Promise<void>;
}

/** Money and counters are bigint in the schema; by default pg returns them as text. */
const INT8_OID = 20;
pg.types.setTypeParser(INT8_OID, BigInt);

/** Part of the connections that only `forCalls` uses. Its statements take about a millisecond. */
const CALL_SHARE = 0.3;

/**
 * How long dedicated connections wait for one statement. They do work that takes minutes, such as removing old months.
 */
const DEDICATED_QUERY_MS = 600_000;

/** `directUrl` leads to PostgreSQL itself where `url` leads to a connection pooler in transaction mode. */
export function openDatabase(
  url: string,
  connections = 10,
  limits: Partial<PoolLimits> = {},
  directUrl = url,
): Database {
  const ofCalls = Math.max(1, Math.floor(connections * CALL_SHARE));
  const shared = { limits: { ...POOL_LIMITS, ...limits }, silence: new ServerSilence(), isPooled: directUrl !== url };
  const open = (connections: number): DatabasePool => new DatabasePool(url, { connections: connections, ...shared });
  const pool = open(Math.max(1, connections - ofCalls)).forJobs();
  const db = new Kysely<Rows>({ dialect: new PostgresDialect({ pool }) });
  const forCalls = new Kysely<Rows>({ dialect: new PostgresDialect({ pool: open(ofCalls).forCalls() }) });
  return {
    db,
    forCalls,
    url: directUrl,
    async close() {
      await forCalls.destroy();
      await db.destroy();
    },
  };
}

/** Runs the task on a snapshot: it reads the state of one moment, and neither takes nor waits for row locks. */
export const snapshot = <T>(db: Db, task: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(task);

/** Runs one query, so that an unreachable database is reported as such before other errors. */
export async function checkConnection({ db }: Database): Promise<void> {
  await sql`select 1`.execute(db);
}

/** Opens a dedicated connection, for state that outlasts a query (LISTEN, advisory locks). */
export const connect = (url: string): Promise<SeverableClient> =>
  connectToPrimary(url, { connectionTimeoutMillis: POOL_LIMITS.connectMs, query_timeout: DEDICATED_QUERY_MS });
