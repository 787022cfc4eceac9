/**
 * The HTTP server: Node's own, routed by our endpoint table; handlers work on the raw request and response. This file owns limits,
 * strictness, request ids, the log line of every call, and an orderly end.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, type Clock, fail, faultOf, isAddressIn, type Log, newRequestId } from '../core/index.ts';
import { envelopeOf, HEADER_BYTES } from '../rules/index.ts';
import { type AnyOperation, Call, type Handler, type Upgrade } from './call.ts';
import type { Metrics } from './metrics.ts';
import { type RenderError, sendError } from './reply.ts';
import { matchRoute, methodsOf, ROUTES, type Route } from './routes.ts';
import { refusalOf } from './strict.ts';

export interface WebOptions {
  readonly handlers: Readonly<Record<AnyOperation, Handler>>;
  readonly renderError: RenderError;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
}

export interface Web {
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /** Stops accepting, lets open calls finish for `ms`, then cuts them. */
  drain(ms: number): Promise<void>;
  readonly isDraining: boolean;
  /** Answers a call that did not come as a request of its own: a turn of a socket. Logged and measured like any other. */
  run(call: Call, handler: Handler): Promise<void>;
}

/** Slow senders are cut: headers within 10 s, the whole request within 5 minutes (64 MiB on a poor line). */
const HEADERS_MS = 10_000;
const REQUEST_MS = 300_000;
const CHECK_MS = 5_000;
const SWEEP_MS = 50;
/** Longer than the 60 s that balancers keep a connection, so that they close it, not we in the middle of their request. */
const KEEP_ALIVE_MS = 65_000;

