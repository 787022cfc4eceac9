/** Node's HTTP implementation as a reference parser: how it reads the given bytes as a server and as a client. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createRawServer, type Socket } from 'node:net';

export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  /** Flat name, value, name, value; names in lower case. */
  readonly fields: readonly string[];
  readonly body: Buffer;
}

export interface ReadResponse {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: Buffer;
}

export interface ServerReading {
  /** Complete requests, in order. */
  readonly requests: readonly ReadRequest[];
  /** Number of requests that began: one more when the last one is truncated in its body. */
  readonly begun: number;
  /** Code of the error that ended the connection. */
  readonly fault: string | undefined;
}

/** Runs in this process, on loopback; one message or connection at a time. */
export interface Peer {
  asServer(bytes: Buffer): Promise<ServerReading>;
  /** Undefined when there is no complete response. */
  asClient(bytes: Buffer): Promise<ReadResponse | undefined>;
  stop(): Promise<void>;
}

/** Requests of a connection so far, in order. */
interface Open {
  readonly requests: Promise<ReadRequest | undefined>[];
  fault: string | undefined;
}

export async function startPeer(): Promise<Peer> {
  const readings = new Map<number, Open>();
  const readingOf = ({ remotePort = 0 }: Socket) => readings.get(remotePort);
  // The Host header is checked above the parser.
  const server = createServer({ requireHostHeader: false, keepAliveTimeout: 60_000 });
  const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
    const parsed = requestIn(message);
    readingOf(message.socket)?.requests.push(parsed);
    // Not earlier, because Node does not report a request that is truncated after its response.
    void parsed.then(() => response.end());
  };
  for (const event of ['request', 'checkExpectation', 'checkContinue'] as const) server.on(event, onRequest);
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    const reading = readingOf(socket as Socket);
    if (reading) reading.fault = error.code ?? 'unknown';
    socket.destroy();
  });

  let response: Buffer = Buffer.alloc(0);
  const origin = createRawServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(response));
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
      response = bytes;
      const { promise, resolve } = Promise.withResolvers<ReadResponse | undefined>();
      const clientRequest = request({ port: originPort, host: '127.0.0.1', agent: false });
      clientRequest.on('response', async (message) => {
        const body = await bodyOf(message);
        resolve(body && { status: message.statusCode ?? 0, fields: fieldsOf(message), body });
      });
      // No effect after a response.
      clientRequest.on('error', () => resolve(undefined));
      clientRequest.on('upgrade', (_, socket) => {
        socket.destroy();
        resolve(undefined);
      });
      clientRequest.end();
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

/** Undefined when the body is truncated. */
async function bodyOf(message: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk);
  } catch {
    return undefined;
  }
  return message.complete ? Buffer.concat(chunks) : undefined;
}

const fieldsOf = ({ rawHeaders }: IncomingMessage): string[] =>
  rawHeaders.map((text, n) => (n % 2 === 0 ? text.toLowerCase() : text));
