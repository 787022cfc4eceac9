/** One HTTP call as a handler sees it: the raw request and response, what the route table knows, and notes for the log line. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { LogFields } from '../core/index.ts';
import type { Envelope, Operation, OperatorOperation } from '../rules/index.ts';

/** Where an answer goes: an HTTP response, or one turn of a socket that stands in for it. */
export interface Answer {
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
  readonly head: Buffer;
  /** Takes the connection away from the HTTP response that was made for a refusal. */
  release(): void;
}

export class Call {
  readonly id: string;
  readonly operation: Operation | OperatorOperation | 'none';
  readonly envelope: Envelope;
  readonly request: IncomingMessage;
  readonly response: Answer;
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly address: string;
  readonly startedAt: number;
  /** A body that is here already: a turn of a socket, which may know it only after a while. */
  body?: Buffer;
  readonly upgrade?: Upgrade;
  /** Fields of the one `call.done` line; handlers add what they know, ids and sizes only. */
  note: LogFields = {};
  /** Headers that every answer to this call carries, whatever it says. */
  headers: Readonly<Record<string, string>> = {};
  #gone = false;
  #listeners: (() => void)[] = [];

  constructor(
    given: Pick<
      Call,
      | 'id'
      | 'operation'
      | 'envelope'
      | 'request'
      | 'response'
      | 'params'
      | 'path'
      | 'query'
      | 'address'
      | 'startedAt'
      | 'body'
      | 'upgrade'
    >,
  ) {
    this.id = given.id;
    this.operation = given.operation;
    this.envelope = given.envelope;
    this.request = given.request;
    this.response = given.response;
    this.params = given.params;
    this.path = given.path;
    this.query = given.query;
    this.address = given.address;
    this.startedAt = given.startedAt;
    if (given.body) this.body = given.body;
    if (given.upgrade) this.upgrade = given.upgrade;
    this.response.once('close', () => this.#close());
  }

  /** The client left before it had the whole answer. */
  get isGone(): boolean {
    return this.#gone;
  }

  /** At most once, and at once when the client is gone already, so that nothing is started for nobody. */
  onGone(listener: () => void): void {
    if (this.#gone) listener();
    else this.#listeners.push(listener);
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  #close(): void {
    if (this.response.writableFinished) return;
    this.#gone = true;
    for (const listener of this.#listeners) listener();
    this.#listeners = [];
  }
}

export type Handler = (call: Call) => void | Promise<void>;
