/**
 * A pool that never waits for a silent server: a late statement cuts its connection, and unused connections are probed.
 * What a lost connection certainly did not do, or may do twice, is done by another one.
 */
import type { CompiledQuery, PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { type Clock, codeOf, systemClock, Unavailable } from '../../core/index.ts';
import { CONNECT_TRIES, isAnswer, SeverableClient, TCP_OPTIONS, wasCutOff } from './client.ts';
import { areTogether } from './commit-with.ts';
import { copyIn, isCopyIn } from './copy-in.ts';
import { type Hosts, hostsOf } from './hosts.ts';
import { statementName } from './prepared.ts';
import { isRepeatable } from './repeatable.ts';

export interface PoolLimits {
  /** To open a connection, or to get one that others use. */
  readonly connectMs: number;
  /**
   * PostgreSQL cancels a statement after this long, and ends a transaction that waits this long for its next statement.
   * The connection is cut a second later if not even that was reported.
   */
  readonly statementMs: number;
  /** The limit of statements that a call waits for: its client prefers an error to a long wait. */
  readonly callMs: number;
  /** A connection that was unused for this long is probed first. */
  readonly idleMs: number;
  readonly probeMs: number;
  /** Measures all but `connectMs`, which the driver measures, and what PostgreSQL measures itself. */
  readonly clock: Clock;
}

export const POOL_LIMITS: PoolLimits = {
  connectMs: 5_000,
  statementMs: 10_000,
  callMs: 3_000,
  idleMs: 1_000,
  probeMs: 1_000,
  clock: systemClock,
};

/**
 * Longer than the minute between most jobs, so that their connections stay: a new one costs more than their statements.
 */
const UNUSED_MS = 90_000;

/** Time for PostgreSQL to report that it cancelled a statement. */
const CANCEL_MS = 1_000;

/** The database does not respond, or refuses to work for the moment. */
export class DatabaseUnavailable extends Unavailable {
  /** The SQLSTATE or system error behind it. */
  readonly code: string | undefined;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'DatabaseUnavailable';
    this.code = codeOf(cause);
  }
}

/** A connection ended, or was cut because its server was silent: whether the last statement ran is unknown. */
export class ConnectionLost extends DatabaseUnavailable {}

type PoolClient = pg.PoolClient & SeverableClient;

/**
 * When the server was last found silent. Pools of one server share it: what one of them finds holds for the connections
 * of all.
 */
export class ServerSilence {
  foundAt = Number.NEGATIVE_INFINITY;
}

export interface DatabasePoolOptions {
  readonly connections: number;
  readonly limits: PoolLimits;
  readonly silence?: ServerSilence;
  /** A pooler in transaction mode is in front, which refuses settings of a session. */
  readonly isPooled?: boolean;
}

export class DatabasePool {
  readonly #pool: pg.Pool;
  readonly #hosts: Hosts;
  readonly #limits: PoolLimits;
  readonly #isPooled: boolean;
  /** When each connection last responded. */
  readonly #respondedAt = new WeakMap<PoolClient, number>();
  /** Connections that were last used before it was found are likely to be as silent. */
  readonly #silence: ServerSilence;

