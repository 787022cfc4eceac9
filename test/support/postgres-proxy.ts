/**
 * A PostgreSQL proxy that knows where messages begin and end, and strikes a connection at a chosen one: the same strike
 * at every message of some work covers every moment of it.
 */
import { once } from 'node:events';
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net';
import { connect } from '../../src/platform/db/index.ts';

/** Who sends the message. */
export type Side = 'client' | 'server';

/**
 * What happens at a message, which does not pass with the first two: `reset`: a TCP reset; `end`: the connection is
 * closed; `fatal`: PostgreSQL says that it ends the connection, instead of a message of the client, or in the same
 * chunk as its next ReadyForQuery; `terminate`: `pg_terminate_backend` first; `terminate-behind`: at the same time.
 */
export const STRIKES = ['reset', 'end', 'fatal', 'terminate', 'terminate-behind'] as const;
export type Strike = (typeof STRIKES)[number];

export interface Blow {
  readonly strike: Strike;
  readonly side: Side;
  /** The number of the message among those that the side sends on all connections, from one on. */
  readonly at: number;
}

const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;
const BACKEND_KEY_DATA = 'K'.charCodeAt(0);
const READY_FOR_QUERY = 'Z'.charCodeAt(0);

/** `FATAL`, as an administrator or a restart causes it. */
const FATAL = message('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');

function message(type: string, content: string): Buffer {
  const body = Buffer.from(content);
  const head = Buffer.alloc(HEAD_BYTES);
  head.write(type);
  head.writeInt32BE(body.length + LENGTH_BYTES, 1);
  return Buffer.concat([head, body]);
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  processId: number;
  isOver: boolean;
}

export class PostgresProxy {
  readonly #target: URL;
  readonly #server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();
  #blow: Blow | undefined;
  /** Messages of each side since the proxy was armed. */
  #counts: Record<Side, number> = { client: 0, server: 0 };
  #hasStruck = false;

  static async start(url: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(url);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(url: string) {
    this.#target = new URL(url);
  }

  get url(): string {
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Counts from zero again, and strikes once. Without a blow it only counts. */
  arm(blow?: Blow): void {
    this.#blow = blow;
    this.#counts = { client: 0, server: 0 };
    this.#hasStruck = false;
  }

  get hasStruck(): boolean {
    return this.#hasStruck;
  }

  sent(side: Side): number {
    return this.#counts[side];
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    const host = decodeURIComponent(this.#target.hostname);
    const port = Number(this.#target.port);
    const server = host.startsWith('/') ? connectSocket(`${host}/.s.PGSQL.${port}`) : connectSocket(port, host);
    const pair: Pair = { client, server, processId: 0, isOver: false };
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (!pair.isOver) other.destroy();
      });
    }
    void this.#forward('client', pair);
    void this.#forward('server', pair);
  }

  async #forward(side: Side, pair: Pair): Promise<void> {
    const [from, to] = side === 'client' ? [pair.client, pair.server] : [pair.server, pair.client];
    // The first message of a client has no type. Its question for TLS is never asked: the URLs of tests refuse it.
    let headBytes = side === 'client' ? 0 : 1;
    let rest = Buffer.alloc(0);
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        rest = Buffer.concat([rest, chunk]);
        const messages: Buffer[] = [];
        while (rest.length >= headBytes + LENGTH_BYTES) {
          const bytes = headBytes + rest.readInt32BE(headBytes);
          if (rest.length < bytes) break;
          messages.push(rest.subarray(0, bytes));
          rest = rest.subarray(bytes);
          headBytes = 1;
        }
        await this.#pass(side, pair, to, messages);
        if (pair.isOver) return;
      }
      to.end();
    } catch {
      // A socket that breaks closes the other one.
    }
  }

  /** Messages that came together stay together, so that the driver gets them in one turn. */
  async #pass(side: Side, pair: Pair, to: Socket, messages: readonly Buffer[]): Promise<void> {
    const waiting: Buffer[] = [];
    for (const bytes of messages) {
      if (side === 'server' && bytes[0] === BACKEND_KEY_DATA) pair.processId = bytes.readInt32BE(HEAD_BYTES);
      this.#counts[side] += 1;
      const strike = this.#strikeAt(side, bytes);
      if (strike === 'terminate') await this.#terminate(pair);
      if (strike === 'terminate-behind') void this.#terminate(pair);
      if (strike === 'fatal' && side === 'server') waiting.push(bytes, FATAL);
      else if (strike === 'fatal') pair.client.write(FATAL);
      if (strike === 'fatal' || strike === 'end' || strike === 'reset') {
        if (waiting.length > 0) to.write(Buffer.concat(waiting));
        return this.#end(pair, strike);
      }
      waiting.push(bytes);
    }
    if (waiting.length > 0) to.write(Buffer.concat(waiting));
  }

  #strikeAt(side: Side, bytes: Buffer): Strike | undefined {
    const blow = this.#blow;
    if (this.#hasStruck || blow?.side !== side || this.#counts[side] < blow.at) return undefined;
    if (blow.strike === 'fatal' && side === 'server' && bytes[0] !== READY_FOR_QUERY) return undefined;
    this.#hasStruck = true;
    return blow.strike;
  }

  #end(pair: Pair, strike: Strike): void {
    pair.isOver = true;
    if (strike === 'reset') pair.client.resetAndDestroy();
    else pair.client.end();
    // After what was written, so that the server does what it was told.
    pair.server.end();
  }

  async #terminate({ processId }: Pair): Promise<void> {
    const admin = await connect(this.#target.href);
    try {
      await admin.query('select pg_terminate_backend($1)', [processId]);
    } finally {
      await admin.end();
    }
  }
}