export function createWeb(options: WebOptions): Web {
  let draining = false;
  const isDraining = (): boolean => draining;
  const own = Object.fromEntries(
    ROUTES.map(({ operation }) => [operation, wrapped(operation, options, isDraining)]),
  ) as Record<Route['operation'], Handler>;
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Checked in strict.ts; Node would answer with an empty body.
      requireHostHeader: false,
      // Other upgrades are offers, which a server may pass over: clients that would rather speak HTTP/2 make one with every call.
      shouldUpgradeCallback: ({ headers }) => /websocket/i.test(headers.upgrade ?? ''),
    },
    (request, response) => {
      answering.set(request.socket, response);
      if (draining) response.shouldKeepAlive = false;
      const refusal = refusalOf(request);
      if (refusal !== undefined) return answerRefused(options, request, response, refusal);
      const target = targetOf(request);
      const match = matchRoute(request.method, target.path);
      if (!match) return answerStray(options, request, response);
      const { route, params } = match;
      void answer(options, toCall(options, request, response, target, route, params), own[route.operation]);
    },
  );
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.on('clientError', (error, socket) => answerBrokenMessage(options.log, error, socket as Socket));
  // Node would answer with an empty 417.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    void answer(options, strayCall(options, request, response), () => {
      throw fail('invalid_request', 'The only Expect header accepted is 100-continue.', { status: 417 });
    });
  });
  server.on('upgrade', (request, socket, head) => {
    const call = upgradeCall(options, request, socket, head);
    void answer(options, call, call.operation === 'none' ? refuseUpgrade : own[call.operation]);
  });

  return {
    get isDraining() {
      return draining;
    },
    async listen(host, port) {
      server.listen({ host, port });
      await once(server, 'listening');
      const address = server.address() as AddressInfo;
      return { host: address.address, port: address.port };
    },
    run: (call, handler) => answer(options, call, handler),
    async drain(ms) {
      draining = true;
      const cut = setTimeout(() => server.closeAllConnections(), ms);
      // A connection that falls idle while others finish would hold the stop until the cut.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      await new Promise((resolve) => server.close(resolve));
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

/** A server that is stopping still says that it is alive, and nothing else. */
function wrapped(operation: Route['operation'], { handlers }: WebOptions, isDraining: () => boolean): Handler {
  const own = handlers[operation];
  if (isOperator(operation)) return own;
  return (call) => {
    if (isDraining()) throw fail('shutting_down');
    return own(call);
  };
}

/** An upgrade has no response of its own; one is made, in case it is refused. */
function upgradeCall(options: WebOptions, request: IncomingMessage, socket: Duplex, head: Buffer): Call {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  // Mostly a net socket, but not one of every kind; nothing here relies on more than a stream.
  response.assignSocket(socket as Socket);
  socket.on('error', () => socket.destroy());
  socket.once('close', () => response.emit('close'));
  // A refusal is the last word on this connection.
  response.once('finish', () => socket.end(() => socket.destroy()));
  const target = targetOf(request);
  const route = ROUTES.find(({ operation, path: own }) => operation === 'responses.socket' && own === target.path);
  const upgrade = { socket, head, release: () => response.detachSocket(socket as Socket) };
  return toCall(options, request, response, target, route, {}, upgrade);
}

const refuseUpgrade: Handler = () => {
  throw fail('invalid_request', 'This path does not speak WebSocket.', { headers: { connection: 'close' } });
};

function toCall(
  options: WebOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: Target,
  route?: Pick<Route, 'operation' | 'envelope'>,
  params: Readonly<Record<string, string>> = {},
  upgrade?: Upgrade,
): Call {
  return new Call({
    id: newRequestId(),
    operation: route?.operation ?? 'none',
    envelope: route?.envelope ?? envelopeOf(path),
    request,
    response,
    params,
    path,
    query,
    address: clientAddress(request, options.trustedProxies),
    startedAt: options.clock.now(),
    upgrade,
  });
}

/** A call that is none of ours. */
const strayCall = (options: WebOptions, request: IncomingMessage, response: ServerResponse): Call =>
  toCall(options, request, response, targetOf(request));

interface Target {
  readonly path: string;
  readonly query: string;
}

function targetOf({ url = '/' }: IncomingMessage): Target {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** The one catch of every call. */
async function answer(options: WebOptions, call: Call, handler: Handler): Promise<void> {
  options.metrics.openCalls.value += 1;
  call.onClose(() => finish(options, call));
  try {
    const pending = handler(call);
    if (pending) await pending;
  } catch (error) {
    if (error instanceof ApiError) call.note({ code: error.code });
    else options.log.error('call.bug', { request: call.id, op: call.operation, ...faultOf(error) });
    sendError(call, error, options.renderError);
  }
}

function finish({ metrics, log, clock }: WebOptions, call: Call): void {
  const ms = clock.now() - call.startedAt;
  const end = call.isGone ? 'left' : 'finished';
  const status = call.response.statusCode;
  metrics.openCalls.value -= 1;
  metrics.callDone({ operation: call.operation, status, ms, end });
  call.note({ status, end, ms });
  log[isOperator(call.operation) ? 'debug' : 'info']('call.done', call.notes);
}

const isOperator = (operation: Call['operation']): boolean => operation.startsWith('operator.');

/** A path that is no route, or not with this method. */
function answerStray(options: WebOptions, request: IncomingMessage, response: ServerResponse): void {
  const call = strayCall(options, request, response);
  void answer(options, call, () => {
    const methods = methodsOf(call.path);
    if (methods.length === 0)
      throw fail(
        'not_found',
        `There is no ${request.method} ${printable(call.path)} here; see /openapi.json for what there is.`,
      );
    if (methods.some((method) => method === request.method))
      throw fail('invalid_request', 'The request target or its content type is malformed.');
    throw fail('method_not_allowed', `${printable(call.path)} takes ${methods.join(' or ')}, not ${request.method}.`, {
      headers: { allow: methods.join(', ') },
    });
  });
}

const printable = (path: string): string => path.slice(0, 120);

function answerRefused(options: WebOptions, request: IncomingMessage, response: ServerResponse, refusal: string): void {
  response.shouldKeepAlive = false;
  void answer(options, strayCall(options, request, response), () => {
    throw fail('invalid_request', refusal, { headers: { connection: 'close' } });
  });
}

const BROKEN: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request was not received in time.'],
};

/** The newest answer of every connection. */
const answering = new WeakMap<Socket, ServerResponse>();

/** What the parser refuses has no path and no caller yet; it gets a plain answer and the connection is closed. */
function answerBrokenMessage(log: Log, error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const current = answering.get(socket);
  // An answer is on its way: a second one would be read as a part of it.
  if (current?.headersSent && !current.writableFinished) return socket.destroySoon();
  const [status, code, message] = BROKEN[error.code ?? ''] ?? [
    400,
    'invalid_request',
    'The request is not valid HTTP.',
  ];
  const id = newRequestId();
  log.info('call.broken', { request: id, status, ...faultOf(error) });
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', code, param: null } });
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nx-request-id: ${id}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** The socket's address, or the nearest hop that no trusted proxy vouches for. */
function clientAddress(request: IncomingMessage, trusted: readonly string[]): string {
  const direct = request.socket.remoteAddress ?? '';
  if (trusted.length === 0 || !isAddressIn(direct, trusted)) return direct;
  const hops = String(request.headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((hop) => hop.trim());
  return hops.findLast((hop) => hop !== '' && !isAddressIn(hop, trusted)) ?? direct;
}
