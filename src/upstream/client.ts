/**
 * One way to call an upstream: HTTP/1.1 over connections of our own, no retry, no redirect, time limits, back-pressure.
 * A failure is a value with a kind, because callers branch on it. Never logs, never looks into a body.
 */
import type { Clock, HttpHeaders } from '../core/index.ts';
import type { FaultKind, Timeouts } from '../rules/index.ts';
import type { ClientConnection, ConnectionUser } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Deadlines, type HasDeadline } from './deadlines.ts';
import { type OpenSocket, openTcpOrTls } from './open-socket.ts';
import { requestHead } from './request-head.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly origin: string;
  readonly path: string;
  /** Flat name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: Buffer | string | null;
  readonly timeouts: Timeouts;
}

/** Exactly one of `onEnd` and `onTrouble` comes last, unless the exchange was aborted by us: then nothing more comes. */
export interface UpstreamListener {
  onHead(status: number, headers: HttpHeaders): void;
  /** False asks for a pause; `resume` ends it. */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  onError(trouble: TransportError): void;
}

export interface TransportError {
  readonly kind: Extract<FaultKind, 'unreachable' | 'failed' | 'timeout'>;
  /** For the log: an error code, never a message that might quote something. */
  readonly code: string;
}

export interface UpstreamExchange {
  resume(): void;
  abort(): void;
}

export class UpstreamClient {
  readonly #connections: ConnectionPool;
  readonly #deadlines: Deadlines;

  constructor(clock: Clock, connectMs: number, dialling: OpenSocket = openTcpOrTls) {
    this.#connections = new ConnectionPool(clock, connectMs, dialling);
    this.#deadlines = new Deadlines(clock);
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamExchange {
    const exchange = new LiveExchange(request.timeouts, listener, this.#deadlines);
    exchange.begin(request, this.#connections);
    return exchange;
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}

/** What it waits for. For a listener that asked for a pause only the total time counts. */
type Stage = 'connection' | 'head' | 'body' | 'listener' | 'nothing';

class LiveExchange implements UpstreamExchange, ConnectionUser, HasDeadline {
  index = 0;
  deadline: number;
  readonly #patience: Timeouts;
  readonly #listener: UpstreamListener;
  readonly #deadlines: Deadlines;
  readonly #totalDue: number;
  #stage: Stage = 'connection';
  #isAborted = false;
  #connection: ClientConnection | undefined;
  /** Until they are written: a body may be large, and its answer may take an hour. */
  #head = '';
  #body: Buffer | string | null = null;

  constructor(patience: Timeouts, listener: UpstreamListener, deadlines: Deadlines) {
    this.#patience = patience;
    this.#listener = listener;
    this.#deadlines = deadlines;
    this.#totalDue = deadlines.now() + patience.total;
    this.deadline = this.#totalDue;
  }

  begin(request: UpstreamRequest, connections: ConnectionPool): void {
    try {
      const origin = connections.at(request.origin);
      this.#head = requestHead(request, origin.host, request.body);
      this.#body = request.body;
      const waiting = origin.take();
      this.#connection = waiting ?? origin.open(this);
      if (waiting) this.onOpen();
      this.#deadlines.add(this);
    } catch (error) {
      this.#stage = 'nothing';
      this.#tell({ kind: 'failed', code: codeOf(error as Error) });
    }
  }

  onOpen(): void {
    const now = this.#deadlines.now();
    const { firstByte, idle } = this.#patience;
    this.#stage = 'head';
    this.deadline = Math.min(this.#totalDue, now + firstByte);
    // Also the time between two reads, which counts next: an answer that comes in time needs no second timer.
    this.#deadlines.schedule(Math.min(this.deadline, now + idle));
    this.#connection?.send(this, this.#head, this.#body);
    this.#head = '';
    this.#body = null;
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#awaitBody();
    this.#listener.onHead(status, headers);
  }

  onData(chunk: Buffer): boolean {
    const goesOn = this.#listener.onData(chunk);
    if (this.#stage !== 'body') return goesOn;
    this.deadline = this.#totalDue;
    if (goesOn) this.deadline = Math.min(this.deadline, this.#deadlines.now() + this.#patience.idle);
    else this.#stage = 'listener';
    return goesOn;
  }

  onEnd(): void {
    this.#over();
    this.#listener.onEnd();
  }

  onFault(error: Error, wasOpen: boolean): void {
    this.#over();
    this.#tell({ kind: wasOpen ? 'failed' : 'unreachable', code: codeOf(error) });
  }

  onDue(now: number): void {
    const code = now >= this.#totalDue ? 'TOTAL_TIME' : this.#stage === 'head' ? 'FIRST_BYTE_TIME' : 'IDLE_TIME';
    this.#over()?.close();
    this.#tell({ kind: 'timeout', code });
  }

  resume(): void {
    if (this.#stage !== 'listener') return;
    this.#awaitBody();
    this.#connection?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#over()?.close();
  }

  #awaitBody(): void {
    this.#stage = 'body';
    this.deadline = Math.min(this.#totalDue, this.#deadlines.now() + this.#patience.idle);
    this.#deadlines.schedule(this.deadline);
  }

  /** The connection that it had: it may work for somebody else from now on. */
  #over(): ClientConnection | undefined {
    if (this.#stage === 'nothing') return undefined;
    const connection = this.#connection;
    this.#stage = 'nothing';
    this.#connection = undefined;
    this.#deadlines.remove(this);
    return connection;
  }

  /** Later: a request that cannot even be written fails inside `send`, before the caller has the exchange. */
  #tell(trouble: TransportError): void {
    queueMicrotask(() => {
      if (!this.#isAborted) this.#listener.onError(trouble);
    });
  }
}

function codeOf(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return typeof first === 'object' && first !== null && 'code' in first ? String(first.code) : error.name;
}
