/** COPY from PostgreSQL as a stream of bytes, with back-pressure. */
import type { Submittable } from 'pg';
import type { SeverableClient } from './client.ts';
import type { CopyConnection } from './copy-in.ts';
import { connectToPrimary } from './hosts.ts';
import { POOL_LIMITS } from './pool.ts';

/** Constraints of a large table are checked at the end of its copy, while nothing is sent. */
const SILENCE_MS = 3_600_000;
/** Rows are handed on together, because a row is often smaller than the cost of handling it. */
const BATCH_BYTES = 64 * 1024;
/** The socket is paused while more than this waits for its reader. */
const MAX_WAITING_BYTES = 4 * BATCH_BYTES;

/** A connection whose statements may take hours, as long as bytes move. */
export async function connectForCopy(url: string): Promise<SeverableClient> {
  const options = { connectionTimeoutMillis: POOL_LIMITS.connectMs, application_name: 'dragoman' };
  const client = await connectToPrimary(url, options);
  client.severAfterSilence(SILENCE_MS);
  return client;
}

/**
 * Yields what `copy ... to stdout` returns. Leaving the loop early cuts the connection, because the server would send
 * the rest.
 */
export async function* copyOut(client: SeverableClient, statement: string): AsyncGenerator<Buffer> {
  const query = new OutgoingCopy(statement);
  client.query(query as unknown as Submittable);
  try {
    for (let batch = await query.next(); batch; batch = await query.next()) yield batch;
  } finally {
    if (!query.hasEnded) client.sever();
  }
}

class OutgoingCopy {
  readonly #statement: string;
  readonly #waiting: Buffer[] = [];
  #batch = Buffer.allocUnsafe(BATCH_BYTES);
  #filled = 0;
  #waitingBytes = 0;
  #connection: CopyConnection | undefined;
  #error: Error | undefined;
  #wake: () => void = () => {};
  hasEnded = false;

  constructor(statement: string) {
    this.#statement = statement;
  }

  /** Undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const batch = this.#waiting.shift();
      if (batch) {
        this.#waitingBytes -= batch.length;
        if (this.#waitingBytes <= MAX_WAITING_BYTES) this.#connection?.stream.resume();
        return batch;
      }
      if (this.#error) throw this.#error;
      if (this.hasEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  submit(connection: CopyConnection): void {
    this.#connection = connection;
    connection.query(this.#statement);
  }

  /** The parser reuses the memory of the chunk, so it is copied. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(this.#batch, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === BATCH_BYTES) this.#handOn();
    }
  }

  handleCommandComplete(): void {
    this.#handOn();
  }

  handleReadyForQuery(): void {
    this.hasEnded = true;
    this.#wake();
  }

  /** The driver reports nothing of the query after its error. */
  handleError(error: Error): void {
    this.#error ??= error;
    this.hasEnded = true;
    this.#wake();
  }

  #handOn(): void {
    this.#waiting.push(this.#batch.subarray(0, this.#filled));
    this.#waitingBytes += this.#filled;
    this.#batch = Buffer.allocUnsafe(BATCH_BYTES);
    this.#filled = 0;
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#connection?.stream.pause();
    this.#wake();
  }
}
