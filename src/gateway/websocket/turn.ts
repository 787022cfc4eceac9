/**
 * One turn of a responses socket: stands where an HTTP response would, takes the stream that the ordinary path writes, and hands it
 * on as frames. So a turn is admitted, metered, converted and aborted exactly as the same request over HTTP.
 */
import { EventEmitter } from 'node:events';
import { readSse, type SseReader } from '../../core/index.ts';
import type { Call, ResponseWriter } from '../../web/index.ts';
import type { Json } from './frames.ts';

/** One `response.create` of a client. */
export interface Turn {
  /** Empty for the unnamed one. */
  readonly lane: string;
  readonly streamId: string | undefined;
  /** The body of the request. */
  readonly create: Json;
  /** The frame as it came; undefined when the body was in the wrapper of older clients. */
  readonly text: string | undefined;
  readonly answer: TurnResponse;
}

/** Who answers the turns of a connection: the ordinary path of calls, or the provider's own socket. */
export interface TurnRunner {
  /** Settles when the client has its answer or is gone; rejects with the error it should be told. */
  answer(call: Call, turn: Turn): Promise<void>;
  /** A frame about a response that is running: `response.steer`, `response.inject`. */
  pass(event: Json, text: string): void;
  /** The client is gone. */
  leave(): void;
}

export interface TurnListener {
  /** One event of the stream, as JSON text. False asks for a pause. */
  onEvent(json: string): boolean;
  /** The request was refused before a stream began. */
  onRefused(status: number, body: unknown, headers: Readonly<Record<string, string | number>>): void;
  /** Everything has been said. `isWhole` is false when the stream broke without a word. */
  onEnd(isWhole: boolean): void;
}

export class TurnResponse extends EventEmitter implements ResponseWriter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readonly #listener: TurnListener;
  readonly #reader: SseReader;
  #headers: Readonly<Record<string, string | number>> = {};
  #refusal = '';
  #ready = true;

  constructor(listener: TurnListener) {
    super();
    this.#listener = listener;
    this.#reader = readSse((data, event) => {
      this.emit('told', data, event);
      this.#ready = this.#listener.onEvent(data) && this.#ready;
    });
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    this.statusCode = status;
    this.#headers = headers;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  write(chunk: Buffer | string): boolean {
    if (this.#isStream()) {
      this.#ready = true;
      this.#reader.feed(chunk);
      return this.#ready;
    }
    this.#refusal += chunk.toString();
    return true;
  }

  end(chunk?: Buffer | string): void {
    if (this.writableEnded || this.destroyed) return;
    if (chunk !== undefined) this.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    this.writableEnded = true;
    this.writableFinished = true;
    if (this.statusCode >= 400) this.#listener.onRefused(this.statusCode, parse(this.#refusal), this.#headers);
    this.#listener.onEnd(true);
    this.emit('close');
  }

  /** The frames reached the client without passing here; only how it went is left to say. */
  settle(status: number): void {
    if (this.writableEnded || this.destroyed) return;
    this.statusCode = status;
    this.writableEnded = true;
    this.writableFinished = true;
    this.#listener.onEnd(true);
    this.emit('close');
  }

  /** The ordinary path gave up without an end, or the client is gone. */
  destroy(): void {
    if (this.writableEnded || this.destroyed) return;
    this.destroyed = true;
    this.#listener.onEnd(false);
    this.emit('close');
  }

  /** The socket can take more. */
  drain(): void {
    this.emit('drain');
  }

  #isStream(): boolean {
    return this.statusCode < 400;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
