/** A TCP load balancer: connections go to the targets in turn, and to the next one when a target refuses. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class RoundRobin {
  readonly #server: Server;
  readonly #targets: readonly { port: number }[];
  readonly #sockets = new Set<Socket>();
  /** Clients whose connection went to each target, while it is open. */
  readonly #open = new Map<number, Set<Socket>>();
  #next = 0;

  /** The port of a target may change while it is down. */
  static async start(targets: readonly { port: number }[]): Promise<RoundRobin> {
    const proxy = new RoundRobin(targets);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(targets: readonly { port: number }[]) {
    this.#targets = targets;
    this.#server = createServer((client) => {
      this.#keep(client);
      this.#next += 1;
      this.#forward(client, this.#next, this.#targets.length);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  openTo(port: number): number {
    return this.#open.get(port)?.size ?? 0;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #forward(client: Socket, turn: number, attempts: number): void {
    const port = this.#targets[turn % this.#targets.length]?.port ?? 0;
    const server = this.#keep(connect(port, '127.0.0.1'));
    let isConnected = false;
    server.once('error', () => {
      if (!isConnected && attempts > 1) this.#forward(client, turn + 1, attempts - 1);
      else client.destroy();
    });
    server.once('connect', () => {
      isConnected = true;
      const open = this.#open.get(port) ?? new Set<Socket>();
      this.#open.set(port, open.add(client));
      client.once('close', () => {
        open.delete(client);
        server.destroy();
      });
      client.pipe(server).pipe(client);
    });
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}
