/**
 * The answer to one request on its connection. Framing is ours: a length where it is known, chunks where not, the end of the
 * connection for HTTP/1.0. Head and body leave in one write when they are small, which halves what a small answer costs.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, headerLine, isAscii } from '../core/index.ts';
import type { ResponseWriter } from './call.ts';
import type { IncomingRequest } from './request.ts';

/** The connection, as an answer sees it. */
export interface ResponseConnection {
  readonly socket: Socket;
  readonly clock: Clock;
  /** Asked when the head is written: whether another request may follow this one. */
  canKeepAlive(request: IncomingRequest): boolean;
  /** Everything is handed to the system. */
  answered(request: IncomingRequest, goesOn: boolean): void;
}

/** Up to this, bytes become a text with their head: Node writes that without another copy. Latin-1 is byte for byte. */
const TEXT_BYTES = 16 * 1024;
/** Up to this, one copy costs less than a write of several pieces. */
const JOINED_BYTES = 128 * 1024;
const LAST_CHUNK = '0\r\n\r\n';
/** Longer than the 60 s that balancers keep a connection, so that they close it, not we in the middle of their request. */
export const KEEP_ALIVE_MS = 65_000;

/** What shows the client where the body ends. */
type BodyFraming = 'none' | 'length' | 'chunked' | 'close';

export class OutgoingResponse implements ResponseWriter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  /** When all of it was written, whether or not the client has it. */
  endedAt = Number.POSITIVE_INFINITY;
  readonly #carrier: ResponseConnection;
  readonly #request: IncomingRequest;
  /** The head without its end, until it is written. */
  #head = '';
  #ending: BodyFraming | undefined;
  #hasLength = false;
  #goesOn = true;
  /** What else the connection header names: that an upgrade is possible. */
  #connection = '';
  #onClose: (() => void)[] = [];
  #onDrain: (() => void)[] = [];

  constructor(carrier: ResponseConnection, request: IncomingRequest) {
    this.#carrier = carrier;
    this.#request = request;
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`;
    for (const name in headers) {
      const value = String(headers[name]);
      const line = headerLine(name, value);
      if (name === 'connection') {
        this.#goesOn = value !== 'close';
        if (this.#goesOn) this.#connection = `${value}, `;
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
    if (head !== '') this.#carrier.socket.write(head, 'latin1');
  }

  write(chunk: Buffer | string): boolean {
    if (this.writableEnded || this.destroyed) return true;
    const head = this.#takeHead(undefined);
    if (this.#ending === 'none' || chunk.length === 0) return head === '' || this.#carrier.socket.write(head, 'latin1');
    return this.#send(head, chunk, '', undefined);
  }

  end(chunk?: Buffer | string): void {
    if (this.writableEnded || this.destroyed) return;
    this.writableEnded = true;
    this.endedAt = this.#carrier.clock.now();
    const rest = chunk === undefined || chunk.length === 0 ? undefined : chunk;
    const head = this.#takeHead(rest ?? '');
    const last = this.#ending === 'chunked' ? LAST_CHUNK : '';
    const done = (error?: Error | null): void => this.#flushed(error);
    if (rest === undefined || this.#ending === 'none') this.#carrier.socket.write(head + last, 'latin1', done);
    else this.#send(head, rest, last, done);
  }

  /** Not after its end: the connection may serve another call by then. */
  destroy(): void {
    if (this.destroyed || this.writableFinished) return;
    this.destroyed = true;
    this.#carrier.socket.destroy();
  }

  once(event: 'close' | 'drain', listener: () => void): void {
    (event === 'close' ? this.#onClose : this.#onDrain).push(listener);
  }

  // ---------------------------------------------------------------- told by the connection

  drained(): void {
    for (const listener of this.#onDrain.splice(0)) listener();
  }

  /** Nothing that is still written reaches anybody. */
  abandon(): void {
    this.destroyed = true;
  }

  /** The connection is closed. */
  closed(): void {
    this.destroyed = true;
    this.#close();
  }

  #close(): void {
    const listeners = this.#onClose;
    this.#onClose = [];
    for (const listener of listeners) listener();
  }

  #flushed(error: Error | null | undefined): void {
    // The end of the connection follows, and says the rest.
    if (error || this.destroyed) return;
    this.writableFinished = true;
    this.#close();
    this.#carrier.answered(this.#request, this.#goesOn);
  }

  /** The head, once; `whole` is the body, where it is there as a whole. */
  #takeHead(whole: Buffer | string | undefined): string {
    if (this.#ending !== undefined) return '';
    if (!this.headersSent) this.writeHead(this.statusCode, {});
    const { method, version } = this.#request;
    const isBodiless = method === 'HEAD' || this.statusCode === 204 || this.statusCode === 304;
    const isSized = this.#hasLength || whole !== undefined;
    this.#ending = isBodiless ? 'none' : isSized ? 'length' : version === '1.1' ? 'chunked' : 'close';
    this.#goesOn = this.#goesOn && this.#ending !== 'close' && this.#carrier.canKeepAlive(this.#request);
    let head = this.#head;
    this.#head = '';
    if (this.#ending === 'chunked') head += 'transfer-encoding: chunked\r\n';
    else if (!this.#hasLength && !isBodiless && whole !== undefined)
      head += `content-length: ${Buffer.byteLength(whole)}\r\n`;
    return `${head}${dateLine(this.#carrier.clock.now())}connection: ${this.#connection}${this.#goesOn ? GOES_ON : CLOSES}\r\n`;
  }

  #send(
    head: string,
    chunk: Buffer | string,
    last: string,
    done: ((error?: Error | null) => void) | undefined,
  ): boolean {
    const { socket } = this.#carrier;
    const isChunked = this.#ending === 'chunked';
    const size = Buffer.byteLength(chunk);
    const before = isChunked ? `${head}${size.toString(16)}\r\n` : head;
    const after = isChunked ? `\r\n${last}` : last;
    if (size > JOINED_BYTES) return this.#sendParts(before, chunk, after, done);
    // A text may go out as it is, unless a header holds a byte that UTF-8 would make two of.
    if (typeof chunk === 'string' && isAscii(head)) return socket.write(before + chunk + after, 'utf8', done);
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (size <= TEXT_BYTES) return socket.write(before + bytes.toString('latin1') + after, 'latin1', done);
    return socket.write(joined(before, bytes, after), done);
  }

  #sendParts(
    before: string,
    chunk: Buffer | string,
    after: string,
    done: ((error?: Error | null) => void) | undefined,
  ): boolean {
    const { socket } = this.#carrier;
    socket.cork();
    if (before !== '') socket.write(before, 'latin1');
    const isReady = socket.write(chunk, 'utf8', after === '' ? done : undefined);
    if (after !== '') socket.write(after, 'latin1', done);
    socket.uncork();
    return isReady;
  }
}

function joined(before: string, bytes: Buffer, after: string): Buffer {
  const all = Buffer.allocUnsafe(before.length + bytes.length + after.length);
  all.write(before, 0, 'latin1');
  bytes.copy(all, before.length);
  all.write(after, before.length + bytes.length, 'latin1');
  return all;
}

const GOES_ON = `keep-alive\r\nkeep-alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`;
const CLOSES = 'close\r\n';

let lastSecond = 0;
let lastDate = '';

/** Written out once per second, in which many answers may be written. */
function dateLine(now: number): string {
  const second = Math.floor(now / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastDate = `date: ${new Date(now).toUTCString()}\r\n`;
  }
  return lastDate;
}
