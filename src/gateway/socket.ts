/**
 * A responses WebSocket (G 4.7): frames in, turns on lanes, frames out. Each turn runs as an ordinary streamed request with the full
 * conversation in it, so the upstream needs neither sockets nor memory; what the connection remembers is the latest response of
 * every lane. A bad frame answers with an error frame and costs nothing else.
 */
import { type Clock, JsonFault, newId, scanMembers } from '../core/index.ts';
import { CLOSE, JSON_LIMITS, SOCKET, STREAM_ID } from '../rules/index.ts';
import type { Socket } from '../web/index.ts';
import { Chains, type Link } from './chain.ts';
import { inputItems } from './history.ts';
import { TurnAnswer } from './turn.ts';

export interface SocketParts {
  readonly clock: Clock;
  /** Runs one request as if it had come over HTTP; the answer goes to the turn. */
  run(body: Buffer, answer: TurnAnswer): Promise<void>;
  /** Is this the id of a response that the upstream or our store can continue from? */
  canContinue(responseId: string): Promise<boolean>;
}

type Json = Record<string, unknown>;

interface Turn {
  readonly lane: string;
  readonly streamId: string | undefined;
  readonly create: Json;
}

export class ResponsesSocket {
  readonly #socket: Socket;
  readonly #parts: SocketParts;
  readonly #chains = new Chains();
  readonly #lanes = new Map<string, Turn[]>();
  readonly #running = new Map<string, { destroy(): void }>();
  readonly #waiting: Turn[] = [];
  #messages: number[] = [];
  #isOld = false;

  constructor(socket: Socket, parts: SocketParts) {
    this.#socket = socket;
    this.#parts = parts;
    socket.onMessage((text) => this.#message(text));
    socket.onClose(() => this.#leave());
    parts.clock.after(SOCKET.lifetimeMs, () => this.#growOld());
  }

  /** No new turns; closes when the running ones are done or the time is up. */
  retire(code: number, reason: string, withinMs: number): void {
    this.#isOld = true;
    this.#waiting.length = 0;
    const close = (): void => this.#socket.close(code, reason);
    if (this.#running.size === 0) return close();
    this.#parts.clock.after(withinMs, close);
  }

  #growOld(): void {
    this.retire(CLOSE.normal, 'the connection is 60 minutes old', SOCKET.farewellMs);
  }

  #leave(): void {
    this.#waiting.length = 0;
    for (const answer of this.#running.values()) answer.destroy();
  }

  #message(text: string | undefined): void {
    if (this.#isFlood()) return this.#socket.close(CLOSE.policy, 'too many messages');
    const event = text === undefined ? undefined : parse(text);
    if (event === undefined)
      return this.#refuse(undefined, 400, 'invalid_json', 'Frames must be text and hold one JSON object.');
    const streamId = event.stream_id;
    if (streamId !== undefined && (typeof streamId !== 'string' || !STREAM_ID.test(streamId))) {
      return this.#refuse(
        undefined,
        400,
        'invalid_stream_id',
        'stream_id: expected 1 to 256 letters, digits, dots, dashes or underscores.',
        'stream_id',
      );
    }
    const refusal = REFUSED[String(event.type)];
    if (refusal) return this.#send(refusal(event), streamId);
    if (event.type !== 'response.create') {
      return this.#refuse(
        streamId,
        400,
        'invalid_value',
        `type: "${String(event.type).slice(0, 60)}" is not understood; send response.create.`,
        'type',
      );
    }
    this.#create(event, streamId);
  }

  #isFlood(): boolean {
    const now = this.#parts.clock.now();
    this.#messages = this.#messages.filter((at) => now - at < 10_000);
    this.#messages.push(now);
    return this.#messages.length > SOCKET.messagesPerSecond * 10 || this.#waiting.length > SOCKET.waiting;
  }

