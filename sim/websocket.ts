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
import { meet, pairs, plainHeaders, serve } from './server.ts';
import { TurnAnswer, TurnExchange } from './turn.ts';

const PATH = '/v1/responses';
const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;
const LARGEST_MESSAGE = 64 << 20;
/** Their owners get the answer of a plain GET; `sk-no-socket` is an account without this feature. */
const UNWELCOME = /^Bearer (?:sk-no-socket|sk-bad|sk-forbidden|sk-broke)$/;

export function acceptSockets(server: Server, state: State): void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LARGEST_MESSAGE, perMessageDeflate: false });
  server.on('upgrade', (request: IncomingMessage, tcp: Socket, head: Buffer) => {
    tcp.on('error', () => tcp.destroy());
    const path = (request.url ?? '/').split('?', 1)[0];
    const credential = request.headers.authorization ?? '';
    if (path === PATH && credential !== '' && !UNWELCOME.test(credential)) {
      return sockets.handleUpgrade(request, tcp, head, (socket) => void new Connection(state, request, socket));
    }
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(tcp);
    response.once('finish', () => tcp.destroySoon());
    serve(state, request, response).catch(() => tcp.destroy());
  });
}

type Create = { json: JsonObject; text: string };
type Lane = { queue: Create[]; active?: { answer: TurnAnswer; create: Create } };

class Connection {
  private readonly state: State;
  private readonly request: IncomingMessage;
  private readonly socket: WebSocket;
  private readonly lanes = new Map<string, Lane>();
  /** The latest response of every lane, kept even when it is not to be stored. */
  private readonly latest = new Map<string, [id: string, stored: StoredResponse]>();

  constructor(state: State, request: IncomingMessage, socket: WebSocket) {
    this.state = state;
    this.request = request;
    this.socket = socket;
    const entry = this.journal();
    entry.status = 101;
    state.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => this.message(isBinary ? '' : String(data)));
    socket.once('close', () => {
      state.sockets.delete(socket);
      entry.finished = true;
      for (const { active } of this.lanes.values()) active?.answer.leave();
      state.journal.changed();
    });
  }

  private journal(text?: string): JournalEntry {
    const headers = plainHeaders(this.request);
    const query = (this.request.url ?? '').split('?')[1] ?? '';
    const rawHeaders = pairs(this.request.rawHeaders);
    const entry = this.state.journal.open({ method: 'WS', path: PATH, query, headers, rawHeaders });
    if (text !== undefined) this.state.journal.keepBody(entry, Buffer.from(text));
    return entry;
  }

  private message(text: string): void {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {}
    if (!isObject(json)) return this.refuse(invalid('We could not parse the JSON message.', undefined, 'invalid_json'));
    const streamId = json.stream_id;
    if (streamId !== undefined && !STREAM_ID.test(textOf(streamId))) {
      return this.refuse(invalid("Invalid 'stream_id'.", 'stream_id', 'invalid_stream_id'));
    }
    if (json.type === 'response.steer') return this.steer(json, text);
    const lane = textOf(streamId);
    if (json.type === 'response.create') return this.enqueue(lane, { json, text });
    this.refuse(invalid(`Unknown event type '${textOf(json.type)}'.`, 'type', 'invalid_value'), lane);
  }

  private enqueue(name: string, create: Create): void {
    const lane = this.lanes.get(name) ?? { queue: [] };
    this.lanes.set(name, lane);
    lane.queue.push(create);
    this.next(name, lane);
  }

  private next(name: string, lane: Lane): void {
    const create = lane.active ? undefined : lane.queue.shift();
    if (!create || this.socket.readyState !== this.socket.OPEN) return;
    const entry = this.journal(create.text);
    entry.frames = [];
    const answer = new TurnAnswer(this.socket, name, entry);
    lane.active = { answer, create };
    void this.run(name, create, answer, entry).finally(() => {
      const { steered } = answer;
      delete lane.active;
      // What was steered goes on at once with the same request and the new words.
      if (steered) lane.queue.unshift(successor(create, steered));
      this.next(name, lane);
    });
  }

  private async run(name: string, { json }: Create, answer: TurnAnswer, entry: JournalEntry): Promise<void> {
    const exchange = new TurnExchange(this.state, this.request, answer, entry, {
      recall: (id) => [...this.latest.values()].find(([own]) => own === id)?.[1],
      keep: (id, stored) => void this.latest.set(name, [id, stored]),
      close: () => this.socket.close(1011, 'simulated'),
    });
    exchange.json = { ...json, stream: true };
    try {
      await meet(exchange, textOf(json.model), async () => {
        if (json.background === true) throw invalid("Unsupported parameter: 'background'.", 'background');
        if (exchange.bareModel.startsWith('missing-')) throw modelFailure('openai', exchange.bareModel);
        await createResponse(exchange);
      });
    } catch (error) {
      if (this.latest.get(name)?.[0] === json.previous_response_id) this.latest.delete(name);
      await exchange.fail(
        error instanceof Failure ? error : new Failure(500, `The simulator failed: ${String(error)}`),
      );
    }
  }

  private steer(json: JsonObject, text: string): void {
    this.journal(text);
    const id = textOf(json.previous_response_id);
    const lanes = [...this.lanes].filter(([, { active }]) => active?.answer.responseId === id);
    const [name, lane] = lanes[0] ?? ['', undefined];
    const steer = { id: this.state.ids.next('steer_'), previous_response_id: id };
    if (!lane?.active) {
      const error = { code: 'response_not_active', message: `Response '${id}' is not active.` };
      return this.send({
        type: 'response.steer.failed',
        sequence_number: 0,
        steer: { previous_response_id: id },
        error,
      });
    }
    this.send({ type: 'response.steer.accepted', sequence_number: 0, steer }, name);
    lane.active.answer.steer(json.input);
  }

  private refuse(failure: Failure, lane = ''): void {
    this.send({ type: 'error', status: failure.status, error: openaiError(failure) }, lane);
  }

  private send(frame: JsonObject, lane = ''): void {
    this.socket.send(JSON.stringify(lane === '' ? frame : { ...frame, stream_id: lane }));
  }
}

const itemsOf = (input: unknown): JsonObject[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : listOf(input).filter(isObject);

function successor({ json }: Create, steered: unknown): Create {
  const next: JsonObject = { ...json, input: [...itemsOf(json.input), ...itemsOf(steered)] };
  return { json: next, text: JSON.stringify(next) };
}
