/** An upstream that says exactly what a test tells it to, byte for byte, and keeps what it was asked. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export type Script = (response: ServerResponse, asked: Asked) => void | Promise<void>;

export interface Canned {
  readonly url: string;
  readonly asked: Asked[];
  /** The newest request. */
  readonly last: Asked;
  /** From now on every request is answered so. */
  says(script: Script): void;
  close(): Promise<void>;
}

/** One JSON text, sent as it stands. */
export const sayJson =
  (text: string | Buffer, status = 200, headers: Record<string, string> = {}): Script =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(text);
  };

/** A stream in these pieces, each in a chunk of its own. */
export const saySse =
  (...pieces: (string | Buffer)[]): Script =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) response.write(piece);
    response.end();
  };

export async function startCanned(): Promise<Canned> {
  const asked: Asked[] = [];
  let script: Script = sayJson('{}');
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const one = { method: request.method ?? '', target: request.url ?? '', headers: request.headers, body };
    asked.push(one);
    await script(response, one);
  });
  server.keepAliveTimeout = 75_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    get last() {
      const one = asked.at(-1);
      if (!one) throw new Error('nothing was asked');
      return one;
    },
    says(next) {
      script = next;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
