/**
 * WebSocket server side: completes upgrades of authenticated requests.
 * Text frames only, no compression, limited frame size.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer as WsServer } from 'ws';
import { fail } from '../../core/index.ts';
import { CLOSE, WEBSOCKET } from '../../rules/index.ts';
import { type BodyReservation, SMALL_BODY_BYTES } from './body-budget.ts';
import type { Call } from './call.ts';

export type WebSocketConnection = Pick<LiveWebSocket, 'send' | 'close' | 'onMessage' | 'onDrain' | 'onClose'>;

export class WebSocketServer {
  readonly #stalledMs: number;
  readonly #server = new WsServer({
    noServer: true,
    maxPayload: WEBSOCKET.messageBytes,
    maxFragments: WEBSOCKET.fragments,
    perMessageDeflate: false,
    clientTracking: false,
  });

  /** A client that reads nothing for `stalledMs` is disconnected. */
  constructor(stalledMs: number) {
    this.#stalledMs = stalledMs;
  }

  /** Completes the upgrade of the call. Its HTTP response must not be used afterwards. */
  accept(call: Call): Promise<WebSocketConnection> {
    const { promise, resolve } = Promise.withResolvers<WebSocketConnection>();
    const { upgrade } = call;
    if (!upgrade) throw new TypeError('the call is not an upgrade request');
    if (!isHandshake(call))
      throw fail('invalid_request', 'The WebSocket handshake is malformed.', { headers: { connection: 'close' } });
    // ws declares an IncomingMessage but reads only `method` and `headers`;
    // the contract test in websocket.test.ts checks that.
    this.#server.handleUpgrade(
      call.request as unknown as IncomingMessage,
      upgrade.socket,
      upgrade.release(),
      (socket) => {
        const reserve = (): BodyReservation => call.openReservation();
        resolve(new LiveWebSocket(socket, upgrade.socket, { stalledMs: this.#stalledMs, reserve }));
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

/** The least memory of a chunk, which is kept until its message is complete: a client may send single bytes. */
const CHUNK_BYTES = 256;

/** Time for the client to see why its connection closes. */
const DISCARD_MS = 2_000;

interface LiveOptions {
  readonly stalledMs: number;
  readonly reserve: () => BodyReservation;
}

class LiveWebSocket {
  readonly #socket: WebSocket;
  readonly #stream: Duplex;
  readonly #options: LiveOptions;
  #isCorked = false;
  #isFull = false;
  readonly #pings: NodeJS.Timeout;
  #stallTimer: NodeJS.Timeout | undefined;
  #onDrain: (() => void)[] = [];
  /** Memory of the message that is arriving, and its part of the memory for bodies once it is large. */
  #arrived = 0;
  #incoming: BodyReservation | undefined;

  constructor(socket: WebSocket, stream: Duplex, options: LiveOptions) {
    this.#socket = socket;
    this.#stream = stream;
    this.#options = options;
    socket.on('error', () => {});
    // Frames that arrived with the handshake must wait until `onMessage` is called.
    socket.pause();
    this.#pings = setInterval(() => socket.ping(), WEBSOCKET.pingMs).unref();
    // Pongs fill the buffer too, which a client that only sends pings never reads.
    socket.on('ping', () => this.#hasRoom());
    socket.on('message', () => this.#endMessage());
    stream.prependListener('data', (chunk: Buffer) => this.#countArrived(Math.max(chunk.length, CHUNK_BYTES)));
    socket.once('close', () => {
      clearInterval(this.#pings);
      clearTimeout(this.#stallTimer);
      this.#endMessage();
    });
  }

  /** Returns false when the client reads too slowly; `onDrain` follows. */
  send(text: string): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return true;
    this.#cork();
    this.#socket.send(text);
    return this.#hasRoom();
  }

  /** While the buffer is full, nothing more is read: every message of the client could add to it. */
  #hasRoom(): boolean {
    if (this.#socket.bufferedAmount < WEBSOCKET.bufferedBytes) return true;
    if (this.#isFull) return false;
    this.#isFull = true;
    this.#socket.pause();
    this.#stream.once('drain', () => this.#emitDrain());
    this.#stallTimer = setTimeout(() => this.#socket.terminate(), this.#options.stalledMs).unref();
    return false;
  }

  /** A message that does not fit into the memory for bodies closes the connection, because its end may never come. */
  #countArrived(bytes: number): void {
    this.#arrived += bytes;
    if (this.#arrived <= SMALL_BODY_BYTES) return;
    const counted = this.#incoming ? bytes : this.#arrived;
    this.#incoming ??= this.#options.reserve();
    try {
      this.#incoming.add(counted);
    } catch {
      this.#socket.close(CLOSE.overloaded, 'too many large messages; try again shortly');
      this.#discard();
    }
  }

  /**
   * Reads on without keeping anything: closing with unread bytes would
   * reset the connection before the client sees the reason.
   */
  #discard(): void {
    this.#endMessage();
    this.#stream.removeAllListeners('data');
    this.#stream.on('data', () => {});
    this.#stream.end();
    this.#stallTimer = setTimeout(() => this.#socket.terminate(), DISCARD_MS).unref();
  }

  #endMessage(): void {
    this.#arrived = 0;
    this.#incoming?.release();
    this.#incoming = undefined;
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
    clearTimeout(this.#stallTimer);
    this.#socket.resume();
    for (const listener of this.#onDrain.splice(0)) listener();
  }
}
