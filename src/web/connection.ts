/**
 * One connection of a client: requests are read off it one after the other, each is answered before the next is looked at. What is
 * no HTTP, or comes too slowly, gets a plain answer and the end.
 */
import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import {
  ChunkedBody,
  type Clock,
  framingOf,
  HttpParseError,
  headEnd,
  type IndexedMember,
  readHead,
} from '../core/index.ts';
import { HEADER_BYTES } from '../rules/index.ts';
import { IncomingRequest, type RequestConnection, type RequestLine } from './request.ts';
import { KEEP_ALIVE_MS, OutgoingResponse, type ResponseConnection } from './response.ts';

/** What is wrong with the bytes of a connection, or with their pace. */
export type ProtocolViolation = 'malformed' | 'headers_too_large' | 'too_slow';

/** Who the connections belong to. */
export interface ConnectionHost {
  readonly clock: Clock;
  readonly isDraining: boolean;
  onRequest(incoming: IncomingRequest, outgoing: OutgoingResponse, connection: ServerConnection): void;
  /** Something was thrown that should not be. */
  onBug(error: unknown): void;
  /** The bytes of the answer to a message that is none. */
  onViolation(breach: ProtocolViolation, fault: HttpParseError): string;
}

/** Slow senders are cut: headers within 10 s, the whole request within 5 minutes (64 MiB on a poor line). */
const HEADERS_MS = 10_000;
const REQUEST_MS = 300_000;
/** As long as a client may take to send a request, it may take to fetch what is left of an answer when all of it is written. */
const FETCH_MS = 300_000;
/** What a client may send ahead while it waits for an answer. */
const EARLY_BYTES = 64 * 1024;
/** How much of an unwanted body is read and thrown away before the connection is cut; less risks the client not seeing the answer. */
const DISCARD_BYTES = 64 * 1024;
const DISCARD_MS = 500;
const CR = 0x0d;
const LF = 0x0a;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
/** Another protocol, or line ends that are none: whoever sends it would wait for an answer. */
const CANNOT_BE_HTTP = /^[^A-Z\r]|[^\t\r\n -~\x80-\xff]|(?<!\r)\n/;
const NOTHING = Buffer.alloc(0);
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);

export class ServerConnection implements IndexedMember, ResponseConnection, RequestConnection {
  index = -1;
  readonly socket: Socket;
  readonly #site: ConnectionHost;
  readonly #onLeave: (connection: ServerConnection) => void;
  readonly address: string;
  /** Came before its time: a part of a head, or what follows a request that is not answered yet. */
  #buffered: Buffer | undefined;
  #incoming: IncomingRequest | undefined;
  #outgoing: OutgoingResponse | undefined;
  /** What of the body is still to come. */
  #body: number | ChunkedBody = 0;
  /** The client sends its body when it is asked to. */
  #awaitsContinue = false;
  /** When this state began: open, idle, or a request on its way. */
  #since: number;
  #hasServed = false;
  #isReleased = false;
  /** Everything is said; what still comes is thrown away. */
  #isLeaving = false;
  #discarded = 0;
  #cancelCut: (() => void) | undefined;

