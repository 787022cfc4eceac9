/**
 * Large request bodies in a file without a name while they arrive and are sent on:
 * never whole in memory. Gone when closed.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorFields, type Log, overloaded, type Span } from '../../core/index.ts';
import { type BodySink, type BodyTransfer, receiveBody, tooLarge } from './body.ts';
import { BodyBudget, type BodyReservation } from './body-budget.ts';
import type { Call } from './call.ts';

export interface SpooledBody {
  readonly length: number;
  /** Yields the bytes of a span. May be called several times, also at the same time. */
  read(span: Span): AsyncIterable<Buffer>;
}

/** Bytes that wait to be written; beyond this the sender is paused. */
const MAX_PENDING_BYTES = 256 * 1024;
const READ_BYTES = 128 * 1024;

export interface SpoolOptions {
  readonly folder: string;
  /** Bytes of all bodies together. */
  readonly maxBytes: number;
  readonly log: Log;
}

export class Spool {
  readonly #options: SpoolOptions;
  readonly #budget: BodyBudget;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#budget = new BodyBudget(options.maxBytes);
  }

  /**
   * Receives the body of a call, at most `limit` bytes decompressed.
   * `inspect` sees every chunk and may throw. Closes with the call.
   */
  async receive(call: Call, limit: number, inspect: (chunk: Buffer) => void): Promise<SpooledBody> {
    const reservation = this.#budget.open(call.owner);
    call.onClose(() => reservation.release());
    const file = await this.#open();
    call.onClose(() => void file.close().catch(() => {}));
    const writer = new SpoolWriter(file, { limit, inspect, reservation });
    try {
      writer.transfer = receiveBody(call, limit, writer);
      return spooledBody(file, await writer.done.promise);
    } catch (error) {
      throw isDiskError(error) ? this.#unavailable(error) : error;
    }
  }

  async #open(): Promise<FileHandle> {
    const path = join(this.#options.folder, randomUUID());
    try {
      await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
      const file = await open(path, 'wx+', 0o600);
      await unlink(path);
      return file;
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): Error {
    this.#options.log.error('spool.failed', errorFields(error));
    return overloaded('The server cannot store the upload now. Try again shortly.', 5, error);
  }
}

const isDiskError = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && (error.syscall === 'write' || error.syscall === 'writev');

interface WriterOptions {
  readonly limit: number;
  readonly inspect: (chunk: Buffer) => void;
  readonly reservation: BodyReservation;
}

/** Writes chunks in order; resolves with the size of the body. */
class SpoolWriter implements BodySink {
  transfer: BodyTransfer | undefined;
  readonly done = Promise.withResolvers<number>();
  readonly #file: FileHandle;
  readonly #options: WriterOptions;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #size = 0;
  #isWriting = false;
  #isPaused = false;
  #isEnded = false;
  /**
   * Why the body is rejected. The rest is read and discarded:
   * many clients read a response only after they have sent everything.
   */
  #rejection: unknown;

  constructor(file: FileHandle, options: WriterOptions) {
    this.#file = file;
    this.#options = options;
  }

  add(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size > this.#options.limit) throw tooLarge(this.#options.limit);
    if (this.#rejection) return true;
    try {
      this.#options.reservation.add(chunk.length);
      this.#options.inspect(chunk);
    } catch (error) {
      this.#rejection = error;
      return true;
    }
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    if (!this.#isWriting) void this.#write();
    this.#isPaused = this.#pendingBytes >= MAX_PENDING_BYTES;
    return !this.#isPaused;
  }

  end(): void {
    this.#isEnded = true;
    if (!this.#isWriting) this.#finish();
  }

  fail(error: unknown): void {
    this.done.reject(error);
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#pending.length > 0) {
        const chunks = this.#pending;
        this.#pending = [];
        this.#pendingBytes = 0;
        await writeAll(this.#file, chunks);
        if (this.#isPaused) this.transfer?.resume();
        this.#isPaused = false;
      }
    } catch (error) {
      this.fail(error);
    }
    this.#isWriting = false;
    if (this.#isEnded) this.#finish();
  }

  #finish(): void {
    if (this.#rejection) this.fail(this.#rejection);
    else this.done.resolve(this.#size);
  }
}

/** Without copying the chunks, unless the system takes only a part of them. */
async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await file.writev(chunks);
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytesWritten < length) await file.appendFile(Buffer.concat(chunks).subarray(bytesWritten));
}

const spooledBody = (file: FileHandle, length: number): SpooledBody => ({
  length,
  async *read({ start, end }) {
    for (let at = start; at < end; ) {
      const bytes = Buffer.allocUnsafe(Math.min(READ_BYTES, end - at));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, at);
      if (bytesRead === 0) throw new Error('the spooled body ended early');
      yield bytes.subarray(0, bytesRead);
      at += bytesRead;
    }
  },
});
