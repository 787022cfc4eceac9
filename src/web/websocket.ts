/** Turning an upgrade request into a WebSocket, once its caller is known. Text frames in and out; no compression, bounded frames. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer as WsServer } from 'ws';
import { fail } from '../core/index.ts';
import { WEBSOCKET } from '../rules/index.ts';
import type { Call } from './call.ts';

export interface WebSocketConnection {
  /** False when the client is slow; `onDrain` follows. */
  send(text: string): boolean;
  close(code: number, reason: string): void;
  onMessage(listener: (text: string | undefined) => void): void;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
}

export class WebSocketServer {
  readonly #server = new WsServer({
    noServer: true,
    maxPayload: WEBSOCKET.messageBytes,
    perMessageDeflate: false,
    clientTracking: false,
  });

  /** The call must carry an upgrade; from here on its HTTP response is not used any more. */
  accept(call: Call): Promise<WebSocketConnection> {
    const { promise, resolve } = Promise.withResolvers<WebSocketConnection>();
    const { upgrade } = call;
    if (!upgrade) throw new TypeError('only an upgrade can become a socket');
    if (!isHandshake(call))
      throw fail('invalid_request', 'The WebSocket handshake is malformed.', { headers: { connection: 'close' } });
    // The library wants a request of Node's, and reads its method and headers.
    this.#server.handleUpgrade(
      call.request as unknown as IncomingMessage,
      upgrade.socket,
      upgrade.release(),
      (socket) => {
        resolve(new LiveWebSocket(socket, upgrade.socket));
      },
    );
    return promise;
  }
}

const TOKENS = /^[\w!#$%&'*+.^`|~-]{1,100}(?:\s*,\s*[\w!#$%&'*+.^`|~-]{1,100}){0,15}$/;

/** The library would answer a bad one in its own words, without an id. */
function isHandshake({ request: { method, headers } }: Call): boolean {
  const version = headers['sec-websocket-version'];
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '') &&
    (version === '13' || version === '8') &&
    TOKENS.test(headers['sec-websocket-protocol'] ?? 'none')
  );
}

class LiveWebSocket implements WebSocketConnection {
  readonly #socket: WebSocket;
  readonly #stream: Duplex;
  #isCorked = false;
  #isFull = false;
  readonly #pings: NodeJS.Timeout;
  #onDrain: (() => void)[] = [];

  constructor(socket: WebSocket, stream: Duplex) {
    this.#socket = socket;
    this.#stream = stream;
    socket.on('error', () => {});
    // What came with the handshake would be told before anybody listens.
    socket.pause();
    this.#pings = setInterval(() => socket.ping(), WEBSOCKET.pingMs).unref();
    socket.once('close', () => clearInterval(this.#pings));
  }

  send(text: string): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return true;
    this.#cork();
    this.#socket.send(text);
    if (this.#socket.bufferedAmount < WEBSOCKET.bufferedBytes) return true;
    if (!this.#isFull) this.#stream.once('drain', () => this.#drained());
    this.#isFull = true;
    return false;
  }

  /** All frames of one turn of the event loop leave in one write. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#stream.uncork();
    });
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  /** Binary frames have no meaning here and arrive as undefined. */
  onMessage(listener: (text: string | undefined) => void): void {
    this.#socket.on('message', (data, isBinary) => listener(isBinary ? undefined : String(data)));
    this.#socket.resume();
  }

  onDrain(listener: () => void): void {
    this.#onDrain.push(listener);
  }

  onClose(listener: () => void): void {
    this.#socket.once('close', listener);
  }

  #drained(): void {
    this.#isFull = false;
    for (const listener of this.#onDrain.splice(0)) listener();
  }
}
