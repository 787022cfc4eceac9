/**
 * One way to call an upstream: HTTP/1.1 over connections of our own, no retry, no redirect, time limits, back-pressure.
 * A failure is a value with a kind, because callers branch on it. Never logs, never looks into a body.
 */
import type { Clock, HttpHeaders } from '../core/index.ts';
import type { FaultKind, Patience } from '../rules/index.ts';
import type { Connection, User } from './connection.ts';
import { Connections } from './connection-pool.ts';
import { Deadlines, type Limited } from './deadlines.ts';
import { type Dial, dial } from './open-socket.ts';
import { requestHead } from './request-head.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly origin: string;
  readonly path: string;
  /** Flat name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: Buffer | string | null;
  readonly patience: Patience;
}

/** Exactly one of `onEnd` and `onTrouble` comes last, unless the exchange was aborted by us: then nothing more comes. */
export interface UpstreamListener {
  onHead(status: number, headers: HttpHeaders): void;
  /** False asks for a pause; `resume` ends it. */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  onTrouble(trouble: Trouble): void;
}

export interface Trouble {
  readonly kind: Extract<FaultKind, 'unreachable' | 'broken' | 'silent'>;
  /** For the log: an error code, never a message that might quote something. */
  readonly code: string;
}

export interface Exchange {
  resume(): void;
  abort(): void;
}

export class Upstream {
  readonly #connections: Connections;
  readonly #deadlines: Deadlines;

  constructor(clock: Clock, connectMs: number, dialling: Dial = dial) {
    this.#connections = new Connections(clock, connectMs, dialling);
    this.#deadlines = new Deadlines(clock);
  }

  send(request: UpstreamRequest, listener: UpstreamListener): Exchange {
    const exchange = new LiveExchange(request.patience, listener, this.#deadlines);
    exchange.begin(request, this.#connections);
    return exchange;
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}

/** What it waits for. For a listener that asked for a pause only the total time counts. */
type Stage = 'connection' | 'head' | 'body' | 'listener' | 'nothing';

class LiveExchange implements Exchange, User, Limited {
  place = 0;
  due: number;
  readonly #patience: Patience;
  readonly #listener: UpstreamListener;
  readonly #deadlines: Deadlines;
  readonly #totalDue: number;
  #stage: Stage = 'connection';
  #isAborted = false;
  #connection: Connection | undefined;
  /** Until they are written: a body may be large, and its answer may take an hour. */
  #head = '';
  #body: Buffer | string | null = null;

  constructor(patience: Patience, listener: UpstreamListener, deadlines: Deadlines) {
    this.#patience = patience;
    this.#listener = listener;
    this.#deadlines = deadlines;
    this.#totalDue = deadlines.now() + patience.total;
    this.due = this.#totalDue;
  }

  begin(request: UpstreamRequest, connections: Connections): void {
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
      this.#tell({ kind: 'broken', code: codeOf(error as Error) });
    }
  }

  onOpen(): void {
    const now = this.#deadlines.now();
    const { firstByte, idle } = this.#patience;
    this.#stage = 'head';
    this.due = Math.min(this.#totalDue, now + firstByte);
    // Also the time between two reads, which counts next: an answer that comes in time needs no second timer.
    this.#deadlines.nearer(Math.min(this.due, now + idle));
    this.#connection?.ask(this, this.#head, this.#body);
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
    this.due = this.#totalDue;
    if (goesOn) this.due = Math.min(this.due, this.#deadlines.now() + this.#patience.idle);
    else this.#stage = 'listener';
    return goesOn;
  }

  onEnd(): void {
    this.#over();
    this.#listener.onEnd();
  }

  onFault(error: Error, wasOpen: boolean): void {
    this.#over();
    this.#tell({ kind: wasOpen ? 'broken' : 'unreachable', code: codeOf(error) });
  }

  onDue(now: number): void {
    const code = now >= this.#totalDue ? 'TOTAL_TIME' : this.#stage === 'head' ? 'FIRST_BYTE_TIME' : 'IDLE_TIME';
    this.#over()?.close();
    this.#tell({ kind: 'silent', code });
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
    this.due = Math.min(this.#totalDue, this.#deadlines.now() + this.#patience.idle);
    this.#deadlines.nearer(this.due);
  }

  /** The connection that it had: it may work for somebody else from now on. */
  #over(): Connection | undefined {
    if (this.#stage === 'nothing') return undefined;
    const connection = this.#connection;
    this.#stage = 'nothing';
    this.#connection = undefined;
    this.#deadlines.remove(this);
    return connection;
  }

  /** Later: a request that cannot even be written fails inside `send`, before the caller has the exchange. */
  #tell(trouble: Trouble): void {
    queueMicrotask(() => {
      if (!this.#isAborted) this.#listener.onTrouble(trouble);
    });
  }
}

function codeOf(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return typeof first === 'object' && first !== null && 'code' in first ? String(first.code) : error.name;
}
