/**
 * A responses WebSocket (G 4.7): frames, lanes and limits;
 * a `TurnRunner` runs the turns. A malformed frame does not close it.
 */
import { ApiError, type Clock, type MaybePromise, toApiError } from '../../core/index.ts';
import type { BodyReservation, WebSocketConnection } from '../../platform/web/index.ts';
import { CLOSE, errorRow, STREAM_ID, WEBSOCKET } from '../../rules/index.ts';
import * as frames from './frames.ts';
import { type Turn, TurnResponse, type TurnRunner } from './turn.ts';

export interface SessionOptions {
  readonly clock: Clock;
  readonly runner: TurnRunner;
  reserve(): BodyReservation;
  /** Without a promise when the frame is small. Undefined when it is not a JSON object. */
  readFrame(text: string): MaybePromise<frames.ReadFrame | undefined>;
  /** Runs the turn as a call of its own: logged and measured like a request over HTTP. */
  runTurn(turn: Turn): Promise<void>;
}

export interface SessionDrain {
  readonly withinMs: number;
  readonly lingerMs: number;
}

type QueuedTurn = Omit<Turn, 'response'> & { readonly bytes: number };

const FORWARDED_EVENTS: ReadonlySet<unknown> = new Set(['response.steer', 'response.inject']);

export class ResponsesSession {
  readonly #socket: WebSocketConnection;
  readonly #services: SessionOptions;
  readonly #lanes = new Set<string>();
  readonly #running = new Map<string, TurnResponse>();
  readonly #queue: QueuedTurn[] = [];
  #queuedBytes = 0;
  #messageTimes: number[] = [];
  /** A large frame is read in a thread, and those after it wait. */
  #reading: Promise<void> | undefined;
  #isClosed = false;
  #idleSince: number;
  /** Set when at most one more turn is accepted: how to close after the last running turn, and why. */
  #closing: { readonly close: () => void; readonly reason: string; takesTurn: boolean } | undefined;

