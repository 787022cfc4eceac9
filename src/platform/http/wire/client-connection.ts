/**
 * A client connection to an HTTP/1.1 server: sends a request, reads its response, then becomes idle or closes. Sets its
 * socket listeners once, and its user is an object, so that a request allocates no closures. Never resends, never logs.
 */
import { Socket } from 'node:net';
import { type IndexedMember, systemClock } from '../../../core/index.ts';
import { CLIENT_BOUNDS } from '../bounds.ts';
import * as client from '../client.ts';
import { HttpParseError, isAscii } from '../headers.ts';
import type { OpenSocket, Target } from '../open-socket.ts';
import { ChunkedBody } from './chunks.ts';
import { openTunnel, type TunnelOptions } from './proxy-tunnel.ts';
import { ResponseHeadReader } from './response-head.ts';

/** A request that may be sent: writing its head has checked it. */
export interface RequestMessage {
  readonly head: string;
  readonly request: client.HttpRequest;
}

export interface ConnectionOwner {
  /** The response is complete, and the connection may be reused for `keepMs`. */
  onIdle(connection: ClientConnection, keepMs: number): void;
  onClosed(connection: ClientConnection): void;
}

export interface ConnectionOptions {
  readonly target: Target;
  /** With `tunnel` over an open connection through a proxy. */
  openSocket(tunnel?: Socket): Socket;
  readonly openProxySocket: OpenSocket;
  /** Checks the address that was actually reached, before anything is sent. */
  accepts(remoteAddress: string): boolean;
  readonly owner: ConnectionOwner;
}

/** Node writes a string of up to this size without allocating, which is cheaper than two writes. */
const ONE_WRITE_BYTES = 16 * 1024;

type Phase = 'opening' | 'idle' | 'head' | 'body' | 'closed';

export class ClientConnection implements IndexedMember, client.TransportConnection {
  index = 0;
  /** Set by the owner only. */
  keptUntil = 0;
  /** Through a proxy one that is not connected, until the tunnel is open. */
  #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #cancelConnect: () => void;
  /**
   * The first request, until the connection is open. Released then:
   * a body may be large, and its response may take an hour.
   */
  #first: RequestMessage | undefined;
  #phase: Phase = 'opening';
  #user: client.TransportUser | undefined;
  readonly #head = new ResponseHeadReader();
  /**
   * Decoder of a chunked body. Otherwise `#remaining` counts the missing bytes;
   * Infinity when the connection ends the body.
   */
  #chunked: ChunkedBody | undefined;
  #remaining = 0;
  #keepMs = 0;
  /** It has served another request before the current one. */
  #isReused = false;
  /** A byte of the response to the current request has arrived. */
  #hasBytes = false;
  /** A streamed body is not yet sent completely. */
  #isSending = false;

