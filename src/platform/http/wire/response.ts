/**
 * An outgoing HTTP response: content-length, chunked, or end of connection for HTTP/1.0.
 * Writes a small head and body together.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../../core/index.ts';
import { SERVER_BOUNDS } from '../bounds.ts';
import { headerLine, isAscii } from '../headers.ts';
import type { OutgoingResponse } from '../server.ts';
import type { WireRequest } from './request.ts';

/** The parts of the connection that a response uses. */
export interface ResponseConnection {
  readonly socket: Socket;
  readonly clock: Clock;
  /** Called when the head is written: whether the connection may serve another request. */
  canKeepAlive(request: WireRequest): boolean;
  /** The whole response is handed to the operating system. */
  onResponseSent(request: WireRequest, options: { keepsAlive: boolean; readsRest: boolean }): void;
}

/** Up to this size, head and body become one Latin-1 string, which Node writes without another copy. */
const TEXT_BYTES = 16 * 1024;
/** Up to this size, one copy costs less than several writes. */
const JOINED_BYTES = 128 * 1024;
const LAST_CHUNK = '0\r\n\r\n';

/** Called when the operating system has the bytes. */
type Flushed = (error?: Error | null) => void;

/** How the client finds the end of the body. */
type ResponseFraming = 'none' | 'length' | 'chunked' | 'close';