  /** `onLeave`: it is closed. */
  constructor(socket: Socket, site: ConnectionHost, onLeave: (connection: ServerConnection) => void) {
    this.socket = socket;
    this.#site = site;
    this.#onLeave = onLeave;
    this.address = socket.remoteAddress ?? '';
    this.#since = site.clock.now();
    socket.on('data', this.#onData);
    socket.on('drain', this.#onDrain);
    socket.on('end', this.#onEnd);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#closed());
  }

  get clock(): Clock {
    return this.#site.clock;
  }

  get isIdle(): boolean {
    return !this.#incoming && !this.#buffered;
  }

  /** What came behind the request. From here on the connection is somebody else's; that it closed is still told, and a stop ends it. */
  release(): Buffer {
    const { socket } = this;
    const early = this.#buffered ?? NOTHING;
    this.#isReleased = true;
    this.#buffered = undefined;
    this.#outgoing?.abandon();
    socket.off('data', this.#onData);
    socket.off('drain', this.#onDrain);
    socket.off('end', this.#onEnd);
    socket.resume();
    return early;
  }

  /** Looked at every few seconds. */
  look(now: number): void {
    if (this.#isReleased) return;
    if (this.#outgoing && now - this.#outgoing.endedAt >= FETCH_MS) return void this.socket.destroy();
    if (this.#isLeaving || this.#incoming?.isComplete) return;
    const age = now - this.#since;
    const isResting = this.#hasServed && this.isIdle;
    if (isResting && age >= KEEP_ALIVE_MS) this.socket.destroy();
    else if (!isResting && age >= (this.#incoming ? REQUEST_MS : HEADERS_MS))
      this.#breach('too_slow', new HttpParseError('a request that takes too long'));
  }

  // ---------------------------------------------------------------- what the socket tells

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isLeaving) return this.#discard(bytes);
    const early = this.#buffered;
    this.#buffered = undefined;
    try {
      this.#read(early ? Buffer.concat([early, bytes]) : bytes, early?.length ?? 0);
    } catch (error) {
      if (error instanceof HttpParseError) return this.#breach('malformed', error);
      // A request costs its own connection at most.
      this.#site.onBug(error);
      this.socket.destroy();
    }
  };

  readonly #onDrain = (): void => this.#outgoing?.drained();

  /** The client sends nothing more. One who still waits for an answer cannot be told from one who left. */
  readonly #onEnd = (): void => {
    const { socket } = this;
    const isHalf = this.#incoming ? !this.#incoming.isComplete : this.#buffered !== undefined;
    if (this.#isLeaving) socket.destroy();
    else if (isHalf) this.#breach('malformed', new HttpParseError('an end in the middle'));
    else if (this.#incoming && !this.#outgoing?.writableEnded) socket.destroy();
    else {
      // The answer that is on its way is the last one: nobody would get another.
      this.#buffered = undefined;
      socket.end();
    }
  };

  #closed(): void {
    this.#cancelCut?.();
    this.#incoming?.cut();
    this.#outgoing?.closed();
    this.#onLeave(this);
  }

  // ---------------------------------------------------------------- reading

  /** `seen` bytes have been looked through for the end of a head. */
  #read(bytes: Buffer, seen: number): void {
    const isBody = this.#incoming !== undefined;
    const next = isBody ? this.#readBody(bytes, 0) : this.#readHead(bytes, seen);
    if (next === bytes.length) return;
    const rest = bytes.subarray(next);
    // Behind the end of a body that nobody wanted: the next request begins.
    if (isBody && !this.#incoming) this.#read(rest, 0);
    else this.#keep(rest);
  }

  /** One past what has been taken care of: all of it, unless the head that begins here is not whole. */
  #readHead(bytes: Buffer, seen: number): number {
    let start = 0;
    // Some clients send a line break too many after a body.
    while (bytes[start] === CR && bytes[start + 1] === LF) start += 2;
    const end = headEnd(bytes, Math.max(start, seen - 3));
    if ((end < 0 ? bytes.length : end) - start > HEADER_BYTES) {
      this.#breach('headers_too_large', new HttpParseError('too many bytes of headers'));
      return bytes.length;
    }
    // Line breaks are no beginning: whoever sends nothing else would never be late.
    if (seen <= start && (bytes[start] ?? CR) !== CR) this.#since = this.#site.clock.now();
    if (end >= 0) return this.#begin(bytes, start, end);
    if (CANNOT_BE_HTTP.test(bytes.toString('latin1', start)))
      throw new HttpParseError('a beginning that can become no head');
    return start;
  }

  #begin(bytes: Buffer, start: number, end: number): number {
    const head = readHead(bytes.toString('latin1', start, end - 4));
    const line = readLine(head.line);
    const framing = framingOf(head.headers) ?? 0;
    const incoming = new IncomingRequest(line, head, this);
    const outgoing = new OutgoingResponse(this, incoming);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#body = framing === 'chunked' ? new ChunkedBody() : framing;
    this.#awaitsContinue = end === bytes.length && head.headers.expect !== undefined && line.version === '1.1';
    const next = this.#readBody(bytes, end);
    // Before anybody hears of the request: who takes the connection over takes this along.
    if (next < bytes.length) this.#keep(bytes.subarray(next));
    this.#site.onRequest(incoming, outgoing, this);
    return bytes.length;
  }

  /** One past what of `bytes` belongs to the body. */
  #readBody(bytes: Buffer, from: number): number {
    const incoming = this.#incoming;
    if (!incoming || incoming.isComplete) return from;
    const body = this.#body;
    let next = from;
    let piece: Buffer | undefined;
    let isWhole: boolean;
    if (typeof body === 'number') {
      next = Math.min(bytes.length, from + body);
      if (next > from) piece = bytes.subarray(from, next);
      this.#body = body - (next - from);
      isWhole = this.#body === 0;
    } else {
      piece = body.take(bytes, from);
      next = body.end;
      isWhole = body.isDone;
    }
    const isReady = !piece || incoming.push(piece);
    // A whole body asks for no pause: what comes next is another request, or the news that the client left.
    if (isWhole) incoming.end();
    else if (!isReady) this.socket.pause();
    return next;
  }

  /** A part of a head, or the next request, whose turn comes when this one is answered. */
  #keep(bytes: Buffer): void {
    if (this.#isLeaving) return;
    this.#buffered = bytes;
    if (this.#incoming && bytes.length > EARLY_BYTES) this.socket.pause();
  }

  requestBody(): void {
    if (this.#awaitsContinue && !this.#outgoing?.headersSent) this.socket.write(CONTINUE);
    this.#awaitsContinue = false;
    this.socket.resume();
  }

  // ---------------------------------------------------------------- after the answer

  /** Decides whether the answer announces the end of the connection. */
  canKeepAlive({ isComplete, headers, version }: IncomingRequest): boolean {
    // Who has asked already is told; nobody else will be.
    if (this.#site.isDraining && !this.#buffered) return false;
    // A client that was never asked for its body sends it or not; and a large one is not worth reading.
    const isSoonRead = typeof this.#body === 'number' && this.#body <= DISCARD_BYTES && !this.#awaitsContinue;
    if (!isComplete && !isSoonRead) return false;
    const wish = headers.connection;
    if (version === '1.0') return wish !== undefined && /\bkeep-alive\b/i.test(wish);
    return wish === undefined || !/\bclose\b/i.test(wish);
  }

  answered(incoming: IncomingRequest, goesOn: boolean): void {
    this.#hasServed = true;
    if (!goesOn) return incoming.isComplete ? this.socket.destroySoon() : this.#leave();
    if (incoming.isComplete) return this.#next();
    this.#cutSoon();
    incoming.read({ onData: () => true, onEnd: () => this.#next(), onCut: () => {} });
  }

  #next(): void {
    const early = this.#buffered;
    this.#cancelCut?.();
    this.#cancelCut = undefined;
    this.#incoming = undefined;
    this.#outgoing = undefined;
    this.#buffered = undefined;
    this.#since = this.#site.clock.now();
    if (!early) return;
    this.socket.resume();
    this.#onData(early);
  }

  /** Bytes that are no request, or not in time. An answer that is on its way must not get a second one into its middle. */
  #breach(breach: ProtocolViolation, fault: HttpParseError): void {
    if (this.#outgoing?.headersSent) return this.socket.destroySoon();
    this.#outgoing?.abandon();
    this.socket.write(this.#site.onViolation(breach, fault));
    this.#leave();
  }

  /** Ends our side, and takes in a little of what is under way: a connection cut with bytes unread may cost the client its answer. */
  #leave(): void {
    this.#isLeaving = true;
    this.#buffered = undefined;
    this.socket.end();
    this.socket.resume();
    this.#cutSoon();
  }

  #cutSoon(): void {
    this.#cancelCut ??= this.#site.clock.after(DISCARD_MS, () => this.socket.destroy());
  }

  #discard(bytes: Buffer): void {
    this.#discarded += bytes.length;
    if (this.#discarded > DISCARD_BYTES) this.socket.destroy();
  }
}

function readLine(line: string): RequestLine {
  const [, method = '', url = '', minor] = /^([A-Z-]+) ([!-~]+) HTTP\/1\.([01])$/.exec(line) ?? [];
  if (!KNOWN_METHODS.has(method)) throw new HttpParseError('a request line that is none');
  return { method, url, version: minor === '0' ? '1.0' : '1.1' };
}
