/**
 * A responses WebSocket (G 4.7): frames in, turns on lanes, limits. Who answers a turn is its runner's business. A bad frame
 * answers with an error frame and costs nothing else.
 */
import type { Clock } from '../../core/index.ts';
import { CLOSE, STREAM_ID, WEBSOCKET } from '../../rules/index.ts';
import type { WebSocketConnection } from '../../web/index.ts';
import { bodyOf, errorFrame, frameText, type Json, readFrame, refusal, withStreamId } from './frames.ts';
import { type Turn, TurnResponse, type TurnRunner } from './turn.ts';

export interface SessionServices {
  readonly clock: Clock;
  readonly runner: TurnRunner;
  /** Has the runner answer the turn as a call of its own: logged and measured like one that came over HTTP. */
  run(turn: Turn): Promise<void>;
}

type Waiting = Omit<Turn, 'answer'> & { readonly bytes: number };

const PASSED: ReadonlySet<unknown> = new Set(['response.steer', 'response.inject']);

export class ResponsesSession {
  readonly #socket: WebSocketConnection;
  readonly #parts: SessionServices;
  readonly #lanes = new Set<string>();
  readonly #running = new Map<string, TurnResponse>();
  readonly #waiting: Waiting[] = [];
  /** What the waiting turns hold. */
  #waitingBytes = 0;
  #messages: number[] = [];
  /** How to close when the last running turn is done, and why; set when no further ones are wanted. */
  #closing: { readonly close: () => void; readonly reason: string } | undefined;

  constructor(socket: WebSocketConnection, parts: SessionServices) {
    this.#socket = socket;
    this.#parts = parts;
    const forgetAge = parts.clock.after(WEBSOCKET.lifetimeMs, () => this.#expire());
    socket.onMessage((text) => this.#message(text));
    socket.onClose(() => {
      forgetAge();
      this.#leave();
    });
  }

  /** No new turns; closes when the running ones are done or the time is up. */
  retire(code: number, reason: string, withinMs: number): void {
    const close = (): void => this.#socket.close(code, reason);
    this.#closing = { close, reason };
    for (const { streamId } of this.#forgetWaiting()) this.#refuseTurn(reason, streamId);
    if (this.#running.size === 0) return close();
    this.#parts.clock.after(withinMs, close);
  }

  #expire(): void {
    this.retire(CLOSE.normal, 'the connection is 60 minutes old', WEBSOCKET.farewellMs);
  }

  #leave(): void {
    this.#forgetWaiting();
    // First, so that the log lines of the turns know what they came to.
    this.#parts.runner.leave();
    for (const answer of this.#running.values()) answer.destroy();
  }

  #forgetWaiting(): Waiting[] {
    this.#waitingBytes = 0;
    return this.#waiting.splice(0);
  }

  #message(text: string | undefined): void {
    if (this.#isOverRate()) return this.#socket.close(CLOSE.policy, 'too many messages');
    const event = text === undefined ? undefined : readFrame(text);
    if (text === undefined || event === undefined)
      return this.#say(refusal(400, 'invalid_json', 'Frames must be text and hold one JSON object.'));
    const streamId = event.stream_id;
    if (streamId !== undefined && (typeof streamId !== 'string' || !STREAM_ID.test(streamId))) {
      const message = 'stream_id: expected 1 to 256 letters, digits, dots, dashes or underscores.';
      return this.#say(refusal(400, 'invalid_stream_id', message, 'stream_id'));
    }
    if (PASSED.has(event.type)) return this.#parts.runner.pass(event, text);
    if (event.type === 'response.create') return this.#create(event, text, streamId);
    const message = `type: "${String(event.type).slice(0, 60)}" is not understood; send response.create.`;
    this.#say(refusal(400, 'invalid_value', message, 'type'), streamId);
  }

  #isOverRate(): boolean {
    const now = this.#parts.clock.now();
    this.#messages = this.#messages.filter((at) => now - at < 10_000);
    this.#messages.push(now);
    return this.#messages.length > WEBSOCKET.messagesPerSecond * 10 || this.#waiting.length > WEBSOCKET.waiting;
  }

  #create(event: Json, text: string, streamId: string | undefined): void {
    if (this.#closing) return this.#refuseTurn(this.#closing.reason, streamId);
    const create = bodyOf(event);
    if (create.background === true) {
      const message = 'background: not possible on a socket.';
      return this.#say(refusal(400, 'unsupported_parameter', message, 'background'), streamId);
    }
    if (streamId !== undefined && !this.#lanes.has(streamId) && this.#lanes.size >= WEBSOCKET.lanes) {
      const message = `A connection has at most ${WEBSOCKET.lanes} named streams.`;
      return this.#say(refusal(400, 'websocket_stream_limit_reached', message, 'stream_id'), streamId);
    }
    const bytes = text.length;
    if (this.#waitingBytes + bytes > WEBSOCKET.waitingBytes && this.#mustWait(streamId ?? '')) {
      const message = `The turns that wait on this connection may hold ${WEBSOCKET.waitingBytes / 2 ** 20} MiB together; send this one again when another is done.`;
      return this.#say(refusal(429, 'websocket_queue_limit_reached', message), streamId);
    }
    if (streamId !== undefined) this.#lanes.add(streamId);
    this.#waiting.push({ lane: streamId ?? '', streamId, create, text: 'response' in event ? undefined : text, bytes });
    this.#waitingBytes += bytes;
    this.#startNext();
  }

  #mustWait(lane: string): boolean {
    return this.#running.size >= WEBSOCKET.turns || this.#running.has(lane);
  }

  /** Same lane: one after the other. Different lanes: at once, up to the limit. */
  #startNext(): void {
    while (this.#running.size < WEBSOCKET.turns) {
      const next = this.#waiting.findIndex(({ lane }) => !this.#running.has(lane));
      const [turn] = next < 0 ? [] : this.#waiting.splice(next, 1);
      if (!turn) return;
      this.#waitingBytes -= turn.bytes;
      this.#start(turn);
    }
  }

  #start(waiting: Waiting): void {
    const { lane, streamId } = waiting;
    const answer = new TurnResponse({
      onEvent: (json) => {
        const ready = this.#socket.send(withStreamId(json, streamId));
        if (!ready) this.#socket.onDrain(() => answer.drain());
        return ready;
      },
      onRefused: (status, body, headers) => this.#say(errorFrame(status, body, headers), streamId),
      onEnd: (isWhole) => {
        if (!isWhole) this.#say(refusal(502, 'upstream_error', TRUNCATED), streamId);
        this.#running.delete(lane);
        if (this.#running.size === 0) this.#closing?.close();
        this.#startNext();
      },
    });
    this.#running.set(lane, answer);
    void this.#parts.run({ ...waiting, answer });
  }

  /** Also for turns that were waiting: a client that hears nothing would wait for them until the connection closes. */
  #refuseTurn(reason: string, streamId: string | undefined): void {
    const message = `No further turns on this connection, ${reason}; open a new one and send the whole input.`;
    this.#say(refusal(400, 'websocket_connection_limit_reached', message), streamId);
  }

  #say(frame: Json, streamId?: string): void {
    this.#socket.send(frameText(frame, streamId));
  }
}

const TRUNCATED = 'The upstream closed the stream before completion.';

/** The open sessions of this replica. */
export class ResponsesSessions extends Set<ResponsesSession> {
  /** The replica is stopping: running turns get `withinMs`, then clients are asked to come back. */
  retireAll(withinMs: number): void {
    for (const session of this) session.retire(CLOSE.restart, 'the server restarts', withinMs);
  }
}
