/** Keeps the beginning of both bodies of a call as they pass. Only calls of a key with capture on have one. */
import type { OutgoingResponse } from '../http/index.ts';

/** The beginning of a body. */
export class TappedBody {
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  /** Of the whole body. */
  bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isCut(): boolean {
    return this.bytes > this.#kept;
  }

  /** Copies, because the buffer of a chunk may be used again. */
  add(chunk: Buffer | string): void {
    this.bytes += Buffer.byteLength(chunk);
    const room = this.#maxBytes - this.#kept;
    if (room === 0) return;
    const part = Buffer.from(
      typeof chunk === 'string' ? Buffer.from(chunk).subarray(0, room) : chunk.subarray(0, room),
    );
    this.#kept += part.length;
    this.#chunks.push(part);
  }

  join(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

export class BodyTap {
  readonly request: TappedBody;
  readonly response: TappedBody;
  responseType: string | undefined;

  /** Reads what is written to the response from now on. */
  constructor(response: OutgoingResponse, maxBytes: number) {
    this.request = new TappedBody(maxBytes);
    this.response = new TappedBody(maxBytes);
    const [writeHead, write, end] = [
      response.writeHead.bind(response),
      response.write.bind(response),
      response.end.bind(response),
    ];
    response.writeHead = (status, headers) => {
      this.responseType = String(headers['content-type'] ?? '') || undefined;
      writeHead(status, headers);
    };
    response.write = (chunk) => {
      this.response.add(chunk);
      return write(chunk);
    };
    response.end = (chunk) => {
      if (chunk !== undefined) this.response.add(chunk);
      end(chunk);
    };
  }
}
