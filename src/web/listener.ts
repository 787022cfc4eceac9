/** Listening socket of the HTTP server: accepts connections, enforces their timeouts, and closes them at shutdown. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { IndexedList } from '../core/index.ts';
import { type ConnectionHost, ServerConnection } from './connection.ts';

const CHECK_MS = 1_000;
const SWEEP_MS = 50;
/** Time for clients to receive the last bytes after the time limit of a shutdown. */
const LAST_BYTES_MS = 1_000;

export class Listener {
  readonly #connections = new IndexedList<ServerConnection>();
  readonly #host: ConnectionHost;
  readonly #server;
  #cancelCheck: () => void = () => {};

  constructor(host: ConnectionHost) {
    this.#host = host;
    const remove = (connection: ServerConnection): void => this.#connections.remove(connection);
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.#connections.add(new ServerConnection(socket, host, remove)),
    );
  }

  async listen(host: string, port: number): Promise<{ host: string; port: number }> {
    this.#server.listen({ host, port });
    await once(this.#server, 'listening');
    this.#check();
    const address = this.#server.address() as AddressInfo;
    return { host: address.address, port: address.port };
  }

  /** Stops accepting connections and lets open requests finish for `ms`. Then `interrupt` ends them, and all connections are closed. */
  async close(ms: number, interrupt: () => void = () => {}): Promise<void> {
    let lastBytes: NodeJS.Timeout | undefined;
    const deadline = setTimeout(() => {
      interrupt();
      lastBytes = setTimeout(() => this.#destroyAll(() => true), LAST_BYTES_MS);
    }, ms);
    // Closes connections as they become idle; they would delay the shutdown until the time limit.
    const sweep = setInterval(() => this.#destroyAll(({ isIdle }) => isIdle), SWEEP_MS);
    await new Promise((resolve) => this.#server.close(resolve));
    clearInterval(sweep);
    clearTimeout(deadline);
    clearTimeout(lastBytes);
    this.#cancelCheck();
  }

  #destroyAll(which: (connection: ServerConnection) => boolean): void {
    for (const connection of this.#connections.all()) if (which(connection)) connection.socket.destroy();
  }

  #check(): void {
    const { clock } = this.#host;
    this.#cancelCheck = clock.after(CHECK_MS, () => {
      const now = clock.now();
      for (const connection of this.#connections.all()) connection.checkTimeouts(now);
      this.#check();
    });
  }
}
