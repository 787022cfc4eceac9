/** The Responses WebSocket of the OpenAI-style provider: turns on lanes, a cache per connection, steering. */
import type { IncomingMessage, Server } from 'node:http';
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { Failure, invalid, modelFailure, openaiError } from './errors.ts';
import type { State } from './exchange.ts';
import type { JournalEntry } from './journal.ts';
import { isObject, type JsonObject, listOf, textOf } from './json.ts';
import { createResponse } from './responses/response.ts';
import type { StoredResponse } from './responses/store.ts';
import { pairs, plainHeaders, serve, withFaults } from './server.ts';
import { TurnExchange, TurnResponse } from './turn.ts';

const PATH = '/v1/responses';
const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;
const LARGEST_MESSAGE = 64 << 20;
/** Credentials whose upgrade gets the response of a plain GET; `sk-no-socket` lacks only this feature. */
const WITHOUT_SOCKET = /^Bearer (?:sk-no-socket|sk-bad|sk-forbidden|sk-broke)$/;

export function acceptSockets(server: Server, state: State): void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LARGEST_MESSAGE, perMessageDeflate: false });
  server.on('upgrade', (request: IncomingMessage, tcp: Socket, head: Buffer) => {
    tcp.on('error', () => tcp.destroy());
    const path = (request.url ?? '/').split('?', 1)[0];
    const credential = request.headers.authorization ?? '';
    if (path === PATH && credential !== '' && !WITHOUT_SOCKET.test(credential)) {
      return sockets.handleUpgrade(request, tcp, head, (socket) => void new Connection(state, request, socket));
    }
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(tcp);
    response.once('finish', () => tcp.destroySoon());
    serve(state, request, response).catch(() => tcp.destroy());
  });
}

interface Create {
  json: JsonObject;
  text: string;
}
interface Lane {
  queue: Create[];
  active?: { response: TurnResponse; create: Create };
}

class Connection {
  readonly #state: State;
  readonly #request: IncomingMessage;
  readonly #socket: WebSocket;
  readonly #lanes = new Map<string, Lane>();
  /** The latest response of every lane, also when it is not stored. */
  readonly #latest = new Map<string, [id: string, stored: StoredResponse]>();

  constructor(state: State, request: IncomingMessage, socket: WebSocket) {
    this.#state = state;
    this.#request = request;
    this.#socket = socket;
    const entry = this.#journal();
    entry.status = 101;
    state.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => this.#onMessage(isBinary ? '' : String(data)));
    socket.once('close', () => {
      state.sockets.delete(socket);
      entry.finished = true;
      for (const { active } of this.#lanes.values()) active?.response.disconnect();
      state.journal.changed();
    });
  }

  #journal(text?: string): JournalEntry {
    const headers = plainHeaders(this.#request);
    const query = (this.#request.url ?? '').split('?')[1] ?? '';
    const rawHeaders = pairs(this.#request.rawHeaders);
    const entry = this.#state.journal.open({ method: 'WS', path: PATH, query, headers, rawHeaders });
    if (text !== undefined) this.#state.journal.keepBody(entry, Buffer.from(text));
    return entry;
  }

  #onMessage(text: string): void {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {}
    if (!isObject(json))
      return this.#reject(invalid('We could not parse the JSON message.', undefined, 'invalid_json'));
    const streamId = json.stream_id;
    if (streamId !== undefined && !STREAM_ID.test(textOf(streamId))) {
      return this.#reject(invalid("Invalid 'stream_id'.", 'stream_id', 'invalid_stream_id'));
    }
    if (json.type === 'response.steer') return this.#steer(json, text);
    const lane = textOf(streamId);
    if (json.type === 'response.create') return this.#enqueue(lane, { json, text });
    this.#reject(invalid(`Unknown event type '${textOf(json.type)}'.`, 'type', 'invalid_value'), lane);
  }

  #enqueue(name: string, create: Create): void {
    const lane = this.#lanes.get(name) ?? { queue: [] };
    this.#lanes.set(name, lane);
    lane.queue.push(create);
    this.#next(name, lane);
  }

  #next(name: string, lane: Lane): void {
    const create = lane.active ? undefined : lane.queue.shift();
    if (!create || this.#socket.readyState !== this.#socket.OPEN) return;
    const entry = this.#journal(create.text);
    entry.frames = [];
    const response = new TurnResponse(this.#socket, name, entry);
    lane.active = { response, create };
    void this.#run(name, create, response, entry).finally(() => {
      const { steered } = response;
      delete lane.active;
      // A steered turn continues at once with the same request and the new input.
      if (steered) lane.queue.unshift(steeredRequest(create, steered));
      this.#next(name, lane);
    });
  }

  async #run(name: string, { json }: Create, response: TurnResponse, entry: JournalEntry): Promise<void> {
    const exchange = new TurnExchange(this.#state, this.#request, response, entry, {
      recall: (id) => [...this.#latest.values()].find(([own]) => own === id)?.[1],
      keep: (id, stored) => void this.#latest.set(name, [id, stored]),
      close: () => this.#socket.close(1011, 'simulated'),
    });
    exchange.json = { ...json, stream: true };
    exchange.dialect = 'responses';
    try {
      await withFaults(exchange, textOf(json.model), async () => {
        if (json.background === true) throw invalid("Unsupported parameter: 'background'.", 'background');
        if (exchange.bareModel.startsWith('missing-')) throw modelFailure('openai', exchange.bareModel);
        await createResponse(exchange);
      });
    } catch (error) {
      if (this.#latest.get(name)?.[0] === json.previous_response_id) this.#latest.delete(name);
      await exchange.fail(
        error instanceof Failure ? error : new Failure(500, `The simulator failed: ${String(error)}`),
      );
    }
  }

  #steer(json: JsonObject, text: string): void {
    this.#journal(text);
    const id = textOf(json.previous_response_id);
    const lanes = [...this.#lanes].filter(([, { active }]) => active?.response.responseId === id);
    const [name, lane] = lanes[0] ?? ['', undefined];
    const steer = { id: this.#state.ids.next('steer_'), previous_response_id: id };
    if (!lane?.active) {
      const error = { code: 'response_not_active', message: `Response '${id}' is not active.` };
      return this.#send({
        type: 'response.steer.failed',
        sequence_number: 0,
        steer: { previous_response_id: id },
        error,
      });
    }
    this.#send({ type: 'response.steer.accepted', sequence_number: 0, steer }, name);
    lane.active.response.steer(json.input);
  }

  #reject(failure: Failure, lane = ''): void {
    this.#send({ type: 'error', status: failure.status, error: openaiError(failure) }, lane);
  }

  #send(frame: JsonObject, lane = ''): void {
    this.#socket.send(JSON.stringify(lane === '' ? frame : { ...frame, stream_id: lane }));
  }
}

const itemsOf = (input: unknown): JsonObject[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : listOf(input).filter(isObject);

function steeredRequest({ json }: Create, steered: unknown): Create {
  const next: JsonObject = { ...json, input: [...itemsOf(json.input), ...itemsOf(steered)] };
  return { json: next, text: JSON.stringify(next) };
}
