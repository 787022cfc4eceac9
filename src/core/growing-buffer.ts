/**
 * Joins the bytes of several reads; the memory doubles, so n bytes copy at most
 * 3n. Never rewrites returned bytes, of which views may be in use.
 */

/** Holds most heads that arrive in pieces. */
const MIN_BYTES = 1024;

export class GrowingBuffer {
  #memory = Buffer.alloc(0);
  #used = 0;

  /** Returns `before` followed by `bytes`. Copies `before` unless it is the end of what the last `join` returned. */
  join(before: Buffer, bytes: Buffer): Buffer {
    if (!this.#endsWith(before) || bytes.length > this.#memory.length - this.#used)
      this.#moveToNewMemory(before, bytes);
    const start = this.#used - before.length;
    bytes.copy(this.#memory, this.#used);
    this.#used += bytes.length;
    return this.#memory.subarray(start, this.#used);
  }

  #endsWith({ buffer, byteOffset, length }: Buffer): boolean {
    const memory = this.#memory;
    return buffer === memory.buffer && byteOffset + length === memory.byteOffset + this.#used;
  }

  #moveToNewMemory(before: Buffer, bytes: Buffer): void {
    this.#memory = Buffer.allocUnsafeSlow(Math.max(MIN_BYTES, 2 * (before.length + bytes.length)));
    this.#used = before.copy(this.#memory);
  }
}

/** The same memory as a `Buffer`, which a message between threads does not keep. */
export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Concatenates chunks. Returns a single chunk without copying it, because most bodies arrive in one read. */
export function concatBuffers(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}
