/** A TCP relay in front of PostgreSQL that can go silent: it keeps connections open and forwards nothing, as a broken network does. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export class TcpRelay {
  readonly #target: URL;
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #sockets = new Set<Socket>();
  readonly #silenced = new Set<Socket>();
  #isSilent = false;

  /** Relays to the server of the URL. */
  static async start(url: string): Promise<TcpRelay> {
    const relay = new TcpRelay(new URL(url));
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  private constructor(target: URL) {
    this.#target = target;
  }

  /** The URL of the target, through the relay. */
  get url(): string {
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  get openConnections(): number {
    return this.#pairs.size;
  }

  /** Open connections go silent; new ones work. */
  silenceOpen(): number {
    for (const [client, server] of this.#pairs) {
      this.#silenced.add(client);
      this.#silenced.add(server);
    }
    return this.#pairs.size;
  }

  /** Open connections and all new ones are silent, until `resume`. */
  silenceAll(): void {
    this.#isSilent = true;
    this.silenceOpen();
  }

  /** New connections work again. Those that were silent stay so. */
  resume(): void {
    this.#isSilent = false;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    const host = decodeURIComponent(this.#target.hostname);
    const port = Number(this.#target.port);
    // The embedded server listens on a socket file in the folder that the URL names as host.
    const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    if (this.#isSilent) for (const socket of pair) this.#silenced.add(socket);
    this.#forward(client, server);
    this.#forward(server, client);
    for (const socket of pair) {
      this.#sockets.add(socket);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#pairs.delete(pair);
        if (!this.#silenced.has(socket)) for (const other of pair) other.destroy();
      });
    }
  }

  #forward(from: Socket, to: Socket): void {
    from.on('error', () => {});
    from.on('data', (chunk) => {
      if (!this.#silenced.has(from)) to.write(chunk);
    });
    from.on('end', () => {
      if (!this.#silenced.has(from)) to.end();
    });
  }
}
