/**
 * A client connection on undici: a `Client` with one socket and one request at a time. The pool, the sockets and the checks of requests are
 * shared with the other stack. Undici is loaded with the first request, so that a server on the other stack does not load it.
 */
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Client, Dispatcher } from 'undici';
import { systemClock } from '../../../core/index.ts';
import { CLIENT_BOUNDS } from '../bounds.ts';
import {
  ConnectionError,
  closedEarly,
  isClosedByServer,
  type RequestBytes,
  type TransportUser,
  toError,
} from '../client.ts';
import type { ConnectionOptions, PooledConnection, RequestMessage } from '../connection-pool.ts';
import { checkFramingValue, isFraming } from '../framing.ts';
import { type HttpHeaders, HttpParseError, headerName, keepAliveMs } from '../headers.ts';
import { openTunnel } from '../proxy-tunnel.ts';

type Undici = typeof import('undici');
type ReportSocket = (socket: Socket | Error) => void;

let loading: Promise<Undici> | undefined;
const loadUndici = (): Promise<Undici> => {
  loading ??= import('undici');
  return loading;
};

export class UndiciConnection implements PooledConnection {
  index = 0;
  keptUntil = 0;
  readonly #options: ConnectionOptions;
  #client: Client | undefined;
  #socket: Socket | undefined;
  #delivery: Delivery | undefined;
  #isClosed = false;
  #stopConnecting: () => void = () => {};

  constructor(options: ConnectionOptions, first: RequestMessage, user: TransportUser) {
    this.#options = options;
    this.send(user, first);
  }

  get isUsable(): boolean {
    return !this.#isClosed && this.#delivery === undefined && this.#socket?.writable === true;
  }

  /** Dispatches later, also when undici is loaded: a user may send from a callback of undici's parser, which must not be entered again. */
  send(user: TransportUser, message: RequestMessage): void {
    const socket = this.#socket;
    const bytesBefore = socket?.bytesRead;
    const delivery = new Delivery(user, message, {
      onEnd: (keepMs) => this.#finish(keepMs),
      onError: () => this.close(),
      // A connection that undici opens for a request that it has not yet written is another socket.
      isSilent: () => socket !== undefined && socket === this.#socket && socket.bytesRead === bytesBefore,
    });
    this.#delivery = delivery;
    loadUndici().then(
      (undici) => this.#dispatch(undici, delivery),
      (error) => delivery.fail(toError(error)),
    );
  }

