/**
 * HTTP server: routes by the endpoint table and runs handlers. Owns request ids, rejections, log lines and shutdown.
 */
import { STATUS_CODES } from 'node:http';
import * as core from '../../core/index.ts';
import { errorFormatOf, FOREIGN_PATHS, INFERENCE_ENDPOINTS } from '../../rules/index.ts';
import * as http from '../http/index.ts';
import type { BodyBudget } from './body-budget.ts';
import { type AnyOperation, Call, type Handler } from './call.ts';
import { CallsByCaller } from './calls-by-caller.ts';
import type { Certificate } from './certificate.ts';
import { clientAddress, proxyReporter } from './client-address.ts';
import type { Cors } from './cors.ts';
import { failureFields, storedMessage } from './failure-fields.ts';
import type { Metrics } from './metrics.ts';
import {
  bodyBytesOf,
  isShed,
  refusalSender,
  refuseOverloaded,
  refuseUpgrade,
  type SendRefusal,
  shedReporter,
} from './overload.ts';
import { type Match, matchRoute, methodsOf, ROUTES, type Route } from './routes.ts';
import { idHeaders, type RenderError, sendError, sendNoContent } from './send.ts';
import type { Shedder } from './shedder.ts';
import { watchCalls } from './wakefulness.ts';

export interface WebOptions {
  readonly handlers: Readonly<Record<AnyOperation, Handler>>;
  readonly renderError: RenderError;
  readonly log: core.Log;
  readonly clock: core.Clock;
  readonly metrics: Metrics;
  /** Addresses and CIDR blocks of proxies whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly string[];
  readonly bodyBudget: BodyBudget;
  readonly connectionLimits: http.ConnectionLimits;
  /** Serves HTTPS with this certificate; without it HTTP. */
  readonly certificate?: Certificate | undefined;
  /** Lets scripts of other origins call the caller's API. */
  readonly cors?: Cors | undefined;
  /** Refuses requests under overload; without it none is refused. */
  readonly shedder?: Shedder | undefined;
  /** Called once for every call, when its response is sent or can no longer be sent. Must not throw. */
  readonly onCompleted?: ((call: CompletedCall) => void) | undefined;
}

/** How a call ended: `client_closed` before it had its response, `interrupted` by a shutdown. */
export type CallOutcome = 'completed' | 'client_closed' | 'interrupted';

export interface CompletedCall {
  readonly call: Call;
  readonly status: number;
  readonly outcome: CallOutcome;
}

export type Web = ReturnType<typeof createWeb>;

interface WebState extends WebOptions {
  readonly openCalls: core.IndexedList<Call>;
  readonly callers: CallsByCaller;
  readonly sendRefusal: SendRefusal;
  /** A request was refused. */
  readonly reportShed: () => void;
}