export class WireResponse implements OutgoingResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readsRest = false;
  /** Time of `end()`, in milliseconds; the client may still be reading. */
  endedAt = Number.POSITIVE_INFINITY;
  readonly #connection: ResponseConnection;
  readonly #request: WireRequest;
  /** Status line and headers until they are written, without the framing headers. */
  #head = '';
  #framing: ResponseFraming | undefined;
  #hasLength = false;
  #keepsAlive = true;
  /** Further options of the connection header, e.g. `Upgrade, `. */
  #connectionOptions = '';
  #onClose: (() => void)[] = [];
  #onDrain: (() => void)[] = [];

  constructor(connection: ResponseConnection, request: WireRequest) {
    this.#connection = connection;
    this.#request = request;
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`;
    for (const name in headers) {
      const value = String(headers[name]);
      const line = headerLine(name, value);
      if (name === 'connection') {
        this.#keepsAlive = value !== 'close';
        if (this.#keepsAlive) this.#connectionOptions = `${value}, `;
        continue;
      }
      if (name === 'content-length') this.#hasLength = true;
      head += line;
    }
    this.statusCode = status;
    this.headersSent = true;
    this.#head = head;
  }

  flushHeaders(): void {
    if (this.destroyed) return;
    const head = this.#takeHead(undefined);
    if (head !== '') this.#connection.socket.write(head, 'latin1');
  }

  write(chunk: Buffer | string): boolean {
    if (this.writableEnded || this.destroyed) return true;
    const head = this.#takeHead(undefined);
    if (this.#framing === 'none' || chunk.length === 0)
      return head === '' || this.#connection.socket.write(head, 'latin1');
    return this.#send(head, chunk, '');
  }

  end(chunk?: Buffer | string): void {
    if (this.writableEnded || this.destroyed) return;
    this.writableEnded = true;
    this.endedAt = this.#connection.clock.elapsed();
    const rest = chunk === undefined || chunk.length === 0 ? undefined : chunk;
    const head = this.#takeHead(rest ?? '');
    const last = this.#framing === 'chunked' ? LAST_CHUNK : '';
    const done: Flushed = (error) => this.#onFlushed(error);
    if (rest === undefined || this.#framing === 'none') this.#connection.socket.write(head + last, 'latin1', done);
    else this.#send(head, rest, last, done);
  }

  /** Does nothing after the response is sent, because the connection may already serve another request. */
  destroy(): void {
    if (this.destroyed || this.writableFinished) return;
    this.destroyed = true;
    this.#connection.socket.destroy();
  }

  once(event: 'close' | 'drain', listener: () => void): void {
    (event === 'close' ? this.#onClose : this.#onDrain).push(listener);
  }

  // ---------------------------------------------------------------- called by the connection

  onDrain(): void {
    for (const listener of this.#onDrain.splice(0)) listener();
  }

  /** Discards everything written from now on. */
  abandon(): void {
    this.destroyed = true;
  }

  onConnectionClosed(): void {
    this.destroyed = true;
    this.#emitClose();
  }

  #emitClose(): void {
    const listeners = this.#onClose;
    this.#onClose = [];
    for (const listener of listeners) listener();
  }

  #onFlushed(error: Error | null | undefined): void {
    // The connection closes next and calls `onConnectionClosed`.
    if (error || this.destroyed) return;
    this.writableFinished = true;
    this.#emitClose();
    const { readsRest } = this;
    this.#connection.onResponseSent(this.#request, { keepsAlive: this.#keepsAlive, readsRest });
  }

  /** Returns the head on the first call, then ''. `body` is the complete body when it is known. */
  #takeHead(body: Buffer | string | undefined): string {
    if (this.#framing !== undefined) return '';
    if (!this.headersSent) this.writeHead(this.statusCode, {});
    const { method, version } = this.#request;
    const isBodiless = method === 'HEAD' || this.statusCode === 204 || this.statusCode === 304;
    if (isBodiless) this.#framing = 'none';
    else if (this.#hasLength || body !== undefined) this.#framing = 'length';
    else this.#framing = version === '1.1' ? 'chunked' : 'close';
    this.#keepsAlive = this.#keepsAlive && this.#framing !== 'close' && this.#connection.canKeepAlive(this.#request);
    let head = this.#head;
    this.#head = '';
    if (this.#framing === 'chunked') head += 'transfer-encoding: chunked\r\n';
    else if (!this.#hasLength && !isBodiless && body !== undefined)
      head += `content-length: ${Buffer.byteLength(body)}\r\n`;
    head += dateLine(this.#connection.clock.now());
    return `${head}connection: ${this.#connectionOptions}${this.#keepsAlive ? KEEP_ALIVE : CLOSE}\r\n`;
  }

  #send(head: string, chunk: Buffer | string, last: string, done?: Flushed): boolean {
    const { socket } = this.#connection;
    const isChunked = this.#framing === 'chunked';
    const size = Buffer.byteLength(chunk);
    const before = isChunked ? `${head}${size.toString(16)}\r\n` : head;
    const after = isChunked ? `\r\n${last}` : last;
    if (size > JOINED_BYTES) return this.#sendCorked(before, chunk, after, done);
    // One UTF-8 write, unless a header byte above 0x7F would become two bytes.
    if (typeof chunk === 'string' && isAscii(head)) return socket.write(before + chunk + after, 'utf8', done);
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (size <= TEXT_BYTES) return socket.write(before + bytes.toString('latin1') + after, 'latin1', done);
    return socket.write(joinBytes(before, bytes, after), done);
  }

  #sendCorked(before: string, chunk: Buffer | string, after: string, done?: Flushed): boolean {
    const { socket } = this.#connection;
    socket.cork();
    if (before !== '') socket.write(before, 'latin1');
    const isReady = socket.write(chunk, 'utf8', after === '' ? done : undefined);
    if (after !== '') socket.write(after, 'latin1', done);
    socket.uncork();
    return isReady;
  }
}

function joinBytes(before: string, bytes: Buffer, after: string): Buffer {
  const all = Buffer.allocUnsafe(before.length + bytes.length + after.length);
  all.write(before, 0, 'latin1');
  bytes.copy(all, before.length);
  all.write(after, before.length + bytes.length, 'latin1');
  return all;
}

const KEEP_ALIVE = `keep-alive\r\nkeep-alive: timeout=${SERVER_BOUNDS.keepAliveMs.limit / 1000}\r\n`;
const CLOSE = 'close\r\n';

let lastSecond = 0;
let lastDate = '';

/** Formats the date once per second, because many responses share it. */
function dateLine(now: number): string {
  const second = Math.floor(now / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastDate = `date: ${new Date(now).toUTCString()}\r\n`;
  }
  return lastDate;
}
