/** The port: accepts connections, looks after slow and silent ones, and closes them all in the end. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { IndexedList } from '../core/index.ts';
import { type ConnectionHost, ServerConnection } from './connection.ts';

const CHECK_MS = 1_000;
const SWEEP_MS = 50;

export class Listener {
  readonly #connections = new IndexedList<ServerConnection>();
  readonly #site: ConnectionHost;
  readonly #server;
  #cancelCheck: () => void = () => {};

  constructor(site: ConnectionHost) {
    this.#site = site;
    const forget = (connection: ServerConnection): void => this.#connections.remove(connection);
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.#connections.add(new ServerConnection(socket, site, forget)),
    );
  }

  async listen(host: string, port: number): Promise<{ host: string; port: number }> {
    this.#server.listen({ host, port });
    await once(this.#server, 'listening');
    this.#check();
    const address = this.#server.address() as AddressInfo;
    return { host: address.address, port: address.port };
  }

  /** Takes no more connections, lets open calls finish for `ms`, then cuts them. */
  async close(ms: number): Promise<void> {
    const cut = setTimeout(() => this.#destroyAll(() => true), ms);
    // A connection that falls idle while others finish would hold the stop until the cut.
    const sweep = setInterval(() => this.#destroyAll(({ isIdle }) => isIdle), SWEEP_MS);
    await new Promise((resolve) => this.#server.close(resolve));
    clearInterval(sweep);
    clearTimeout(cut);
    this.#cancelCheck();
  }

  #destroyAll(which: (connection: ServerConnection) => boolean): void {
    for (const connection of this.#connections.all()) if (which(connection)) connection.socket.destroy();
  }

  #check(): void {
    const { clock } = this.#site;
    this.#cancelCheck = clock.after(CHECK_MS, () => {
      const now = clock.now();
      for (const connection of this.#connections.all()) connection.look(now);
      this.#check();
    });
  }
}
