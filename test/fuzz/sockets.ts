/** A sample of messages over real sockets: our server and client read the same as on sockets in memory, where the judge is asked. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '../../src/core/index.ts';
import { bindPort, createHttpClient, type HttpClient, HttpServer } from '../../src/platform/http/index.ts';
import { loadCorpus } from './corpus.ts';
import { type RequestHead, type RequestReading, splitAt, toBytes } from './message.ts';
import { type Figures, messageOf, newFigures, type Range } from './run.ts';
import { readingHost, readRequests, readResponse } from './subject.ts';

export type Sample = Omit<Range, 'side'>;

/** A connection that does not end within this time hangs. */
const HANG_MS = 10_000;
const MAX_FAILURES = 5;
const TIMEOUTS = { connect: HANG_MS, firstByte: HANG_MS, idle: HANG_MS, total: HANG_MS };

export async function socketsPart(
  { seed, first, count }: Sample,
  onProgress: (figures: Figures) => void,
): Promise<Figures> {
  const figures = newFigures();
  const corpus = loadCorpus();
  const sockets = await openSockets();
  for (let n = first; n < first + count && figures.failures.length < MAX_FAILURES; n += 1) {
    const side = n % 2 === 0 ? 'requests' : 'responses';
    const { text, cuts } = messageOf(side, [seed, n], corpus);
    const parts = splitAt(text, cuts).filter((part) => part !== '');
    const check = side === 'requests' ? checkRequests : checkResponse;
    const { isAccepted, failure } = await check(parts, sockets);
    figures.messages += 1;
    if (isAccepted) figures.accepted += 1;
    if (failure !== undefined) figures.failures.push({ side, of: n, failure, text });
    onProgress(figures);
  }
  await sockets.close();
  return figures;
}

interface Result {
  readonly isAccepted: boolean;
  readonly failure: string | undefined;
}

async function checkRequests(parts: readonly string[], sockets: Sockets): Promise<Result> {
  const { bodies, isRejected } = readRequests(parts);
  const reading = await sockets.readRequests(parts, bodies.length);
  if (reading === undefined) return { isAccepted: false, failure: 'the connection hangs' };
  return compared(!isRejected, { bodies: reading.bodies, isRejected: reading.isRejected }, { bodies, isRejected });
}

async function checkResponse(parts: readonly string[], sockets: Sockets): Promise<Result> {
  const { response } = readResponse(parts);
  const expected = response && { status: response.status, body: response.body };
  return compared(response !== undefined, await sockets.readResponse(parts), expected);
}

function compared(isAccepted: boolean, reading: unknown, expected: unknown): Result {
  if (isDeepStrictEqual(reading, expected)) return { isAccepted, failure: undefined };
  return { isAccepted, failure: `over a socket ${JSON.stringify(reading)}, in memory ${JSON.stringify(expected)}` };
}

/** Our server and our client on loopback. */
interface Sockets {
  /** Undefined when the connection hangs. Ends the connection after `count` requests. */
  readRequests(parts: readonly string[], count: number): Promise<RequestReading | undefined>;
  readResponse(parts: readonly string[]): Promise<{ status: number; body: string } | undefined>;
  close(): Promise<void>;
}

interface OpenReading {
  heads: RequestHead[];
  bodies: string[];
  isRejected: boolean;
  onRead: () => void;
}

async function openSockets(): Promise<Sockets> {
  let open: OpenReading = { heads: [], bodies: [], isRejected: false, onRead() {} };
  const server: HttpServer = new HttpServer({
    host: {
      clock: systemClock,
      isDraining: false,
      onRefused() {},
      ...readingHost(
        (head) => void open.heads.push(head),
        (body) => {
          if (body === undefined) open.isRejected = true;
          else open.bodies.push(body);
          open.onRead();
        },
        () => {
          open.isRejected = true;
        },
      ),
    },
    limits: { total: 1_000, perAddress: 1_000, isExempt: () => true },
  });
  const port = await server.listen((await bindPort('127.0.0.1', 0)).sockets);

  let parts: readonly string[] = [];
  const origin = createServer((socket) => {
    socket.on('error', () => {});
    socket.setNoDelay(true);
    socket.once('data', () => void sendAll(socket, parts).then(() => socket.end()));
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const originPort = (origin.address() as AddressInfo).port;
  const client = createHttpClient({ clock: systemClock });

  return {
    async readRequests(sent, count) {
      const done = Promise.withResolvers<void>();
      const reading: OpenReading = {
        heads: [],
        bodies: [],
        isRejected: false,
        onRead: () => reading.bodies.length >= count && done.resolve(),
      };
      open = reading;
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => {});
      socket.setNoDelay(true);
      socket.resume();
      const closed = new Promise((resolve) => socket.once('close', resolve));
      const timer = setTimeout(() => socket.destroy(new Error('hang')), HANG_MS);
      await once(socket, 'connect');
      await sendAll(socket, sent);
      if (count > 0) await Promise.race([done.promise, closed]);
      // The last response is sent in a later turn.
      await nextTurn();
      socket.end();
      await closed;
      clearTimeout(timer);
      return socket.errored?.message === 'hang' ? undefined : { ...reading, isClosed: true };
    },
    readResponse(sent) {
      parts = sent;
      return fetchOnce(client, originPort);
    },
    async close() {
      await Promise.all([server.close(0), client.close(), new Promise((resolve) => origin.close(resolve))]);
    },
  };
}

/** In several writes, so that they usually arrive in several reads. */
async function sendAll(socket: Socket, parts: readonly string[]): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return;
    socket.write(toBytes(part));
    await nextTurn();
  }
}

export function fetchOnce(client: HttpClient, port: number): Promise<{ status: number; body: string } | undefined> {
  const { promise, resolve } = Promise.withResolvers<{ status: number; body: string } | undefined>();
  let status = 0;
  let body = '';
  const request = {
    method: 'GET',
    origin: `http://127.0.0.1:${port}`,
    path: '/',
    headers: [],
    body: null,
    timeouts: TIMEOUTS,
    connection: 'single',
    encoding: 'keep',
  } as const;
  client.send(request, {
    onHead(received) {
      status = received;
    },
    onData(chunk) {
      body += chunk.toString('latin1');
      return true;
    },
    onEnd: () => resolve({ status, body }),
    onError: () => resolve(undefined),
  });
  return promise;
}
