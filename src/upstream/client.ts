/**
 * HTTP/1.1 client for providers, with timeouts and back-pressure. Reports failures as values with a kind, because callers branch
 * on it. Decodes compressed bodies, but never retries, follows redirects, logs, or
 * reads into a body.
 */
import type { Clock, HttpHeaders } from '../core/index.ts';
import type { FaultKind, Timeouts } from '../rules/index.ts';
import type { ClientConnection, ConnectionUser, RequestBytes } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { ContentDecoder, canDecode, encodingOf, withoutEncoding } from './content-decoder.ts';
import { Deadlines, type HasDeadline } from './deadlines.ts';
import { type OpenSocket, openTcpOrTls } from './open-socket.ts';
import { requestHead } from './request-head.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly origin: string;
  readonly path: string;
  /** Flat name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: RequestBytes;
  readonly timeouts: Timeouts;
  /**
   * `new`: never an idle connection, which the provider may be closing at this moment. For requests whose outcome must be known:
   * an error before the connection opens then means that nothing was sent.
   */
  readonly connection?: 'any' | 'new';
  /** Connects only to one of these addresses, which `PublicGuard` has checked, on a connection of its own. */
  readonly addresses?: readonly string[] | undefined;
  /** `keep`: a compressed body is handed on as it is, for files whose bytes are counted. Else it is decoded. */
  readonly encoding?: 'decode' | 'keep';
}

/** Exactly one of `onEnd` and `onError` comes last. After `abort` nothing more is called. */
export interface UpstreamListener {
  onHead(status: number, headers: HttpHeaders): void;
  /** Returns false to pause the provider; `resume` continues. */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  onError(error: TransportError): void;
}

export interface TransportError {
  readonly kind: Extract<FaultKind, 'unreachable' | 'failed' | 'timeout'>;
  /** Error code for the log. Never a message, which might quote request data. */
  readonly code: string;
}

export interface UpstreamExchange {
  resume(): void;
  abort(): void;
}

export class UpstreamClient {
  readonly #connections: ConnectionPool;
  readonly #deadlines: Deadlines;

