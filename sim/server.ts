/** The HTTP server: reads requests, applies faults and calls the routes. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { checkCredentials, credentials } from './auth.ts';
import { contextFailure, Failure, invalid, modelFailure, statusFailure } from './errors.ts';
import { Exchange, type State } from './exchange.ts';
import { parseFault, splitModel } from './faults.ts';
import { publicEntry } from './journal.ts';
import { isObject, textOf } from './json.ts';
import { digestField, fieldValues, readMultipart } from './multipart.ts';
import { checkRefused } from './refusals.ts';
import { ROUTES, type Route, shapeOf } from './routes.ts';

const LARGEST_BODY = 64 << 20;
const TOO_LARGE = new Failure(413, 'The request is larger than 64 MiB.');

/** A provider with routes and a journal of its own, on the same port. */
interface Provider {
  accepts(request: IncomingMessage): boolean;
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

export function createSimServer(state: State, video: Provider): Server {
  const server = createServer((request, response) => {
    const served = video.accepts(request) ? video.serve(request, response) : serve(state, request, response);
    served.catch(() => request.socket.destroy());
  });
  // Clients pool connections; closing an idle one would look like a fault that no test requested.
  server.keepAliveTimeout = 75_000;
  server.requestTimeout = 0;
  return server;
}

export async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
  if (path === '/' || path.startsWith('/sim/')) return serveIndex(state, request, path, response);
  if (await state.clouds.serveToken(request, response, state.url)) return;
  const headers = plainHeaders(request);
  const rawHeaders = pairs(request.rawHeaders);
  const entry = state.journal.open({ method: request.method ?? 'GET', path, query, headers, rawHeaders });
  const cloud = state.clouds.call(path);
  const exchange = new Exchange(state, request, response, entry, cloud?.shape ?? shapeOf(path, headers));
  exchange.cloud = cloud;
  const body = await readBody(request);
  if (body === undefined) return;
  exchange.body = body;
  state.journal.keepBody(entry, body);
  try {
    await handle(exchange, cloud?.path ?? path);
  } catch (error) {
    await exchange.fail(error instanceof Failure ? error : new Failure(500, `The simulator failed: ${String(error)}`));
  }
}

/** The pages for people. These requests are not recorded in the journal. */
async function serveIndex(
  state: State,
  request: IncomingMessage,
  path: string,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  const known = path === '/' || path === '/sim/journal';
  const about = { name: 'simulated providers', journal: `${state.url}/sim/journal` };
  const body = path === '/sim/journal' ? { requests: state.journal.requests.map(publicEntry) } : about;
  response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body, null, 2));
}

async function handle(exchange: Exchange, path: string): Promise<void> {
  const found = findRoute(exchange.entry.method, path);
  const bodyError = exchange.body.length > LARGEST_BODY ? TOO_LARGE : readJson(exchange);
  exchange.cloud?.enter(exchange);
  exchange.dialect = found?.route.dialect;
  await withFaults(exchange, found?.route.names ? found.id : textOf(exchange.json.model), async () => {
    if (!found) throw new Failure(404, `Unknown request: ${exchange.entry.method} ${path}`, { code: 'unknown_url' });
    if (bodyError) throw bodyError;
    if (exchange.bareModel.startsWith('missing-')) throw modelFailure(exchange.shape, exchange.bareModel);
    checkRefused(exchange);
    const { run } = exchange.swapsForm ? otherForm(exchange, found.route) : found.route;
    await run(exchange, found.route.names ? exchange.bareModel : found.id);
  });
}

/** Applies faults and checks credentials before the request is validated. */
export async function withFaults(exchange: Exchange, model: string, run: () => Promise<void>): Promise<void> {
  const queued = exchange.state.queue.shift();
  exchange.model = model;
  const named = readFault(() => splitModel(exchange.model));
  exchange.bareModel = named.model;
  exchange.entry.model = exchange.model;
  if (exchange.state.hasFaults)
    exchange.fault = { ...named.fault, ...readFault(() => parseFault(exchange.header('x-sim'))), ...queued };
  if (exchange.fault.wire && exchange.framing !== 'frame') exchange.distort();
  else if (exchange.framing !== 'aws') exchange.misbehave();
  if (await breakConnection(exchange)) return;
  if (!exchange.cloud) checkCredentials(exchange);
  if (await sendFault(exchange)) return;
  await run();
}