  constructor(socket: WebSocketConnection, services: SessionOptions) {
    this.#socket = socket;
    this.#services = services;
    this.#idleSince = services.clock.elapsed();
    const times = { withinMs: WEBSOCKET.drainMs, lingerMs: 0 };
    const expire = (): void => this.drain(CLOSE.normal, 'the connection is 60 minutes old', times);
    const cancelExpiry = services.clock.after(WEBSOCKET.lifetimeMs, expire);
    socket.onMessage((text) => this.#onMessage(text));
    socket.onClose(() => {
      cancelExpiry();
      this.#onClosed();
    });
  }

  /**
   * Takes no new turns, except within `lingerMs` after the last one;
   * closes when the running ones are done or the time is up.
   */
  drain(code: number, reason: string, { withinMs, lingerMs }: SessionDrain): void {
    const { clock } = this.#services;
    const isIdle = this.#running.size === 0;
    const close = (): void => this.#socket.close(code, reason);
    this.#closing = { close, reason, takesTurn: isIdle };
    for (const { streamId } of this.#clearQueue()) this.#rejectTurn(reason, streamId);
    const lingerLeft = this.#idleSince + lingerMs - clock.elapsed();
    if (isIdle && lingerLeft <= 0) return close();
    clock.after(withinMs, close);
    if (isIdle) clock.after(lingerLeft, () => this.#running.size === 0 && close());
  }

  #onClosed(): void {
    this.#isClosed = true;
    this.#clearQueue();
    // First, so that the log lines of the turns include their usage.
    this.#services.runner.close();
    for (const response of this.#running.values()) response.destroy();
  }

  #clearQueue(): QueuedTurn[] {
    this.#queuedBytes = 0;
    for (const { memory } of this.#queue) memory.release();
    return this.#queue.splice(0);
  }

  #onMessage(text: string | undefined): void {
    if (this.#isOverRate()) return this.#socket.close(CLOSE.policy, 'too many messages');
    const frame = text === undefined || this.#reading ? undefined : this.#read(text);
    if (!this.#reading && !(frame instanceof Promise)) return this.#onFrame(frame);
    const memory = this.#reserve(text?.length ?? 0, undefined);
    const reading = this.#readLater(text, frame instanceof Promise ? frame : undefined, memory).finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    this.#reading = reading;
  }

  /** Frames take effect in their order. `memory`: undefined when the frame does not fit. */
  async #readLater(
    text: string | undefined,
    begun: Promise<frames.ReadFrame | undefined> | undefined,
    memory: BodyReservation | undefined,
  ): Promise<void> {
    try {
      await this.#reading;
      const reads = begun ?? (text === undefined || !memory ? undefined : this.#read(text));
      const frame = await reads;
      // The turn takes its own part.
      memory?.release();
      if (memory && !this.#isClosed) this.#onFrame(frame);
    } catch (error) {
      memory?.release();
      const { code, message } = toApiError(error);
      this.#send(frames.rejectionFrame(Number([errorRow(code).status].flat()[0]), code, message));
    }
  }

  /** A frame beyond a limit is refused in its turn, whatever its size. */
  #read(text: string): MaybePromise<frames.ReadFrame | undefined> {
    try {
      return this.#services.readFrame(text);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #onFrame(frame: frames.ReadFrame | undefined): void {
    if (frame === undefined)
      return this.#send(frames.rejectionFrame(400, 'invalid_json', 'Frames must be text frames with one JSON object.'));
    const { event } = frame;
    const streamId = event.stream_id;
    if (streamId !== undefined && (typeof streamId !== 'string' || !STREAM_ID.test(streamId))) {
      const message = 'stream_id: expected 1 to 256 letters, digits, dots, dashes or underscores.';
      return this.#send(frames.rejectionFrame(400, 'invalid_stream_id', message, 'stream_id'));
    }
    if (FORWARDED_EVENTS.has(event.type)) return this.#services.runner.pass(event, frame.text);
    if (event.type === 'response.create') return this.#create(frame, streamId);
    const message = `type: "${String(event.type).slice(0, 60)}" is not supported; send response.create.`;
    this.#send(frames.rejectionFrame(400, 'invalid_value', message, 'type'), streamId);
  }

  #isOverRate(): boolean {
    const now = this.#services.clock.elapsed();
    this.#messageTimes = this.#messageTimes.filter((at) => now - at < 10_000);
    this.#messageTimes.push(now);
    return this.#messageTimes.length > WEBSOCKET.messagesPerSecond * 10 || this.#queue.length > WEBSOCKET.queuedTurns;
  }

  #create({ event, text, values, memoryBytes }: frames.ReadFrame, streamId: string | undefined): void {
    if (this.#closing?.takesTurn === false) return this.#rejectTurn(this.#closing.reason, streamId);
    const create = frames.bodyOf(event);
    if (create.background === true) {
      const message = 'background: background responses are not supported.';
      return this.#send(frames.rejectionFrame(400, 'unsupported_parameter', message, 'background'), streamId);
    }
    if (streamId !== undefined && !this.#lanes.has(streamId) && this.#lanes.size >= WEBSOCKET.lanes) {
      const message = `A connection has at most ${WEBSOCKET.lanes} named streams.`;
      return this.#send(frames.rejectionFrame(400, 'websocket_stream_limit_reached', message, 'stream_id'), streamId);
    }
    const bytes = text.length;
    if (this.#queuedBytes + bytes > WEBSOCKET.queuedBytes && this.#mustWait(streamId ?? '')) {
      const message =
        `The queued turns of a connection may hold ${WEBSOCKET.queuedBytes / 2 ** 20} MiB; ` +
        'send this one again when another is done.';
      return this.#send(frames.rejectionFrame(429, 'websocket_queue_limit_reached', message), streamId);
    }
    const memory = this.#reserve(memoryBytes, streamId);
    if (!memory) return;
    if (this.#closing) this.#closing.takesTurn = false;
    if (streamId !== undefined) this.#lanes.add(streamId);
    this.#queue.push({ lane: streamId ?? '', streamId, create, text, values, bytes, memory });
    this.#queuedBytes += bytes;
    this.#startNext();
  }

  /** Undefined when the turn does not fit; the client then has its error. */
  #reserve(bytes: number, streamId: string | undefined): BodyReservation | undefined {
    const memory = this.#services.reserve();
    try {
      memory.add(bytes);
      return memory;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      memory.release();
      const status = error.code === 'rate_limit_exceeded' ? 429 : 503;
      this.#send(frames.rejectionFrame(status, error.code, error.message), streamId);
      return undefined;
    }
  }

  #mustWait(lane: string): boolean {
    return this.#running.size >= WEBSOCKET.turns || this.#running.has(lane);
  }

  /** Turns of one lane run one after the other, turns of different lanes concurrently up to the limit. */
  #startNext(): void {
    while (this.#running.size < WEBSOCKET.turns) {
      const next = this.#queue.findIndex(({ lane }) => !this.#running.has(lane));
      const [turn] = next < 0 ? [] : this.#queue.splice(next, 1);
      if (!turn) return;
      this.#queuedBytes -= turn.bytes;
      this.#start(turn);
    }
  }

  #start(queued: QueuedTurn): void {
    const { lane, streamId, memory } = queued;
    const response = new TurnResponse({
      onEvent: (json) => {
        const ready = this.#socket.send(frames.withStreamId(json, streamId));
        if (!ready) this.#socket.onDrain(() => response.drain());
        return ready;
      },
      onRejected: (status, body, headers) => this.#send(frames.errorFrame(status, body, headers), streamId),
      onEnd: (isComplete) => {
        if (!isComplete) this.#send(frames.rejectionFrame(502, 'upstream_error', TRUNCATED), streamId);
        this.#running.delete(lane);
        this.#idleSince = this.#services.clock.elapsed();
        memory.release();
        if (this.#running.size === 0) this.#closing?.close();
        this.#startNext();
      },
    });
    this.#running.set(lane, response);
    void this.#services.runTurn({ ...queued, response });
  }

  /** Queued turns are rejected too; otherwise the client would wait for them until the connection closes. */
  #rejectTurn(reason: string, streamId: string | undefined): void {
    const message = `No further turns on this connection, ${reason}; open a new one and send the whole input.`;
    this.#send(frames.rejectionFrame(400, 'websocket_connection_limit_reached', message), streamId);
  }

  #send(frame: frames.JsonFrame, streamId?: string): void {
    this.#socket.send(frames.frameText(frame, streamId));
  }
}

const TRUNCATED = 'The upstream closed the stream before completion.';

export class ResponsesSessions extends Set<ResponsesSession> {
  #draining: SessionDrain | undefined;

  /** The replica is stopping: running turns get `withinMs`, then clients are asked to reconnect. */
  drainAll(times: SessionDrain): void {
    this.#draining = times;
    for (const session of this) this.#drain(session, times);
  }

  override add(session: ResponsesSession): this {
    if (this.#draining) this.#drain(session, this.#draining);
    return super.add(session);
  }

  #drain(session: ResponsesSession, times: SessionDrain): void {
    session.drain(CLOSE.restart, 'the server restarts', times);
  }
}
