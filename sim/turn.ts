/** One turn of a WebSocket in the place of an HTTP exchange: what would be a stream of events becomes messages. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { Exchange, type Outgoing, type State } from './exchange.ts';
import type { JournalEntry } from './journal.ts';
import { isObject, type Json, type JsonObject, objectOf, textOf } from './json.ts';
import type { StoredResponse } from './responses/store.ts';
import type { Framing } from './stream.ts';

/** What a turn needs of its connection. */
export type Memory = {
  recall(id: string): StoredResponse | undefined;
  keep(id: string, stored: StoredResponse): void;
  close(): void;
};

export class TurnExchange extends Exchange {
  override framing: Framing = 'frame';
  private readonly memory: Memory;

  constructor(state: State, request: IncomingMessage, answer: Outgoing, entry: JournalEntry, memory: Memory) {
    super(state, request, answer, entry, 'openai');
    this.memory = memory;
  }

  override recall(id: string): StoredResponse | undefined {
    return this.memory.recall(id) ?? super.recall(id);
  }

  override keep(id: string, stored: StoredResponse): void {
    this.memory.keep(id, stored);
    super.keep(id, stored);
  }

  override async end(whole = true): Promise<void> {
    await super.end(whole);
    if (!whole) this.memory.close();
  }
}

const KEEP_FRAMES = 500;
const BUFFERED = 1 << 20;

export class TurnAnswer extends EventEmitter implements Outgoing {
  headersSent = false;
  writableFinished = false;
  /** The id of the response, once it was told. */
  responseId = '';
  /** Input that arrived while the response was running, once it has ended for it. */
  steered: Json | undefined;
  private readonly socket: WebSocket;
  private readonly lane: string;
  private readonly entry: JournalEntry;
  private status = 200;
  private headers: Record<string, string> = {};
  private response: JsonObject = {};

  constructor(socket: WebSocket, lane: string, entry: JournalEntry) {
    super();
    this.socket = socket;
    this.lane = lane;
    this.entry = entry;
  }

  writeHead(status: number, headers: Record<string, string>): void {
    this.status = status;
    this.headers = headers;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  write(chunk: string): boolean {
    if (this.status >= 400) return this.send(this.errorFrame(chunk));
    if (this.responseId === '') {
      this.response = objectOf(objectOf(JSON.parse(chunk)).response);
      this.responseId = textOf(this.response.id);
    }
    return this.send(chunk);
  }

  end(done: () => void): void {
    this.writableFinished = true;
    this.emit('close');
    done();
  }

  /** The connection is gone. */
  leave(): void {
    this.emit('close');
  }

  /** Ends the response where it is, as a provider does when new words of the user come in. */
  steer(input: Json | undefined): void {
    this.steered = input;
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const response = { ...this.response, status: 'incomplete', incomplete_details: { reason: 'steered' }, usage };
    this.send(JSON.stringify({ type: 'response.incomplete', sequence_number: this.entry.eventsSent, response }));
    this.end(() => {});
  }

  private send(text: string): boolean {
    const named = this.lane === '' ? text : `${text.slice(0, -1)},"stream_id":${JSON.stringify(this.lane)}}`;
    if (this.entry.frames && this.entry.frames.length < KEEP_FRAMES) this.entry.frames.push(named);
    this.socket.send(named, () => this.emit('drain'));
    return this.socket.bufferedAmount < BUFFERED;
  }

  private errorFrame(body: string): string {
    const wait = this.headers['retry-after'];
    const headers = wait === undefined ? {} : { headers: { 'retry-after': wait } };
    let error: unknown;
    try {
      error = objectOf(JSON.parse(body)).error;
    } catch {}
    const told = isObject(error) ? error : { type: 'server_error', code: null, message: 'Simulated', param: null };
    return JSON.stringify({ type: 'error', status: this.status, error: told, ...headers });
  }
}
