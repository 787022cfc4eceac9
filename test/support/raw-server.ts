/** A server by hand, for clients under test: notes every byte that comes and answers each request with exactly what it is told. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** One connection from the client. */
export interface RawPeer {
  readonly socket: Socket;
  /** Everything that came over it, byte for character. */
  received: string;
}

export type Reply = (peer: RawPeer, request: string) => void;

export class RawServer {
  readonly peers: RawPeer[] = [];
  /** Whole requests in the order in which they came, head and body. */
  readonly requests: string[] = [];
  reply: Reply = () => {};
  /** Takes the place of reading requests: what to do with a connection as soon as it is there. */
  greet: ((peer: RawPeer) => void) | undefined;
  readonly #server: Server = createServer((socket) => this.#accept(socket));

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** As if nobody had come before. */
  forget(): void {
    for (const { socket } of this.peers) socket.destroy();
    this.peers.length = 0;
    this.requests.length = 0;
    this.reply = () => {};
    this.greet = undefined;
  }

  close(): void {
    this.forget();
    this.#server.close();
  }

  #accept(socket: Socket): void {
    const peer: RawPeer = { socket, received: '' };
    this.peers.push(peer);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    if (this.greet) return this.greet(peer);
    let rest = '';
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      peer.received += text;
      rest += text;
      for (let end = endOfRequest(rest); end <= rest.length; end = endOfRequest(rest)) {
        const request = rest.slice(0, end);
        rest = rest.slice(end);
        this.requests.push(request);
        this.reply(peer, request);
      }
    });
  }
}

/** Infinity while the head has not come. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return Number.POSITIVE_INFINITY;
  return head + 4 + Number(/\r\ncontent-length: (\d+)/.exec(text.slice(0, head))?.[1] ?? 0);
}