  #dispatch(undici: Undici, delivery: Delivery): void {
    if (delivery.isOver) return;
    this.#client ??= this.#createClient(undici, delivery.message.request.origin);
    this.#client.dispatch(delivery.options(), delivery);
  }

  #createClient({ Client }: Undici, origin: string): Client {
    const client = new Client(origin, {
      connect: (_options, callback) =>
        this.#connect((outcome) => (outcome instanceof Error ? callback(outcome, null) : callback(null, outcome))),
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: CLIENT_BOUNDS.headBytes.limit,
      keepAliveTimeout: CLIENT_BOUNDS.keepAliveMs.limit,
      keepAliveMaxTimeout: CLIENT_BOUNDS.keepAliveMs.limit,
      keepAliveTimeoutThreshold: CLIENT_BOUNDS.keepAliveMarginMs.limit,
      // The exchange has these time limits.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    // An idle connection that the server closes. With a request that is not yet written, undici connects again.
    client.on('disconnect', () => {
      if (!this.#delivery) this.close();
    });
    return client;
  }

  /** The time limit includes the proxy and the TLS handshake. */
  #connect(report: ReportSocket): void {
    const { timeouts, proxy } = this.#delivery?.message.request ?? {};
    const timeoutMs = timeouts?.connect ?? 0;
    const stop = new AbortController();
    let isDone = false;
    this.#stopConnecting = () => finish(closedEarly());
    const finish = (outcome: Socket | Error): void => {
      if (isDone) return;
      isDone = true;
      cancelTimer();
      if (outcome instanceof Error) {
        stop.abort();
        this.#socket?.destroy();
      }
      report(outcome);
    };
    const cancelTimer = systemClock.after(timeoutMs, () =>
      finish(new ConnectionError('CONNECT_TIME', 'connect timeout')),
    );
    if (proxy === undefined) return this.#prepare(this.#options.openSocket(), finish);
    const { target, openProxySocket: openSocket } = this.#options;
    openTunnel({ proxy, target, openSocket, signal: stop.signal, timeoutMs }).then(
      (tunnel) => this.#prepare(target.isTls ? this.#options.openSocket(tunnel) : tunnel, finish),
      finish,
    );
  }

  /** Waits until the socket is open; a plain socket through a proxy already is. */
  #prepare(socket: Socket, finish: ReportSocket): void {
    const { target, accepts } = this.#options;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      finish(error);
      this.#delivery?.onReset(error);
    });
    socket.once('close', () => finish(closedEarly()));
    const onOpen = (): void => {
      socket.setKeepAlive(true, CLIENT_BOUNDS.tcpKeepAliveMs.limit);
      if (accepts(socket.remoteAddress ?? '')) finish(socket);
      else finish(new ConnectionError('OTHER_ADDRESS', 'connected to an unexpected address'));
    };
    if (!target.isTls && !socket.connecting && socket.readyState === 'open') onOpen();
    else socket.once(target.isTls ? 'secureConnect' : 'connect', onOpen);
  }

  resume(): void {
    this.#delivery?.resume();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Without an error, undici would take the close for the end of the response and fail an assertion while its parser is paused.
    const cause = this.#delivery?.isPaused ? closedEarly() : undefined;
    this.#delivery?.detach();
    this.#delivery = undefined;
    this.#stopConnecting();
    this.#socket?.destroy(cause);
    void this.#client?.destroy();
    this.#options.owner.onClosed(this);
  }

  closeWithError(): void {
    this.#delivery?.fail(new ConnectionError('CLOSED', 'the client is closing'));
    this.close();
  }

  /** Returns the connection to its owner before the user learns of the end, so that the next request of the user can reuse it. */
  #finish(keepMs: number): void {
    this.#delivery = undefined;
    // Bytes of the request that are still being written would mix with the next one.
    if (keepMs > 0 && this.#socket?.writableLength === 0) this.#options.owner.onIdle(this, keepMs);
    else this.close();
  }
}

interface DeliveryOwner {
  /** The connection had served other requests, and nothing came on it since this one was sent. */
  isSilent(): boolean;
  /** The response is complete; the connection may be reused for `keepMs`. */
  onEnd(keepMs: number): void;
  onError(): void;
}

/** One request and its response, as undici's handler. After its end it ignores what undici still reports. */
class Delivery implements Dispatcher.DispatchHandler {
  readonly message: RequestMessage;
  readonly #user: TransportUser;
  readonly #owner: DeliveryOwner;
  #controller: Dispatcher.DispatchController | undefined;
  #informational = 0;
  #hasHead = false;
  #keepMs = 0;
  #isPaused = false;
  #isOver = false;

  constructor(user: TransportUser, message: RequestMessage, owner: DeliveryOwner) {
    this.#user = user;
    this.message = message;
    this.#owner = owner;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  options(): Dispatcher.DispatchOptions {
    const { method, path, headers, body } = this.message.request;
    const isStreamed = typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && body.length > 0;
    return {
      method,
      path,
      headers: isStreamed ? [...headers, 'content-length', String(body.length)] : [...headers],
      body: this.#bodyOf(body),
    };
  }

  #bodyOf(body: RequestBytes): Buffer | string | Readable | null {
    if (body === null || body.length === 0) return null;
    if (typeof body === 'string' || Buffer.isBuffer(body)) return body;
    return Readable.from(this.#checked(body.chunks()));
  }

