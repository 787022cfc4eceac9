/**
 * The mock upstream, a separate process: raw sockets and canned bytes, so that it uses little of the core it shares
 * with the load. The bytes are what the simulated provider sends: about 1 KB of JSON, or a stream of 200 deltas. The
 * request selects unary or stream. The model selects the pace of a stream: all events at once, one every few
 * milliseconds, only the first ones, or events without end as fast as they are read.
 */
import { createServer, type Socket } from 'node:net';
import { startSim } from '../sim/index.ts';
import { benchRequest, DELTAS, DIALECTS, type Dialect, EVENTS } from './bodies.ts';

const EVENT_MS = 4;
/** Number of events that a `bench-hold` stream sends. */
const HELD_EVENTS = 4;
const FLOOD_EVENTS = 500;
const BLANK_LINE = '\r\n\r\n';
const UNARY_CHARS = 560;

interface CannedResponse {
  readonly unary: Buffer;
  readonly burst: Buffer;
  /** Each event as a separate chunk, as providers flush them. */
  readonly events: readonly Buffer[];
  /** The head and the first events. */
  readonly held: Buffer;
  /** Many text events in one buffer. */
  readonly flood: Buffer;
}

const BEGIN = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n',
);
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const PATHS: Readonly<Record<Dialect, string>> = {
  messages: '/messages',
  chat: '/chat/completions',
  responses: '/responses',
  generate: 'enerateContent',
};

const sim = await startSim();
const responses: (readonly [path: string, CannedResponse])[] = [];
for (const dialect of DIALECTS) responses.push([PATHS[dialect], await cannedResponse(dialect)]);
await sim.close();

async function cannedResponse(dialect: Dialect): Promise<CannedResponse> {
  const unary = await simulated(dialect, false);
  const text = (await simulated(dialect, true)).split(/(?<=\r?\n\r?\n)/);
  if (text.length !== EVENTS[dialect]) throw new Error(`${dialect}: the simulator sends ${text.length} events`);
  const events = text.map((event) => Buffer.from(`${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`));
  return {
    unary: Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(unary)}\r\n\r\n${unary}`,
    ),
    burst: Buffer.concat([BEGIN, ...events, LAST_CHUNK]),
    events,
    held: Buffer.concat([BEGIN, ...events.slice(0, HELD_EVENTS)]),
    flood: Buffer.concat(Array.from({ length: FLOOD_EVENTS }, () => events[HELD_EVENTS] ?? LAST_CHUNK)),
  };
}

async function simulated(dialect: Dialect, stream: boolean): Promise<string> {
  const { path, body } = benchRequest(dialect, stream ? `bench@events=${DELTAS}` : `bench@big=${UNARY_CHARS}`, stream);
  const headers = { 'x-api-key': 'sim', authorization: 'Bearer sim', 'anthropic-version': '2023-06-01' };
  const response = await fetch(sim.url + path, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`${dialect}: the simulator returned ${response.status}`);
  return response.text();
}

/** Active `bench-paced` streams; each sends one event per tick. */
const paced = new Map<Socket, { canned: CannedResponse; next: number }>();
setInterval(() => {
  for (const [socket, stream] of paced) {
    const event = stream.canned.events[stream.next++];
    if (!event) paced.delete(socket);
    socket.write(event ?? LAST_CHUNK);
  }
}, EVENT_MS).unref();

const server = createServer({ noDelay: true }, (socket) => {
  let pending = '';
  socket.on('data', (bytes) => {
    pending += bytes.toString('latin1');
    for (;;) {
      const length = requestLength(pending);
      if (length === undefined) return;
      respond(socket, pending.slice(0, length));
      pending = pending.slice(length);
    }
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => paced.delete(socket));
});

/** Length of the first request; undefined while it is incomplete. */
function requestLength(text: string): number | undefined {
  const end = text.indexOf(BLANK_LINE);
  if (end < 0) return undefined;
  const body = end + BLANK_LINE.length;
  const head = text.slice(0, end);
  const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (declared !== undefined) return text.length >= body + Number(declared) ? body + Number(declared) : undefined;
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return body;
  const last = text.indexOf('0\r\n\r\n', body);
  return last < 0 ? undefined : last + LAST_CHUNK.length;
}

function respond(socket: Socket, request: string): void {
  const line = request.slice(0, request.indexOf('\r\n'));
  const canned = responses.find(([path]) => line.includes(path))?.[1];
  if (!canned) return void socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
  if (!line.includes('streamGenerateContent') && !/"stream": ?true/.test(request)) socket.write(canned.unary);
  else if (request.includes('bench-paced')) {
    socket.write(BEGIN);
    paced.set(socket, { canned, next: 0 });
  } else if (request.includes('bench-hold')) socket.write(canned.held);
  else if (request.includes('bench-flood')) {
    socket.write(canned.held);
    flood(socket, canned);
  } else socket.write(canned.burst);
}

/** Text without end, a block of events at a time, so that other responses come in between. */
function flood(socket: Socket, canned: CannedResponse): void {
  if (socket.destroyed) return;
  const next = (): void => flood(socket, canned);
  if (socket.write(canned.flood)) setImmediate(next);
  else socket.once('drain', next);
}

server.listen(0, '127.0.0.1', 4096, () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined });
});
process.on('disconnect', () => process.exit());
