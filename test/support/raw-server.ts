/** Raw TCP server for tests of HTTP clients: records every byte and responds with exactly the scripted bytes. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** One connection of the client. */
export interface RawPeer {
  readonly socket: Socket;
  /** All bytes received, one character per byte (Latin-1). */
  received: string;
}

export type Respond = (peer: RawPeer, request: string) => void;

export class RawServer {
  readonly peers: RawPeer[] = [];
  /** Complete requests in the order received, head and body. */
  readonly requests: string[] = [];
  respond: Respond = () => {};
  /** Replaces the reading of requests: called with every new connection. */
  onConnection: ((peer: RawPeer) => void) | undefined;
  readonly #server: Server = createServer((socket) => this.#accept(socket));

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Closes all connections and clears all records. */
  reset(): void {
    for (const { socket } of this.peers) socket.destroy();
    this.peers.length = 0;
    this.requests.length = 0;
    this.respond = () => {};
    this.onConnection = undefined;
  }

  close(): void {
    this.reset();
    this.#server.close();
  }

  #accept(socket: Socket): void {
    const peer: RawPeer = { socket, received: '' };
    this.peers.push(peer);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    if (this.onConnection) return this.onConnection(peer);
    let rest = '';
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      peer.received += text;
      rest += text;
      for (let end = endOfRequest(rest); end <= rest.length; end = endOfRequest(rest)) {
        const request = rest.slice(0, end);
        rest = rest.slice(end);
        this.requests.push(request);
        this.respond(peer, request);
      }
    });
  }
}

/** Infinity while the head is incomplete. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return Number.POSITIVE_INFINITY;
  return head + 4 + Number(/\r\ncontent-length: (\d+)/.exec(text.slice(0, head))?.[1] ?? 0);
}