  constructor(clock: Clock, connectMs: number, openSocket: OpenSocket = openTcpOrTls) {
    this.#connections = new ConnectionPool(clock, connectMs, openSocket);
    this.#deadlines = new Deadlines(clock);
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamExchange {
    const exchange = new LiveExchange(request, listener, this.#deadlines);
    exchange.begin(request, this.#connections);
    return exchange;
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}

/** What the exchange waits for. While the listener pauses it, only the total time limit applies. */
type Stage = 'connection' | 'head' | 'body' | 'listener' | 'nothing';

class LiveExchange implements UpstreamExchange, ConnectionUser, HasDeadline {
  index = 0;
  deadline: number;
  readonly #timeouts: Timeouts;
  readonly #keepsEncoding: boolean;
  readonly #listener: UpstreamListener;
  readonly #deadlines: Deadlines;
  readonly #totalDeadline: number;
  #stage: Stage = 'connection';
  #isAborted = false;
  #connection: ClientConnection | undefined;
  /** Between the connection and the listener when the body is compressed. It may outlive the connection. */
  #decoder: ContentDecoder | undefined;
  /** Released after the write: a body may be large, and its response may take an hour. */
  #head = '';
  #body: RequestBytes = null;

  constructor({ timeouts, encoding }: UpstreamRequest, listener: UpstreamListener, deadlines: Deadlines) {
    this.#timeouts = timeouts;
    this.#keepsEncoding = encoding === 'keep';
    this.#listener = listener;
    this.#deadlines = deadlines;
    this.#totalDeadline = deadlines.now() + timeouts.total;
    this.deadline = this.#totalDeadline;
  }

  begin(request: UpstreamRequest, connections: ConnectionPool): void {
    try {
      const origin = connections.at(request.origin);
      this.#head = requestHead(request, origin.host, request.body);
      this.#body = request.body;
      const { addresses } = request;
      const idle = request.connection === 'new' || addresses ? undefined : origin.take();
      this.#connection = idle ?? (addresses ? connections.openPinned(origin, addresses, this) : origin.open(this));
      if (idle) this.onOpen();
      this.#deadlines.add(this);
    } catch (error) {
      this.#stage = 'nothing';
      this.#reportError({ kind: 'failed', code: errorCode(error as Error) });
    }
  }

  onOpen(): void {
    const now = this.#deadlines.now();
    const { firstByte, idle } = this.#timeouts;
    this.#stage = 'head';
    this.deadline = Math.min(this.#totalDeadline, now + firstByte);
    // Includes the idle limit, which applies next, so that a timely response needs no second timer.
    this.#deadlines.schedule(Math.min(this.deadline, now + idle));
    this.#connection?.send(this, this.#head, this.#body);
    this.#head = '';
    this.#body = null;
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#awaitBody();
    const encoding = this.#keepsEncoding ? undefined : encodingOf(headers);
    if (encoding === undefined) return this.#listener.onHead(status, headers);
    if (!canDecode(encoding)) return this.#stop('CONTENT_ENCODING');
    this.#decoder = this.#openDecoder(encoding);
    this.#listener.onHead(status, withoutEncoding(headers));
  }

  #openDecoder(encoding: string): ContentDecoder {
    return new ContentDecoder(encoding, {
      onData: (chunk) => this.#listener.onData(chunk),
      onDrain: () => this.#resumeConnection(),
      onEnd: () => {
        // The compressed data may end before the body does.
        this.#finish()?.close();
        this.#listener.onEnd();
      },
      onError: (error) => this.#stop(errorCode(error)),
    });
  }

  /** Gives up on the response. */
  #stop(code: string): void {
    this.#finish()?.close();
    this.#reportError({ kind: 'failed', code });
  }

  onData(chunk: Buffer): boolean {
    const wantsMore = this.#decoder ? this.#decoder.write(chunk) : this.#listener.onData(chunk);
    if (this.#stage !== 'body') return wantsMore;
    this.deadline = this.#totalDeadline;
    if (wantsMore) this.deadline = Math.min(this.deadline, this.#deadlines.now() + this.#timeouts.idle);
    else this.#stage = 'listener';
    return wantsMore;
  }

  onEnd(): void {
    this.#finish();
    if (this.#decoder) this.#decoder.end();
    else this.#listener.onEnd();
  }

  onError(error: Error, wasOpen: boolean): void {
    this.#finish();
    this.#decoder?.close();
    this.#reportError({ kind: wasOpen ? 'failed' : 'unreachable', code: errorCode(error) });
  }

  onDeadline(now: number): void {
    const code = now >= this.#totalDeadline ? 'TOTAL_TIME' : this.#stage === 'head' ? 'FIRST_BYTE_TIME' : 'IDLE_TIME';
    this.#finish()?.close();
    this.#decoder?.close();
    this.#reportError({ kind: 'timeout', code });
  }

  resume(): void {
    if (this.#decoder) this.#decoder.resume();
    else this.#resumeConnection();
  }

  #resumeConnection(): void {
    if (this.#stage !== 'listener') return;
    this.#awaitBody();
    this.#connection?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#decoder?.close();
    this.#finish()?.close();
  }

  #awaitBody(): void {
    this.#stage = 'body';
    this.deadline = Math.min(this.#totalDeadline, this.#deadlines.now() + this.#timeouts.idle);
    this.#deadlines.schedule(this.deadline);
  }

  /** Ends the exchange and returns its connection, which may serve another exchange from now on. */
  #finish(): ClientConnection | undefined {
    if (this.#stage === 'nothing') return undefined;
    const connection = this.#connection;
    this.#stage = 'nothing';
    this.#connection = undefined;
    this.#deadlines.remove(this);
    return connection;
  }

  /** Asynchronous, because a request that cannot be written fails inside `send`, before the caller has the exchange. */
  #reportError(error: TransportError): void {
    queueMicrotask(() => {
      if (!this.#isAborted) this.#listener.onError(error);
    });
  }
}

function errorCode(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return typeof first === 'object' && first !== null && 'code' in first ? String(first.code) : error.name;
}
