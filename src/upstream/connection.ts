/**
 * One connection to a server: writes a request, reads its answer, and then waits for the next one or is closed. Its listeners are
 * set once for its whole life, and its user is an object: a call costs no closures. Never resends, never logs.
 */
import type { Socket } from 'node:net';
import {
  ChunkedBody,
  type HttpHeaders,
  HttpParseError,
  headEnd,
  type IndexedMember,
  isAscii,
  systemClock,
} from '../core/index.ts';
import { readResponseHead } from './response-head.ts';

/** Whom the connection works for at present. Exactly one of `onEnd` and `onFault` comes last, unless the user closes it: then nothing. */
export interface ConnectionUser {
  /** A new connection can take its request now. */
  onOpen(): void;
  onHead(status: number, headers: HttpHeaders): void;
  /** The bytes are the user's. False asks for a pause. */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  /** `wasOpen`: false when there never was a connection that a request could have gone over. */
  onFault(error: Error, wasOpen: boolean): void;
}

/** Where a connection belongs when it works for nobody. */
export interface ConnectionOwner {
  /** It has read its answer whole and may be used again for so long. */
  onIdle(connection: ClientConnection, keepMs: number): void;
  onClosed(connection: ClientConnection): void;
}

export interface ConnectionOptions {
  readonly socket: Socket;
  readonly isTls: boolean;
  /** Covers the handshake of TLS. */
  readonly connectMs: number;
  /** Asked about the address that was really reached, before anything is sent there. */
  readonly accepts?: (remoteAddress: string) => boolean;
  /** A connection without one is closed after its first answer. */
  readonly owner?: ConnectionOwner;
}

export class ConnectionError extends Error {
  override readonly name = 'ConnectionFault';
  readonly code: 'CONNECT_TIME' | 'OTHER_ADDRESS' | 'CLOSED_EARLY' | 'CLOSED';

