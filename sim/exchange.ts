/** One request and its response, with the fault that was requested for it. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Chance } from './chance.ts';
import type { CloudCall } from './clouds/cloud-call.ts';
import type { Clouds } from './clouds/index.ts';
import { errorBody, Failure, type Shape, statusFailure } from './errors.ts';
import { type Fault, isMid } from './faults.ts';
import type { Body, Framing } from './frames.ts';
import type { Ids } from './ids.ts';
import type { PictureCache } from './images/cache.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { type JsonObject, textOf } from './json.ts';
import type { Dialect, Mode } from './manners/manner.ts';
import { type Behaviour, play, playFrames } from './manners/play.ts';
import { chooseHarmless, MANNERS } from './manners/table.ts';
import type { Field } from './multipart.ts';
import type { ResponseSink } from './response-sink.ts';
import type { ResponseStore, StoredResponse } from './responses/store.ts';
import type { PrefixCache } from './usage.ts';
import { BODY_FAULTS } from './wire/body-faults.ts';
import { HTTP_FAULTS, type WireSocket } from './wire/http-faults.ts';
import { inParts, type Recorded, RecordedResponse } from './wire/recorded-response.ts';

/** State of one simulated server across requests. */
export interface State {
  ids: Ids;
  journal: Journal;
  cache: PrefixCache;
  responses: ResponseStore;
  pictures: PictureCache;
  clouds: Clouds;
  queue: Fault[];
  url: string;
  closing: boolean;
  /** The seed of the harmless manners of every response; undefined for a polite provider. */
  seed: string | undefined;
  /** False: the fault words of a request are read and ignored. */
  hasFaults: boolean;
  /** Open WebSockets, terminated when the server closes. */
  sockets: Set<{ terminate(): void }>;
}

export class Exchange {
  readonly state: State;
  readonly request: IncomingMessage;
  response: ResponseSink;
  readonly entry: JournalEntry;
  readonly shape: Shape;
  readonly query: URLSearchParams;
  readonly requestId: string;
  body: Buffer = Buffer.alloc(0);
  json: JsonObject = {};
  /** The fields of a form; undefined for other bodies. */
  form: readonly Field[] | undefined;
  /** The requested model; `bareModel` is the name without the fault suffix. */
  model = '';
  bareModel = '';
  framing: Framing = 'sse';
  /** Of a request for text; undefined for others, which have no manners. */
  dialect: Dialect | undefined;
  /** A manner: the provider sends a stream where none was asked for, or none. */
  swapsForm = false;
  /** The cloud that hosts the model; undefined for the provider's own API. */
  cloud: CloudCall | undefined;
  reply: ((reply: JsonObject) => JsonObject) | undefined;
  frames: ((event: JsonObject) => Buffer[]) | undefined;
  fault: Fault = {};
  readonly #clientGone = new AbortController();
  #isCut = false;

