/** One API call as a handler sees it: request, response, route, client address, and the fields of its log line. */
import * as core from '../../core/index.ts';
import type { AdminOperation, ConsoleOperation, ErrorFormat, Operation, OperatorOperation } from '../../rules/index.ts';
import type { IncomingRequest, OutgoingResponse, Upgradable } from '../http/index.ts';
import type { BodyBudget, BodyReservation } from './body-budget.ts';
import type { BodyTap } from './body-tap.ts';
import { CallTrace } from './call-trace.ts';

/** Operations of the client API, the operator endpoints, the admin API and the console. */
export type AnyOperation = Operation | OperatorOperation | AdminOperation | ConsoleOperation;

/** Destination of a response: an HTTP response, or one turn of a WebSocket session. */
export interface ResponseWriter extends OutgoingResponse {
  /** Takes one event as JSON text, without server-sent-event framing. Only a WebSocket turn has it. */
  writeEvent?(json: string): boolean;
}

/** What is known when a call begins. */
export type CallOptions = Pick<
  Call,
  'id' | 'operation' | 'errorFormat' | 'request' | 'response' | 'params' | 'path' | 'query' | 'address' | 'startedAt'
> & {
  readonly upgrade?: Upgradable | undefined;
  readonly headers?: Call['headers'] | undefined;
  readonly bodyBudget?: BodyBudget | undefined;
  readonly clock?: core.Clock | undefined;
  readonly isBatch?: boolean | undefined;
};

const NO_HEADERS = {};
const NO_RESERVATION: BodyReservation = { add() {}, release() {} };

export class Call implements core.IndexedMember {
  /** In the list of open calls. */
  index = -1;
  readonly id: string;
  readonly operation: AnyOperation | 'none';
  readonly request: IncomingRequest;
  readonly response: ResponseWriter;
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  /** IP address of the client. */
  readonly address: string;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  readonly upgrade: Upgradable | undefined;
  readonly bodyBudget: BodyBudget | undefined;
  /** One of the requests of a batch. */
  readonly isBatch: boolean;
  /** Fields of the `request.completed` log line. */
  readonly logFields: Record<string, core.LogValue>;
  readonly trace = new CallTrace();
  /** That of the path, or that of the client where several SDK families share a path. */
  errorFormat: ErrorFormat;
  /**
   * Of a WebSocket turn, or of a request that several readers share;
   * undefined while it has to be read from the connection.
   */
  body: Buffer | undefined;
  /** Whose share of memory the call uses: the id of the key, once it is known, and the address of the client before. */
  owner: string;
  /** Keeps the bodies of the call, if capture is on for its key. */
  tap: BodyTap | undefined;
  /** The call of a client that disconnects ends with its handler, which may still learn what to charge. */
  endsWithHandler = false;
  /** The client disconnected, or the call was interrupted, before the client had the whole response. */
  isClientGone = false;
  /** The server stopped before the response was complete. */
  isInterrupted = false;
  /** The work that reading its body may take. */
  readonly steps = new core.StepBudget();
  readonly #clock: core.Clock;
  readonly #begunMs: number;
  #headers: Readonly<Record<string, string>>;
  #closedMs: number | undefined;
  #isClosed = false;
  #endInterrupted: (() => void) | undefined;
  readonly #onGone: (() => void)[] = [];
  readonly #onClose: (() => void)[] = [];

  /** Copies field by field: `Object.assign` would cost 0.5 µs more per request. */
  constructor(options: CallOptions) {
    this.id = options.id;
    this.operation = options.operation;
    this.logFields = { request: options.id, op: options.operation };
    this.errorFormat = options.errorFormat;
    this.request = options.request;
    this.response = options.response;
    this.params = options.params;
    this.path = options.path;
    this.query = options.query;
    this.address = options.address;
    this.startedAt = options.startedAt;
    this.#clock = options.clock ?? core.systemClock;
    this.#begunMs = this.#clock.elapsed();
    this.upgrade = options.upgrade;
    this.owner = options.address;
    this.bodyBudget = options.bodyBudget;
    this.isBatch = options.isBatch ?? false;
    this.#headers = options.headers ?? NO_HEADERS;
    this.response.once('close', () => this.#close());
  }

  /** Milliseconds since the call began, with fractions. */
  elapsedMs(): number {
    return this.#clock.elapsed() - this.#begunMs;
  }

  /** The same until the response was closed. */
  get durationMs(): number {
    return this.#closedMs ?? this.elapsedMs();
  }

  /** True once the caller's key is known. */
  get hasKey(): boolean {
    return this.owner !== this.address;
  }

  /** Headers of every response to this call, errors included. */
  get headers(): Readonly<Record<string, string>> {
    return this.#headers;
  }

  addHeaders(headers: Readonly<Record<string, string>>): void {
    this.#headers = { ...this.#headers, ...headers };
  }

  removeHeader(name: string): void {
    const { [name]: _, ...rest } = this.#headers;
    this.#headers = rest;
  }

  /**
   * Sets how a response that has begun ends when the server stops:
   * with the error event of its format. Without it, the body is cut.
   */
  onInterrupted(end: () => void): void {
    this.#endInterrupted = end;
  }

  /**
   * The server stops and the response is not complete.
   * `reject` sends an error instead of a response that has not begun. Then the call ends as if the client had
   * disconnected, which aborts the provider and charges what the client received.
   */
  interrupt(reject: () => void): void {
    const { response } = this;
    if (response.writableEnded || response.destroyed || this.isClientGone) return;
    this.isInterrupted = true;
    this.addLogFields({ code: 'shutting_down' });
    if (!response.headersSent) reject();
    else if (this.#endInterrupted) this.#endInterrupted();
    else response.destroy();
    this.#leave();
  }

  /** Adds fields to the log line: ids and sizes only. */
  addLogFields(fields: core.LogFields): void {
    Object.assign(this.logFields, fields);
  }

  /** Calls `listener` at most once, when the client disconnects early; immediately when it already has. */
  onClientGone(listener: () => void): void {
    if (this.isClientGone) listener();
    else this.#onGone.push(listener);
  }

  /**
   * Calls `listener` when the response is sent or can no longer be sent.
   * One response listener serves all, which is cheaper.
   */
  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#onClose.push(listener);
  }

  /** A part of the memory for bodies, which ends with the call at the latest. */
  reserveMemory(): BodyReservation {
    const reservation = this.openReservation();
    this.onClose(reservation.release);
    return reservation;
  }

  /** The same for a WebSocket, which outlives the call that opened it; its owner releases it. */
  openReservation(): BodyReservation {
    return this.bodyBudget?.open(this.owner) ?? NO_RESERVATION;
  }

  /** Runs `task` after the promise. An error in either aborts this call and must not stop the process. */
  runAfter(when: Promise<void>, task: () => void): void {
    const abort = (): void => {
      this.addLogFields({ code: 'internal_error' });
      this.response.destroy();
    };
    when.then(() => {
      try {
        task();
      } catch {
        abort();
      }
    }, abort);
  }

  header(name: string): string | undefined {
    return this.request.headers[name];
  }

  #close(): void {
    this.#isClosed = true;
    this.#closedMs = this.elapsedMs();
    if (!this.response.writableFinished) this.#leave();
    for (const listener of this.#onClose) listener();
  }

  #leave(): void {
    this.isClientGone = true;
    for (const listener of this.#onGone.splice(0)) listener();
  }
}

export type Handler = (call: Call) => void | Promise<void>;
