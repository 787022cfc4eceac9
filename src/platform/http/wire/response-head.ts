/** Parser of response heads: status, framing of the body, and keep-alive time of the connection. */
import { GrowingBuffer } from '../../../core/index.ts';
import { CLIENT_BOUNDS } from '../bounds.ts';
import { type Framing, framingOf } from '../framing.ts';
import { type HttpHeaders, HttpParseError, keepAliveMs } from '../headers.ts';
import { checkHeadBytes, headEnd, readHead } from './head.ts';

export interface ParsedResponseHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly framing: Framing;
  /** How long the idle connection may be reused; 0 when it must be closed. */
  readonly keepMs: number;
}

const BLANK_LINE_BYTES = 4;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;

/** Parses a head. `text` holds one character per byte (Latin-1), without the blank line. */
export function readResponseHead(text: string): ParsedResponseHead {
  const head = readHead(text, CLIENT_BOUNDS.headers.limit);
  const [, minor, digits] = STATUS_LINE.exec(head.line) ?? [];
  if (digits === undefined) throw new HttpParseError('invalid status line');
  const status = Number(digits);
  // HTTP/1.0 has no responses before the response: what follows may be read differently by a proxy in between.
  if (minor === '0' && status < 200) throw new HttpParseError('informational response of HTTP/1.0');
  if (status === 101) throw new HttpParseError('unexpected protocol switch');
  // Rejects content-length together with chunked, as nginx and Node do: readers disagree on which one counts.
  // Checked even without a body: a malformed length may have been read differently by a proxy in between.
  const declared = framingOf(head.headers) ?? 'close';
  const framing = hasNoBody(status) ? 0 : declared;
  return {
    status,
    headers: head.headers,
    framing,
    keepMs: framing === 'close' || minor === '0' ? 0 : keepAliveMs(head.headers),
  };
}

const hasNoBody = (status: number): boolean => status < 200 || status === 204 || status === 304;

/** Finds the head of a response in the reads of a connection, after informational responses (100, 103). */
export class ResponseHeadReader {
  /** Where the body begins in the read that completed the head. */
  end = 0;
  /** Start of an incomplete head. */
  #partial: Buffer | undefined;
  /** Memory of `#partial` when it came in several reads. */
  #growing: GrowingBuffer | undefined;
  #informational = 0;

  /** The head of the response, when `bytes` completes it. */
  read(bytes: Buffer): ParsedResponseHead | undefined {
    const before = this.#partial?.length ?? 0;
    const all = this.#partial ? this.#join(this.#partial, bytes) : bytes;
    this.#partial = undefined;
    // The blank line may be split between two reads.
    let searchFrom = Math.max(0, before - BLANK_LINE_BYTES + 1);
    let start = 0;
    while (start < all.length) {
      const end = headEnd(all, searchFrom);
      if ((end < 0 ? all.length : end) - start > CLIENT_BOUNDS.headBytes.limit)
        throw new HttpParseError('response head too large');
      if (end < 0) {
        // What an earlier read brought was checked then.
        checkHeadBytes(all, Math.max(start, before));
        this.#partial = start === 0 ? all : all.subarray(start);
        return undefined;
      }
      const head = readResponseHead(all.toString('latin1', start, end - BLANK_LINE_BYTES));
      if (head.status >= 200) {
        this.end = end - before;
        this.reset();
        return head;
      }
      start = end;
      searchFrom = end;
      this.#informational += 1;
      if (this.#informational > CLIENT_BOUNDS.informational.limit)
        throw new HttpParseError('too many informational responses');
    }
    return undefined;
  }

  /** Forgets what it has read. */
  reset(): void {
    this.#partial = undefined;
    this.#growing = undefined;
    this.#informational = 0;
  }

  #join(before: Buffer, bytes: Buffer): Buffer {
    this.#growing ??= new GrowingBuffer();
    return this.#growing.join(before, bytes);
  }
}
