/**
 * The ports of a server with several workers. The primary claims them and keeps their sockets open, so that connections wait while a worker
 * is replaced, but takes no connection itself: all workers inherit the sockets, and the first that is free takes the next connection.
 */
import type { BoundSocket } from 'node:net';
import type { Config } from '../config.ts';
import { type ListeningSocket, portOf } from '../http/index.ts';
import { claimPort, type PortSockets } from '../server/index.ts';

/** After standard input, output, errors, and the link to the primary. */
const FIRST_DESCRIPTOR = 4;

export class SharedPorts {
  /** The port of the API. */
  readonly port: number;
  /** What workers listen on. */
  readonly inWorkers: PortSockets;
  /** What workers inherit, in the order of their own descriptors. */
  readonly descriptors: readonly number[];
  #sockets: readonly BoundSocket[];

  private constructor(host: string, api: readonly BoundSocket[], metrics: readonly BoundSocket[]) {
    this.port = portOf(api);
    this.#sockets = [...api, ...metrics];
    if (process.platform === 'win32') {
      this.descriptors = [];
      const addresses = [api, metrics].map((sockets) => (sockets.length > 0 ? [{ host, port: portOf(sockets) }] : []));
      this.inWorkers = { PORT: addresses[0] ?? [], METRICS_PORT: addresses[1] ?? [] };
      // Each worker asks `node:cluster` for the address, which must be free for that.
      this.close();
    } else {
      this.descriptors = this.#sockets.map((socket) => socket.fd());
      const inherited = this.#sockets.map((_, n): ListeningSocket => ({ fd: FIRST_DESCRIPTOR + n }));
      this.inWorkers = { PORT: inherited.slice(0, api.length), METRICS_PORT: inherited.slice(api.length) };
    }
  }

  static async claim(config: Config): Promise<SharedPorts> {
    const api = await claimPort('PORT', config);
    const metrics = config.METRICS_PORT === undefined ? [] : await claimPort('METRICS_PORT', config);
    return new SharedPorts(config.HOST, api, metrics);
  }

  /** Connections that no worker has taken are closed when the last worker closes its sockets too. */
  close(): void {
    for (const socket of this.#sockets) socket.close();
    this.#sockets = [];
  }
}
