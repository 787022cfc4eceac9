/** One turn on a WebSocket as an exchange: events are sent as messages instead of an SSE stream. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { Exchange, type State } from './exchange.ts';
import type { Framing } from './frames.ts';
import type { JournalEntry } from './journal.ts';
import { isObject, type Json, type JsonObject, objectOf, textOf } from './json.ts';
import type { ResponseSink } from './response-sink.ts';
import type { StoredResponse } from './responses/store.ts';

/** State of the connection that a turn uses. */
export interface TurnMemory {
  recall(id: string): StoredResponse | undefined;
  keep(id: string, stored: StoredResponse): void;
  close(): void;
}

export class TurnExchange extends Exchange {
  override framing: Framing = 'frame';
  readonly #memory: TurnMemory;

  constructor(state: State, request: IncomingMessage, response: ResponseSink, entry: JournalEntry, memory: TurnMemory) {
    super(state, request, response, entry, 'openai');
    this.#memory = memory;
  }

  override findStored(id: string): StoredResponse | undefined {
    return this.#memory.recall(id) ?? super.findStored(id);
  }

  override store(id: string, stored: StoredResponse): void {
    this.#memory.keep(id, stored);
    super.store(id, stored);
  }

  override async end(isComplete = true): Promise<void> {
    await super.end(isComplete);
    if (!isComplete) this.#memory.close();
  }
}

const KEEP_FRAMES = 500;
const BUFFERED = 1 << 20;

export class TurnResponse extends EventEmitter implements ResponseSink {
  headersSent = false;
  writableFinished = false;
  /** The id of the response; empty until the first event is sent. */
  responseId = '';
  /** Input of a steering message that ended this response. */
  steered: Json | undefined;
  readonly #socket: WebSocket;
  readonly #lane: string;
  readonly #entry: JournalEntry;
  #status = 200;
  #headers: Record<string, string> = {};
  #response: JsonObject = {};

  constructor(socket: WebSocket, lane: string, entry: JournalEntry) {
    super();
    this.#socket = socket;
    this.#lane = lane;
    this.#entry = entry;
  }

  writeHead(status: number, headers: Record<string, string>): void {
    this.#status = status;
    this.#headers = headers;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  write(chunk: string | Buffer): boolean {
    const text = String(chunk);
    if (this.#status >= 400) return this.#send(this.#errorFrame(text));
    if (this.responseId === '') {
      this.#response = objectOf(objectOf(JSON.parse(text)).response);
      this.responseId = textOf(this.#response.id);
    }
    return this.#send(text);
  }

  end(done: () => void): void {
    this.writableFinished = true;
    this.emit('close');
    done();
  }

  /** The connection closed. */
  disconnect(): void {
    this.emit('close');
  }

  /** Ends the response early, as a provider does when new user input arrives. */
  steer(input: Json | undefined): void {
    this.steered = input;
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const response = { ...this.#response, status: 'incomplete', incomplete_details: { reason: 'steered' }, usage };
    this.#send(JSON.stringify({ type: 'response.incomplete', sequence_number: this.#entry.eventsSent, response }));
    this.end(() => {});
  }

  #send(text: string): boolean {
    const named = this.#lane === '' ? text : `${text.slice(0, -1)},"stream_id":${JSON.stringify(this.#lane)}}`;
    if (this.#entry.frames && this.#entry.frames.length < KEEP_FRAMES) this.#entry.frames.push(named);
    this.#socket.send(named, () => this.emit('drain'));
    return this.#socket.bufferedAmount < BUFFERED;
  }

  #errorFrame(body: string): string {
    const wait = this.#headers['retry-after'];
    const headers = wait === undefined ? {} : { headers: { 'retry-after': wait } };
    let error: unknown;
    try {
      error = objectOf(JSON.parse(body)).error;
    } catch {}
    const details = isObject(error) ? error : { type: 'server_error', code: null, message: 'Simulated', param: null };
    return JSON.stringify({ type: 'error', status: this.#status, error: details, ...headers });
  }
}