export function createWeb(options: WebOptions) {
  let draining = false;
  let isStopping = false;
  const state: WebState = {
    ...options,
    handlers: Object.fromEntries(
      ROUTES.map(({ operation }) => [operation, withStateCheck(operation, options, () => isStopping)]),
    ) as Record<Route['operation'], Handler>,
    openCalls: new core.IndexedList(),
    callers: new CallsByCaller(),
    sendRefusal: refusalSender(options.renderError),
    reportShed: shedReporter(options),
  };
  options.metrics.register('dragoman_log_lines_dropped_total', () => [{ value: options.log.droppedLines }]);
  const reportProxy = proxyReporter(options.log, options.trustedProxies);
  const { shedder, metrics } = options;
  const onRequest = watchCalls({
    clock: options.clock,
    openCalls: () => state.openCalls.size,
    samplers: [...(shedder ? [shedder] : []), metrics.eventLoop],
  });
  const host: http.ServerHost = {
    clock: options.clock,
    get isDraining() {
      return draining;
    },
    onRequest: (request, response, connection) => {
      onRequest();
      reportProxy(request);
      dispatch(state, exchangeOf(request, response), connection);
    },
    onInternalError: (error) => options.log.error('request.internal_error', core.errorFields(error)),
    onViolation: (violation, error) => violationResponse(violation, error, options),
    onRefused: (count) => options.log.warn('connections.refused', { count, open: listener.openConnections }),
  };
  const listener: http.HttpServer = new http.HttpServer({
    host,
    limits: options.connectionLimits,
    certificate: options.certificate,
  });
  options.metrics.register('dragoman_open_connections', () => [{ value: listener.openConnections }]);
  options.metrics.register('dragoman_requests_shed_total', () =>
    [...(options.shedder?.refused ?? [])].map(([priority, value]) => ({ value, labels: { priority } })),
  );
  options.metrics.register('dragoman_connections_refused_total', () => [{ value: listener.refusedConnections }]);
  return {
    /** The end was announced, or the server stops. */
    get isEnding(): boolean {
      return draining;
    },
    /**
     * Announces the end to load balancers: from now on every response closes its connection. Requests are still served.
     */
    announceEnd(): void {
      draining = true;
    },
    /** Returns the port. */
    listen: (sockets: readonly http.ListeningSocket[]): Promise<number> => listener.listen(sockets),
    /** Runs a call that is not an HTTP request of its own (a WebSocket turn). Logged and measured like any other. */
    run: (call: Call, handler: Handler): Promise<void> =>
      runCall(state, call, isShed(state, call) ? refuseOverloaded : handler),
    /** Closes the listening sockets. Open connections are served, and close after their next response. */
    stopListening(): Promise<void> {
      draining = true;
      return listener.stopListening();
    },
    /**
     * Stops listening and lets open requests finish for `ms` from then on. The others get an error in their format.
     * In a handover to another process of the same server, requests that still arrive on open connections are served.
     */
    async drain(ms: number, { isHandover } = { isHandover: false }): Promise<void> {
      draining = true;
      await listener.stopListening();
      isStopping = !isHandover;
      return listener.close(ms, { isHandover, interrupt: () => interruptCalls(state) });
    },
  };
}

function dispatch(options: WebState, exchange: Exchange, connection: http.Upgradable): void {
  const { request, path } = exchange;
  const rejection = http.rejectionFor(request);
  if (rejection !== undefined) return rejectRequest(options, exchange, 400, rejection);
  if (request.headers.expect !== undefined && !/^100-continue$/i.test(request.headers.expect))
    return rejectRequest(options, exchange, 417, 'expect: only 100-continue is supported.');
  if (http.isUpgrade(request.headers)) return upgrade(options, exchange, connection);
  if (path === '*') return void runCall(options, toCall(options, exchange), sendNoContent);
  const preflight = options.cors?.preflightHeaders(request, path);
  if (preflight) return respondPreflight(options, exchange, preflight);
  const match = matchRoute(request.method, path);
  if (!match && isPageOfConsole(request, path)) return redirectToConsole(options, exchange);
  if (!match) return respondUnrouted(options, toCall(options, exchange));
  if (isShed(options, { operation: match.route.operation, request }, bodyBytesOf(request)))
    return shed(options, exchange, match);
  void runCall(options, toCall(options, exchange, match), options.handlers[match.route.operation]);
}

/** The root is a page for browsers only: other clients get 404 there, as on every unknown path. */
const isPageOfConsole = ({ method, headers }: http.IncomingRequest, path: string): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (path === '/console' || (path === '/' && /\btext\/html\b/i.test(headers.accept ?? '')));

function redirectToConsole(options: WebState, exchange: Exchange): void {
  void runCall(options, toCall(options, exchange), (call) => {
    call.response.writeHead(302, { ...idHeaders(call), location: '/console/', 'content-length': 0 });
    call.response.end();
  });
}

/**
 * Refuses a request before its body is read, without a call and without a log line of its own;
 * metrics and one log line a second count them.
 */
function shed(options: WebState, { request, response }: Exchange, match: Match): void {
  options.reportShed();
  // A client that sends its whole body before it reads would see a reset connection in place of the refusal.
  if (bodyBytesOf(request) > 0) response.readsRest = options.callers.knows(request);
  options.sendRefusal(response, {
    id: core.newRequestId(options.clock.now()),
    errorFormat: match.route.errorFormat,
    headers: headersOf(options, request, match) ?? {},
  });
}

function respondPreflight(options: WebState, exchange: Exchange, headers: Call['headers']): void {
  const call = toCall(options, exchange);
  call.addHeaders(headers);
  void runCall(options, call, sendNoContent);
}