  #create(event: Json, streamId: string | undefined): void {
    if (this.#isOld) {
      return this.#refuse(
        streamId,
        400,
        'websocket_connection_limit_reached',
        'This connection is older than 60 minutes; open a new one and send the whole input.',
      );
    }
    const lane = streamId ?? '';
    const isNew = streamId !== undefined && !this.#lanes.has(lane);
    if (isNew && [...this.#lanes.keys()].filter((name) => name !== '').length >= SOCKET.lanes) {
      return this.#refuse(
        streamId,
        400,
        'websocket_stream_limit_reached',
        `A connection has at most ${SOCKET.lanes} named streams.`,
        'stream_id',
      );
    }
    if (!this.#lanes.has(lane)) this.#lanes.set(lane, []);
    this.#waiting.push({ lane, streamId, create: flat(event) });
    this.#startNext();
  }

  /** Same lane: one after the other. Different lanes: at once, up to the limit. */
  #startNext(): void {
    while (this.#running.size < SOCKET.turns) {
      const next = this.#waiting.findIndex(({ lane }) => !this.#running.has(lane));
      const [turn] = next < 0 ? [] : this.#waiting.splice(next, 1);
      if (!turn) return;
      this.#start(turn);
    }
  }

  /** The lane is taken before anything is awaited, so that the next turn on it waits. */
  #start(turn: Turn): void {
    const { create, lane, streamId } = turn;
    const previousId = typeof create.previous_response_id === 'string' ? create.previous_response_id : undefined;
    const link = previousId === undefined ? undefined : this.#chains.find(previousId);
    if (create.background === true) {
      return this.#refuse(
        streamId,
        400,
        'unsupported_parameter',
        'background: not possible on a socket.',
        'background',
      );
    }
    if (previousId === undefined || link) return this.#go(turn, link, previousId);
    this.#running.set(lane, NOBODY);
    void this.#parts.canContinue(previousId).then((isKnown) => {
      this.#running.delete(lane);
      if (isKnown) return this.#go(turn, undefined, previousId);
      this.#chains.evict(lane, previousId);
      this.#refuse(
        streamId,
        400,
        'previous_response_not_found',
        `Previous response with id '${previousId.slice(0, 100)}' not found.`,
        'previous_response_id',
      );
      this.#startNext();
    });
  }

  #go(turn: Turn, link: Link | undefined, previousId: string | undefined): void {
    const items = [...(link?.items ?? []), ...inputItems(turn.create.input)];
    if (turn.create.generate === false) return this.#warmUp(turn, items);
    const { generate: _, ...request } = turn.create;
    const whole = link
      ? { ...request, input: items, previous_response_id: undefined, stream: true }
      : { ...request, stream: true };
    this.#run(turn, Buffer.from(JSON.stringify(whole)), items, previousId);
  }

  #run({ lane, streamId }: Turn, body: Buffer, items: readonly unknown[], previousId: string | undefined): void {
    let failed = true;
    const answer = new TurnAnswer({
      onEvent: (json, event) => {
        if (event === 'response.completed' || event === 'response.incomplete') {
          failed = false;
          this.#remember(lane, json, items);
        }
        const ready = this.#socket.send(streamId === undefined ? json : withStreamId(json, streamId));
        if (!ready) this.#socket.onDrain(() => answer.drain());
        return ready;
      },
      onRefused: (status, refusal, headers) => this.#send(errorFrame(status, refusal, headers), streamId),
      onEnd: (isWhole) => {
        if (!isWhole)
          this.#refuse(streamId, 502, 'upstream_error', 'The upstream closed the stream before completion.');
        if (failed) this.#chains.evict(lane, previousId);
        this.#running.delete(lane);
        if (this.#isOld && this.#running.size === 0)
          this.#socket.close(CLOSE.normal, 'the connection is 60 minutes old');
        this.#startNext();
      },
    });
    this.#running.set(lane, answer);
    void this.#parts.run(body, answer);
  }

  #remember(lane: string, json: string, items: readonly unknown[]): void {
    const { response } = JSON.parse(json) as { response?: { id?: unknown; output?: unknown } };
    if (typeof response?.id === 'string' && Array.isArray(response.output))
      this.#chains.set(lane, response.id, [...items, ...response.output]);
  }

  /** `generate: false`: prepares a conversation without asking anybody; its id can be continued from. */
  #warmUp({ lane, streamId, create }: Turn, items: readonly unknown[]): void {
    const id = newId('resp');
    this.#chains.set(lane, id, items);
    const response = {
      id,
      object: 'response',
      created_at: Math.floor(this.#parts.clock.now() / 1000),
      model: create.model ?? null,
      output: [],
      error: null,
      incomplete_details: null,
    };
    const usage = {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    };
    this.#send(
      { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress', usage: null } },
      streamId,
    );
    this.#send(
      {
        type: 'response.in_progress',
        sequence_number: 1,
        response: { ...response, status: 'in_progress', usage: null },
      },
      streamId,
    );
    this.#send(
      { type: 'response.completed', sequence_number: 2, response: { ...response, status: 'completed', usage } },
      streamId,
    );
  }

  #refuse(
    streamId: string | undefined,
    status: number,
    code: string,
    message: string,
    param: string | null = null,
  ): void {
    const type = status >= 500 ? 'server_error' : 'invalid_request_error';
    this.#send({ type: 'error', status, error: { type, code, message, param } }, streamId);
  }

  #send(frame: Json, streamId: string | undefined): void {
    this.#socket.send(JSON.stringify(streamId === undefined ? frame : { ...frame, stream_id: streamId }));
  }
}

/** Holds a lane while it is not known yet whether its turn can run. */
const NOBODY = { destroy: () => {} };

/** Requests that only a provider's own socket can honour; each has its own way of saying no. */
const REFUSED: Readonly<Record<string, (event: Json) => Json>> = {
  'response.steer': (event) => ({
    type: 'response.steer.failed',
    previous_response_id: event.previous_response_id ?? null,
    error: { code: 'steering_not_supported', message: 'This connection cannot steer a running response.' },
  }),
  'response.inject': (event) => ({
    type: 'response.inject.failed',
    response_id: event.response_id ?? null,
    error: { code: 'inject_not_supported', message: 'This connection cannot add to a running response.' },
  }),
};

function parse(text: string): Json | undefined {
  try {
    scanMembers(Buffer.from(text), new Set(), JSON_LIMITS);
    return JSON.parse(text) as Json;
  } catch (error) {
    if (error instanceof JsonFault || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The body of the request: flat, or in the wrapper that older clients use. */
function flat(event: Json): Json {
  const { type: _, stream_id: __, response, ...rest } = event;
  return typeof response === 'object' && response !== null ? { ...rest, ...(response as Json) } : rest;
}

const withStreamId = (json: string, streamId: string): string =>
  `{"stream_id":${JSON.stringify(streamId)},${json.slice(json.indexOf('{') + 1)}`;

function errorFrame(status: number, body: unknown, headers: Readonly<Record<string, string | number>>): Json {
  const { error } = (body ?? {}) as { error?: Json };
  const wait = headers['retry-after'];
  const said = error ?? { type: 'server_error', code: 'internal_error', message: 'The request failed.', param: null };
  return {
    type: 'error',
    status,
    error: said,
    ...(wait !== undefined && { headers: { 'retry-after': String(wait) } }),
  };
}

/** The open sessions of this replica. */
export class SocketSessions extends Set<ResponsesSocket> {
  /** The replica is stopping: running turns get `withinMs`, then clients are asked to come back. */
  retireAll(withinMs: number): void {
    for (const session of this) session.retire(CLOSE.restart, 'the server restarts', withinMs);
  }
}
