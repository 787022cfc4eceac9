/**
 * The judge: Node's HTTP server and client with their strict parser, without a network. They get their bytes from streams in memory.
 * A message hands its body over by `push`; replacing that method makes the judge synchronous and several times as fast.
 */
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import type { CompleteResponse, RequestHead } from './message.ts';
import { toBytes } from './message.ts';

export interface JudgedRequests {
  readonly heads: readonly RequestHead[];
  readonly bodies: readonly string[];
  /** Code of the error that ended the connection. */
  readonly fault: string | undefined;
}

export interface JudgedResponse {
  readonly response: CompleteResponse | undefined;
  /** The response was already complete before its last byte. */
  readonly isEarly: boolean;
}

const MAX_HEAD_BYTES = 128 * 1024;

class MemoryStream extends Duplex {
  /** `http` reads it in time limits and errors. */
  readonly remoteAddress = '127.0.0.1';

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: unknown, callback: () => void): void {
    callback();
  }

  setTimeout(): this {
    return this;
  }
  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}
}

interface OpenRequests {
  readonly heads: RequestHead[];
  readonly bodies: (() => string | undefined)[];
  fault: string | undefined;
}

export class Judge {
  readonly #server: Server;
  #open: OpenRequests = { heads: [], bodies: [], fault: undefined };

  constructor() {
    this.#server = createServer({
      insecureHTTPParser: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      requireHostHeader: true,
      // Our connection leaves an upgrade to the application, too, and this one does not want it.
      shouldUpgradeCallback: () => false,
    });
    const onRequest = (message: IncomingMessage): void => {
      const open = this.#open;
      open.heads.push({ method: message.method ?? '', target: message.url ?? '', fields: rawFields(message) });
      open.bodies.push(collectBody(message));
    };
    for (const event of ['request', 'checkExpectation', 'checkContinue'] as const) this.#server.on(event, onRequest);
    this.#server.on('clientError', (error: Error & { code?: string }) => {
      this.#open.fault ??= error.code ?? 'unknown';
    });
  }

  /** Reads the bytes of one connection, and its end. */
  readRequests(text: string): JudgedRequests {
    const open: OpenRequests = { heads: [], bodies: [], fault: undefined };
    this.#open = open;
    const stream = new MemoryStream();
    stream.on('error', () => {});
    this.#server.emit('connection', stream);
    stream.emit('data', toBytes(text));
    if (open.fault === undefined) stream.emit('end');
    stream.destroy();
    const bodies = open.bodies.map((body) => body());
    const complete = bodies.filter((body) => body !== undefined);
    return { heads: open.heads, bodies: complete, fault: open.fault };
  }

  /** Reads each text as the response to a request, and the end of its connection. Several at once, because Node begins a request later. */
  async readResponses(texts: readonly string[]): Promise<JudgedResponse[]> {
    const exchanges = texts.map(() => openExchange());
    await Promise.all(exchanges.map(({ opened }) => opened));
    return exchanges.map(({ read }, n) => read(texts[n] ?? ''));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

interface JudgedExchange {
  readonly opened: Promise<void>;
  read(text: string): JudgedResponse;
}

function openExchange(): JudgedExchange {
  const stream = new MemoryStream();
  stream.on('error', () => {});
  const opened = Promise.withResolvers<void>();
  let message: IncomingMessage | undefined;
  let body: () => string | undefined = () => undefined;
  let isFaulty = false;
  const clientRequest = request({
    createConnection: () => stream,
    host: '127.0.0.1',
    headers: { connection: 'keep-alive' },
    maxHeaderSize: MAX_HEAD_BYTES,
    insecureHTTPParser: false,
  });
  clientRequest.on('socket', () => opened.resolve());
  clientRequest.on('response', (response) => {
    message = response;
    body = collectBody(response);
  });
  clientRequest.on('error', () => {
    isFaulty = true;
  });
  clientRequest.end();
  return {
    opened: opened.promise,
    read(text) {
      stream.emit('data', toBytes(text.slice(0, -1)));
      const isEarly = message?.complete === true;
      stream.emit('data', toBytes(text.slice(-1)));
      stream.emit('end');
      const complete = body();
      const isRejected = isFaulty || complete === undefined || message === undefined;
      const response = isRejected
        ? undefined
        : {
            status: message?.statusCode ?? 0,
            fields: joinedFields(rawFields(message as IncomingMessage)),
            body: complete,
          };
      clientRequest.destroy();
      stream.destroy();
      return { response, isEarly };
    },
  };
}

/** Returns a function that gives the body when it is complete. */
function collectBody(message: IncomingMessage): () => string | undefined {
  let body = '';
  message.on('error', () => {});
  message.push = (chunk: Buffer | null) => {
    if (chunk) body += chunk.toString('latin1');
    return true;
  };
  return () => (message.complete ? body : undefined);
}

const rawFields = ({ rawHeaders }: IncomingMessage): string[] =>
  rawHeaders.map((text, n) => (n % 2 === 0 ? text.toLowerCase() : text));

function joinedFields(fields: readonly string[]): string[] {
  const values = new Map<string, string>();
  for (let n = 0; n < fields.length; n += 2) {
    const name = fields[n] ?? '';
    const before = values.get(name);
    values.set(name, before === undefined ? (fields[n + 1] ?? '') : `${before}, ${fields[n + 1]}`);
  }
  return [...values.keys()].sort().map((name) => `${name}: ${values.get(name)}`);
}