  constructor(
    url: string,
    { connections, limits, silence = new ServerSilence(), isPooled = false }: DatabasePoolOptions,
  ) {
    this.#limits = limits;
    this.#isPooled = isPooled;
    this.#silence = silence;
    this.#hosts = hostsOf(url);
    this.#pool = new pg.Pool({
      max: connections,
      // Otherwise a process without calls would open a connection for most of its statements, which costs more than all
      // of them.
      min: 1,
      idleTimeoutMillis: UNUSED_MS,
      Client: SeverableClient,
      connectionTimeoutMillis: limits.connectMs,
      ...(!isPooled && {
        statement_timeout: limits.statementMs,
        // A transaction whose client is cut off from the network would keep its locks until TCP gives up, after hours.
        idle_in_transaction_session_timeout: limits.statementMs,
      }),
      application_name: 'dragoman',
      mustWrite: this.#hosts.areSeveral,
      ...TCP_OPTIONS,
    } as pg.PoolConfig);
    // The pool replaces a broken idle connection at the next query. Without a listener the error would end the process.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => {
      this.#respondedAt.set(client as PoolClient, this.#limits.clock.elapsed());
    });
  }

  /** The pool as Kysely sees it, for background work. */
  forJobs(): PostgresPool {
    return this.#view(this.#limits.statementMs + CANCEL_MS);
  }

  /** The same with the limit of statements that a call waits for. */
  forCalls(): PostgresPool {
    return this.#view(Math.min(this.#limits.callMs, this.#limits.statementMs + CANCEL_MS));
  }

  #view(limitMs: number): PostgresPool {
    return {
      options: {},
      end: () => this.#pool.end(),
      connect: async () => this.#lend(await this.#checkOut(), limitMs),
    };
  }

  /**
   * Ends for certain: each round either returns a connection or removes one from the pool, and new ones are not probed.
   */
  async #checkOut(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#connect().catch((error: unknown) => {
        throw new DatabaseUnavailable(`The database is not reachable: ${textOf(error)}.`, error);
      });
      if (await this.#responds(client)) return client;
      client.sever();
      client.release(true);
    }
  }

  /** Tries another host at once, because a server that refuses connections may have been replaced already. */
  async #connect(): Promise<PoolClient> {
    for (let left = CONNECT_TRIES; ; left -= 1) {
      this.#pool.options.connectionString = await this.#hosts.primary();
      try {
        return (await this.#pool.connect()) as PoolClient;
      } catch (error) {
        this.#leaveHost();
        const mayLast = wasCutOff(error) || (this.#hosts.areSeveral && !/timeout/.test(textOf(error)));
        if (left === 1 || !mayLast) throw error;
      }
    }
  }

  #leaveHost(): void {
    this.#hosts.leave(this.#pool.options.connectionString ?? '');
  }

  async #responds(client: PoolClient): Promise<boolean> {
    const respondedAt = this.#respondedAt.get(client) ?? Number.NEGATIVE_INFINITY;
    if (client.isLost || respondedAt <= this.#silence.foundAt) return false;
    if (this.#limits.clock.elapsed() - respondedAt < this.#limits.idleMs) return true;
    return this.#run(client, this.#limits.probeMs, () => client.query('select 1')).then(
      () => true,
      () => false,
    );
  }

  /**
   * The connection as Kysely sees it, until it is released. When it is lost, its first statement is sent again on
   * another one, if it did not run or may run twice. Later statements depend on what came before.
   */
  #lend(first: PoolClient, limitMs: number): PostgresPoolClient {
    let client: PoolClient | undefined = first;
    let tries = STATEMENT_TRIES;
    const run = async (text: string, parameters: readonly unknown[]): Promise<object> => {
      for (;;) {
        if (!client) throw new DatabaseUnavailable(`${LOST}.`, undefined);
        const attempt = this.#attempt(client, text, parameters);
        try {
          const result = await this.#run(client, limitMs, attempt.send);
          tries = 0;
          return result;
        } catch (error) {
          tries -= 1;
          if (tries <= 0 || isAnswer(error) || !attempt.mayRunAgain()) throw error;
          // A statement that is slow on every connection must not run three times.
          if (client.isSevered) tries = 1;
          client.release(true);
          client = undefined;
          client = await this.#checkOut();
        }
      }
    };
    return {
      query: run as unknown as PostgresPoolClient['query'],
      release: (destroy) => client?.release(destroy),
    };
  }

  #attempt(client: PoolClient, text: string, parameters: readonly unknown[]) {
    const { isLost: wasLost, boundStatements } = client;
    const statement = this.#statementOf(text, parameters);
    return {
      send: (): Promise<object> => {
        if (isCopyIn(text)) return copyAll(client, text, parameters);
        if (areTogether(text)) return this.#runAll(client, parameters as readonly CompiledQuery[]);
        return client.query(statement);
      },
      /**
       * A server that was told to end the connection says so before it executes the next statement. A pooler may say it
       * later. One that was silent until the connection was cut may still run the statement.
       */
      mayRunAgain: (): boolean => {
        if (!client.isLost) return false;
        if (wasLost || isRepeatable(text)) return true;
        if (client.isSevered) return false;
        const isBound = !isCopyIn(text) && (statement.name !== undefined || parameters.length > 0);
        const wasRefused =
          isBound && client.boundStatements === boundStatements && codeOf(client.loss) === ENDED_BY_SERVER;
        return wasRefused && !this.#isPooled;
      },
    };
  }

  #statementOf(text: string, parameters: readonly unknown[]): pg.QueryConfig {
    return { name: this.#isPooled ? undefined : statementName(text), text, values: [...parameters] };
  }

  async #runAll(client: PoolClient, queries: readonly CompiledQuery[]) {
    const results = await client.queryAll(queries.map(({ sql, parameters }) => this.#statementOf(sql, parameters)));
    return { command: 'SELECT', rowCount: results.length, rows: results.map(({ rows }) => rows) };
  }

  async #run<T>(client: PoolClient, limitMs: number, query: () => Promise<T>): Promise<T> {
    if (client.isLost) throw lost(client, undefined);
    const cancel = this.#limits.clock.after(limitMs, () => {
      this.#silence.foundAt = this.#limits.clock.elapsed();
      this.#leaveHost();
      client.sever();
    });
    try {
      const result = await query();
      this.#respondedAt.set(client, this.#limits.clock.elapsed());
      return result;
    } catch (error) {
      if (client.isLost && !isAnswer(error)) throw lost(client, error);
      this.#respondedAt.set(client, this.#limits.clock.elapsed());
      // The server has become a standby. Another connection may lead to the new primary.
      if (codeOf(error) === READ_ONLY) {
        this.#leaveHost();
        client.sever();
      }
      throw isTemporary(error) ? new DatabaseUnavailable(textOf(error), error) : error;
    } finally {
      cancel();
    }
  }
}

/** How many connections are tried for one that lasts as long as a statement. */
const STATEMENT_TRIES = 3;

const LOST = 'The database connection was lost';

function lost({ isSevered, loss }: SeverableClient, error: unknown): ConnectionLost {
  const cause = loss ?? error;
  return new ConnectionLost(`${isSevered ? 'The database did not respond' : LOST}: ${textOf(cause)}.`, cause);
}

/** SQLSTATE of a connection that an administrator, or a shutdown, has ended. */
const ENDED_BY_SERVER = '57P01';

/** SQLSTATE of a write in a read-only transaction. */
const READ_ONLY = '25006';

async function copyAll(client: PoolClient, statement: string, parameters: readonly unknown[]) {
  const rowCount = await copyIn(client, statement, parameters as readonly Buffer[]);
  return { command: 'COPY', rowCount, rows: [] };
}

/**
 * SQLSTATE: connection failures (08), lack of resources (53), shutdown and restart (57P), statements that were
 * cancelled because they waited for too long (57014), and a server that is read-only.
 */
const isTemporary = (error: unknown): boolean => /^(?:08...|53...|57P0.|57014|25006)$/.test(codeOf(error) ?? '');

/** Node reports a refused connection to several addresses without a message. */
const textOf = (error: unknown): string =>
  error instanceof Error ? error.message || (codeOf(error) ?? error.name) : String(error);
