/**
 * Pool of connections by origin and proxy: reuses idle ones and opens new ones. One request at a time per connection.
 */
import type { Socket } from 'node:net';
import { type Clock, entryOf, IndexedList, systemClock } from '../../core/index.ts';
import { CLIENT_BOUNDS } from './bounds.ts';
import * as client from './client.ts';
import { type OpenSocket, openTcpOrTls, type Target, targetOf } from './open-socket.ts';
import { isPinned, pinned } from './pinned-lookup.ts';
import { requestHead } from './request-head.ts';
import { ClientConnection, type ConnectionOwner, type RequestMessage } from './wire/client-connection.ts';

/** Interval for closing expired idle connections. An expired connection is never reused before that. */
const SWEEP_MS = 1_000;
/** Closing a thousand connections at once would delay every call by tens of milliseconds. The next ones follow soon. */
const SWEPT_AT_ONCE = 16;
const SWEEP_ON_MS = 2;
const MAX_CONNECTIONS: number = CLIENT_BOUNDS.connectionsPerOrigin.limit;

export interface ConnectionPoolOptions {
  readonly clock: Clock;
  readonly openSocket?: OpenSocket | undefined;
  readonly connectionsPerOrigin?: number | undefined;
}

export class ConnectionPool implements client.HttpTransport {
  readonly #options: { readonly [K in keyof ConnectionPoolOptions]-?: NonNullable<ConnectionPoolOptions[K]> };
  readonly #origins = new Map<string, OriginPool>();
  readonly #all = new IndexedList<ClientConnection>();
  #isSweeping = false;
  #isClosed = false;

  constructor({ clock, openSocket = openTcpOrTls, connectionsPerOrigin = MAX_CONNECTIONS }: ConnectionPoolOptions) {
    this.#options = { clock, openSocket, connectionsPerOrigin };
  }

  send(request: client.HttpRequest, user: client.TransportUser): client.TransportConnection {
    if (this.#isClosed) throw new client.ConnectionError('CLOSED', 'the client is closed');
    if (request.addresses && request.proxy !== undefined) throw new TypeError('a proxy makes pinned addresses void');
    if (request.addresses || request.connection === 'single') return this.#openSingle(request, user);
    const origin = this.#at(request);
    const message = { head: requestHead(request, origin.host), request };
    const idle = request.connection === 'new' ? undefined : origin.take();
    if (!idle) return this.#open(origin, message, user);
    idle.send(user, message);
    return idle;
  }

  /** Origins come from the configuration, so that there are few. */
  #at({ origin, proxy }: client.HttpRequest): OriginPool {
    const key = proxy === undefined ? origin : `${origin} ${proxy}`;
    const { connectionsPerOrigin } = this.#options;
    return entryOf(this.#origins, key, () => new OriginPool(new URL(origin), this, connectionsPerOrigin));
  }

  #open(origin: OriginPool, message: RequestMessage, user: client.TransportUser): ClientConnection {
    origin.makeRoom();
    const options = {
      target: origin.target,
      openSocket: (tunnel?: Socket) => this.#openSocket(origin, tunnel),
      openProxySocket: this.#options.openSocket,
      accepts: () => true,
      owner: origin,
    };
    const connection = new ClientConnection(options, message, user);
    origin.open += 1;
    this.#all.add(connection);
    return connection;
  }

  #openSocket(origin: OriginPool, tunnel: Socket | undefined): Socket {
    const { target, session } = origin;
    const socket = this.#options.openSocket({ ...target, session, ...(tunnel && { socket: tunnel }) });
    if (target.isTls) {
      // `session` comes only after the server is verified. After an error the next handshake starts without a session.
      socket.on('session', (latest: Buffer) => {
        origin.session = latest;
      });
      socket.on('error', () => {
        origin.session = undefined;
      });
    }
    return socket;
  }

  /**
   * For one response. Never reuses a TLS session, and keeps nothing about the origin,
   * which an unknown caller may have chosen.
   */
  #openSingle(request: client.HttpRequest, user: client.TransportUser): ClientConnection {
    const { addresses } = request;
    const url = new URL(request.origin);
    const target = targetOf(url);
    const message = { head: requestHead(request, url.host), request };
    const connection = new ClientConnection(
      {
        target,
        openSocket: (tunnel) =>
          this.#options.openSocket({ ...pinned(target, addresses), ...(tunnel && { socket: tunnel }) }),
        openProxySocket: this.#options.openSocket,
        accepts: (reached) => isPinned(addresses, reached),
        owner: { onIdle: (idle) => idle.close(), onClosed: (closed) => this.remove(closed) },
      },
      message,
      user,
    );
    this.#all.add(connection);
    return connection;
  }

  now(): number {
    return this.#options.clock.elapsed();
  }

  remove(connection: ClientConnection): void {
    this.#all.remove(connection);
  }

  /**
   * One timer for all idle connections, and none without them.
   * Uses the system clock, because sockets exist in real time only.
   */
  sweepSoon(ms = SWEEP_MS): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    systemClock.after(ms, () => {
      this.#isSweeping = false;
      const now = this.now();
      const origins = [...this.#origins.values()];
      const left = origins.reduce((most, origin) => most - origin.sweep(now, most), SWEPT_AT_ONCE);
      if (left === 0) this.sweepSoon(SWEEP_ON_MS);
      else if (origins.some(({ hasIdle }) => hasIdle)) this.sweepSoon();
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#all.all()) connection.closeWithError();
  }
}

class OriginPool implements ConnectionOwner {
  /** Value of the `host` header. */
  readonly host: string;
  readonly target: Target;
  /** TLS session of the last connection. */
  session: Buffer | undefined;
  /** Connections, idle ones included. */
  open = 0;
  readonly #pool: ConnectionPool;
  readonly #limit: number;
  /** Last in, first out, so that surplus connections expire. */
  readonly #idle: ClientConnection[] = [];

  constructor(url: URL, pool: ConnectionPool, limit: number) {
    this.host = url.host;
    this.target = targetOf(url);
    this.#pool = pool;
    this.#limit = limit;
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

  /**
   * Throws when every connection that may be open is in use. A request that waited would wait for a stream of an hour.
   */
  makeRoom(): void {
    if (this.open < this.#limit) return;
    const oldest = this.#idle[0];
    if (!oldest) throw new client.ConnectionError('TOO_MANY_CONNECTIONS', 'too many connections to the origin');
    oldest.close();
  }

  onIdle(connection: ClientConnection, keepMs: number): void {
    connection.keptUntil = this.#pool.now() + keepMs;
    this.#idle.push(connection);
    this.#pool.sweepSoon();
  }

  onClosed(connection: ClientConnection): void {
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.open -= 1;
    this.#pool.remove(connection);
  }

  get hasIdle(): boolean {
    return this.#idle.length > 0;
  }

  /** Closes up to `most` expired connections, and returns how many. */
  sweep(now: number, most: number): number {
    const expired = this.#idle.filter(({ keptUntil }) => now >= keptUntil).slice(0, most);
    for (const connection of expired) connection.close();
    return expired.length;
  }
}
