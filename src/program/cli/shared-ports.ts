/**
 * The ports of a server with several workers. The primary keeps their sockets open; workers inherit them and take
 * connections.
 */
import type { Config } from '../../platform/config.ts';
import type { BoundPort, ListeningSocket } from '../../platform/http/index.ts';
import { claimPort, type PortSockets } from '../server/index.ts';

/** After standard input, output, errors, and the link to the primary. */
const FIRST_DESCRIPTOR = 4;

export class SharedPorts {
  readonly port: number;
  /** What workers listen on. */
  readonly inWorkers: PortSockets;
  /** What workers inherit, in the order of their own descriptors. */
  readonly descriptors: readonly number[];
  #claimed: readonly BoundPort[];

  private constructor(host: string, api: BoundPort, metrics: BoundPort | undefined) {
    this.port = api.port;
    this.#claimed = metrics ? [api, metrics] : [api];
    if (process.platform === 'win32') {
      this.descriptors = [];
      const addressOf = ({ port }: BoundPort): ListeningSocket => ({ host, port });
      this.inWorkers = { PORT: [addressOf(api)], METRICS_PORT: metrics ? [addressOf(metrics)] : [] };
      // Each worker asks `node:cluster` for the address, which must be free for that.
      this.close();
    } else {
      this.descriptors = this.#claimed.flatMap(({ sockets }) => sockets.map((socket) => socket.fd()));
      const inherited = this.descriptors.map((_, n): ListeningSocket => ({ fd: FIRST_DESCRIPTOR + n }));
      const own = api.sockets.length;
      this.inWorkers = { PORT: inherited.slice(0, own), METRICS_PORT: inherited.slice(own) };
    }
  }

  static async claim(config: Config): Promise<SharedPorts> {
    const api = await claimPort('PORT', config);
    const metrics = config.METRICS_PORT === undefined ? undefined : await claimPort('METRICS_PORT', config);
    return new SharedPorts(config.HOST, api, metrics);
  }

  /** Connections that no worker has taken are closed when the last worker closes its sockets too. */
  close(): void {
    for (const port of this.#claimed) port.close();
    this.#claimed = [];
  }
}