  constructor(state: State, request: IncomingMessage, response: ResponseSink, entry: JournalEntry, shape: Shape) {
    this.state = state;
    this.request = request;
    this.response = response;
    this.entry = entry;
    this.shape = shape;
    this.query = new URLSearchParams(entry.query);
    this.requestId = state.ids.next('req_');
    response.on('close', () => this.#onClose());
    response.on('error', () => {});
  }

  get isClientGone(): boolean {
    return this.#clientGone.signal.aborted;
  }

  /** A stored response that this request may continue. */
  findStored(id: string): StoredResponse | undefined {
    return this.state.responses.get(id);
  }

  store(id: string, stored: StoredResponse): void {
    if (this.json.store !== false) this.state.responses.put(id, stored);
  }

  header(name: string): string {
    return textOf(this.entry.headers[name]);
  }

  /** Waits, or returns early when the client disconnects. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#clientGone.signal }).catch(() => {});
  }

  async untilClosed(): Promise<void> {
    if (this.isClientGone) return;
    await new Promise((resolve) => this.#clientGone.signal.addEventListener('abort', resolve, { once: true }));
  }

  /** From now on the response is recorded; it is sent with its wire fault when it is complete. */
  distort(): void {
    const real = this.response;
    this.response = new RecordedResponse(real, (recorded) => this.#playDistorted(recorded, real));
  }

  /** If it has manners, the response is recorded from now on; it is sent with them when it is complete. */
  misbehave(): void {
    const behaviour = this.#behaviour();
    if (behaviour.names.length === 0) return;
    const real = this.response;
    this.swapsForm = behaviour.names.some((name) => MANNERS[name]?.swapsForm);
    this.response = new RecordedResponse(real, (recorded) => this.#playManners(behaviour, recorded, real));
  }

  /** A fault of another kind is about what the polite provider does. */
  #behaviour(): Behaviour {
    const { dialect, state, fault } = this;
    const { manners, seed = state.seed, server: _, ...other } = fault;
    const digest = createHash('sha256').update(JSON.stringify(this.json)).digest('hex');
    const chance = new Chance(`${seed} ${this.entry.path} ${digest}`);
    if (dialect === undefined || seed === undefined || Object.keys(other).length > 0)
      return { names: manners ?? [], chance };
    return { names: manners ?? chooseHarmless(dialect, this.#mode, chance), chance };
  }

  get #mode(): Mode {
    if (this.framing === 'frame') return 'socket';
    return this.json.stream === true || this.entry.path.endsWith(':streamGenerateContent') ? 'stream' : 'unary';
  }

  async #playManners(behaviour: Behaviour, recorded: Recorded, real: ResponseSink): Promise<void> {
    this.response = real;
    const { status, chunks } = recorded;
    if (status !== 200) return this.#send(recorded, chunks);
    if (this.framing === 'frame') return this.#send(recorded, playFrames(behaviour, chunks.map(String)));
    const played = play(behaviour, recorded);
    await this.#send({ status, headers: played.headers }, played.pieces);
  }

  /** Every piece in a write of its own. */
  async #send({ status, headers }: Pick<Recorded, 'status' | 'headers'>, pieces: readonly Buffer[]): Promise<void> {
    const { response } = this;
    response.writeHead(status, headers);
    response.flushHeaders();
    for (const piece of pieces) {
      if (piece.length > 0 && !(await this.write([piece]))) return;
      await nextTurn();
    }
    await new Promise<void>((resolve) => response.end(resolve));
  }

  async #playDistorted(recorded: Recorded, real: ResponseSink): Promise<void> {
    const { status, headers, body } = recorded;
    const { name, value } = this.fault.wire ?? { name: '', value: undefined };
    const http = HTTP_FAULTS[name];
    if (http) {
      this.#isCut = true;
      return http.play(recorded, this.#wireSocket(), value ?? http.value ?? 0);
    }
    const fault = BODY_FAULTS[name];
    const distorted = fault?.distort(body, { errorEvent: errorEvent(this.shape) }) ?? body;
    const hasLength = headers['content-length'] !== undefined;
    const length = { 'content-length': String(distorted.length) };
    this.response = real;
    await this.#send({ status, headers: hasLength ? { ...headers, ...length } : headers }, inParts(distorted));
  }

  #wireSocket(): WireSocket {
    const { socket } = this.request;
    const isOpen = (): boolean => !this.isClientGone && socket.writable;
    return {
      get isOpen() {
        return isOpen();
      },
      write: async (bytes) => {
        if (!isOpen()) return;
        this.entry.bytesSent += Buffer.byteLength(bytes);
        await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      },
      pause: (ms) => this.pause(ms),
      untilClosed: () => this.untilClosed(),
      end: () => socket.end(),
      reset: () => socket.resetAndDestroy(),
    };
  }

  /** Resets the connection. The journal must not record this as a client disconnect. */
  destroy(): void {
    this.#isCut = true;
    this.request.socket.resetAndDestroy();
  }

