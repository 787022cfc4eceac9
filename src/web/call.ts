/** One HTTP call as a handler sees it: the raw request and response, what the route table knows, and notes for the log line. */
import type { Duplex } from 'node:stream';
import type { LogFields, LogValue } from '../core/index.ts';
import type { AdminOperation, ErrorFormat, Operation, OperatorOperation } from '../rules/index.ts';
import type { IncomingRequest } from './request.ts';

/** Of callers, of whoever watches the process, of operators. */
export type AnyOperation = Operation | OperatorOperation | AdminOperation;

/** Where an answer goes: an HTTP response, or one turn of a socket that stands in for it. */
export interface ResponseWriter {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly destroyed: boolean;
  writeHead(status: number, headers: Readonly<Record<string, string | number>>): unknown;
  flushHeaders(): void;
  /** False when the client is slower than the source; `drain` follows. */
  write(chunk: Buffer | string): boolean;
  end(chunk?: Buffer | string): unknown;
  destroy(): unknown;
  once(event: 'close' | 'drain', listener: () => void): unknown;
}

/** The raw connection of a request that asks to become a WebSocket. */
export interface Upgrade {
  readonly socket: Duplex;
  /** Takes the connection away from HTTP; gives the bytes that came behind the request. */
  release(): Buffer;
}

export class Call {
  readonly id: string;
  readonly operation: AnyOperation | 'none';
  readonly envelope: ErrorFormat;
  readonly request: IncomingRequest;
  readonly response: ResponseWriter;
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly address: string;
  readonly startedAt: number;
  /** A body that is here already: a turn of a socket, which may know it only after a while. */
  body: Buffer | undefined;
  readonly upgrade: Upgrade | undefined;
  /** Fields of the one `request.completed` line. */
  readonly logFields: Record<string, LogValue>;
  /** Headers that every answer to this call carries, whatever it says. */
  headers: Readonly<Record<string, string>> = {};
  #gone = false;
  #isClosed = false;
  #onGone: (() => void)[] = [];
  readonly #onClose: (() => void)[] = [];

  constructor(
    given: Pick<
      Call,
      'id' | 'operation' | 'envelope' | 'request' | 'response' | 'params' | 'path' | 'query' | 'address' | 'startedAt'
    > &
      Partial<Pick<Call, 'body' | 'upgrade'>>,
  ) {
    this.id = given.id;
    this.operation = given.operation;
    this.logFields = { request: given.id, op: given.operation };
    this.envelope = given.envelope;
    this.request = given.request;
    this.response = given.response;
    this.params = given.params;
    this.path = given.path;
    this.query = given.query;
    this.address = given.address;
    this.startedAt = given.startedAt;
    this.body = given.body;
    this.upgrade = given.upgrade;
    this.response.once('close', () => this.#close());
  }

  /** The client left before it had the whole answer. */
  get isClientGone(): boolean {
    return this.#gone;
  }

  /** Handlers add what they know to the log line: ids and sizes only. */
  addLogFields(fields: LogFields): void {
    Object.assign(this.logFields, fields);
  }

  /** At most once, and at once when the client is gone already, so that nothing is started for nobody. */
  onClientGone(listener: () => void): void {
    if (this.#gone) listener();
    else this.#onGone.push(listener);
  }

  /** When the answer is out or can never be, at once if that was before. One listener of the response serves all, which is cheaper. */
  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#onClose.push(listener);
  }

  /** Goes on when the promise is kept. A fault in that ends this call, and not the process. */
  runAfter(when: Promise<void>, task: () => void): void {
    const giveUp = (): void => {
      this.addLogFields({ code: 'internal_error' });
      this.response.destroy();
    };
    when.then(() => {
      try {
        task();
      } catch {
        giveUp();
      }
    }, giveUp);
  }

  header(name: string): string | undefined {
    return this.request.headers[name];
  }

  #close(): void {
    this.#isClosed = true;
    if (!this.response.writableFinished) {
      this.#gone = true;
      for (const listener of this.#onGone) listener();
      this.#onGone = [];
    }
    for (const listener of this.#onClose) listener();
  }
}

export type Handler = (call: Call) => void | Promise<void>;