  constructor(code: ConnectionError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Node writes a text of up to this size without allocating, which is cheaper than two pieces. */
const ONE_WRITE = 16 * 1024;
/** Servers send some 1 to 2 KiB; a head that goes on and on is none. */
const MAX_HEAD_BYTES = 64 * 1024;
const BLANK_LINE_BYTES = 4;
/** Address translators forget a connection that says nothing for some minutes, which a model that thinks does. */
const TCP_KEEPALIVE_MS = 60_000;

type Phase = 'opening' | 'idle' | 'head' | 'body' | 'closed';

export class ClientConnection implements IndexedMember {
  index = 0;
  /** Belongs to its owner. */
  keptUntil = 0;
  readonly #socket: Socket;
  readonly #opening: ConnectionOptions;
  readonly #cancelConnect: () => void;
  #phase: Phase = 'opening';
  #user: ConnectionUser | undefined;
  /** The beginning of a head of which the rest is still to come. */
  #partial: Buffer | undefined;
  /** Of the body under way: a chunked one, or else how many bytes are missing; Infinity until the connection ends. */
  #chunked: ChunkedBody | undefined;
  #missing = 0;
  #keepMs = 0;

  constructor(opening: ConnectionOptions, user: ConnectionUser) {
    const { socket, isTls, connectMs } = opening;
    this.#opening = opening;
    this.#socket = socket;
    this.#user = user;
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => this.#onEof());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(closedEarly()));
    socket.once(isTls ? 'secureConnect' : 'connect', () => this.#onOpen());
    // Of the system, whatever clock the limits of a call are on: the network knows no other.
    this.#cancelConnect = systemClock.after(connectMs, () =>
      this.#fail(new ConnectionError('CONNECT_TIME', 'no connection in time')),
    );
  }

  /** An idle one may have died in this very turn, before its events came. */
  get isUsable(): boolean {
    return this.#phase === 'idle' && this.#socket.writable;
  }

  /** The request leaves at once. */
  send(user: ConnectionUser, head: string, body: Buffer | string | null): void {
    this.#user = user;
    this.#phase = 'head';
    if (!body || body.length === 0) this.#socket.write(head, 'latin1');
    else if (head.length + body.length > ONE_WRITE) this.#write(head, body);
    else if (typeof body !== 'string') this.#socket.write(head + body.toString('latin1'), 'latin1');
    else if (isAscii(head)) this.#socket.write(head + body, 'utf8');
    else this.#write(head, body);
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

  /** At once; its user hears nothing more. */
  close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#user = undefined;
    this.#partial = undefined;
    this.#cancelConnect();
    this.#socket.destroy();
    this.#opening.owner?.onClosed(this);
  }

  /** Closed by us, and its user is told. */
  closeWithError(): void {
    this.#fail(new ConnectionError('CLOSED', 'this side stops'));
  }

  #onOpen(): void {
    if (this.#phase !== 'opening') return;
    this.#cancelConnect();
    this.#socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
    if (this.#opening.accepts?.(this.#socket.remoteAddress ?? '') === false)
      return this.#fail(new ConnectionError('OTHER_ADDRESS', 'connected to another address'));
    this.#phase = 'idle';
    try {
      this.#user?.onOpen();
    } catch (error) {
      this.#fail(asError(error));
    }
  }

  #read(bytes: Buffer): void {
    try {
      if (this.#phase === 'body') this.#readBody(bytes, 0);
      else if (this.#phase === 'head') this.#readHead(bytes);
      // Nobody asked: whatever it is, it must not become the answer to the next request.
      else this.#fail(new HttpParseError('an answer without a question'));
    } catch (error) {
      // Also what a user throws: in the callback of a socket it would end the process.
      this.#fail(asError(error));
    }
  }

  #readHead(bytes: Buffer): void {
    const before = this.#partial;
    const all = before ? Buffer.concat([before, bytes]) : bytes;
    this.#partial = undefined;
    // The blank line may have been cut.
    let searchFrom = before ? Math.max(0, before.length - BLANK_LINE_BYTES + 1) : 0;
    let start = 0;
    while (start < all.length) {
      const end = headEnd(all, searchFrom);
      if ((end < 0 ? all.length : end) - start > MAX_HEAD_BYTES) throw new HttpParseError('a head without end');
      if (end < 0) {
        this.#partial = start === 0 ? all : all.subarray(start);
        return;
      }
      const { status, headers, framing, keepMs } = readResponseHead(
        all.toString('latin1', start, end - BLANK_LINE_BYTES),
      );
      start = searchFrom = end;
      // 100 and 103 announce the real head.
      if (status < 200) continue;
      this.#keepMs = keepMs;
      this.#chunked = framing === 'chunked' ? new ChunkedBody() : undefined;
      this.#missing = typeof framing === 'number' ? framing : Number.POSITIVE_INFINITY;
      this.#phase = 'body';
      this.#user?.onHead(status, headers);
      // Even when nothing is left: the body may be empty.
      return this.#readBody(all, end);
    }
  }

  /** What one read brought is told in one piece. */
  #readBody(bytes: Buffer, from: number): void {
    if (this.#phase !== 'body') return;
    const chunked = this.#chunked;
    let end: number;
    let payload: Buffer | undefined;
    if (chunked) {
      payload = chunked.take(bytes, from);
      end = chunked.end;
    } else {
      end = Math.min(bytes.length, from + this.#missing);
      this.#missing -= end - from;
      if (end > from) payload = bytes.subarray(from, end);
    }
    const goesOn = payload === undefined || this.#user?.onData(payload) !== false;
    // The user may have closed it.
    if (this.#phase !== 'body') return;
    if (chunked ? chunked.isDone : this.#missing === 0) this.#finish(end === bytes.length);
    else if (!goesOn) this.#socket.pause();
  }

  /** Back owner before the user is told, so that its next call finds it there. */
  #finish(isClean: boolean): void {
    const user = this.#user;
    const { owner } = this.#opening;
    // Bytes after the end belong to nothing; a request that is answered before it has left would run into the next one.
    if (owner && isClean && this.#keepMs > 0 && this.#socket.writableLength === 0) {
      this.#phase = 'idle';
      this.#user = undefined;
      this.#chunked = undefined;
      owner.onIdle(this, this.#keepMs);
    } else this.close();
    try {
      user?.onEnd();
    } catch (error) {
      user?.onFault(asError(error), true);
    }
  }

  #onEof(): void {
    if (this.#phase === 'body' && !this.#chunked && this.#missing === Number.POSITIVE_INFINITY) this.#finish(false);
    else this.#fail(closedEarly());
  }

  #fail(error: Error): void {
    if (this.#phase === 'closed') return;
    const user = this.#user;
    const wasOpen = this.#phase !== 'opening';
    this.close();
    user?.onFault(error, wasOpen);
  }
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error('something was thrown'));

const closedEarly = (): ConnectionError => new ConnectionError('CLOSED_EARLY', 'closed before the answer was whole');
