/** A response of Node's server. Its head is written with the first bytes of the body, so that a complete body gets a `content-length`. */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../core/index.ts';
import { headerLine } from '../headers.ts';
import type { OutgoingResponse } from '../server.ts';

export interface NodeResponseOptions {
  readonly clock: Clock;
  /** Called when the head is written: whether the connection may serve another request. */
  readonly canKeepAlive: () => boolean;
}

export class NodeResponse implements OutgoingResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  readsRest = false;
  /** Time of `end()`, in milliseconds; the client may still be reading. */
  endedAt = Number.POSITIVE_INFINITY;
  readonly #response: ServerResponse;
  readonly #options: NodeResponseOptions;
  #headers: Readonly<Record<string, string | number>> = {};
  #isAbandoned = false;

  constructor(response: ServerResponse, options: NodeResponseOptions) {
    this.#response = response;
    this.#options = options;
    // A connection that fails closes, too, and `close` is what counts.
    response.on('error', () => {});
  }

  get writableFinished(): boolean {
    return this.#response.writableFinished;
  }

  get destroyed(): boolean {
    return this.#isAbandoned || this.#response.destroyed || (this.#response.closed && !this.writableFinished);
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    for (const name in headers) headerLine(name, String(headers[name]));
    this.statusCode = status;
    this.headersSent = true;
    this.#headers = headers;
  }

  flushHeaders(): void {
    if (this.destroyed) return;
    this.#begin(undefined);
    this.#response.flushHeaders();
  }

  write(chunk: Buffer | string): boolean {
    if (this.writableEnded || this.destroyed) return true;
    this.#begin(undefined);
    if (chunk.length > 0) return this.#response.write(bytesOf(chunk));
    this.#response.flushHeaders();
    return true;
  }

  end(chunk: Buffer | string = ''): void {
    if (this.writableEnded || this.destroyed) return;
    this.#begin(chunk);
    this.writableEnded = true;
    this.endedAt = this.#options.clock.elapsed();
    this.#response.end(bytesOf(chunk));
  }

  destroy(): void {
    if (!this.destroyed && !this.writableFinished) this.#response.destroy();
  }

  once(event: 'close' | 'drain', listener: () => void): void {
    if (event === 'close' && this.#response.closed) listener();
    else this.#response.once(event, listener);
  }

  // ---------------------------------------------------------------- called by the connection

  /** Discards everything written from now on. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  onConnectionClosed(): void {
    if (!this.#response.closed) this.#response.destroy();
  }

  /** `body` is the complete body when it is known. */
  #begin(body: Buffer | string | undefined): void {
    if (this.#response.headersSent) return;
    this.headersSent = true;
    const headers: Record<string, string | number> = { ...this.#headers };
    const isBodiless = this.statusCode === 204 || this.statusCode === 304;
    if (body !== undefined && !isBodiless) headers['content-length'] ??= Buffer.byteLength(body);
    const given = headers.connection;
    if (!this.#options.canKeepAlive()) headers.connection = 'close';
    else if (given !== undefined && given !== 'close') headers.connection = `${given}, keep-alive`;
    this.#response.writeHead(this.statusCode, headers);
  }
}

/** Node would write a head and a text together as UTF-8, which changes header bytes above 0x7F. */
const bytesOf = (chunk: Buffer | string): Buffer => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
