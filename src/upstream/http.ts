/**
 * One way to call an upstream: undici's dispatch with a handler of our own, no retry, no redirect, time limits, back-pressure.
 * A failure is a value with a kind, because callers branch on it. Never logs, never looks into a body.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import type { Clock } from '../core/index.ts';
import type { FaultKind, Patience } from '../rules/index.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly origin: string;
  readonly path: string;
  /** Flat name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: Buffer | Readable | null;
  readonly patience: Patience;
}

/** Exactly one of `onEnd` and `onTrouble` comes last, unless the exchange was aborted by us: then nothing more comes. */
export interface UpstreamListener {
  onHead(status: number, headers: IncomingHttpHeaders): void;
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

/** Live streams hold a connection each; a pool smaller than their number would make them wait for one another. */
const CONNECTIONS_PER_ORIGIN = 4_096;
/** Providers close idle connections after 5 s and more; we let go first, so that no request meets a closing door. */
const KEEP_ALIVE_MS = 4_000;

export class Upstream {
  readonly #agent: Agent;
  readonly #clock: Clock;

  constructor(clock: Clock, connectMs: number) {
    this.#clock = clock;
    this.#agent = new Agent({
      connections: CONNECTIONS_PER_ORIGIN,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: connectMs },
      // Image results come as one JSON string of some 20 MiB.
      maxResponseSize: -1,
    });
  }

  send(request: UpstreamRequest, listener: UpstreamListener): Exchange {
    const exchange = new LiveExchange(listener, this.#clock, request.patience.total);
    const { method, origin, path, headers, body, patience } = request;
    this.#agent.dispatch(
      {
        method,
        origin,
        path,
        headers: headers as string[],
        body,
        headersTimeout: patience.firstByte,
        bodyTimeout: patience.idle,
      },
      exchange,
    );
    return exchange;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

const ABORTED = new Error('aborted');

class LiveExchange implements Dispatcher.DispatchHandler, Exchange {
  readonly #listener: UpstreamListener;
  readonly #cancelTotal: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  /** A request that still waits for a connection has no controller yet; the wish to abort it is kept until it has one. */
  #aborted = false;
  #overTime = false;
  /** What one read of the socket brought. Servers send every event as a chunk of its own; one by one they cost about twice as much. */
  #gathered: Buffer[] = [];

  constructor(listener: UpstreamListener, clock: Clock, totalMs: number) {
    this.#listener = listener;
    this.#cancelTotal = clock.after(totalMs, () => {
      this.#overTime = true;
      this.#controller?.abort(ABORTED);
    });
  }

  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#cancelTotal();
    this.#controller?.abort(ABORTED);
  }

  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted || this.#overTime) controller.abort(ABORTED);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // 100 and 103 announce the real head.
    if (status >= 200 && !this.#aborted) this.#listener.onHead(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#gathered.push(chunk) > 1) return;
    queueMicrotask(() => {
      try {
        this.#deliver();
      } catch (error) {
        controller.abort(error as Error);
      }
    });
  }

  onResponseEnd(): void {
    this.#cancelTotal();
    this.#deliver();
    if (!this.#aborted) this.#listener.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#cancelTotal();
    const trouble: Trouble = this.#overTime ? { kind: 'silent', code: 'TOTAL_TIME' } : troubleOf(error);
    // A request that cannot even be written fails inside `send`, before the caller has the exchange.
    queueMicrotask(() => {
      if (!this.#aborted) this.#listener.onTrouble(trouble);
    });
  }

  #deliver(): void {
    const chunks = this.#gathered;
    const [only] = chunks;
    if (!only || this.#aborted) return;
    this.#gathered = [];
    if (!this.#listener.onData(chunks.length === 1 ? only : Buffer.concat(chunks))) this.#controller?.pause();
  }
}

const KINDS: Readonly<Record<string, Trouble['kind']>> = {
  UND_ERR_CONNECT_TIMEOUT: 'unreachable',
  ECONNREFUSED: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  UND_ERR_HEADERS_TIMEOUT: 'silent',
  UND_ERR_BODY_TIMEOUT: 'silent',
};

function troubleOf(error: Error): Trouble {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const code = typeof first === 'object' && first !== null && 'code' in first ? String(first.code) : error.name;
  return { kind: KINDS[code] ?? (/CERT|TLS|SSL/.test(code) ? 'unreachable' : 'broken'), code };
}
