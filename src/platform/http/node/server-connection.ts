/**
 * The server side of the stack on `node:http`. Node's server never listens: the listener hands it the sockets, so that limits and shutdown
 * are the same in both stacks. Node parses the messages; what it tolerates and we do not is rejected here.
 */
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { SERVER_BOUNDS } from '../bounds.ts';
import { framingOf } from '../framing.ts';
import { HeadTooLargeError, HttpParseError } from '../headers.ts';
import { isUpgrade, wantsKeepAlive } from '../request-checks.ts';
import type { OpenConnection, ProtocolViolation, ServerConnection, ServerHost } from '../server.ts';
import { NodeRequest } from './request.ts';
import { NodeResponse } from './response.ts';

const HEAD_MS = SERVER_BOUNDS.headMs.limit;
const REQUEST_MS = SERVER_BOUNDS.requestMs.limit;
const RESPONSE_READ_MS = SERVER_BOUNDS.responseReadMs.limit;
const KEEP_ALIVE_MS = SERVER_BOUNDS.keepAliveMs.limit;
const DISCARD_BYTES = SERVER_BOUNDS.discardBytes.limit;
const EMPTY = Buffer.alloc(0);

/** Opens connections of one server. */
export function nodeConnections(host: ServerHost): OpenConnection {
  const connections = new WeakMap<Socket, NodeServerConnection>();
  const server = strictServer();
  const connectionOf = ({ socket }: IncomingMessage): NodeServerConnection | undefined => connections.get(socket);
  server.on('request', (message, response) => connectionOf(message)?.onRequest(message, response, false));
  server.on('checkExpectation', (message, response) => connectionOf(message)?.onRequest(message, response, false));
  server.on('checkContinue', (message, response) => connectionOf(message)?.onRequest(message, response, true));
  server.on('upgrade', (message, _socket, early) => connectionOf(message)?.onUpgrade(message, early));
  server.on('connect', (message) => connectionOf(message)?.reject('malformed', new HttpParseError('CONNECT')));
  server.on('clientError', (error: Error & { code?: string }, stream) =>
    connections.get(stream as Socket)?.onParseError(error),
  );
  return (socket, _host, onClosed) => {
    const connection = new NodeServerConnection(socket, host, onClosed);
    connections.set(socket, connection);
    server.emit('connection', socket);
    return connection;
  };
}

const strictServer = (): Server =>
  createServer({
    insecureHTTPParser: false,
    maxHeaderSize: SERVER_BOUNDS.headBytes.limit,
    // Checked by the application, with its own message.
    requireHostHeader: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node checks these two only on servers that listen; `checkTimeouts` does.
    headersTimeout: 0,
    requestTimeout: 0,
    shouldUpgradeCallback: ({ headers }) => isUpgrade({ upgrade: headers.upgrade, connection: headers.connection }),
  });

interface OpenRequest {
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  readonly since: number;
}

class NodeServerConnection implements ServerConnection {
  index = -1;
  network: string | undefined;
  readonly socket: Socket;
  readonly #host: ServerHost;
  /** The first one is being handled. Node reads the requests that a client sends without waiting; here they wait. */
  readonly #open: OpenRequest[] = [];
  /** When the current state began: connected, idle, or receiving a head. */
  #stateSince: number;
  /** Bytes received when the connection became idle; more than that are the beginning of a head. */
  #idleBytes = 0;
  #hasServed = false;
  #isReleased = false;
  #isClosing = false;
  #early: Buffer = EMPTY;
  #cancelDestroy: (() => void) | undefined;