  /** The chunks of a streamed body, until the exchange is over. */
  async *#checked(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    try {
      for await (const chunk of chunks) {
        if (this.#isOver) return;
        yield chunk;
      }
    } catch {
      throw new ConnectionError('REQUEST_BODY', 'the request body could not be read');
    }
  }

  /** The connection is open, and the request is written next. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(closedEarly());
    else this.#user.onOpen();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    this.#attempt(() => {
      const headers = joined(controller.rawHeaders);
      if (status >= 200) {
        this.#hasHead = true;
        checkCoding(headers);
        this.#keepMs = keepAliveMs(headers);
        return this.#user.onHead(status, headers);
      }
      this.#informational += 1;
      if (this.#informational > CLIENT_BOUNDS.informational.limit)
        throw new HttpParseError('too many informational responses');
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#attempt(() => {
      // The user may have closed the connection meanwhile.
      if (this.#user.onData(chunk) || this.#isOver) return;
      this.#isPaused = true;
      controller.pause();
    });
  }

  /**
   * The connection broke; called before undici learns of it. Undici takes ECONNRESET for the end of a response that lasts until the close,
   * and fails an assertion while its parser is paused. With another code it reports the error.
   */
  onReset(error: NodeJS.ErrnoException): void {
    if (!this.#isPaused) return;
    this.fail(Object.assign(new Error(error.message), { code: error.code }));
    error.code = 'CLOSED_EARLY';
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#owner.onEnd(this.#keepMs);
    try {
      this.#user.onEnd();
    } catch (error) {
      this.#user.onError(toError(error), true);
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(knownError(error, this.#hasHead));
  }

  /** An error that the user throws ends the exchange. */
  #attempt(task: () => void): void {
    try {
      if (!this.#isOver) task();
    } catch (error) {
      this.fail(toError(error));
    }
  }

  /** Later, because the user may resume from a callback of undici's parser, which must not be entered again. */
  resume(): void {
    queueMicrotask(() => {
      if (this.#isOver) return;
      this.#isPaused = false;
      this.#controller?.resume();
    });
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const wasClosing = isClosedByServer(error) && this.#owner.isSilent();
    this.#owner.onError();
    this.#user.onError(error, this.#controller !== undefined, wasClosing);
  }

  detach(): void {
    this.#isOver = true;
  }
}

/** Values are bytes, one character each. */
function joined(raw: Dispatcher.DispatchController['rawHeaders']): HttpHeaders {
  if (!Array.isArray(raw)) throw new TypeError('undici reports no raw headers');
  if (raw.length > 2 * CLIENT_BOUNDS.headers.limit) throw new HttpParseError('too many headers');
  const headers: Record<string, string> = Object.create(null);
  for (let n = 0; n < raw.length; n += 2) {
    const name = headerName(latin1(raw[n]));
    const written = latin1(raw[n + 1]);
    if (isFraming(name)) checkFramingValue(written);
    const value = written.trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

const latin1 = (bytes: Buffer | string | undefined): string =>
  Buffer.isBuffer(bytes) ? bytes.toString('latin1') : (bytes ?? '');

/** Undici reads a body by its last coding, and would hand on the others undecoded. */
function checkCoding({ 'transfer-encoding': coding }: HttpHeaders): void {
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new HttpParseError('unsupported transfer coding');
}

/** Errors of undici, in the words of the other stack. Some violations by a server end in an assertion of undici. */
function knownError(error: Error & { code?: string }, hasHead: boolean): Error {
  const { code, name, message } = error;
  if (name === 'HTTPParserError') return message.includes('EOF') ? closedEarly() : new HttpParseError(message);
  if (/^bad (?:response|upgrade)$/.test(message)) return new HttpParseError(message);
  if (code === 'UND_ERR_SOCKET') return closedEarly();
  // Before the head, two lengths contradict each other.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return hasHead ? closedEarly() : new HttpParseError(message);
  return code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'ERR_ASSERTION' ? new HttpParseError(message) : error;
}
