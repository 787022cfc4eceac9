/** Canned provider: responds with exactly the bytes of a test and records its requests. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export type Script = (response: ServerResponse, requests: ReceivedRequest) => void | Promise<void>;

export interface Canned {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** The latest request. */
  readonly last: ReceivedRequest;
  /** Sets the response to every following request. */
  respondWith(script: Script): void;
  close(): Promise<void>;
}

/** Responds with a JSON text, byte for byte. */
export const jsonResponse =
  (text: string | Buffer, status = 200, headers: Record<string, string> = {}): Script =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(text);
  };

/** Responds with a stream, one chunk per argument. */
export const sseResponse =
  (...chunks: (string | Buffer)[]): Script =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) response.write(chunk);
    response.end();
  };

export async function startCanned(): Promise<Canned> {
  const requests: ReceivedRequest[] = [];
  let script: Script = jsonResponse('{"ok":true}');
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const received = { method: request.method ?? '', target: request.url ?? '', headers: request.headers, body };
    requests.push(received);
    await script(response, received);
  });
  server.keepAliveTimeout = 75_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: requests,
    get last() {
      const received = requests.at(-1);
      if (!received) throw new Error('no request was received');
      return received;
    },
    respondWith(next) {
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
