/**
 * A TCP proxy that damages what the target sends: late, slowly, in slices, only in part, or without an end. Requests
 * pass unchanged.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Bytes are counted from the beginning of each connection, in the direction of the client. */
export interface TcpFault {
  /** Waits before the first byte. */
  latencyMs?: number;
  /** Forwards in writes of one to seven bytes. */
  isSliced?: boolean;
  bytesPerSecond?: number;
  /** Resets the connection after this many bytes. */
  resetAtByte?: number;
  /** Ends the connection properly after this many bytes. */
  cutAtByte?: number;
  /** Forwards nothing after this many bytes, and keeps the connection open. */
  stallAtByte?: number;
  /** Half-open: the client never learns that the target has ended the connection. */
  swallowsEnd?: boolean;
}

const LARGEST_SLICE = 7;
/** Writes per second of a limited bandwidth. */
const WRITES_PER_SECOND = 100;

export class TcpFaultProxy {
  readonly #target: { host: string; port: number };
  readonly #fault: TcpFault;
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  readonly #sockets = new Set<Socket>();

  /** Starts a proxy before the server of the URL. */
  static async start(target: string, fault: TcpFault): Promise<TcpFaultProxy> {
    const proxy = new TcpFaultProxy(target, fault);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(target: string, fault: TcpFault) {
    const { hostname, port } = new URL(target);
    this.#target = { host: hostname, port: Number(port) };
    this.#fault = fault;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Open sockets of both sides. */
  get connections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    const server = connect({ ...this.#target, allowHalfOpen: true, noDelay: true });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.#sockets.delete(socket);
        // The client of a half-open connection stays connected.
        if (socket === client || !this.#fault.swallowsEnd) other.destroy();
      });
    }
    client.on('data', (bytes) => server.write(bytes));
    client.on('end', () => {
      server.end();
      if (this.#fault.swallowsEnd || this.#fault.stallAtByte !== undefined) client.end();
    });
    this.#forward(server, client);
  }

  #forward(server: Socket, client: Socket): void {
    const { latencyMs, swallowsEnd } = this.#fault;
    let sent = 0;
    let isOver = false;
    let writing = Promise.resolve();
    const write = async (bytes: Buffer): Promise<void> => {
      if (sent === 0 && latencyMs) await sleep(latencyMs);
      const rest = this.#allowed(sent, bytes);
      await this.#write(client, rest);
      sent += rest.length;
      isOver = this.#strike(client, sent);
      server.resume();
    };
    server.on('data', (bytes: Buffer) => {
      if (isOver) return;
      server.pause();
      writing = writing.then(() => write(bytes));
    });
    server.on('end', () => void writing.then(() => isOver || swallowsEnd || client.end()));
  }

  #allowed(sent: number, bytes: Buffer): Buffer {
    const { resetAtByte, cutAtByte, stallAtByte } = this.#fault;
    const limit = resetAtByte ?? cutAtByte ?? stallAtByte ?? Number.POSITIVE_INFINITY;
    return bytes.subarray(0, Math.max(0, limit - sent));
  }

  /** True when the fault has ended the forwarding. */
  #strike(client: Socket, sent: number): boolean {
    const { resetAtByte, cutAtByte, stallAtByte } = this.#fault;
    if (resetAtByte !== undefined && sent >= resetAtByte) client.resetAndDestroy();
    else if (cutAtByte !== undefined && sent >= cutAtByte) client.end();
    else return stallAtByte !== undefined && sent >= stallAtByte;
    return true;
  }

  async #write(client: Socket, bytes: Buffer): Promise<void> {
    const { isSliced, bytesPerSecond } = this.#fault;
    const max =
      bytesPerSecond === undefined ? bytes.length : Math.max(1, Math.floor(bytesPerSecond / WRITES_PER_SECOND));
    for (let at = 0, n = 0; at < bytes.length; n += 1) {
      const size = isSliced ? (n % LARGEST_SLICE) + 1 : max;
      await new Promise<void>((resolve) => client.write(bytes.subarray(at, at + size), () => resolve()));
      if (client.destroyed) return;
      at += size;
      if (bytesPerSecond !== undefined) await sleep(1_000 / WRITES_PER_SECOND);
    }
  }
}