/** While the server stops, only operator endpoints (health, metrics) respond. */
function withStateCheck(operation: Route['operation'], { handlers }: WebOptions, isStopping: () => boolean): Handler {
  const handler = handlers[operation];
  if (isOperator(operation)) return handler;
  return (call) => {
    if (isStopping()) throw core.fail('shutting_down');
    return handler(call);
  };
}

function upgrade(options: WebState, exchange: Exchange, connection: http.Upgradable): void {
  const route = ROUTES.find(({ operation, path }) => operation === 'responses.socket' && path === exchange.path);
  const call = toCall(options, exchange, route && { route, params: {} }, connection);
  const handler = route ? options.handlers[route.operation] : rejectUpgrade;
  void runCall(options, call, isShed(options, call) ? refuseUpgrade : handler);
}

const rejectUpgrade: Handler = () => {
  throw core.fail('invalid_request', 'This endpoint does not support WebSocket.', { headers: { connection: 'close' } });
};

/** Without `match` the request has no route. */
function toCall(options: WebState, exchange: Exchange, match?: Match, upgrade?: http.Upgradable): Call {
  const { request, response, path, query } = exchange;
  const startedAt = options.clock.now();
  return new Call({
    id: core.newRequestId(startedAt),
    operation: match?.route.operation ?? 'none',
    errorFormat: match?.route.errorFormat ?? errorFormatOf(path),
    request,
    response,
    params: match?.params ?? {},
    path,
    query,
    address: clientAddress(request, options.trustedProxies),
    startedAt,
    clock: options.clock,
    upgrade,
    headers: headersOf(options, request, match),
    bodyBudget: options.bodyBudget,
  });
}

/** Headers of every response to the request. */
function headersOf(
  { cors }: WebState,
  request: http.IncomingRequest,
  match: Match | undefined,
): Call['headers'] | undefined {
  if (!cors || !match) return match?.route.headers;
  const { operation, headers } = match.route;
  return { ...headers, ...cors.responseHeaders(request, operation) };
}

interface Exchange {
  readonly request: http.IncomingRequest;
  readonly response: http.OutgoingResponse;
  readonly path: string;
  readonly query: string;
}

function exchangeOf(request: http.IncomingRequest, response: http.OutgoingResponse): Exchange {
  const { url } = request;
  const queryStart = url.indexOf('?');
  return queryStart < 0
    ? { request, response, path: url, query: '' }
    : { request, response, path: url.slice(0, queryStart), query: url.slice(queryStart + 1) };
}

/** Runs a handler. The only place that catches its errors. */
async function runCall(options: WebState, call: Call, handler: Handler): Promise<void> {
  options.metrics.openRequests.value += 1;
  options.openCalls.add(call);
  const leave = options.callers.begin(call.request);
  const end = (): void => {
    leave(call.hasKey);
    finish(options, call);
  };
  let isRunning = true;
  let waitsForHandler = false;
  call.onClose(() => {
    waitsForHandler = isRunning && call.isClientGone && call.endsWithHandler;
    if (!waitsForHandler) end();
  });
  try {
    const pending = handler(call);
    if (pending) await pending;
  } catch (error) {
    if (error instanceof core.ApiError) {
      call.addLogFields({ code: error.code });
      call.trace.askedModel = error.details.model;
    } else if (error instanceof core.Unavailable) {
      call.addLogFields({ code: core.toApiError(error).code });
      options.log.warn('request.unavailable', { request: call.id, op: call.operation, ...core.errorFields(error) });
    } else
      options.log.error('request.internal_error', { request: call.id, op: call.operation, ...core.errorFields(error) });
    call.trace.message = storedMessage(core.toApiError(error));
    sendError(call, error, options.renderError);
  }
  isRunning = false;
  if (waitsForHandler) end();
}

/** The time limit of the shutdown is over. */
function interruptCalls({ openCalls, renderError }: WebState): void {
  for (const call of openCalls.all())
    call.interrupt(() =>
      sendError(
        call,
        isRepeatable(call) ? core.fail('shutting_down') : core.fail('shutting_down', UNKNOWN_OUTCOME, NO_RETRY),
        renderError,
      ),
    );
}