/** The request for a stream where a unary reply was asked for, and the other way round. */
function otherForm(exchange: Exchange, route: Route): Route {
  exchange.json.stream = exchange.json.stream !== true;
  if (route.dialect !== 'generate') return route;
  exchange.query.set('alt', 'sse');
  return ROUTES.find((other) => other.dialect === 'generate' && other !== route) ?? route;
}

function findRoute(method: string, path: string): { route: Route; id: string } | undefined {
  for (const route of ROUTES) {
    const match = route.method === method ? route.path.exec(path) : null;
    if (match) return { route, id: decode(match[1] ?? '') };
  }
  return undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readFault<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalid(`x-sim: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Fills `exchange.json`. Returns the error instead of throwing it, because a fault takes precedence. */
function readJson(exchange: Exchange): Failure | undefined {
  if (!/^(?:POST|PATCH)$/.test(exchange.entry.method) || exchange.body.length === 0) return undefined;
  try {
    const contentType = exchange.header('content-type');
    if (contentType.toLowerCase().startsWith('multipart/form-data')) {
      exchange.form = readMultipart(contentType, exchange.body);
      exchange.entry.form = exchange.form.map(digestField);
      exchange.json = fieldValues(exchange.form);
      return undefined;
    }
    const parsed: unknown = JSON.parse(decompress(exchange).toString('utf8'));
    if (!isObject(parsed)) return invalid('The body is not a JSON object.');
    exchange.json = parsed;
    return undefined;
  } catch (error) {
    return error instanceof Failure ? error : invalid('We could not parse the JSON body of your request.');
  }
}

function decompress(exchange: Exchange): Buffer {
  const encoding = exchange.header('content-encoding').toLowerCase();
  if (encoding === 'gzip') return gunzipSync(exchange.body, { maxOutputLength: LARGEST_BODY });
  if (encoding === 'zstd') return zstdDecompressSync(exchange.body, { maxOutputLength: LARGEST_BODY });
  return exchange.body;
}

/** Connection faults; true if the exchange is over. */
async function breakConnection(exchange: Exchange): Promise<boolean> {
  const { fault } = exchange;
  if (fault.delayMs) await exchange.pause(fault.delayMs);
  if (fault.kind === 'hang') await exchange.untilClosed();
  if (fault.kind === 'reset') exchange.destroy();
  return exchange.isClientGone || fault.kind === 'hang' || fault.kind === 'reset';
}

/** Faults that replace the response; true if one was sent. */
async function sendFault(exchange: Exchange): Promise<boolean> {
  const { fault, shape } = exchange;
  if (fault.kind === 'context_too_long') throw contextFailure(shape);
  if (fault.kind === 'leak') throw invalid(leakText(exchange));
  if (fault.kind === 'error_first' && !wantsStream(exchange)) throw statusFailure(shape, fault);
  if (fault.kind === undefined && fault.status !== undefined) throw statusFailure(shape, fault);
  if (fault.kind === 'html') {
    const page = '<!doctype html><html><head><title>Bad gateway</title></head><body><h1>Simulated</h1></body></html>';
    await exchange.sendText(fault.status ?? 500, 'text/html; charset=utf-8', page);
    return true;
  }
  if (fault.kind === 'garbage') {
    await exchange.sendText(200, 'application/json', '{"this is": not json <<<');
    return true;
  }
  return false;
}

function wantsStream(exchange: Exchange): boolean {
  return exchange.json.stream === true || exchange.entry.path.endsWith(':streamGenerateContent');
}

function leakText(exchange: Exchange): string {
  return `Request to ${exchange.state.url}${exchange.entry.path} with key ${credentials(exchange).join(' and ')} failed.`;
}

/** Undefined if the client disconnected before the body was complete. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request) {
      // Excess bytes are read and discarded, so that the client can finish sending and read the response.
      if (length <= LARGEST_BODY) chunks.push(chunk);
      length += chunk.length;
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

export function plainHeaders(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(request.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(entries);
}

export function pairs(raw: string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) result.push([raw[index] ?? '', raw[index + 1] ?? '']);
  return result;
}
