/** One HTTP call as a handler sees it: the raw request and response, what the route table knows, and notes for the log line. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LogFields } from '../core/index.ts';
import type { Envelope, Operation, OperatorOperation } from '../rules/index.ts';

export class Call {
  readonly id: string;
  readonly operation: Operation | OperatorOperation | 'none';
  readonly envelope: Envelope;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly address: string;
  readonly startedAt: number;
  /** Fields of the one `call.done` line; handlers add what they know, ids and sizes only. */
  note: LogFields = {};
  #gone = false;
  #listeners: (() => void)[] = [];

  constructor(
    given: Pick<
      Call,
      'id' | 'operation' | 'envelope' | 'request' | 'response' | 'params' | 'path' | 'query' | 'address' | 'startedAt'
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
