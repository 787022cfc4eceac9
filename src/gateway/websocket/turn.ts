/**
 * One turn of a responses WebSocket. It takes the place of an HTTP response, so a turn is admitted, metered, converted and aborted
 * exactly as the same request over HTTP.
 */
import { EventEmitter } from 'node:events';
import { readSse, type SseReader, valueOfJson } from '../../core/index.ts';
import type { BodyReservation, Call, ResponseWriter } from '../../platform/web/index.ts';
import type { JsonFrame } from './frames.ts';

/** One `response.create` of a client. */
export interface Turn {
  /** Empty for the unnamed lane. */
  readonly lane: string;
  readonly streamId: string | undefined;
  /** The body of the request. */
  readonly create: JsonFrame;
  /** The frame as it came; undefined when the body was in the wrapper of older clients. */
  readonly text: string | undefined;
  /** The turn's part of the memory for bodies, until it ends. */
  readonly memory: BodyReservation;
  readonly response: TurnResponse;
}

/** Runs the turns of a connection: over the HTTP path, or over the provider's own WebSocket. */
export interface TurnRunner {
  /** Resolves when the client has its response or is gone; rejects with the error for the client. */
  run(call: Call, turn: Turn): Promise<void>;
  /** Forwards a frame about a running response: `response.steer`, `response.inject`. */
  pass(event: JsonFrame, text: string): void;
  /** The client disconnected. */
  close(): void;
}

export interface TurnListener {
  /** One event of the stream, as JSON text. Returns false when the client reads more slowly than the provider writes. */
  onEvent(json: string): boolean;
  /** The request was rejected before a stream began. */
  onRejected(status: number, body: unknown, headers: Readonly<Record<string, string | number>>): void;
  /** The turn is over. `isComplete` is false when the stream ended without a terminal event. */
  onEnd(isComplete: boolean): void;
}

export class TurnResponse extends EventEmitter implements ResponseWriter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readonly #listener: TurnListener;
  /** For the native path, whose events come as server-sent events of the provider. */
  readonly #reader: SseReader;
  #headers: Readonly<Record<string, string | number>> = {};
  #errorBody = '';
  #isReady = true;

  constructor(listener: TurnListener) {
    super();
    this.#listener = listener;
    this.#reader = readSse((data) => {
      // A frame must be a JSON object, also where a stream of the provider breaks inside an event or ends with `[DONE]`.
      if (isObject(valueOfJson(data))) this.#isReady = this.writeEvent(data) && this.#isReady;
    });
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    this.statusCode = status;
    this.#headers = headers;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  write(chunk: Buffer | string): boolean {
    if (this.statusCode >= 400) {
      this.#errorBody += chunk.toString();
      return true;
    }
    this.#isReady = true;
    this.#reader.feed(chunk);
    return this.#isReady;
  }

  writeEvent(json: string): boolean {
    this.emit('event', json);
    return this.#listener.onEvent(json);
  }

  end(chunk?: Buffer | string): void {
    if (this.writableEnded || this.destroyed) return;
    if (chunk !== undefined) this.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    if (this.statusCode >= 400) this.#listener.onRejected(this.statusCode, valueOfJson(this.#errorBody), this.#headers);
    this.#finish();
  }

  /** The frames reached the client directly; only the outcome is recorded here. */
  settle(status: number): void {
    if (this.writableEnded || this.destroyed) return;
    this.statusCode = status;
    this.#finish();
  }

  /** The call ended without a terminal event, or the client disconnected. */
  destroy(): void {
    if (this.writableEnded || this.destroyed) return;
    this.destroyed = true;
    this.#listener.onEnd(false);
    this.emit('close');
  }

  /** The client reads again. */
  drain(): void {
    this.emit('drain');
  }

  #finish(): void {
    this.writableEnded = true;
    this.writableFinished = true;
    this.#listener.onEnd(true);
    this.emit('close');
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