/** The request only reads, is not charged without its response, or carries a key that makes it happen once. */
const isRepeatable = ({ request: { method, headers }, operation }: Call): boolean =>
  method === 'GET' || method === 'HEAD' || operation in INFERENCE_ENDPOINTS || headers['idempotency-key'] !== undefined;

const UNKNOWN_OUTCOME =
  'The server is restarting, and the outcome of this request is unknown; ' +
  'read what it changes before you send it again.';
const NO_RETRY = { headers: { 'x-should-retry': 'false' } };

function finish({ metrics, log, openCalls, onCompleted }: WebState, call: Call): void {
  const ms = Math.round(call.durationMs);
  const outcome = outcomeOf(call);
  const status = call.response.statusCode;
  metrics.openRequests.value -= 1;
  openCalls.remove(call);
  metrics.recordRequest({ operation: call.operation, status, ms, outcome });
  call.addLogFields({ status, outcome, ms });
  const failure = failureFields(call, status);
  if (failure) call.addLogFields(failure);
  const level = status >= 500 ? 'warn' : 'info';
  log[isOperator(call.operation) ? 'debug' : level]('request.completed', call.logFields);
  onCompleted?.({ call, status, outcome });
}

function outcomeOf({ isInterrupted, isClientGone }: Call): CallOutcome {
  if (isInterrupted) return 'interrupted';
  return isClientGone ? 'client_closed' : 'completed';
}

const isOperator = (operation: Call['operation']): boolean => operation.startsWith('operator.');

/** Responds with 404 for an unknown path, 405 for an unsupported method, 400 for an invalid path parameter. */
function respondUnrouted(options: WebState, call: Call): void {
  const { request } = call;
  call.addLogFields({ method: request.method, path: loggable(call.path), address: call.address });
  void runCall(options, call, () => {
    const methods = FOREIGN_PATHS.test(call.path) ? [] : methodsOf(call.path);
    if (methods.length === 0)
      throw core.fail('not_found', `Unknown endpoint ${request.method} ${printable(call.path)}; see /openapi.json.`);
    if (methods.some((method) => method === request.method))
      throw core.fail('invalid_request', 'The path contains an invalid parameter.');
    const message = `${request.method} is not supported by ${printable(call.path)}; use ${methods.join(' or ')}.`;
    throw core.fail('method_not_allowed', message, { headers: { allow: methods.join(', ') } });
  });
}

const printable = (path: string): string => path.slice(0, 120);
/** Some clients put a key into the path by mistake. */
const KEY_IN_PATH = /\b(?:dga?|sk)-[\w-]{8,}|[\w-]{32,}/g;
const loggable = (path: string): string => printable(path.replaceAll(KEY_IN_PATH, '[redacted]'));

function rejectRequest(options: WebState, exchange: Exchange, status: number, message: string): void {
  void runCall(options, toCall(options, exchange), () => {
    throw core.fail('invalid_request', message, { status, headers: { connection: 'close' } });
  });
}

const VIOLATIONS: Readonly<Record<http.ProtocolViolation, readonly [number, string, string]>> = {
  malformed: [400, 'invalid_request', 'The request is not valid HTTP.'],
  headers_too_large: [431, 'headers_too_large', 'The request has more than 100 headers, or they are too large.'],
  too_slow: [408, 'request_timeout', 'The request was not received in time.'],
  too_many_connections: [503, 'server_is_overloaded', 'Too many connections are open; reuse them, or retry later.'],
};

/** Raw response for bytes that are not a request. It has no path, so it always uses the OpenAI error format. */
function violationResponse(
  violation: http.ProtocolViolation,
  error: http.HttpParseError,
  { log, clock }: Pick<WebOptions, 'log' | 'clock'>,
): string {
  const [status, code, message] = VIOLATIONS[violation];
  const id = core.newRequestId(clock.now());
  const isOverload = violation === 'too_many_connections';
  if (!isOverload) log.info('request.malformed', { request: id, status, ...core.errorFields(error) });
  const type = isOverload ? 'service_unavailable_error' : 'invalid_request_error';
  const body = JSON.stringify({ error: { message, type, code, param: null } });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `x-request-id: ${id}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...(isOverload ? ['retry-after: 1'] : []),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
