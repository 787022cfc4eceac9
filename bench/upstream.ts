/**
 * The mock upstream, a separate process: raw sockets and canned bytes, so that it uses little of the core it shares with the
 * load. The request selects unary or stream. The model selects the pace of a stream: all events at once, one every few
 * milliseconds, only the first ones, or events without end as fast as they are read.
 */
import { createServer, type Socket } from 'node:net';
import { type Dialect, EVENTS, UNARY } from './bodies.ts';

const EVENT_MS = 4;
/** Number of events that a `bench-hold` stream sends. */
const HELD_EVENTS = 4;
const FLOOD_EVENTS = 500;
const BLANK_LINE = '\r\n\r\n';

interface CannedResponse {
  readonly unary: Buffer;
  readonly burst: Buffer;
  readonly begin: Buffer;
  /** Each event as a separate chunk, as providers flush them. */
  readonly events: readonly Buffer[];
  /** Many text events in one buffer. */
  readonly flood: Buffer;
}

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n';
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

const cannedResponse = (dialect: Dialect): CannedResponse => {
  const begin = Buffer.from(STREAM_HEAD);
  const events = EVENTS[dialect].map((event) =>
    Buffer.from(`${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`),
  );
  return {
    unary: Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(UNARY[dialect])}\r\n\r\n${UNARY[dialect]}`,
    ),
    burst: Buffer.concat([begin, ...events, LAST_CHUNK]),
    begin,
    events,
    flood: Buffer.concat(Array.from({ length: FLOOD_EVENTS }, () => events[HELD_EVENTS] ?? LAST_CHUNK)),
  };
};

const RESPONSES: readonly (readonly [string, CannedResponse])[] = [
  ['/messages', cannedResponse('messages')],
  ['/chat/completions', cannedResponse('chat')],
  ['/responses', cannedResponse('responses')],
  ['enerateContent', cannedResponse('generate')],
];

/** Active `bench-paced` streams; each sends one event per tick. */
const paced = new Map<Socket, { canned: CannedResponse; next: number }>();
setInterval(() => {
  for (const [socket, stream] of paced) {
    const event = stream.canned.events[stream.next++];
    if (event) {
      socket.write(event);
    } else {
      paced.delete(socket);
      socket.write(LAST_CHUNK);
    }
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
  const canned = RESPONSES.find(([path]) => line.includes(path))?.[1];
  if (!canned) return void socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
  if (!line.includes('streamGenerateContent') && !/"stream": ?true/.test(request)) socket.write(canned.unary);
  else if (request.includes('bench-paced')) begin(socket, canned, () => paced.set(socket, { canned, next: 0 }));
  else if (request.includes('bench-hold')) begin(socket, canned, () => socket.write(held(canned)));
  else if (request.includes('bench-flood'))
    begin(socket, canned, () => {
      socket.write(held(canned));
      flood(socket, canned);
    });
  else socket.write(canned.burst);
}

/** Text without end, a block of events at a time, so that other responses come in between. */
function flood(socket: Socket, canned: CannedResponse): void {
  if (socket.destroyed) return;
  const next = (): void => flood(socket, canned);
  if (socket.write(canned.flood)) setImmediate(next);
  else socket.once('drain', next);
}

function begin(socket: Socket, canned: CannedResponse, then: () => void): void {
  socket.write(canned.begin);
  then();
}

const held = ({ events }: CannedResponse): Buffer => Buffer.concat(events.slice(0, HELD_EVENTS));

server.listen(0, '127.0.0.1', 4096, () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined });
});
process.on('disconnect', () => process.exit());
