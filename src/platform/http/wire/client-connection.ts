/**
 * A client connection to an HTTP/1.1 server: sends a request, reads its response, then becomes idle or closes. Sets its socket
 * listeners once, and its user is an object, so that a request allocates no closures. Never resends, never logs.
 */
import type { Socket } from 'node:net';
import { GrowingBuffer, systemClock } from '../../../core/index.ts';
import { CLIENT_BOUNDS } from '../bounds.ts';
import {
  ConnectionError,
  closedEarly,
  isClosedByServer,
  type StreamedBody,
  type TransportUser,
  toError,
} from '../client.ts';
import type { ConnectionOptions, PooledConnection, RequestMessage } from '../connection-pool.ts';
import { HttpParseError, isAscii } from '../headers.ts';
import { ChunkedBody } from './chunks.ts';
import { checkHeadBytes, headEnd } from './head.ts';
import { readResponseHead } from './response-head.ts';

/** Node writes a string of up to this size without allocating, which is cheaper than two writes. */
const ONE_WRITE_BYTES = 16 * 1024;
const MAX_HEAD_BYTES = CLIENT_BOUNDS.headBytes.limit;
const MAX_INFORMATIONAL = CLIENT_BOUNDS.informational.limit;
const BLANK_LINE_BYTES = 4;
const TCP_KEEPALIVE_MS = CLIENT_BOUNDS.tcpKeepAliveMs.limit;

type Phase = 'opening' | 'idle' | 'head' | 'body' | 'closed';

export class ClientConnection implements PooledConnection {
  index = 0;
  keptUntil = 0;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #cancelConnect: () => void;
  /** The first request, until the connection is open. Released then: a body may be large, and its response may take an hour. */
  #first: RequestMessage | undefined;
  #phase: Phase = 'opening';
  #user: TransportUser | undefined;
  /** Start of an incomplete head. */
  #partial: Buffer | undefined;
  /** Memory of `#partial` when it came in several reads. */
  #growing: GrowingBuffer | undefined;
  /** Decoder of a chunked body. Otherwise `#remaining` counts the missing bytes; Infinity when the connection ends the body. */
  #chunked: ChunkedBody | undefined;
  #remaining = 0;
  #keepMs = 0;
  #informational = 0;
  /** It has served another request before the current one. */
  #isReused = false;
  /** A byte of the response to the current request has arrived. */
  #hasBytes = false;
  /** A streamed body is not yet sent completely. */
  #isSending = false;

  /** Connects, and sends `first` when the connection is open. */
  constructor(options: ConnectionOptions, first: RequestMessage, user: TransportUser) {
    const { isTls } = options.target;
    const socket = options.openSocket();
    this.#options = options;
    this.#socket = socket;
    this.#first = first;
    this.#user = user;
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => this.#onEof());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(closedEarly()));
    socket.once(isTls ? 'secureConnect' : 'connect', () => this.#onOpen());
    // The system clock even in tests with a fake clock, because the network runs in real time.
    this.#cancelConnect = systemClock.after(first.request.timeouts.connect, () =>
      this.#fail(new ConnectionError('CONNECT_TIME', 'connect timeout')),
    );
  }

  /** Checks the socket too: it may have failed in this turn, before its events were emitted. */
  get isUsable(): boolean {
    return this.#phase === 'idle' && this.#socket.writable;
  }

  /** Writes the request immediately; a streamed body follows its head. */
  send(user: TransportUser, { head, request: { body } }: RequestMessage): void {
    this.#user = user;
    this.#isReused = this.#phase === 'idle';
    this.#hasBytes = false;
    this.#phase = 'head';
    this.#informational = 0;
    if (!body || body.length === 0) this.#socket.write(head, 'latin1');
    else if (typeof body === 'object' && !Buffer.isBuffer(body)) void this.#sendStreamed(head, body);
    else if (head.length + body.length > ONE_WRITE_BYTES) this.#write(head, body);
    else if (typeof body !== 'string') this.#socket.write(head + body.toString('latin1'), 'latin1');
    else if (isAscii(head)) this.#socket.write(head + body, 'utf8');
    else this.#write(head, body);
    user.onOpen();
  }

