/**
 * The listening sockets of a server with several workers, and the connections on their way to one of them. Workers get connections in turn.
 * A connection stays open here until its worker has confirmed it, so that one that a worker does not take goes to the next. Never reads
 * from a connection.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { Config } from '../config.ts';
import { SERVER_BOUNDS } from '../http/index.ts';
import { CliError, listenFailure, type PortName } from '../server/index.ts';
import type { ConnectionMessage, HandledNotice } from './worker-process.ts';

/** A worker that takes connections. */
export interface ConnectionTaker {
  sendConnection(message: ConnectionMessage, socket: Socket): void;
}

interface WaitingConnection extends ConnectionMessage {
  readonly socket: Socket;
}

/** Connections without a worker: all workers are busy, or none is ready. Further ones are closed. */
const MAX_WAITING = 4_096;

export class Acceptor {
  readonly #servers: Server[] = [];
  /** In the order of their turns. */
  readonly #takers = new Set<ConnectionTaker>();
  /** The connection that a worker has got and not confirmed. */
  readonly #unconfirmed = new Map<ConnectionTaker, WaitingConnection>();
  #waiting: WaitingConnection[] = [];
  #nextId = 1;
  #port = 0;

  /** Claims the ports of the settings. */
  async listen(config: Config): Promise<void> {
    this.#port = await this.#listenOn('PORT', config.HOST, config.PORT);
    if (config.METRICS_PORT !== undefined) await this.#listenOn('METRICS_PORT', config.HOST, config.METRICS_PORT);
  }

  /** The port of the API. */
  get port(): number {
    return this.#port;
  }

  add(taker: ConnectionTaker): void {
    this.#takers.add(taker);
    this.#handOut();
  }

  /** The worker gets no more connections. */
  retire(taker: ConnectionTaker): void {
    this.#takers.delete(taker);
  }

  /** The worker has ended. It may have read from the connection that it did not confirm, so no other worker can serve that one. */
  remove(taker: ConnectionTaker): void {
    this.#takers.delete(taker);
    this.#unconfirmed.get(taker)?.socket.destroy();
    this.#unconfirmed.delete(taker);
  }

  onHandled(taker: ConnectionTaker, { connection, isTaken }: HandledNotice): void {
    const unconfirmed = this.#unconfirmed.get(taker);
    if (unconfirmed?.connection !== connection) return;
    this.#unconfirmed.delete(taker);
    // Closes the copy of this process only.
    if (isTaken) unconfirmed.socket.destroy();
    else this.#waiting.unshift(unconfirmed);
    this.#handOut();
  }

  close(): void {
    for (const server of this.#servers.splice(0)) server.close();
    for (const { socket } of this.#waiting.splice(0)) socket.destroy();
  }

  async #listenOn(port: PortName, host: string, number: number): Promise<number> {
    const server = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket, port));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject).listen({ host, port: number, backlog: SERVER_BOUNDS.backlog.limit }, resolve);
    await promise.catch((error: NodeJS.ErrnoException) => {
      throw new CliError(listenFailure(host, number, port, error));
    });
    this.#servers.push(server);
    const address = server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  #accept(socket: Socket, port: PortName): void {
    socket.on('error', () => {});
    if (this.#waiting.length >= MAX_WAITING) return void socket.destroy();
    this.#waiting.push({ connection: this.#nextId, port, socket });
    this.#nextId += 1;
    this.#handOut();
  }

  /** A worker gets its next connection when it has confirmed the last one: a blocked worker keeps only one of them waiting. */
  #handOut(): void {
    for (const taker of [...this.#takers]) {
      if (this.#unconfirmed.has(taker)) continue;
      const next = this.#waiting.shift();
      if (!next) return;
      this.#unconfirmed.set(taker, next);
      // Behind the others.
      this.#takers.delete(taker);
      this.#takers.add(taker);
      taker.sendConnection({ connection: next.connection, port: next.port }, next.socket);
    }
  }
}
