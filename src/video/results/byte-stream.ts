/** Bytes that are pulled piece by piece, so that the reader sets the pace. At most a few pieces are in memory. */
import type { HttpHeaders } from '../../platform/http/index.ts';
import type { TransportError, UpstreamExchange, UpstreamListener } from '../../providers/upstream/index.ts';

export interface ByteStream {
  /** The next bytes; undefined at the end. Rejects when the transfer breaks or the stream was closed. */
  next(): Promise<Buffer | undefined>;
  /** Stops the transfer. Harmless at any time. */
  close(): void;
}

export interface UpstreamHead {
  readonly status: number;
  readonly headers: HttpHeaders;
}

/** A transfer that did not reach its end. `code` is for the log. */
export class BrokenTransfer extends Error {
  override readonly name = 'BrokenTransfer';
  readonly code: string;
  readonly isTimeout: boolean;

  constructor(code: string, isTimeout = false) {
    super(`transfer broken: ${code}`);
    this.code = code;
    this.isTimeout = isTimeout;
  }
}

/** The response of an upstream as a byte stream. Pauses the upstream while nothing is pulled. */
export class UpstreamBody implements ByteStream, UpstreamListener {
  /** Rejects with `BrokenTransfer` when there is no response. */
  readonly head: Promise<UpstreamHead>;
  readonly #head = Promise.withResolvers<UpstreamHead>();
  readonly #exchange: UpstreamExchange;
  readonly #chunks: Buffer[] = [];
  #outcome: 'open' | 'ended' | BrokenTransfer = 'open';
  #pull: PromiseWithResolvers<Buffer | undefined> | undefined;

  constructor(send: (listener: UpstreamListener) => UpstreamExchange) {
    this.head = this.#head.promise;
    // A stream that is closed before its head has no reader of the head.
    this.head.catch(() => {});
    this.#exchange = send(this);
  }

  next(): Promise<Buffer | undefined> {
    const chunk = this.#chunks.shift();
    if (chunk) return Promise.resolve(chunk);
    if (this.#outcome === 'ended') return Promise.resolve(undefined);
    if (this.#outcome !== 'open') return Promise.reject(this.#outcome);
    this.#pull = Promise.withResolvers();
    this.#exchange.resume();
    return this.#pull.promise;
  }

  close(): void {
    this.#exchange.abort();
    this.#fail(new BrokenTransfer('CLOSED'));
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#head.resolve({ status, headers });
  }

  onData(chunk: Buffer): boolean {
    const pull = this.#takePull();
    if (!pull) {
      this.#chunks.push(chunk);
      return false;
    }
    pull.resolve(chunk);
    return true;
  }

  onEnd(): void {
    if (this.#outcome === 'open') this.#outcome = 'ended';
    this.#takePull()?.resolve(undefined);
  }

  onError({ kind, code }: TransportError): void {
    this.#fail(new BrokenTransfer(code, kind === 'timeout'));
  }

  #fail(error: BrokenTransfer): void {
    if (this.#outcome !== 'open') return;
    this.#outcome = error;
    if (error.code === 'CLOSED') this.#chunks.length = 0;
    this.#head.reject(error);
    this.#takePull()?.reject(error);
  }

  #takePull(): PromiseWithResolvers<Buffer | undefined> | undefined {
    const pull = this.#pull;
    this.#pull = undefined;
    return pull;
  }
}

/** The `length` bytes after the first `skip` ones. Closes the source as soon as it has them. */
export function sliceOf(source: ByteStream, skip: number, length: number): ByteStream {
  let toSkip = skip;
  let left = length;
  return {
    async next() {
      while (left > 0) {
        const chunk = await source.next();
        if (!chunk) throw new BrokenTransfer('SHORT');
        const from = Math.min(toSkip, chunk.length);
        toSkip -= from;
        const part = chunk.subarray(from, from + left);
        left -= part.length;
        if (part.length > 0) return part;
      }
      source.close();
      return undefined;
    },
    close: () => source.close(),
  };
}

/** The bytes of `source`, which must be exactly `length`: a shorter or longer transfer is broken. */
export function exactly(source: ByteStream, length: number): ByteStream {
  let left = length;
  return {
    async next() {
      const chunk = await source.next();
      left -= chunk?.length ?? 0;
      if (left < 0 || (!chunk && left > 0)) throw new BrokenTransfer(left < 0 ? 'LONG' : 'SHORT');
      return chunk;
    },
    close: () => source.close(),
  };
}
