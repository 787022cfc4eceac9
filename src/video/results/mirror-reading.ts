/** Reading of mirrored files, also of those that are still being written, by this process or by another replica. */
import type { FileHandle } from 'node:fs/promises';
import { systemClock } from '../../core/index.ts';
import type { ByteStream } from './byte-stream.ts';
import { HEAD_BYTES, type MirrorFile } from './mirror-folder.ts';
import type { ByteRange } from './range.ts';
import type { ResultFacts } from './result.ts';

/** The file cannot be read to its end here: the reader goes on with the provider. */
export class MirrorFailure extends Error {
  override readonly name = 'MirrorFailure';
}

export interface Progress {
  /**
   * Waits until more than `position` bytes of the result are written, and returns how many are.
   * Rejects when no more will come.
   */
  beyond(position: number): Promise<number>;
}

/** A mirrored result that one reader has open. */
export class MirroredResult {
  readonly #handle: FileHandle;
  readonly #progress: Progress;
  readonly facts: ResultFacts;

  constructor({ handle, facts }: MirrorFile, progress: Progress = whole(facts)) {
    this.#handle = handle;
    this.facts = facts;
    this.#progress = progress;
  }

  /** The stream closes this result at its end. */
  read({ start, end }: ByteRange): ByteStream {
    let position = start;
    return {
      next: async () => {
        if (position > end) return undefined;
        const written = await this.#progress.beyond(position);
        const length = Math.min(PIECE_BYTES, written - position, end + 1 - position);
        const chunk = await this.#readAt(position, length);
        position += chunk.length;
        return chunk;
      },
      close: () => this.close(),
    };
  }

  async finished(): Promise<void> {
    if (this.facts.size > 0) await this.#progress.beyond(this.facts.size - 1);
  }

  close(): void {
    // Waits for a read in progress. A second call fails, which is harmless.
    this.#handle.close().catch(() => {});
  }

  /** Allocates each piece: the socket keeps the last one until the client has read it. */
  async #readAt(position: number, length: number): Promise<Buffer> {
    const read = this.#handle.read(Buffer.allocUnsafe(length), 0, length, HEAD_BYTES + position);
    const { buffer, bytesRead } = await read.catch((error: NodeJS.ErrnoException) => {
      throw new MirrorFailure(error.code ?? 'read');
    });
    if (bytesRead === 0) throw new MirrorFailure('file is shorter than its head says');
    return buffer.subarray(0, bytesRead);
  }
}

/** Large enough for few system calls, small enough for a hundred readers. */
const PIECE_BYTES = 64 * 1024;

const whole = ({ size }: ResultFacts): Progress => ({ beyond: async () => size });

/** The progress of a download in this process. */
export class LocalProgress implements Progress {
  #written = 0;
  #failure: unknown;
  #waiting: (() => void)[] = [];

  async beyond(position: number): Promise<number> {
    while (this.#written <= position) {
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.#written;
  }

  advance(bytes: number): void {
    this.#written += bytes;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure = error;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export const POLL_MS = 100;
/** Longer than an upstream may be silent; a file that does not grow for this long has lost its writer. */
const SILENT_MS = 45_000;

/**
 * The progress of a download in another process, by the size of its file.
 * The handle stays valid when the file gets its final name.
 */
export class PolledProgress implements Progress {
  readonly #handle: FileHandle;

  constructor({ handle }: MirrorFile) {
    this.#handle = handle;
  }

  async beyond(position: number): Promise<number> {
    for (let waited = 0; waited < SILENT_MS; waited += POLL_MS) {
      const { size } = await this.#handle.stat().catch((error: NodeJS.ErrnoException) => {
        throw new MirrorFailure(error.code ?? 'stat');
      });
      if (size - HEAD_BYTES > position) return size - HEAD_BYTES;
      await sleep(POLL_MS);
    }
    throw new MirrorFailure('the writer of the file is gone');
  }
}

/** Real time even in tests with a fake clock, because files change in real time. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve));
