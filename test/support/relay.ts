/** An HTTP relay between two gateways: records what passes, and loses or replaces a response on demand. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RelayedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/**
 * What happens to the next POST: its response is lost after the target sent it, or the target never sees the request.
 */
export type NextPost = 'lose' | { readonly status: number; readonly body: object };

export class Relay {
  readonly requests: RelayedRequest[] = [];
  readonly #server = createServer((incoming, outgoing) => void this.#handle(incoming, outgoing));
  readonly #target: URL;
  #next: NextPost | undefined;

  constructor(target: string) {
    this.#target = new URL(target);
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Applies to one POST. */
  next(fault: NextPost): void {
    this.#next = fault;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { method = 'GET', url: path = '/', headers } = incoming;
    this.requests.push({ method, path, headers, body: body.toString('utf8') });
    const fault = method === 'POST' ? this.#next : undefined;
    if (method === 'POST') this.#next = undefined;
    if (typeof fault === 'object') {
      outgoing.writeHead(fault.status, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify(fault.body));
      return;
    }
    const { hostname, port } = this.#target;
    const forward = request({ hostname, port, path, method, headers: { ...headers, host: this.#target.host } });
    forward.on('error', () => outgoing.destroy());
    forward.on('response', (response) => {
      if (fault === 'lose') {
        response.resume();
        response.on('end', () => outgoing.destroy());
        return;
      }
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forward.end(body);
  }
}
