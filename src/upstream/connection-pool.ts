/** Pool of provider connections by origin: reuses idle ones and opens new ones. One request at a time per connection. */
import { type Clock, IndexedList, systemClock } from '../core/index.ts';
import { ClientConnection, ConnectionError, type ConnectionOwner, type ConnectionUser } from './connection.ts';
import { type OpenSocket, type Target, targetOf } from './open-socket.ts';
import { connectTo } from './pinned-connection.ts';

/** Interval for closing expired idle connections. An expired connection is never reused before that. */
const SWEEP_MS = 1_000;

export class ConnectionPool {
  readonly #clock: Clock;
  readonly #connectMs: number;
  readonly #openSocket: OpenSocket;
  readonly #origins = new Map<string, OriginPool>();
  readonly #all = new IndexedList<ClientConnection>();
  #isSweeping = false;
  #isClosed = false;

  constructor(clock: Clock, connectMs: number, openSocket: OpenSocket) {
    this.#clock = clock;
    this.#connectMs = connectMs;
    this.#openSocket = openSocket;
  }

  at(origin: string): OriginPool {
    const known = this.#origins.get(origin);
    if (known) return known;
    const pool = new OriginPool(new URL(origin), this);
    this.#origins.set(origin, pool);
    return pool;
  }

  /** Without an upper limit: every open stream holds a connection, and a limit would make streams wait for one another. */
  open(origin: OriginPool, user: ConnectionUser): ClientConnection {
    if (this.#isClosed) throw new ConnectionError('CLOSED', 'the client is closed');
    const { target, session } = origin;
    const socket = this.#openSocket({ ...target, session });
    if (target.isTls) {
      // `session` comes only after the server is verified. After an error the next handshake starts without a session.
      socket.on('session', (latest: Buffer) => origin.saveSession(latest));
      socket.on('error', () => origin.saveSession(undefined));
    }
    const connection = new ClientConnection(
      { socket, isTls: target.isTls, connectMs: this.#connectMs, owner: origin },
      user,
    );
    this.#all.add(connection);
    return connection;
  }

  /** A connection of its own, only to one of the checked addresses. It closes after its response. */
  openPinned({ target }: OriginPool, addresses: readonly string[], user: ConnectionUser): ClientConnection {
    if (this.#isClosed) throw new ConnectionError('CLOSED', 'the client is closed');
    const owner = {
      onIdle: (connection: ClientConnection) => connection.close(),
      onClosed: (connection: ClientConnection) => this.remove(connection),
    };
    const route = { addresses, connectMs: this.#connectMs, openSocket: this.#openSocket, owner };
    const connection = connectTo(target, route, user);
    this.#all.add(connection);
    return connection;
  }

  now(): number {
    return this.#clock.now();
  }

  remove(connection: ClientConnection): void {
    this.#all.remove(connection);
  }

  /** One timer for all idle connections, and none without them. Uses the system clock, because sockets exist in real time only. */
  sweepSoon(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    systemClock.after(SWEEP_MS, () => {
      this.#isSweeping = false;
      const now = this.#clock.now();
      for (const origin of this.#origins.values()) if (origin.sweep(now)) this.sweepSoon();
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#all.all()) connection.closeWithError();
  }
}

export class OriginPool implements ConnectionOwner {
  /** Value of the `host` header. */
  readonly host: string;
  readonly target: Target;
  readonly #pool: ConnectionPool;
  /** Last in, first out, so that surplus connections expire. */
  readonly #idle: ClientConnection[] = [];
  #session: Buffer | undefined;

  constructor(url: URL, pool: ConnectionPool) {
    this.host = url.host;
    this.target = targetOf(url);
    this.#pool = pool;
  }

  get session(): Buffer | undefined {
    return this.#session;
  }

  saveSession(session: Buffer | undefined): void {
    this.#session = session;
  }

  /** Takes an idle connection that can send a request now. */
  take(): ClientConnection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (!connection) return undefined;
      if (connection.isUsable && this.#pool.now() < connection.keptUntil) return connection;
      connection.close();
    }
  }

  open(user: ConnectionUser): ClientConnection {
    return this.#pool.open(this, user);
  }

  onIdle(connection: ClientConnection, keepMs: number): void {
    connection.keptUntil = this.#pool.now() + keepMs;
    this.#idle.push(connection);
    this.#pool.sweepSoon();
  }

  onClosed(connection: ClientConnection): void {
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#pool.remove(connection);
  }

  /** Closes expired connections. Returns whether idle ones remain. */
  sweep(now: number): boolean {
    for (const connection of [...this.#idle]) if (now >= connection.keptUntil) connection.close();
    return this.#idle.length > 0;
  }
}
