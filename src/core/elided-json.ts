/**
 * JSON text without the inside of its long strings, such as base64: small,
 * and still valid JSON. Chunks and SSE lines may end anywhere.
 */

/** Names and enumeration values are shorter. */
const KEPT_STRING_BYTES = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LF = 0x0a;

export class JsonElider {
  /** Written at the end of every cut string, followed by its length in bytes, `@` and where it starts. */
  readonly #mark: string | undefined;
  #length = 0;
  #start = 0;
  /** Bytes of the chunks before. */
  #before = 0;
  #isInString = false;
  /** Bytes of the current string that are kept so far; Infinity after the point where it is cut. */
  #kept = 0;
  /** The last byte of the previous chunk was a backslash that escapes the first byte of this one. */
  #isEscaped = false;

  /** `before`: bytes in front of the first chunk. */
  constructor(mark?: string, before = 0) {
    this.#mark = mark;
    this.#before = before;
  }

  /** Returns the parts of the chunk that are kept. */
  push(chunk: Buffer): Buffer[] {
    const kept: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) at = this.#isInString ? this.#inString(chunk, at, kept) : this.#outside(chunk, at, kept);
    this.#before += chunk.length;
    return kept;
  }

  #outside(chunk: Buffer, at: number, kept: Buffer[]): number {
    const quote = chunk.indexOf(QUOTE, at);
    const end = quote < 0 ? chunk.length : quote + 1;
    kept.push(chunk.subarray(at, end));
    if (quote >= 0) {
      this.#isInString = true;
      this.#kept = 0;
      this.#length = 0;
      this.#start = this.#before + end;
    }
    return end;
  }

  /** Cuts the string at its first escape or after `KEPT_STRING_BYTES`, so that no escape is cut in two. */
  #inString(chunk: Buffer, at: number, kept: Buffer[]): number {
    const end = this.#stringEnd(chunk, at);
    const limit = Math.min(end, at + Math.max(0, KEPT_STRING_BYTES - this.#kept));
    const backslash = chunk.subarray(at, limit).indexOf(BACKSLASH);
    const keptEnd = backslash < 0 ? limit : at + backslash;
    if (keptEnd > at) kept.push(chunk.subarray(at, keptEnd));
    this.#kept = keptEnd < end ? Number.POSITIVE_INFINITY : this.#kept + (keptEnd - at);
    this.#length += end - at;
    if (end === chunk.length) return end;
    this.#isInString = false;
    if (this.#mark !== undefined && this.#kept === Number.POSITIVE_INFINITY)
      kept.push(Buffer.from(`${this.#mark}${this.#length}@${this.#start}`));
    kept.push(chunk.subarray(end, end + 1));
    return end + 1;
  }

  /**
   * The closing quote, or the line feed that no string may hold: a
   * quote in a comment line must not open one forever.
   */
  #stringEnd(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#isEscaped) {
      at += 1;
      this.#isEscaped = false;
    }
    for (;;) {
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote < 0 ? chunk.length : quote;
      const line = chunk.subarray(at, end).indexOf(LF);
      if (line >= 0) return at + line;
      const isEscape = backslashesBefore(chunk, end, at) % 2 === 1;
      if (quote < 0) {
        this.#isEscaped = isEscape;
        return end;
      }
      if (!isEscape) return end;
      at = quote + 1;
    }
  }
}

function backslashesBefore(chunk: Buffer, end: number, start: number): number {
  let count = 0;
  while (end - count > start && chunk[end - count - 1] === BACKSLASH) count += 1;
  return count;
}
