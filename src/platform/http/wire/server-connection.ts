/**
 * A connection of the HTTP/1.1 server, one request at a time. Malformed or slow requests get an error, and it closes.
 */
import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, GrowingBuffer, type IndexedMember } from '../../../core/index.ts';
import { SERVER_BOUNDS } from '../bounds.ts';
import { framingOf } from '../framing.ts';
import { HeadTooLargeError, HttpParseError } from '../headers.ts';
import { wantsKeepAlive } from '../request-checks.ts';
import type { ProtocolViolation, RequestLine, ServerHost, Upgradable } from '../server.ts';
import { originForm } from '../target.ts';
import { ChunkedBody } from './chunks.ts';
import { checkHeadBytes, headEnd, readHead } from './head.ts';
import { type RequestConnection, WireRequest } from './request.ts';
import { type ResponseConnection, WireResponse } from './response.ts';

const CR = 0x0d;
const LF = 0x0a;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
/** Methods start with a capital letter, other protocols mostly do not. */
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const EMPTY = Buffer.alloc(0);
/** Without those of other protocols: `CONNECT` asks for a tunnel, and `SOURCE` belongs to Icecast. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS.filter((name) => name !== 'CONNECT' && name !== 'SOURCE'));

export class WireServerConnection implements IndexedMember, Upgradable, ResponseConnection, RequestConnection {
  index = -1;
  /** Set by the listener only: where an open connection comes from. */
  network: string | undefined;
  readonly socket: Socket;
  readonly clock: Clock;
  readonly #host: ServerHost;
  readonly #onClosed: (connection: WireServerConnection) => void;
  readonly address: string;
  /** An incomplete head, or bytes after a request whose response is pending. */
  #buffered: Buffer | undefined;
  /** Memory of `#buffered` when it came in several reads. */
  #growing: GrowingBuffer | undefined;
  #incoming: WireRequest | undefined;
  #outgoing: WireResponse | undefined;
  /** The rest of the body: a number of bytes, or the decoder of a chunked body. */
  #body: number | ChunkedBody = 0;
  /** The client sends its body only after `100 Continue`. */
  #awaitsContinue = false;
  /** When the current state began: connected, idle, or receiving a request. */
  #stateSince: number;
  #hasServed = false;
  #isReleased = false;
  /** The last response is written; further input is discarded. */
  #isClosing = false;
  #discarded = 0;
  #discardLimit = SERVER_BOUNDS.discardBytes.limit;
  #cancelDestroy: (() => void) | undefined;

  constructor(socket: Socket, host: ServerHost, onClosed: (connection: WireServerConnection) => void) {
    this.socket = socket;
    this.#host = host;
    this.clock = host.clock;
    this.#onClosed = onClosed;
    this.address = socket.remoteAddress ?? '';
    this.#stateSince = host.clock.elapsed();
    socket.on('data', this.#onData);
    socket.on('drain', this.#onDrain);
    socket.on('end', this.#onEnd);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#onSocketClosed());
  }

  /** No request is in progress. */
  get isIdle(): boolean {
    return !this.#incoming && !this.#buffered;
  }

  /** Since when a connection that has served a request waits for the next one; Infinity while it does not. */
  get idleSince(): number {
    return this.#hasServed && this.isIdle ? this.#stateSince : Number.POSITIVE_INFINITY;
  }

  /** Responds that there are too many connections, and closes. */
  refuse(): void {
    this.#reject('too_many_connections', new HttpParseError('too many connections'));
  }

  /** Close events and shutdown still apply. */
  release(): Buffer {
    const { socket } = this;
    const early = this.#buffered ?? EMPTY;
    this.#isReleased = true;
    this.#buffered = undefined;
    this.#outgoing?.abandon();
    socket.off('data', this.#onData);
    socket.off('drain', this.#onDrain);
    socket.off('end', this.#onEnd);
    socket.resume();
    return early;
  }

  /** Called every second. */
  checkTimeouts(now: number): void {
    if (this.#isReleased) return;
    if (this.#outgoing && now - this.#outgoing.endedAt >= SERVER_BOUNDS.responseReadMs.limit)
      return void this.socket.destroy();
    if (this.#isClosing || this.#incoming?.isComplete) return;
    const age = now - this.#stateSince;
    const isWaiting = this.#hasServed && this.isIdle;
    if (isWaiting && age >= SERVER_BOUNDS.keepAliveMs.limit) this.socket.destroy();
    else if (!isWaiting && age >= (this.#incoming ? SERVER_BOUNDS.requestMs.limit : SERVER_BOUNDS.headMs.limit))
      this.#reject('too_slow', new HttpParseError('request timeout'));
  }

  // ---------------------------------------------------------------- socket events

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isClosing) return this.#discard(bytes);
    const early = this.#buffered;
    this.#buffered = undefined;
    try {
      this.#read(early ? this.#join(early, bytes) : bytes, early?.length ?? 0);
    } catch (error) {
      if (error instanceof HeadTooLargeError) return this.#reject('headers_too_large', error);
      if (error instanceof HttpParseError) return this.#reject('malformed', error);
      // A bug in one request must not affect other connections.
      this.#host.onInternalError(error);
      this.socket.destroy();
    }
  };

  #join(early: Buffer, bytes: Buffer): Buffer {
    this.#growing ??= new GrowingBuffer();
    return this.#growing.join(early, bytes);
  }

  readonly #onDrain = (): void => this.#outgoing?.onDrain();

  /** The client closed its side. A client that still waits for a response looks the same as one that disconnected. */
  readonly #onEnd = (): void => {
    const { socket } = this;
    const isIncomplete = this.#incoming ? !this.#incoming.isComplete : this.#buffered !== undefined;
    if (this.#isClosing) socket.destroy();
    else if (isIncomplete) this.#reject('malformed', new HttpParseError('connection closed mid-request'));
    // An idle one has nothing left to send, so that closing one side first would only cost time. TLS announces its end.
    else if (this.#incoming ? !this.#outgoing?.writableEnded : !('encrypted' in socket)) socket.destroy();
    else {
      // The response in progress is the last one: the client does not wait for pipelined requests.
      this.#buffered = undefined;
      socket.end();
    }
  };

  #onSocketClosed(): void {
    this.#cancelDestroy?.();
    this.#incoming?.abort();
    this.#outgoing?.onConnectionClosed();
    this.#onClosed(this);
  }

  // ---------------------------------------------------------------- reading

  /** The first `seen` bytes were already searched for the end of the head. */
  #read(bytes: Buffer, seen: number): void {
    const isBody = this.#incoming !== undefined;
    const next = isBody ? this.#readBody(bytes, 0) : this.#readHead(bytes, seen);
    if (next === bytes.length) return;
    const rest = bytes.subarray(next);
    // The end of a discarded body: the next request begins here.
    if (isBody && !this.#incoming) this.#read(rest, 0);
    else this.#bufferEarly(rest);
  }

  /** Returns the offset up to which bytes are consumed: all of them, unless the head is incomplete. */
  #readHead(bytes: Buffer, seen: number): number {
    let start = 0;
    // Some clients send an extra line break after a body (RFC 9112, section 2.2).
    while (bytes[start] === CR && bytes[start + 1] === LF) start += 2;
    const end = headEnd(bytes, Math.max(start, seen - 3));
    if ((end < 0 ? bytes.length : end) - start > SERVER_BOUNDS.headBytes.limit)
      throw new HeadTooLargeError('request head too large');
    // Line breaks alone must not restart the time limit of the head.
    if (seen <= start && (bytes[start] ?? CR) !== CR) this.#stateSince = this.clock.elapsed();
    if (end >= 0) return this.#beginRequest(bytes, start, end);
    checkIncompleteHead(bytes, start, seen);
    return start;
  }

  #beginRequest(bytes: Buffer, start: number, end: number): number {
    const head = readHead(bytes.toString('latin1', start, end - 4), SERVER_BOUNDS.headers.limit);
    const line = readRequestLine(head.line);
    const framing = framingOf(head.headers) ?? 0;
    const incoming = new WireRequest(line, head, this);
    const outgoing = new WireResponse(this, incoming);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#body = framing === 'chunked' ? new ChunkedBody() : framing;
    this.#awaitsContinue = end === bytes.length && head.headers.expect !== undefined && line.version === '1.1';
    const next = this.#readBody(bytes, end);
    // Before `onRequest`: an upgrade handler takes these bytes over.
    if (next < bytes.length) this.#bufferEarly(bytes.subarray(next));
    this.#host.onRequest(incoming, outgoing, this);
    return bytes.length;
  }

  /** Returns the offset after the last byte that belongs to the body. */
  #readBody(bytes: Buffer, from: number): number {
    const incoming = this.#incoming;
    if (!incoming || incoming.isComplete) return from;
    const body = this.#body;
    let next = from;
    let payload: Buffer | undefined;
    let isComplete: boolean;
    if (typeof body === 'number') {
      next = Math.min(bytes.length, from + body);
      if (next > from) payload = bytes.subarray(from, next);
      this.#body = body - (next - from);
      isComplete = this.#body === 0;
    } else {
      payload = body.decode(bytes, from);
      next = body.end;
      isComplete = body.isDone;
    }
    const isReady = !payload || incoming.push(payload);
    // Keeps reading after the end of the body, to notice a disconnect.
    if (isComplete) incoming.end();
    else if (!isReady) this.socket.pause();
    return next;
  }

  /** Keeps an incomplete head, or the next request until the current response is sent. */
  #bufferEarly(bytes: Buffer): void {
    if (this.#isClosing) return;
    this.#buffered = bytes;
    if (this.#incoming && bytes.length > SERVER_BOUNDS.earlyBytes.limit) this.socket.pause();
  }

  requestBody(): void {
    if (this.#awaitsContinue && !this.#outgoing?.headersSent) this.socket.write(CONTINUE);
    this.#awaitsContinue = false;
    this.socket.resume();
  }

  // ---------------------------------------------------------------- after the response

  /** Decides between `connection: keep-alive` and `close` in the response. */
  canKeepAlive(request: WireRequest): boolean {
    // While draining, still serve requests that were already received.
    if (this.#host.isDraining && !this.#buffered) return false;
    // Without `100 Continue` the client may or may not send its body, and a large body is not worth reading.
    const isSoonRead =
      typeof this.#body === 'number' && this.#body <= SERVER_BOUNDS.discardBytes.limit && !this.#awaitsContinue;
    if (!request.isComplete && !isSoonRead) return false;
    return wantsKeepAlive(request);
  }

  onResponseSent(
    incoming: WireRequest,
    { keepsAlive, readsRest }: { readonly keepsAlive: boolean; readonly readsRest: boolean },
  ): void {
    this.#hasServed = true;
    if (!keepsAlive) return incoming.isComplete ? this.socket.destroySoon() : this.#closeGracefully(readsRest);
    if (incoming.isComplete) return this.#readNextRequest();
    this.#destroySoon();
    incoming.read({ onData: () => true, onEnd: () => this.#readNextRequest(), onAborted: () => {} });
  }

  #readNextRequest(): void {
    const early = this.#buffered;
    this.#cancelDestroy?.();
    this.#cancelDestroy = undefined;
    this.#incoming = undefined;
    this.#outgoing = undefined;
    this.#buffered = undefined;
    this.#stateSince = this.clock.elapsed();
    if (!early) {
      this.#growing = undefined;
      return;
    }
    this.socket.resume();
    this.#onData(early);
  }

  /** Responds with an error and closes. Only closes when a response is in progress: a second one would corrupt it. */
  #reject(violation: ProtocolViolation, error: HttpParseError): void {
    if (this.#outgoing?.headersSent) return this.socket.destroySoon();
    this.#outgoing?.abandon();
    this.socket.write(this.#host.onViolation(violation, error));
    this.#closeGracefully();
  }

  /** Closes the sending side and discards some input first, because closing with unread bytes can lose the response. */
  #closeGracefully(readsRest = false): void {
    this.#isClosing = true;
    this.#buffered = undefined;
    if (readsRest) this.#discardLimit = SERVER_BOUNDS.restBytes.limit;
    this.socket.end();
    this.socket.resume();
    this.#destroySoon(readsRest ? SERVER_BOUNDS.restMs.limit : SERVER_BOUNDS.discardMs.limit);
  }

  #destroySoon(ms = SERVER_BOUNDS.discardMs.limit): void {
    this.#cancelDestroy ??= this.clock.after(ms, () => this.socket.destroy());
  }

  #discard(bytes: Buffer): void {
    this.#discarded += bytes.length;
    if (this.#discarded > this.#discardLimit) this.socket.destroy();
  }
}

/**
 * Such a client waits for a response, so it is rejected before its head ends.
 * The first `seen` bytes were checked before.
 */
function checkIncompleteHead(bytes: Buffer, start: number, seen: number): void {
  const first = bytes[start] ?? CR;
  if (first !== CR && (first < UPPER_A || first > UPPER_Z)) throw new HttpParseError('not an HTTP request');
  checkHeadBytes(bytes, Math.max(start, seen));
}

function readRequestLine(line: string): RequestLine {
  const [, method = '', url = '', minor] = /^([A-Z-]+) ([!-~]+) HTTP\/1\.([01])$/.exec(line) ?? [];
  if (!KNOWN_METHODS.has(method)) throw new HttpParseError('invalid request line');
  return { method, url: originForm(url), version: minor === '0' ? '1.0' : '1.1' };
}
