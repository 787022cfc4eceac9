/** WebSocket server side: completes upgrades of authenticated requests. Text frames only, no compression, limited frame size. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer as WsServer } from 'ws';
import { fail } from '../core/index.ts';
import { WEBSOCKET } from '../rules/index.ts';
import type { Call } from './call.ts';

export interface WebSocketConnection {
  /** Returns false when the client reads too slowly; `onDrain` follows. */
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

  /** Completes the upgrade of the call. Its HTTP response must not be used afterwards. */
  accept(call: Call): Promise<WebSocketConnection> {
    const { promise, resolve } = Promise.withResolvers<WebSocketConnection>();
    const { upgrade } = call;
    if (!upgrade) throw new TypeError('the call is not an upgrade request');
    if (!isHandshake(call))
      throw fail('invalid_request', 'The WebSocket handshake is malformed.', { headers: { connection: 'close' } });
    // ws declares an IncomingMessage but reads only `method` and `headers`; the contract test in websocket.test.ts checks that.
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

/** Checked here, because ws would reject a bad handshake without a request id and without our error format. */
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
    // Frames that arrived with the handshake must wait until `onMessage` is called.
    socket.pause();
    this.#pings = setInterval(() => socket.ping(), WEBSOCKET.pingMs).unref();
    socket.once('close', () => clearInterval(this.#pings));
  }

  send(text: string): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return true;
    this.#cork();
    this.#socket.send(text);
    if (this.#socket.bufferedAmount < WEBSOCKET.bufferedBytes) return true;
    if (!this.#isFull) this.#stream.once('drain', () => this.#emitDrain());
    this.#isFull = true;
    return false;
  }

  /** Sends all frames of one turn of the event loop in one write. */
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

  /** Binary frames are not supported and arrive as undefined. */
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

  #emitDrain(): void {
    this.#isFull = false;
    for (const listener of this.#onDrain.splice(0)) listener();
  }
}