  constructor(socket: Socket, host: ServerHost, onClosed: (connection: ServerConnection) => void) {
    this.socket = socket;
    this.#host = host;
    this.#stateSince = host.clock.elapsed();
    // Node closes a connection with this method after the last response. With unread bytes that would reset it, and lose the response.
    socket.destroySoon = () => this.#closeGracefully();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#cancelDestroy?.();
      for (const { response } of this.#open) response.onConnectionClosed();
      onClosed(this);
    });
  }

  get isIdle(): boolean {
    return this.#open.length === 0 && this.socket.bytesRead === this.#idleBytes;
  }

  get idleSince(): number {
    return this.#hasServed && this.isIdle ? this.#stateSince : Number.POSITIVE_INFINITY;
  }

  refuse(): void {
    this.reject('too_many_connections', new HttpParseError('too many connections'));
  }

  release(): Buffer {
    this.#isReleased = true;
    for (const { response } of this.#open) response.abandon();
    return this.#early;
  }

  checkTimeouts(now: number): void {
    if (this.#isReleased || this.#isClosing) return;
    for (const { request, response, since } of this.#open) {
      if (now - response.endedAt >= RESPONSE_READ_MS) return void this.socket.destroy();
      if (!request.isComplete && now - since >= REQUEST_MS) return this.#rejectSlow();
    }
    if (this.#open.length > 0) return;
    const isWaiting = this.#hasServed && this.isIdle;
    const age = now - this.#stateSince;
    if (isWaiting && age >= KEEP_ALIVE_MS) this.socket.destroy();
    else if (isWaiting) return;
    else if (this.#hasServed && this.#idleBytes >= 0) this.#beginHead(now);
    else if (age >= HEAD_MS) this.#rejectSlow();
  }

  /** The first bytes of a head have arrived since the last check. */
  #beginHead(now: number): void {
    this.#idleBytes = -1;
    this.#stateSince = now;
  }

  #rejectSlow(): void {
    this.reject('too_slow', new HttpParseError('request timeout'));
  }

  // ---------------------------------------------------------------- events of Node's server

  onRequest(message: IncomingMessage, nodeResponse: ServerResponse, awaitsContinue: boolean): void {
    if (this.#isClosing) return;
    const request = new NodeRequest(message, () => {
      if (awaitsContinue && !nodeResponse.headersSent) nodeResponse.writeContinue();
    });
    const response = new NodeResponse(nodeResponse, {
      clock: this.#host.clock,
      // While draining, requests that were already received are still served.
      canKeepAlive: () =>
        !(this.#host.isDraining && this.#open.length === 1) &&
        (request.isComplete || isSoonRead(request)) &&
        wantsKeepAlive(request),
    });
    const open = { request, response, since: this.#host.clock.elapsed() };
    this.#open.push(open);
    nodeResponse.once('close', () => this.#onResponseClosed(open));
    if (this.#open.length === 1) this.#handle(open);
    else this.#pauseSoon();
  }

  /** Node resumes the socket when it has read a message, so this waits until all messages of one read are parsed. */
  #pauseSoon(): void {
    process.nextTick(() => {
      if (this.#open.length > 1 && !this.#isClosing) this.socket.pause();
    });
  }

  #handle({ request, response }: OpenRequest): void {
    try {
      checkHead(request);
      this.#host.onRequest(request, response, this);
    } catch (error) {
      if (error instanceof HeadTooLargeError) return this.reject('headers_too_large', error);
      if (error instanceof HttpParseError) return this.reject('malformed', error);
      // A bug in one request must not affect other connections.
      this.#host.onInternalError(error);
      this.socket.destroy();
    }
  }

  /** Node has given up the socket. It gets a response object only when the application does not take the socket over. */
  onUpgrade(message: IncomingMessage, early: Buffer): void {
    this.#early = early;
    const response = new ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(this.socket);
    response.once('finish', () => this.#closeGracefully());
    this.onRequest(message, response, false);
  }

  onParseError(error: Error & { code?: string }): void {
    if (error.code === 'ECONNRESET' || this.#isClosing) return void this.socket.destroy();
    const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW';
    this.reject(
      isTooLarge ? 'headers_too_large' : 'malformed',
      isTooLarge ? new HeadTooLargeError('request head too large') : new HttpParseError(error.code ?? error.name),
    );
  }

  /** Responds with an error and closes. Only closes when a response is in progress: a second one would corrupt it. */
  reject(violation: ProtocolViolation, error: HttpParseError): void {
    const isResponding = this.#open.some(({ response }) => response.headersSent);
    for (const { response } of this.#open) response.abandon();
    if (isResponding) return void this.socket.destroy();
    this.socket.write(this.#host.onViolation(violation, error));
    this.#closeGracefully();
  }

  #onResponseClosed(open: OpenRequest): void {
    this.#open.splice(this.#open.indexOf(open), 1);
    this.#hasServed = true;
    this.#stateSince = this.#host.clock.elapsed();
    this.#idleBytes = this.socket.bytesRead;
    if (this.#isClosing || this.socket.destroyed) return;
    if (!open.request.isComplete) this.#destroyUnlessRead(open);
    const [next] = this.#open;
    if (next) this.#handle(next);
    else this.socket.resume();
  }

  /** Node discards the rest of a body that nothing has read, so that the connection can serve the next request. */
  #destroyUnlessRead({ request, response }: OpenRequest): void {
    request.discard();
    this.#destroyLater(response.readsRest);
    request.onComplete(() => {
      this.#cancelDestroy?.();
      this.#cancelDestroy = undefined;
    });
  }

  /** Closes the sending side and reads on for a while, because closing with unread bytes can lose the response. */
  #closeGracefully(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const [open] = this.#open;
    open?.request.discard();
    this.socket.end();
    this.socket.resume();
    this.#destroyLater(open?.response.readsRest === true);
  }

  #destroyLater(readsRest: boolean): void {
    const { discardMs, restMs } = SERVER_BOUNDS;
    const ms = readsRest ? restMs.limit : discardMs.limit;
    this.#cancelDestroy ??= this.#host.clock.after(ms, () => this.socket.destroy());
  }
}

/** Checks what Node tolerates. */
function checkHead({ headers, rawHeaders }: NodeRequest): void {
  if (rawHeaders.length > 2 * SERVER_BOUNDS.headers.limit) throw new HeadTooLargeError('too many headers');
  framingOf(headers);
}

/** The rest of the body is not worth closing the connection for. */
const isSoonRead = ({ headers }: NodeRequest): boolean => {
  const length = framingOf(headers) ?? 0;
  return typeof length === 'number' && length <= DISCARD_BYTES && headers.expect === undefined;
};
