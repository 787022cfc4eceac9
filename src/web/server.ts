/**
 * The HTTP server, routed by our endpoint table; handlers work on the raw request and answer. This file owns refusals, request ids,
 * the log line of every call, and an orderly end; connections and their bytes are read in connection.ts.
 */
import {
  ApiError,
  type Clock,
  errorFields,
  fail,
  type HttpParseError,
  isAddressIn,
  type Log,
  newRequestId,
} from '../core/index.ts';
import { errorFormatOf } from '../rules/index.ts';
import { type AnyOperation, Call, type Handler, type Upgrade } from './call.ts';
import type { ProtocolViolation, ServerConnection } from './connection.ts';
import { Listener } from './listener.ts';
import type { Metrics } from './metrics.ts';
import type { IncomingRequest } from './request.ts';
import { rejectionFor } from './request-checks.ts';
import type { OutgoingResponse } from './response.ts';
import { matchRoute, methodsOf, ROUTES, type Route } from './routes.ts';
import { type RenderError, sendError } from './send.ts';

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

export function createWeb(options: WebOptions): Web {
  let draining = false;
  const isDraining = (): boolean => draining;
  const own = Object.fromEntries(
    ROUTES.map(({ operation }) => [operation, wrapped(operation, options, isDraining)]),
  ) as Record<Route['operation'], Handler>;
  const listener = new Listener({
    clock: options.clock,
    get isDraining() {
      return draining;
    },
    onRequest: (request, response, connection) => dispatch(options, own, request, response, connection),
    onBug: (error) => options.log.error('request.internal_error', errorFields(error)),
    onViolation: (breach, fault) => violationResponse(breach, fault, options.log),
  });
  return {
    get isDraining() {
      return draining;
    },
    listen: (host, port) => listener.listen(host, port),
    run: (call, handler) => answer(options, call, handler),
    drain(ms) {
      draining = true;
      return listener.close(ms);
    },
  };
}

function dispatch(
  options: WebOptions,
  own: Readonly<Record<AnyOperation, Handler>>,
  request: IncomingRequest,
  response: OutgoingResponse,
  connection: ServerConnection,
): void {
  const target = targetOf(request);
  const refusal = rejectionFor(request);
  if (refusal !== undefined) return refuse(options, request, response, target, { sentence: refusal, status: 400 });
  if (request.headers.expect !== undefined && !/^100-continue$/i.test(request.headers.expect)) {
    const sentence = 'The only Expect header accepted is 100-continue.';
    return refuse(options, request, response, target, { sentence, status: 417 });
  }
  if (isUpgrade(request)) return upgrade(options, own, request, response, target, connection);
  const match = matchRoute(request.method, target.path);
  if (!match) return respondUnrouted(options, toCall(options, request, response, target));
  const { route, params } = match;
  void answer(options, toCall(options, request, response, target, route, params), own[route.operation]);
}

/** Other upgrades are offers, which a server may pass over: clients that would rather speak HTTP/2 make one with every call. */
const isUpgrade = ({ headers }: IncomingRequest): boolean =>
  headers.upgrade !== undefined && /websocket/i.test(headers.upgrade) && /\bupgrade\b/i.test(headers.connection ?? '');

/** A server that is stopping still says that it is alive, and nothing else. */
function wrapped(operation: Route['operation'], { handlers }: WebOptions, isDraining: () => boolean): Handler {
  const own = handlers[operation];
  if (isOperator(operation)) return own;
  return (call) => {
    if (isDraining()) throw fail('shutting_down');
    return own(call);
  };
}

function upgrade(
  options: WebOptions,
  own: Readonly<Record<AnyOperation, Handler>>,
  request: IncomingRequest,
  response: OutgoingResponse,
  target: Target,
  connection: ServerConnection,
): void {
  const route = ROUTES.find(({ operation, path }) => operation === 'responses.socket' && path === target.path);
  const { socket } = connection;
  const call = toCall(options, request, response, target, route, {}, { socket, release: () => connection.release() });
  void answer(options, call, route ? own[route.operation] : refuseUpgrade);
}

const refuseUpgrade: Handler = () => {
  throw fail('invalid_request', 'This path does not speak WebSocket.', { headers: { connection: 'close' } });
};

function toCall(
  options: WebOptions,
  request: IncomingRequest,
  response: OutgoingResponse,
  { path, query }: Target,
  route?: Pick<Route, 'operation' | 'errorFormat'>,
  params: Readonly<Record<string, string>> = {},
  upgrade?: Upgrade,
): Call {
  return new Call({
    id: newRequestId(),
    operation: route?.operation ?? 'none',
    envelope: route?.errorFormat ?? errorFormatOf(path),
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

interface Target {
  readonly path: string;
  readonly query: string;
}

function targetOf({ url }: IncomingRequest): Target {
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
    if (error instanceof ApiError) call.addLogFields({ code: error.code });
    else options.log.error('request.internal_error', { request: call.id, op: call.operation, ...errorFields(error) });
    sendError(call, error, options.renderError);
  }
}

function finish({ metrics, log, clock }: WebOptions, call: Call): void {
  const ms = clock.now() - call.startedAt;
  const outcome = call.isClientGone ? 'client_closed' : 'completed';
  const status = call.response.statusCode;
  metrics.openCalls.value -= 1;
  metrics.callDone({ operation: call.operation, status, ms, outcome });
  call.addLogFields({ status, outcome, ms });
  log[isOperator(call.operation) ? 'debug' : 'info']('request.completed', call.logFields);
}

const isOperator = (operation: Call['operation']): boolean => operation.startsWith('operator.');

/** A path that is no route, or not with this method. */
function respondUnrouted(options: WebOptions, call: Call): void {
  const { request } = call;
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

function refuse(
  options: WebOptions,
  request: IncomingRequest,
  response: OutgoingResponse,
  target: Target,
  { sentence, status }: { readonly sentence: string; readonly status: number },
): void {
  void answer(options, toCall(options, request, response, target), () => {
    throw fail('invalid_request', sentence, { status, headers: { connection: 'close' } });
  });
}

const VIOLATIONS: Readonly<Record<ProtocolViolation, readonly [number, string, string]>> = {
  malformed: [400, 'invalid_request', 'The request is not valid HTTP.'],
  headers_too_large: [431, 'headers_too_large', 'The request headers are too large.'],
  too_slow: [408, 'request_timeout', 'The request was not received in time.'],
};

/** What is no request has no path and no caller yet; it gets a plain answer, and the connection is closed. */
function violationResponse(breach: ProtocolViolation, fault: HttpParseError, log: Log): string {
  const [status, code, message] = VIOLATIONS[breach];
  const id = newRequestId();
  log.info('request.malformed', { request: id, status, ...errorFields(fault) });
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', code, param: null } });
  return `HTTP/1.1 ${status} Refused\r\nx-request-id: ${id}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
}

/** The socket's address, or the nearest hop that no trusted proxy vouches for. */
function clientAddress(request: IncomingRequest, trusted: readonly string[]): string {
  const direct = request.address;
  if (trusted.length === 0 || !isAddressIn(direct, trusted)) return direct;
  const hops = (request.headers['x-forwarded-for'] ?? '').split(',').map((hop) => hop.trim());
  return hops.findLast((hop) => hop !== '' && !isAddressIn(hop, trusted)) ?? direct;
}