  /** Stops when the connection closes. A response that comes before the end of the body is read meanwhile. */
  async #sendStreamed(head: string, body: StreamedBody): Promise<void> {
    this.#isSending = true;
    this.#socket.write(head, 'latin1');
    try {
      for await (const chunk of body.chunks()) {
        if (this.#phase === 'closed') return;
        if (!this.#socket.write(chunk)) await this.#drained();
      }
      this.#isSending = false;
    } catch {
      this.#fail(new ConnectionError('REQUEST_BODY', 'the request body could not be read'));
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
    this.#partial = undefined;
    this.#cancelConnect();
    this.#socket.destroy();
    this.#options.owner.onClosed(this);
  }

  closeWithError(): void {
    this.#fail(new ConnectionError('CLOSED', 'the client is closing'));
  }

  #onOpen(): void {
    if (this.#phase !== 'opening') return;
    this.#cancelConnect();
    this.#socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
    if (!this.#options.accepts(this.#socket.remoteAddress ?? ''))
      return this.#fail(new ConnectionError('OTHER_ADDRESS', 'connected to an unexpected address'));
    const [first, user] = [this.#first, this.#user];
    this.#first = undefined;
    if (!first || !user) return;
    try {
      this.send(user, first);
    } catch (error) {
      this.#fail(toError(error));
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
      this.#fail(toError(error));
    }
  }

  #readHead(bytes: Buffer): void {
    const before = this.#partial;
    const all = before ? this.#join(before, bytes) : bytes;
    this.#partial = undefined;
    // The blank line may be split between two reads.
    let searchFrom = before ? Math.max(0, before.length - BLANK_LINE_BYTES + 1) : 0;
    let start = 0;
    while (start < all.length) {
      const end = headEnd(all, searchFrom);
      if ((end < 0 ? all.length : end) - start > MAX_HEAD_BYTES) throw new HttpParseError('response head too large');
      if (end < 0) {
        // What an earlier read brought was checked then.
        checkHeadBytes(all, Math.max(start, before?.length ?? 0));
        this.#partial = start === 0 ? all : all.subarray(start);
        return;
      }
      const { status, headers, framing, keepMs } = readResponseHead(
        all.toString('latin1', start, end - BLANK_LINE_BYTES),
      );
      start = searchFrom = end;
      // Informational responses (100, 103) precede the final head.
      if (status < 200) {
        this.#informational += 1;
        if (this.#informational > MAX_INFORMATIONAL) throw new HttpParseError('too many informational responses');
        continue;
      }
      this.#keepMs = keepMs;
      this.#chunked = framing === 'chunked' ? new ChunkedBody() : undefined;
      this.#remaining = typeof framing === 'number' ? framing : Number.POSITIVE_INFINITY;
      this.#phase = 'body';
      this.#growing = undefined;
      this.#user?.onHead(status, headers);
      // Also without further bytes, because the body may be empty.
      return this.#readBody(all, end);
    }
  }

  #join(before: Buffer, bytes: Buffer): Buffer {
    this.#growing ??= new GrowingBuffer();
    return this.#growing.join(before, bytes);
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
    // Not reusable with bytes after the response, or while the request is still being written: it would mix with the next one.
    if (isClean && this.#keepMs > 0 && !this.#isSending && this.#socket.writableLength === 0) {
      this.#phase = 'idle';
      this.#user = undefined;
      this.#chunked = undefined;
      owner.onIdle(this, this.#keepMs);
    } else this.close();
    try {
      user?.onEnd();
    } catch (error) {
      user?.onError(toError(error), true);
    }
  }

  #onEof(): void {
    if (this.#phase === 'body' && !this.#chunked && this.#remaining === Number.POSITIVE_INFINITY) this.#finish(false);
    else this.#fail(closedEarly());
  }

  #fail(error: Error): void {
    if (this.#phase === 'closed') return;
    const user = this.#user;
    const wasOpen = this.#phase !== 'opening';
    const wasClosing = this.#isReused && !this.#hasBytes && isClosedByServer(error);
    this.close();
    user?.onError(error, wasOpen, wasClosing);
  }
}
