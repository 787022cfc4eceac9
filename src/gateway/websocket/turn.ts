/**
 * One turn of a responses WebSocket, in place of an HTTP response:
 * admitted, metered, converted and aborted as over HTTP.
 */
import { isJsonType, type RecentMap, readSse, type SseReader, valueOfJson } from '../../core/index.ts';
import { isObject } from '../../dialects/index.ts';
import { type BodyReservation, type Call, type Handler, ResponseSink } from '../../platform/web/index.ts';
import type { Caller } from '../caller.ts';
import type { GatewayServices } from '../services.ts';
import { eventsOf } from '../stored/events.ts';
import { type JsonFrame, rejectionFrame } from './frames.ts';

export interface SessionHost {
  readonly handleHttp: Handler;
  /**
   * Counts a call against the limits of its key, or rejects it.
   * A turn over HTTP does so by itself, unless it calls no provider.
   */
  readonly acquireSlot: (call: Call) => undefined | Promise<void>;
  /** Runs a handler with the error handling, log line and metrics of a request. */
  readonly runCall: (call: Call, handler: Handler) => Promise<void>;
}

export interface SessionServices extends GatewayServices, SessionHost {
  /** Accounts that rejected a WebSocket upgrade recently. One list per replica. */
  readonly refusedSockets: RecentMap<string, true>;
}

export interface OpenedSession {
  readonly upgrade: Call;
  readonly caller: Caller;
}

export interface Turn {
  /** Empty for the unnamed lane. */
  readonly lane: string;
  readonly streamId: string | undefined;
  readonly create: JsonFrame;
  readonly text: string;
  readonly values: number;
  /** The turn's part of the memory for bodies, until it ends. */
  readonly memory: BodyReservation;
  readonly response: TurnResponse;
}

export interface TurnRunner {
  /** Resolves when the client has its response or is gone; rejects with the error for the client. */
  run(call: Call, turn: Turn): Promise<void>;
  /** Forwards a frame about a running response: `response.steer`, `response.inject`. */
  pass(event: JsonFrame, text: string): void;
  close(): void;
}

export interface TurnListener {
  /**
   * One event of the stream, as JSON text. Returns false when the client reads more slowly than the provider writes.
   */
  onEvent(json: string): boolean;
  onRejected(status: number, body: unknown, headers: Readonly<Record<string, string | number>>): void;
  /** The turn is over. `isComplete` is false when the stream ended without a terminal event. */
  onEnd(isComplete: boolean): void;
}

/** As much as a reply in one body may have elsewhere. */
const MAX_WHOLE_BYTES = 64 * 2 ** 20;
const NO_RESPONSE = 'The provider did not respond with a stream or a response.';

export class TurnResponse extends ResponseSink {
  readonly #listener: TurnListener;
  /** For the native path, whose events come as server-sent events of the provider. */
  readonly #reader: SseReader;
  #headers: Readonly<Record<string, string | number>> = {};
  #errorBody = '';
  /** Of a provider that answers with one JSON body although a stream was asked for. */
  #whole: Buffer[] | undefined;
  #wholeBytes = 0;
  #isReady = true;

  constructor(listener: TurnListener) {
    super();
    this.#listener = listener;
    this.#reader = readSse((data) => {
      // A frame must be a JSON object, also where a stream of the
      // provider breaks inside an event or ends with `[DONE]`.
      if (isObject(valueOfJson(data))) this.#isReady = this.writeEvent(data) && this.#isReady;
    });
  }

  override writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    super.writeHead(status, headers);
    this.#headers = headers;
    if (status < 400 && isJsonType(String(headers['content-type'] ?? ''))) this.#whole = [];
  }

  override write(chunk: Buffer | string): boolean {
    if (this.statusCode >= 400) {
      this.#errorBody += chunk.toString();
      return true;
    }
    if (this.#whole) {
      this.#wholeBytes += chunk.length;
      if (this.#wholeBytes <= MAX_WHOLE_BYTES) this.#whole.push(Buffer.from(chunk));
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

  override end(chunk?: Buffer | string): void {
    if (this.writableEnded || this.destroyed) return;
    if (chunk !== undefined) this.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    if (this.#whole) this.#writeWhole(this.#whole.splice(0));
    if (this.statusCode >= 400) this.#listener.onRejected(this.statusCode, valueOfJson(this.#errorBody), this.#headers);
    super.end();
  }

  /** The client gets the frames that a stream would have had, without deltas. */
  #writeWhole(chunks: readonly Buffer[]): void {
    const isKept = this.#wholeBytes <= MAX_WHOLE_BYTES;
    const response = isKept ? valueOfJson(Buffer.concat(chunks).toString('utf8')) : undefined;
    if (isObject(response) && typeof response.id === 'string' && Array.isArray(response.output)) {
      for (const event of eventsOf({ response })) this.writeEvent(JSON.stringify(event));
      return;
    }
    this.statusCode = 502;
    this.#errorBody = JSON.stringify(rejectionFrame(502, 'upstream_error', NO_RESPONSE));
  }

  /** The frames reached the client directly; only the outcome is recorded here. */
  settle(status: number): void {
    if (this.writableEnded || this.destroyed) return;
    this.statusCode = status;
    super.end();
  }

  drain(): void {
    this.emit('drain');
  }

  /** Without its end, the call has no terminal event, or the client disconnected. */
  protected override close(): void {
    this.#listener.onEnd(this.writableEnded);
    super.close();
  }
}
