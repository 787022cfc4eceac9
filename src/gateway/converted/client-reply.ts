/**
 * The client's side of a converted reply, shared by its attempts and rounds:
 * JSON events for a WebSocket turn, SSE for HTTP.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type HubEvent, type HubItem, type JsonObject, NO_USAGE, type StreamEncoder } from '../../dialects/index.ts';
import { type ClientStream, idHeaders, STREAM_HEADERS } from '../../platform/web/index.ts';
import { ROUGH_CHARS } from '../billing/request-tokens.ts';
import { droppedHeaders } from '../dropped.ts';
import type { CallContext, EncodedFor } from './context.ts';
import { conversionHeaders, omittedFromReply } from './headers.ts';

/** Of one turn of the event loop: some 5 ms. */
const MAX_EVENTS = 500;

const SHUTDOWN_MESSAGE = 'The server is restarting; send the request again.';

export class ClientReply {
  readonly #context: CallContext;
  readonly #onDrain: () => void;
  readonly #isTurn: boolean;
  #hasBegun = false;
  #isStarted = false;
  #encoder: StreamEncoder | undefined;
  #stream: ClientStream | undefined;
  /**
   * Blocks of the current read. Joined once, because adding each to a
   * string would build a rope that has to be flattened.
   */
  #pending: string[] = [];
  #items: HubItem[] = [];
  #omittedTools: readonly number[] = [];
  /** The last event was pushed; the response ends when the charge is on disk. */
  #isOver = false;

  constructor(context: CallContext, onDrain: () => void) {
    this.#context = context;
    this.#onDrain = onDrain;
    this.#isTurn = context.call.response.writeEvent !== undefined;
  }

  /** The head is written: from here on an error is an event of the stream. */
  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  /** The head is written for the account whose reply follows. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** A part of the reply is written: no other account may be tried. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The response object of the terminal event, in dialects that have one. */
  get finalResponse(): JsonObject | undefined {
    return this.#encoder?.finalResponse;
  }

  start(encoded: EncodedFor): void {
    this.#isStarted = true;
    this.#omittedTools = encoded.encoded.omittedTools;
    if (this.#stream) return this.#nameDropped(encoded.encoded.dropped);
    this.#openStream(conversionHeaders(this.#context, encoded));
  }

  #openStream(headers: Readonly<Record<string, string>>): void {
    const { call, services } = this.#context;
    call.response.writeHead(200, { ...headers, ...STREAM_HEADERS });
    const heartbeat = (): string => this.#heartbeatText();
    this.#stream = services.clientStreams.open(call, { heartbeat, onDrain: this.#onDrain });
    call.onInterrupted(() => this.#endInterrupted());
  }

  heartbeat(): void {
    this.#stream?.write(this.#heartbeatText());
  }

  /** The encoder of the reply opens when its account is known. */
  #heartbeatText(): string {
    return (this.#encoder ?? this.#newEncoder()).heartbeat();
  }

  /** For a client that waits: its head, later heartbeats. False once the reply has begun, or where it is no stream. */
  keepAlive(): boolean {
    const { call, request } = this.#context;
    if (this.#hasBegun || this.#isTurn || !request.stream || request.state.background) return false;
    if (!this.#stream) {
      this.#openStream(idHeaders(call));
      call.response.flushHeaders();
    }
    this.heartbeat();
    return true;
  }

  push(given: HubEvent): void {
    this.#hasBegun = true;
    const encoder = this.#open();
    const event = given.kind === 'start' && !given.usage ? this.#withEstimate(given) : given;
    if (event.kind === 'item_end') this.#items.push(event.item);
    if (event.kind === 'finish' || event.kind === 'error') this.#isOver = true;
    if (event.kind === 'finish') this.#nameOmitted(event.omitted ?? []);
    if (this.#isTurn) for (const json of encoder.pushEvents?.(event) ?? []) this.#pending.push(json);
    else {
      const text = encoder.push(event);
      if (text !== '') this.#pending.push(text);
      // The end waits for the charge, and one text costs the garbage collector less than hundreds of blocks.
      if (this.#isOver) this.#pending = [this.#pending.join('')];
    }
  }

  /**
   * Clients of this dialect show the input of `message_start` as the length of the context;
   * the end of the stream has the true count.
   */
  #withEstimate(start: Extract<HubEvent, { kind: 'start' }>): HubEvent {
    const { pair, inputTokens } = this.#context;
    if (pair.client.dialect !== 'messages') return start;
    return { ...start, usage: { ...NO_USAGE, input: inputTokens(ROUGH_CHARS) } };
  }

  /**
   * The header of a stream is gone, so a comment before the last events names what is missing.
   * A WebSocket has no comments.
   */
  #nameOmitted(omitted: readonly string[]): void {
    this.#nameDropped(omittedFromReply(this.#context, { items: this.#items, omitted }));
    this.#items = [];
  }

  #nameDropped(fields: readonly string[]): void {
    const [names] = Object.values(droppedHeaders(fields));
    if (names !== undefined && !this.#isTurn) this.#pending.push(`: x-gateway-dropped: ${names}\n\n`);
  }

  /** Sends what was pushed in one write. False when the client reads more slowly than the provider writes. */
  flush(): boolean {
    const pending = this.#take();
    if (pending.length === 0 || !this.#stream) return true;
    return this.#isTurn ? this.#stream.writeEvents(pending) : this.#stream.write(pending.join(''));
  }

  end(): void {
    if (this.#isTurn) this.flush();
    this.#stream?.end(this.#take().join(''));
  }

  /**
   * Sends a reply that arrived as one body to a client that asked for a stream.
   * Very many events are encoded in several turns.
   */
  async sendWhole(events: readonly HubEvent[], encoded: EncodedFor): Promise<void> {
    const { call, services } = this.#context;
    this.#omittedTools = encoded.encoded.omittedTools;
    for (const [n, event] of events.entries()) {
      if (n % MAX_EVENTS === MAX_EVENTS - 1) await nextTurn();
      this.push(event);
    }
    if (call.isClientGone) return;
    if (this.#isTurn || this.#stream) {
      this.start(encoded);
      return this.end();
    }
    call.response.writeHead(200, { ...conversionHeaders(this.#context, encoded), ...STREAM_HEADERS });
    services.clientStreams.send(call, this.#take().join(''));
  }

  #endInterrupted(): void {
    if (this.#isOver) return;
    this.push({ kind: 'error', error: { code: 'shutting_down', message: SHUTDOWN_MESSAGE } });
    this.end();
  }

  #take(): readonly string[] {
    const pending = this.#pending;
    this.#pending = [];
    return pending;
  }

  /** Opened on first use: a unary response needs no encoder. */
  #open(): StreamEncoder {
    this.#encoder ??= this.#newEncoder();
    return this.#encoder;
  }

  #newEncoder(): StreamEncoder {
    const { pair, replyContext } = this.#context;
    return pair.client.openEncoder({ ...replyContext, omittedTools: this.#omittedTools });
  }
}
