/**
 * A TCP relay in front of a server that can misbehave, for example keep connections open and forward nothing, as a
 * broken network does.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What a dependency does to its clients, on open connections and new ones. */
export type Misbehaviour = (typeof MISBEHAVIOURS)[number] | 'hangs in TLS';
export const MISBEHAVIOURS = ['refuses', 'says nothing', 'drips', 'resets'] as const;
/** PostgreSQL: the question whether the server speaks TLS, and the answer that it does. */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');
const SSL_ACCEPTED = 'S';

/** Slow enough that no handshake ends within a time limit. */
const DRIP_MS = 250;

export class TcpRelay {
  readonly #target: URL;
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #sockets = new Set<Socket>();
  readonly #silenced = new Set<Socket>();
  #isSilent = false;
  #muteAfter: string | undefined;
  #port = 0;
  #misbehaviour: Misbehaviour | undefined;
  /** Connections and chunks that arrived since it misbehaves. */
  touches = 0;
  /** Clients that sent something on a silent connection. */
  readonly unheard = new Set<Socket>();

  /** Relays to the server of the URL. */
  static async start(url: string): Promise<TcpRelay> {
    const relay = new TcpRelay(new URL(url));
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    relay.#port = (relay.#server.address() as AddressInfo).port;
    return relay;
  }

  private constructor(target: URL) {
    this.#target = target;
  }

  /** The URL of the target, through the relay. */
  get url(): string {
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String(this.#port);
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

  /** A connection whose client sends this text gets no more answers. What the client sends still arrives. */
  muteAfter(text: string): void {
    this.#muteAfter = text;
  }

  /** Open connections and all new ones are silent, until `resume`. */
  silenceAll(): void {
    this.#isSilent = true;
    this.silenceOpen();
  }

  /** For good. */
  misbehave(how: Misbehaviour): void {
    this.#misbehaviour = how;
    if (how === 'says nothing' || how === 'hangs in TLS') this.silenceAll();
    if (how === 'refuses') this.#server.close();
    for (const [client] of this.#pairs) {
      if (how === 'resets') client.resetAndDestroy();
      if (how === 'refuses') client.destroy();
    }
  }

  /** New connections work again. Those that were silent stay so. */
  resume(): void {
    this.#isSilent = false;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#misbehaviour) this.touches += 1;
    if (this.#misbehaviour === 'resets') return void client.on('error', () => {}).resetAndDestroy();
    const host = decodeURIComponent(this.#target.hostname);
    const port = Number(this.#target.port);
    // The embedded server listens on a socket file in the folder that the URL names as host.
    const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    if (this.#isSilent) for (const socket of pair) this.#silenced.add(socket);
    this.#forward(client, server);
    client.on('data', () => this.#silenced.has(client) && this.unheard.add(client));
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
    from.on('data', (chunk: Buffer) => {
      if (this.#misbehaviour) this.touches += 1;
      if (this.#misbehaviour === 'hangs in TLS' && chunk.equals(SSL_REQUEST)) from.write(SSL_ACCEPTED);
      if (this.#muteAfter !== undefined && chunk.includes(this.#muteAfter)) this.#silenced.add(to);
      if (this.#silenced.has(from)) return;
      if (this.#misbehaviour === 'drips') this.#drip(from, to, chunk);
      else to.write(chunk);
    });
    from.on('end', () => {
      if (!this.#silenced.has(from)) to.end();
    });
  }

  /** Byte by byte, in both directions. */
  #drip(from: Socket, to: Socket, chunk: Buffer): void {
    from.pause();
    let sent = 0;
    const timer = setInterval(() => {
      to.write(chunk.subarray(sent, sent + 1));
      sent += 1;
      if (sent < chunk.length) return;
      clearInterval(timer);
      from.resume();
    }, DRIP_MS);
    to.once('close', () => clearInterval(timer));
  }
}