  open(status: number, headers: Record<string, string>): void {
    this.entry.status = status;
    if (this.response.headersSent || this.isClientGone) return;
    this.response.writeHead(status, { ...this.#providerHeaders(), ...headers });
    this.response.flushHeaders();
  }

  /** Resolves when the socket accepts more data; false if the client disconnected. */
  async write(body: Body): Promise<boolean> {
    if (typeof body === 'string') return this.#writeChunk(body);
    for (const piece of body) {
      for (const chunk of typeof piece === 'string' ? [piece] : slices(piece)) {
        if (!(await this.#writeChunk(chunk))) return false;
      }
    }
    return !this.isClientGone;
  }

  async #writeChunk(chunk: string | Buffer): Promise<boolean> {
    if (this.isClientGone) return false;
    this.entry.bytesSent += Buffer.byteLength(chunk);
    if (!this.response.write(chunk)) {
      await new Promise<void>((resolve) => {
        const done = () => {
          this.response.off('drain', done);
          this.#clientGone.signal.removeEventListener('abort', done);
          resolve();
        };
        this.response.once('drain', done);
        this.#clientGone.signal.addEventListener('abort', done, { once: true });
      });
    }
    return !this.isClientGone;
  }

  /** `isComplete` is false when a fault truncated the response. */
  async end(isComplete = true): Promise<void> {
    if (this.isClientGone) return;
    if (!isComplete) this.#isCut = true;
    const flushed = new Promise<void>((resolve) => this.response.end(() => resolve()));
    await Promise.race([flushed, this.untilClosed()]);
  }

  async sendJson(body: unknown, status = 200, headers: Record<string, string> = {}): Promise<void> {
    const sent = this.reply && status === 200 ? this.reply(body as JsonObject) : body;
    await this.sendJsonText(JSON.stringify(sent), status, headers);
  }

  async sendJsonText(text: Body, status = 200, headers: Record<string, string> = {}): Promise<void> {
    const type = { 'content-type': this.shape === 'google' ? 'application/json; charset=UTF-8' : 'application/json' };
    if (isMid(this.fault.kind) && status === 200) return this.#sendHalf(text, type);
    this.open(status, { ...type, 'content-length': String(lengthOf(text)), ...headers });
    await this.write(text);
    await this.end();
  }

  async sendText(status: number, type: string, text: string): Promise<void> {
    this.open(status, { 'content-type': type, 'content-length': String(Buffer.byteLength(text)) });
    await this.write(text);
    await this.end();
  }

  async fail(failure: Failure): Promise<void> {
    if (this.response.headersSent) return this.destroy();
    const own = failure.extra.whole ? undefined : this.cloud?.failure?.(failure.status, failure.message);
    const { status, extra } = own ?? failure;
    await this.sendJson(errorBody(this.shape, own ?? failure, this.requestId), status, extra.headers ?? {});
  }

  /** The `*_mid` faults for a unary JSON response. */
  async #sendHalf(body: Body, headers: Record<string, string>): Promise<void> {
    if (this.fault.kind === 'error_mid') return this.fail(statusFailure(this.shape, this.fault));
    this.open(200, headers);
    const bytes = Buffer.concat([body].flat().map((piece) => Buffer.from(piece)));
    const half = Math.ceil(bytes.length / 2);
    await this.write([bytes.subarray(0, half)]);
    if (this.fault.kind === 'eof_mid') return this.end(false);
    if (this.fault.kind === 'reset_mid') {
      await this.pause(20);
      return this.destroy();
    }
    await (this.fault.silenceMs === undefined ? this.untilClosed() : this.pause(this.fault.silenceMs));
    await this.write([bytes.subarray(half)]);
    await this.end();
  }

  #providerHeaders(): Record<string, string> {
    if (this.shape === 'google') return { server: 'simulated-provider' };
    if (this.shape === 'anthropic') {
      return {
        'request-id': this.requestId,
        'anthropic-organization-id': 'sim-organization',
        'anthropic-ratelimit-requests-limit': '1000',
        'anthropic-ratelimit-requests-remaining': '999',
        'anthropic-ratelimit-requests-reset': new Date(Date.now() + 1000).toISOString(),
      };
    }
    return {
      'x-request-id': this.requestId,
      'openai-organization': 'sim-organization',
      'openai-processing-ms': String(Date.now() - this.entry.receivedAt),
      'openai-version': '2020-10-01',
      'x-ratelimit-limit-requests': '1000',
      'x-ratelimit-remaining-requests': '999',
      'x-ratelimit-reset-requests': '1s',
    };
  }

  #onClose(): void {
    if (!this.#isCut && !this.state.closing) {
      if (this.response.writableFinished) {
        this.entry.finished = true;
        this.entry.finishedAt = Date.now();
      } else {
        this.entry.aborted = true;
        this.entry.abortedAt = Date.now();
      }
    }
    this.#clientGone.abort();
    this.state.journal.changed();
  }
}

/** A failure after the end of a stream. */
function errorEvent(shape: Shape): string {
  const body = JSON.stringify(errorBody(shape, new Failure(500, 'Simulated failure after the end'), 'req_sim'));
  return shape === 'anthropic' ? `event: error\ndata: ${body}\n\n` : `data: ${body}\n\n`;
}

function lengthOf(body: Body): number {
  return [body].flat().reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
}

const SLICE = 256 << 10;

/** Parts of a large buffer, so that a slow reader pauses the response and the journal counts what was sent. */
function* slices(buffer: Buffer): Generator<Buffer> {
  for (let start = 0; start < buffer.length; start += SLICE) yield buffer.subarray(start, start + SLICE);
}
