/**
 * The connections of the HTTP server: accepts them up to their limits,
 * enforces their timeouts, and closes them at shutdown.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { IndexedList, networkOf } from '../../core/index.ts';
import { SERVER_BOUNDS } from './bounds.ts';
import type { ListeningSocket } from './listening-sockets.ts';
import { MIN_TLS_VERSION } from './open-socket.ts';
import type { CloseOptions, ConnectionLimits, ServerCertificate, ServerHost } from './server.ts';
import { WireServerConnection } from './wire/server-connection.ts';

const CHECK_MS = 1_000;
const SWEEP_MS = 50;
/**
 * Time in which the listening sockets wait for a good moment to close.
 * A slow event loop has none that is better than others.
 */
const MAX_CLOSING_MS = 1_000;
const SHORT_TURN_MS = 1;
/** Time for clients to receive the last bytes after the time limit of a shutdown. */
const LAST_BYTES_MS = 1_000;

const SOCKET_OPTIONS = { allowHalfOpen: true, noDelay: true } as const;

export interface ListenerOptions {
  readonly host: ServerHost;
  readonly limits: ConnectionLimits;
  /** Serves HTTPS with this certificate; without it HTTP. */
  readonly certificate?: ServerCertificate | undefined;
}

export class HttpServer {
  /** Since the start. */
  refusedConnections = 0;
  readonly #connections = new IndexedList<WireServerConnection>();
  /** Open connections by network. Clients choose the networks, but each entry needs an open connection. */
  readonly #byNetwork = new Map<string, number>();
  /** Connections that only get the response that they are refused. */
  readonly #refused = new IndexedList<WireServerConnection>();
  readonly #host: ServerHost;
  readonly #limits: ConnectionLimits;
  readonly #onConnection: (socket: Socket) => void;
  #servers: readonly Server[] = [];
  #stopping: Promise<void> | undefined;
  /** Each resolves when all connections of its socket are closed. */
  #ended: readonly Promise<unknown>[] = [];
  /** The TCP connections below TLS, of which some have not finished their handshake. */
  readonly #encrypted = new Set<Socket>();
  #accepted = 0;
  #reportedRefused = 0;
  /** Where the next search for an idle connection begins. */
  #cursor = 0;
  #isChecking = false;
  #cancelCheck: () => void = () => {};

