/**
 * COPY between PostgreSQL and streams of bytes, with back-pressure in both directions. The driver hands the messages of a copy to any query
 * that has their handlers; these are two such queries.
 */
import type { Socket } from 'node:net';
import type { Submittable } from 'pg';
import { SeverableClient, TCP_OPTIONS } from './client.ts';
import { POOL_LIMITS } from './pool.ts';

/** Constraints of a large table are checked at the end of its copy, while nothing is sent. */
const SILENCE_MS = 3_600_000;
/** Rows are handed on together, because a row is often smaller than the cost of handling it. */
const BATCH_BYTES = 64 * 1024;
/** The socket is paused while more than this waits for its reader. */
const MAX_WAITING_BYTES = 4 * BATCH_BYTES;

/** A connection whose statements may take hours, as long as bytes move. */
export async function connectForCopy(url: string): Promise<SeverableClient> {
  const client = new SeverableClient({
    connectionString: url,
    connectionTimeoutMillis: POOL_LIMITS.connectMs,
    application_name: 'dragoman',
    ...TCP_OPTIONS,
  });
  // A connection that breaks rejects the running statement, so the event itself needs no handling.
  client.on('error', () => {});
  await client.connect();
  client.severAfterSilence(SILENCE_MS);
  return client;
}

/** What the driver offers to a query while it runs. */
interface CopyConnection {
  readonly stream: Socket;
  query(statement: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** Yields what `copy ... to stdout` returns. Leaving the loop early cuts the connection, because the server would send the rest. */
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

/** Sends the bytes to `copy ... from stdin` and returns the number of rows. An error of the source ends the copy at the server too. */
export async function copyIn(
  client: SeverableClient,
  statement: string,
  source: AsyncIterable<Buffer>,
): Promise<number> {
  const query = new IncomingCopy(statement);
  client.query(query as unknown as Submittable);
  await query.opened;
  try {
    for await (const chunk of source) await query.send(chunk);
  } catch (error) {
    await query.giveUp();
    throw error;
  }
  return query.end();
}

class IncomingCopy {
  readonly #statement: string;
  readonly #opened = Promise.withResolvers<void>();
  readonly #rows = Promise.withResolvers<number>();
  #connection: CopyConnection | undefined;
  #error: Error | undefined;
  #count = 0;
  #wake: () => void = () => {};

  constructor(statement: string) {
    this.#statement = statement;
    // Either may fail while only the other one is awaited.
    this.#opened.promise.catch(() => {});
    this.#rows.promise.catch(() => {});
  }

  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  async send(chunk: Buffer): Promise<void> {
    if (this.#error) throw this.#error;
    this.#connection?.sendCopyFromChunk(chunk);
    const stream = this.#connection?.stream;
    if (stream?.writableNeedDrain)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        stream.once('drain', resolve);
      });
    if (this.#error) throw this.#error;
  }

  end(): Promise<number> {
    this.#connection?.endCopyFrom();
    return this.#rows.promise;
  }

  async giveUp(): Promise<void> {
    if (!this.#error) this.#connection?.sendCopyFail('the source failed');
    await this.#rows.promise.catch(() => {});
  }

  submit(connection: CopyConnection): void {
    this.#connection = connection;
    connection.query(this.#statement);
  }

  handleCopyInResponse(): void {
    this.#opened.resolve();
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#count = Number(text.split(' ')[1]);
  }

  handleReadyForQuery(): void {
    this.#rows.resolve(this.#count);
  }

  handleError(error: Error): void {
    this.#error ??= error;
    this.#opened.reject(error);
    this.#rows.reject(error);
    this.#wake();
  }
}