  constructor(options: ConnectionOptions, first: RequestMessage, user: client.TransportUser) {
    const { proxy, timeouts } = first.request;
    this.#options = options;
    this.#first = first;
    this.#user = user;
    this.#socket = proxy === undefined ? options.openSocket() : new Socket();
    // The system clock even in tests with a fake clock, because the network runs in real time.
    const cancelTimer = systemClock.after(timeouts.connect, () =>
      this.#fail(new client.ConnectionError('CONNECT_TIME', 'connect timeout')),
    );
    if (proxy === undefined) {
      this.#cancelConnect = cancelTimer;
      this.#listen();
    } else {
      const unwanted = new AbortController();
      this.#cancelConnect = () => {
        cancelTimer();
        unwanted.abort();
      };
      void this.#openThrough({ proxy, signal: unwanted.signal, timeoutMs: timeouts.connect });
    }
  }

  async #openThrough(proxy: Pick<TunnelOptions, 'proxy' | 'signal' | 'timeoutMs'>): Promise<void> {
    const { target, openProxySocket } = this.#options;
    try {
      const tunnel = await openTunnel({ ...proxy, target, openSocket: openProxySocket });
      if (this.#phase !== 'opening' || tunnel.destroyed) {
        tunnel.destroy();
        throw client.closedEarly();
      }
      this.#socket = target.isTls ? this.#options.openSocket(tunnel) : tunnel;
      this.#listen();
      if (!target.isTls) this.#onOpen();
    } catch (error) {
      this.#fail(client.toError(error));
    }
  }

  #listen(): void {
    const socket = this.#socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => this.#onEof());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(client.closedEarly()));
    socket.once(this.#options.target.isTls ? 'secureConnect' : 'connect', () => this.#onOpen());
  }

  /** Checks the socket too: it may have failed in this turn, before its events were emitted. */
  get isUsable(): boolean {
    return this.#phase === 'idle' && this.#socket.writable;
  }

  /** Writes the request immediately; a streamed body follows its head. */
  send(user: client.TransportUser, { head, request: { body } }: RequestMessage): void {
    this.#user = user;
    this.#isReused = this.#phase === 'idle';
    this.#hasBytes = false;
    this.#phase = 'head';
    if (!body || body.length === 0) this.#socket.write(head, 'latin1');
    else if (typeof body === 'object' && !Buffer.isBuffer(body)) void this.#sendStreamed(head, body);
    else if (head.length + body.length > ONE_WRITE_BYTES) this.#write(head, body);
    else if (typeof body !== 'string') this.#socket.write(head + body.toString('latin1'), 'latin1');
    else if (isAscii(head)) this.#socket.write(head + body, 'utf8');
    else this.#write(head, body);
    user.onOpen();
  }

  /** Stops when the connection closes. A response that comes before the end of the body is read meanwhile. */
  async #sendStreamed(head: string, body: client.StreamedBody): Promise<void> {
    this.#isSending = true;
    this.#socket.write(head, 'latin1');
    try {
      for await (const chunk of body.chunks()) {
        if (this.#phase === 'closed') return;
        if (!this.#socket.write(chunk)) await this.#drained();
      }
      this.#isSending = false;
    } catch {
      this.#fail(new client.ConnectionError('REQUEST_BODY', 'the request body could not be read'));
    }
  }

  /** Resolves when the socket takes more, or has closed. */
  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.once('drain', resolve);
    this.#socket.once('close', resolve);
    await promise;
    this.#socket.off('drain', resolve);
    this.#socket.off('close', resolve);
  }

  #write(head: string, body: Buffer | string): void {
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    this.#socket.write(body, 'utf8');
    this.#socket.uncork();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#user = undefined;
    this.#first = undefined;
    this.#head.reset();
    this.#cancelConnect();
    this.#socket.destroy();
    this.#options.owner.onClosed(this);
  }

  closeWithError(): void {
    this.#fail(new client.ConnectionError('CLOSED', 'the client is closing'));
  }

  #onOpen(): void {
    if (this.#phase !== 'opening') return;
    this.#cancelConnect();
    this.#socket.setKeepAlive(true, CLIENT_BOUNDS.tcpKeepAliveMs.limit);
    if (!this.#options.accepts(this.#socket.remoteAddress ?? ''))
      return this.#fail(new client.ConnectionError('OTHER_ADDRESS', 'connected to an unexpected address'));
    const [first, user] = [this.#first, this.#user];
    this.#first = undefined;
    if (!first || !user) return;
    try {
      this.send(user, first);
    } catch (error) {
      this.#fail(client.toError(error));
    }
  }

  #read(bytes: Buffer): void {
    this.#hasBytes = true;
    try {
      if (this.#phase === 'body') this.#readBody(bytes, 0);
      else if (this.#phase === 'head') this.#readHead(bytes);
      // Must not be taken for the response to the next request.
      else this.#fail(new HttpParseError('unsolicited response bytes'));
    } catch (error) {
      // Includes errors thrown by the user, which would otherwise end the process.
      this.#fail(client.toError(error));
    }
  }

  #readHead(bytes: Buffer): void {
    const head = this.#head.read(bytes);
    if (!head) return;
    const { status, headers, framing, keepMs } = head;
    this.#keepMs = keepMs;
    this.#chunked = framing === 'chunked' ? new ChunkedBody() : undefined;
    this.#remaining = typeof framing === 'number' ? framing : Number.POSITIVE_INFINITY;
    this.#phase = 'body';
    this.#user?.onHead(status, headers);
    // Also without further bytes, because the body may be empty.
    this.#readBody(bytes, this.#head.end);
  }

  /** Passes the payload of one read on as one chunk. */
  #readBody(bytes: Buffer, from: number): void {
    if (this.#phase !== 'body') return;
    const chunked = this.#chunked;
    let end: number;
    let payload: Buffer | undefined;
    if (chunked) {
      payload = chunked.decode(bytes, from);
      end = chunked.end;
    } else {
      end = Math.min(bytes.length, from + this.#remaining);
      this.#remaining -= end - from;
      if (end > from) payload = bytes.subarray(from, end);
    }
    const isLast = chunked ? chunked.isDone : this.#remaining === 0;
    const wantsMore = payload === undefined || this.#user?.onData(payload, isLast) !== false;
    // The user may have closed the connection.
    if (this.#phase !== 'body') return;
    if (isLast) this.#finish(end === bytes.length);
    else if (!wantsMore) this.#socket.pause();
  }

  /** Returns the connection to its owner before `onEnd`, so that the next request of the user can reuse it. */
  #finish(isClean: boolean): void {
    const user = this.#user;
    const { owner } = this.#options;
    // Not reusable with bytes after the response, or while the request is still being written:
    // it would mix with the next one.
    if (isClean && this.#keepMs > 0 && !this.#isSending && this.#socket.writableLength === 0) {
      this.#phase = 'idle';
      this.#user = undefined;
      this.#chunked = undefined;
      owner.onIdle(this, this.#keepMs);
    } else this.close();
    try {
      user?.onEnd();
    } catch (error) {
      user?.onError(client.toError(error), true);
    }
  }

  #onEof(): void {
    if (this.#phase === 'body' && !this.#chunked && this.#remaining === Number.POSITIVE_INFINITY) this.#finish(false);
    else this.#fail(client.closedEarly());
  }

  #fail(error: Error): void {
    if (this.#phase === 'closed') return;
    const user = this.#user;
    const wasOpen = this.#phase !== 'opening';
    const wasClosing = this.#isReused && !this.#hasBytes && client.isClosedByServer(error);
    this.close();
    user?.onError(error, wasOpen, wasClosing);
  }
}