  constructor({ host, limits, certificate }: ListenerOptions) {
    this.#host = host;
    this.#limits = limits;
    const accept = (socket: Socket): void => this.#accept(socket);
    this.#onConnection = certificate ? this.#handshakes(certificate, accept) : accept;
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /** A TLS server that does not listen itself. */
  #handshakes(certificate: ServerCertificate, accept: (socket: Socket) => void): (socket: Socket) => void {
    const { cert, key } = certificate.pair;
    const server = createTlsServer(
      {
        ...SOCKET_OPTIONS,
        cert,
        key,
        minVersion: MIN_TLS_VERSION,
        ALPNProtocols: ['http/1.1'],
        handshakeTimeout: SERVER_BOUNDS.handshakeMs.limit,
      },
      accept,
    );
    // Node leaves the connection open when the time limit of the handshake is over.
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    certificate.onChange((pair) =>
      server.setSecureContext({ cert: pair.cert, key: pair.key, minVersion: MIN_TLS_VERSION }),
    );
    return (socket) => {
      // Beyond the limit and the refusals that get a response, handshakes would only cost time and descriptors.
      if (this.#encrypted.size >= this.#limits.total + SERVER_BOUNDS.refusedResponses.limit)
        return void socket.destroy();
      this.#encrypted.add(socket);
      // TLS reports the errors of its own socket only.
      socket.on('error', () => {});
      socket.once('close', () => this.#encrypted.delete(socket));
      server.emit('connection', socket);
    };
  }

  /** Accepts connections from all of these sockets. Returns the port. */
  async listen(sockets: readonly ListeningSocket[]): Promise<number> {
    const backlog = Math.ceil(SERVER_BOUNDS.backlog.limit / sockets.length);
    const onConnection = (socket: Socket): void => {
      this.#accepted += 1;
      this.#onConnection(socket);
    };
    this.#servers = sockets.map((socket) => createServer(SOCKET_OPTIONS, onConnection).listen(socket, backlog));
    await Promise.all(this.#servers.map((server) => once(server, 'listening')));
    // The system has no descriptor or memory for one more connection.
    for (const server of this.#servers)
      server.on('error', () => {
        this.refusedConnections += 1;
      });
    const address = this.#servers[0]?.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /**
   * Closes the listening sockets, all together and within about a second.
   * Connections that were accepted by then are served.
   */
  stopListening(): Promise<void> {
    this.#stopping ??= this.#closeSockets();
    return this.#stopping;
  }

  /**
   * Stops listening and lets open requests finish for `ms`. Then `interrupt` ends them, and all connections are closed.
   */
  async close(ms: number, { isHandover = false, interrupt = () => {} }: CloseOptions = {}): Promise<void> {
    const { clock } = this.#host;
    await this.stopListening();
    let cancel = clock.after(ms, () => {
      interrupt();
      cancel = clock.after(LAST_BYTES_MS, () => {
        this.#destroyAll(() => true);
        for (const socket of this.#encrypted) socket.destroy();
      });
    });
    // Closes connections as they become idle; they would delay the shutdown until the time limit.
    // In a handover, the next request of a connection may be on its way.
    // The time limit of the head bounds the wait for the first one.
    const isOver = ({ isIdle, idleSince }: WireServerConnection): boolean =>
      isIdle && (!isHandover || clock.elapsed() - idleSince >= SERVER_BOUNDS.lingerMs.limit);
    // Just after the sockets were read: a request may have arrived while the event loop was busy.
    const sweep = setInterval(() => setImmediate(() => this.#destroyAll(isOver)), SWEEP_MS);
    await Promise.all(this.#ended);
    clearInterval(sweep);
    cancel();
    this.#cancelCheck();
  }

  /**
   * The kernel resets connections that wait in the queue of a socket that closes.
   * So all sockets close just after a short turn of the event loop that has accepted none,
   * or later after any such turn. One after the other, each would get the connections of those before it.
   */
  async #closeSockets(): Promise<void> {
    const { clock } = this.#host;
    const begun = clock.elapsed();
    // What is left of this turn says nothing about the next one.
    await nextTurn();
    for (let isOver = false; !isOver; ) {
      const [accepted, turnBegun] = [this.#accepted, clock.elapsed()];
      await nextTurn();
      const now = clock.elapsed();
      const isShort = now - turnBegun < SHORT_TURN_MS || now - begun >= MAX_CLOSING_MS / 2;
      isOver = (accepted === this.#accepted && isShort) || now - begun >= MAX_CLOSING_MS;
    }
    this.#ended = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    // Reads the requests of the connections that were accepted last.
    await nextTurn();
  }

  #accept(socket: Socket): void {
    if (!this.#isChecking) this.#check();
    const network = networkOf(socket.remoteAddress ?? '');
    if (!this.#hasRoom(socket.remoteAddress ?? '', network)) return this.#refuse(socket);
    const connection = new WireServerConnection(socket, this.#host, this.#remove);
    connection.network = network;
    this.#connections.add(connection);
    this.#byNetwork.set(network, this.#openFrom(network) + 1);
  }

  #hasRoom(address: string, network: string): boolean {
    const { total, perAddress, isExempt } = this.#limits;
    if (this.#openFrom(network) >= perAddress && !isExempt(address)) return false;
    return this.#connections.size < total || this.#closeIdle();
  }

  #openFrom(network: string): number {
    return this.#byNetwork.get(network) ?? 0;
  }

  /** Closes the connection that is idle for the longest time, of a sample. Returns false when none of them is idle. */
  #closeIdle(): boolean {
    const { size } = this.#connections;
    let longest: WireServerConnection | undefined;
    for (let n = 0; n < Math.min(size, SERVER_BOUNDS.examinedConnections.limit); n += 1) {
      this.#cursor = (this.#cursor + 1) % size;
      const connection = this.#connections.at(this.#cursor);
      if (connection && connection.idleSince < (longest?.idleSince ?? Number.POSITIVE_INFINITY)) longest = connection;
    }
    if (!longest) return false;
    this.#remove(longest);
    longest.socket.destroy();
    return true;
  }

  readonly #remove = (connection: WireServerConnection): void => {
    const { network } = connection;
    // Removed before its socket has closed.
    if (network === undefined) return;
    connection.network = undefined;
    this.#connections.remove(connection);
    const open = this.#openFrom(network) - 1;
    if (open > 0) this.#byNetwork.set(network, open);
    else this.#byNetwork.delete(network);
  };

  #refuse(socket: Socket): void {
    this.refusedConnections += 1;
    if (this.#refused.size >= SERVER_BOUNDS.refusedResponses.limit) return void socket.destroy();
    const connection = new WireServerConnection(socket, this.#host, (closed) => this.#refused.remove(closed));
    this.#refused.add(connection);
    connection.refuse();
  }

  #destroyAll(which: (connection: WireServerConnection) => boolean): void {
    for (const connection of [...this.#connections.all(), ...this.#refused.all()])
      if (which(connection)) connection.socket.destroy();
  }

  /** Rests without connections. */
  #check(): void {
    const { clock } = this.#host;
    this.#isChecking = true;
    this.#cancelCheck = clock.after(CHECK_MS, () => {
      const now = clock.elapsed();
      for (const connection of this.#connections.all()) connection.checkTimeouts(now);
      // Here, so that a flood of connections does not become a flood of log lines.
      if (this.refusedConnections > this.#reportedRefused)
        this.#host.onRefused(this.refusedConnections - this.#reportedRefused);
      this.#reportedRefused = this.refusedConnections;
      this.#isChecking = false;
      if (this.#connections.size > 0) this.#check();
    });
  }
}
