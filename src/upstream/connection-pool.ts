/** Connections by origin: the ones that wait for a request, and the making of new ones. One call at a time on each. */
import { type Clock, IndexedList, systemClock } from '../core/index.ts';
import { ClientConnection, ConnectionError, type ConnectionOwner, type ConnectionUser } from './connection.ts';
import { type OpenSocket, type Target, targetOf } from './open-socket.ts';

/** How often connections that waited too long are closed. None of them is used in the meantime. */
const SWEEP_MS = 1_000;

export class ConnectionPool {
  readonly #clock: Clock;
  readonly #connectMs: number;
  readonly #dial: OpenSocket;
  readonly #origins = new Map<string, OriginPool>();
  readonly #all = new IndexedList<ClientConnection>();
  #isSweeping = false;
  #isClosed = false;

  constructor(clock: Clock, connectMs: number, dial: OpenSocket) {
    this.#clock = clock;
    this.#connectMs = connectMs;
    this.#dial = dial;
  }

  at(origin: string): OriginPool {
    const known = this.#origins.get(origin);
    if (known) return known;
    const made = new OriginPool(new URL(origin), this);
    this.#origins.set(origin, made);
    return made;
  }

  /** There is no upper bound: live streams hold a connection each, and a bound would make them wait for one another. */
  open(origin: OriginPool, user: ConnectionUser): ClientConnection {
    if (this.#isClosed) throw new ConnectionError('CLOSED', 'this side has stopped');
    const { target, session } = origin;
    const socket = this.#dial({ ...target, session });
    if (target.isTls) {
      // Comes only after its server was verified; after trouble the next handshake is a whole one.
      socket.on('session', (latest: Buffer) => origin.remember(latest));
      socket.on('error', () => origin.remember(undefined));
    }
    const connection = new ClientConnection(
      { socket, isTls: target.isTls, connectMs: this.#connectMs, owner: origin },
      user,
    );
    this.#all.add(connection);
    return connection;
  }

  now(): number {
    return this.#clock.now();
  }

  forget(connection: ClientConnection): void {
    this.#all.remove(connection);
  }

  /** One timer for all that wait, and none when nobody does. Of the system: sockets are its business, and time limits are not at stake. */
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
  /** As the `host` header says it. */
  readonly host: string;
  readonly target: Target;
  readonly #connections: ConnectionPool;
  /** The one used last is used first: what is not needed grows old and goes. */
  readonly #idle: ClientConnection[] = [];
  #session: Buffer | undefined;

  constructor(url: URL, connections: ConnectionPool) {
    this.host = url.host;
    this.target = targetOf(url);
    this.#connections = connections;
  }

  get session(): Buffer | undefined {
    return this.#session;
  }

  remember(session: Buffer | undefined): void {
    this.#session = session;
  }

  /** One that can take a request at once. */
  take(): ClientConnection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (!connection) return undefined;
      if (connection.isUsable && this.#connections.now() < connection.keptUntil) return connection;
      connection.close();
    }
  }

  open(user: ConnectionUser): ClientConnection {
    return this.#connections.open(this, user);
  }

  onIdle(connection: ClientConnection, keepMs: number): void {
    connection.keptUntil = this.#connections.now() + keepMs;
    this.#idle.push(connection);
    this.#connections.sweepSoon();
  }

  onClosed(connection: ClientConnection): void {
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#connections.forget(connection);
  }

  /** Whether anybody is still waiting. */
  sweep(now: number): boolean {
    for (const connection of [...this.#idle]) if (now >= connection.keptUntil) connection.close();
    return this.#idle.length > 0;
  }
}
