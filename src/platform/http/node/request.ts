/** A request of Node's server, in the form that the application reads. */
import type { IncomingMessage } from 'node:http';
import type { HttpHeaders } from '../headers.ts';
import type { BodyReader, IncomingRequest, RequestLine } from '../server.ts';
import { originForm } from '../target.ts';

export class NodeRequest implements IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly version: RequestLine['version'];
  readonly headers: HttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly address: string;
  /** The body is for a reader only. */
  readonly completeBody = undefined;
  readonly #message: IncomingMessage;
  readonly #onRead: () => void;

  /** `onRead` is called when the application asks for the body. */
  constructor(message: IncomingMessage, onRead: () => void) {
    this.method = message.method ?? '';
    this.url = originForm(message.url ?? '');
    this.version = message.httpVersion === '1.0' ? '1.0' : '1.1';
    this.rawHeaders = message.rawHeaders.map((text, n) => (n % 2 === 0 ? text.toLowerCase() : text));
    this.headers = joined(this.rawHeaders);
    this.address = message.socket.remoteAddress ?? '';
    this.#message = message;
    this.#onRead = onRead;
  }

  get isComplete(): boolean {
    return this.#message.complete;
  }

  read(reader: BodyReader): void {
    const message = this.#message;
    let isOver = false;
    const finish = (notify: () => void): void => {
      if (isOver) return;
      isOver = true;
      notify();
    };
    message.on('data', (chunk: Buffer) => {
      if (!isOver && !reader.onData(chunk)) message.pause();
    });
    message.once('end', () => finish(() => reader.onEnd()));
    message.once('close', () => finish(() => (message.complete ? reader.onEnd() : reader.onAborted())));
    if (message.destroyed) finish(() => reader.onAborted());
    else this.#onRead();
  }

  /** Calls `listener` when the rest of a body that nothing reads has arrived. */
  onComplete(listener: () => void): void {
    this.#message.once('end', listener);
  }

  /** Reads the rest of the body without keeping it. Node does this only when nothing has read from it. */
  discard(): void {
    this.#message.removeAllListeners('data');
    this.#message.resume();
  }

  resume(): void {
    this.#message.resume();
  }
}

/** Node joins some repeated headers in its own way and drops others, so its `headers` are not used. */
function joined(rawHeaders: readonly string[]): HttpHeaders {
  const headers: Record<string, string> = Object.create(null);
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n] ?? '';
    const value = rawHeaders[n + 1] ?? '';
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}
