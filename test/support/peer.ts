/** Node's own HTTP as a second reader: what it makes of bytes that are given to it exactly as they are. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createRawServer, type Socket } from 'node:net';

export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  /** Name, value, name, value, names in lower case. */
  readonly fields: readonly string[];
  readonly body: Buffer;
}

export interface ReadAnswer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: Buffer;
}

export interface ServerReading {
  /** Those that came whole, in their order. */
  readonly requests: readonly ReadRequest[];
  /** How many began: one more when the last broke off in its body. */
  readonly begun: number;
  /** The code of the error that ended the connection. */
  readonly fault: string | undefined;
}

/** Both ends live in this process, on loopback; one message or connection at a time. */
export interface Peer {
  asServer(bytes: Buffer): Promise<ServerReading>;
  /** Undefined: no answer, or not a whole one. */
  asClient(bytes: Buffer): Promise<ReadAnswer | undefined>;
  stop(): Promise<void>;
}

/** What has come on a connection so far, in the order in which it began. */
interface Open {
  readonly requests: Promise<ReadRequest | undefined>[];
  fault: string | undefined;
}

export async function startPeer(): Promise<Peer> {
  const readings = new Map<number, Open>();
  const readingOf = ({ remotePort = 0 }: Socket) => readings.get(remotePort);
  // Host headers are nothing that a parser decides.
  const server = createServer({ requireHostHeader: false, keepAliveTimeout: 60_000 });
  const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
    const whole = requestIn(message);
    readingOf(message.socket)?.requests.push(whole);
    // Not earlier: Node tells nobody about a request that breaks off after its answer.
    void whole.then(() => response.end());
  };
  for (const event of ['request', 'checkExpectation', 'checkContinue'] as const) server.on(event, onRequest);
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    const reading = readingOf(socket as Socket);
    if (reading) reading.fault = error.code ?? 'unknown';
    socket.destroy();
  });

  let answer: Buffer = Buffer.alloc(0);
  const origin = createRawServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(answer));
  });
  const [serverPort, originPort] = await Promise.all([server, origin].map(listening));

  return {
    async asServer(bytes) {
      const socket = connect({ port: serverPort ?? 0, host: '127.0.0.1' });
      await once(socket, 'connect');
      const reading: Open = { requests: [], fault: undefined };
      const port = socket.localPort ?? 0;
      readings.set(port, reading);
      socket.on('error', () => {});
      socket.resume();
      socket.end(bytes);
      await once(socket, 'close');
      readings.delete(port);
      const requests = await Promise.all(reading.requests);
      return {
        requests: requests.filter((one) => one !== undefined),
        begun: requests.length,
        fault: reading.fault,
      };
    },
    asClient(bytes) {
      answer = bytes;
      const { promise, resolve } = Promise.withResolvers<ReadAnswer | undefined>();
      const asked = request({ port: originPort, host: '127.0.0.1', agent: false });
      asked.on('response', async (message) => {
        const body = await bodyOf(message);
        resolve(body && { status: message.statusCode ?? 0, fields: fieldsOf(message), body });
      });
      // After an answer these change nothing.
      asked.on('error', () => resolve(undefined));
      asked.on('upgrade', (_, socket) => {
        socket.destroy();
        resolve(undefined);
      });
      asked.end();
      return promise;
    },
    async stop() {
      server.closeAllConnections();
      await Promise.all([server, origin].map((one) => new Promise((resolve) => one.close(resolve))));
    },
  };
}

async function listening(server: ReturnType<typeof createRawServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function requestIn(message: IncomingMessage): Promise<ReadRequest | undefined> {
  const body = await bodyOf(message);
  return body && { method: message.method ?? '', target: message.url ?? '', fields: fieldsOf(message), body };
}

/** Undefined when it breaks off. */
async function bodyOf(message: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of message) pieces.push(piece);
  } catch {
    return undefined;
  }
  return message.complete ? Buffer.concat(pieces) : undefined;
}

const fieldsOf = ({ rawHeaders }: IncomingMessage): string[] =>
  rawHeaders.map((text, n) => (n % 2 === 0 ? text.toLowerCase() : text));
