/**
 * A pool of connections that never waits for a silent server. A statement without a result within its limit cuts its connection, and
 * a connection that was unused for a while is probed before it is used again.
 */
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { type Clock, systemClock, Unavailable } from '../core/index.ts';
import { SeverableClient, TCP_OPTIONS } from './client.ts';

export interface PoolLimits {
  /** To open a connection, or to get one that others use. */
  readonly connectMs: number;
  /** PostgreSQL cancels a statement after this long, and ends a transaction that waits this long for its next statement. The connection is cut a second later if not even that was reported. */
  readonly statementMs: number;
  /** The limit of statements that a call waits for: its client prefers an error to a long wait. */
  readonly callMs: number;
  /** A connection that was unused for this long is probed first. */
  readonly idleMs: number;
  readonly probeMs: number;
}

export const POOL_LIMITS: PoolLimits = {
  connectMs: 5_000,
  statementMs: 10_000,
  callMs: 3_000,
  idleMs: 1_000,
  probeMs: 1_000,
};

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

type PoolClient = pg.PoolClient & SeverableClient;

/** When the server was last found silent. Pools of one server share it: what one of them finds holds for the connections of all. */
export class ServerSilence {
  foundAt = Number.NEGATIVE_INFINITY;
}

export interface DatabasePoolOptions {
  readonly connections: number;
  readonly limits: PoolLimits;
  readonly silence?: ServerSilence;
  readonly clock?: Clock;
}

export class DatabasePool {
  readonly #pool: pg.Pool;
  readonly #limits: PoolLimits;
  readonly #clock: Clock;
  /** When each connection last responded. */
  readonly #respondedAt = new WeakMap<PoolClient, number>();
  /** Connections that were last used before it was found are likely to be as silent. */
  readonly #silence: ServerSilence;

  constructor(
    url: string,
    { connections, limits, silence = new ServerSilence(), clock = systemClock }: DatabasePoolOptions,
  ) {
    this.#limits = limits;
    this.#clock = clock;
    this.#silence = silence;
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      // Otherwise a process without calls would open a connection for most of its statements, which costs more than all of them.
      min: 1,
      Client: SeverableClient,
      connectionTimeoutMillis: limits.connectMs,
      statement_timeout: limits.statementMs,
      // A transaction whose client is cut off from the network would keep its locks until TCP gives up, after hours.
      idle_in_transaction_session_timeout: limits.statementMs,
      application_name: 'dragoman',
      ...TCP_OPTIONS,
    });
    // The pool replaces a broken idle connection at the next query. Without a listener the error would end the process.
    this.#pool.on('error', () => {});
    // A connection that breaks during a query rejects that query, so the event itself needs no handling.
    this.#pool.on('connect', (client) => {
      client.on('error', () => {});
      this.#respondedAt.set(client as PoolClient, this.#clock.elapsed());
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
    // Kysely keeps one connection object per client, so the same client must be the same object each time.
    const limited = new WeakMap<PoolClient, PostgresPoolClient>();
    return {
      options: {},
      end: () => this.#pool.end(),
      connect: async () => {
        const client = await this.#checkOut();
        const known = limited.get(client) ?? this.#limit(client, limitMs);
        limited.set(client, known);
        return known;
      },
    };
  }

  /** Ends for certain: each round either returns a connection or removes one from the pool, and new ones are not probed. */
  async #checkOut(): Promise<PoolClient> {
    for (;;) {
      const client = (await this.#pool.connect().catch((error: unknown) => {
        throw new DatabaseUnavailable(`The database is not reachable: ${textOf(error)}.`, error);
      })) as PoolClient;
      if (await this.#responds(client)) return client;
      client.sever();
      client.release(true);
    }
  }

  async #responds(client: PoolClient): Promise<boolean> {
    const respondedAt = this.#respondedAt.get(client) ?? Number.NEGATIVE_INFINITY;
    if (respondedAt <= this.#silence.foundAt) return false;
    if (this.#clock.elapsed() - respondedAt < this.#limits.idleMs) return true;
    return this.#run(client, this.#limits.probeMs, () => client.query('select 1')).then(
      () => true,
      () => false,
    );
  }

  #limit(client: PoolClient, limitMs: number): PostgresPoolClient {
    const run = (text: string, parameters: readonly unknown[]) =>
      this.#run(client, limitMs, () => client.query(text, [...parameters]));
    return {
      query: run as unknown as PostgresPoolClient['query'],
      release: (destroy) => client.release(destroy),
    };
  }

  async #run<T>(client: PoolClient, limitMs: number, query: () => Promise<T>): Promise<T> {
    const cancel = this.#clock.after(limitMs, () => {
      this.#silence.foundAt = this.#clock.elapsed();
      client.sever();
    });
    try {
      const result = await query();
      this.#respondedAt.set(client, this.#clock.elapsed());
      return result;
    } catch (error) {
      if (client.isSevered) throw new DatabaseUnavailable(`The database did not respond: ${textOf(error)}.`, error);
      this.#respondedAt.set(client, this.#clock.elapsed());
      throw isTemporary(error) ? new DatabaseUnavailable(textOf(error), error) : error;
    } finally {
      cancel();
    }
  }
}

/**
 * SQLSTATE: connection failures (08), lack of resources (53), shutdown and restart (57P), and statements that were cancelled because
 * they waited for too long (57014).
 */
const isTemporary = (error: unknown): boolean => /^(?:08...|53...|57P0.|57014)$/.test(codeOf(error) ?? '');

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Node reports a refused connection to several addresses without a message. */
const textOf = (error: unknown): string =>
  error instanceof Error ? error.message || (codeOf(error) ?? error.name) : String(error);
