/** A response that is recorded until it is complete, so that a wire fault can send it distorted. */
import { EventEmitter } from 'node:events';
import type { ResponseSink } from '../response-sink.ts';

/** What the provider would have sent. */
export interface Recorded {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** The writes that the body came in; on a WebSocket its messages. */
  chunks: readonly Buffer[];
}

export class RecordedResponse extends EventEmitter implements ResponseSink {
  headersSent = false;
  readonly #real: ResponseSink;
  readonly #play: (recorded: Recorded) => Promise<void>;
  readonly #chunks: Buffer[] = [];
  #status = 200;
  #headers: Record<string, string> = {};

  constructor(real: ResponseSink, play: (recorded: Recorded) => Promise<void>) {
    super();
    this.#real = real;
    this.#play = play;
  }

  get writableFinished(): boolean {
    return this.#real.writableFinished;
  }

  writeHead(status: number, headers: Record<string, string>): void {
    this.#status = status;
    this.#headers = headers;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  write(chunk: string | Buffer): boolean {
    this.#chunks.push(Buffer.from(chunk));
    return true;
  }

  end(done: () => void): void {
    const chunks = this.#chunks;
    const recorded = { status: this.#status, headers: this.#headers, body: Buffer.concat(chunks), chunks };
    void this.#play(recorded).then(done, done);
  }
}

/** Writes of a changed body. */
const PARTS = 6;

/** In parts, so that a stream begins before its changed part arrives. */
export function inParts(body: Buffer): Buffer[] {
  const size = Math.max(1, Math.ceil(body.length / PARTS));
  return Array.from({ length: Math.ceil(body.length / size) }, (_, n) => body.subarray(n * size, (n + 1) * size));
}
