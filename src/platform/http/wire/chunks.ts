/**
 * Incremental decoder of the chunked transfer coding (RFC 9112, section 7.1). Returns the payload of one read as one
 * buffer: servers send every SSE event as its own chunk, and handling them one by one costs several times as much.
 */
import { CHUNK_BOUNDS } from '../bounds.ts';
import { HttpParseError, TOKEN } from '../headers.ts';
import { readHead } from './head.ts';

/** What the next byte must be part of. */
type State =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  /** The start of a line after the last chunk. */
  | 'trailer'
  | 'trailer-text'
  | 'trailer-lf'
  | 'last-lf'
  | 'end';

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const QUOTED = '"(?:[\\t !#-[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';
/**
 * RFC 9112 chunk extensions without optional whitespace:
 * a proxy in front may reject or read such whitespace differently.
 */
const EXTENSIONS = new RegExp(`^(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)+$`);
/**
 * Fields of framing and connection.
 * Readers disagree on whether they count in a trailer (Node closes), which allows request smuggling.
 */
const FORBIDDEN_TRAILERS = ['content-length', 'transfer-encoding', 'connection', 'proxy-connection', 'upgrade'];
const NO_DIGIT = 255;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const char of '0123456789abcdefABCDEF') DIGITS[char.charCodeAt(0)] = Number.parseInt(char, 16);

export class ChunkedBody {
  #state: State = 'size';
  #digits = 0;
  #remaining = 0;
  /** Extensions of the current chunk, or the trailers so far. */
  #extra = '';
  #extraBytes = 0;
  /** Offset after the last byte of the body in the last `decode`. */
  end = 0;

  get isDone(): boolean {
    return this.#state === 'end';
  }

  /**
   * The payload in `bytes` from `from`; undefined when there is none.
   * Joins chunks in place, so no other code may use `bytes` later.
   */
  decode(bytes: Buffer, from: number): Buffer | undefined {
    let at = from;
    let start = -1;
    let end = -1;
    while (at < bytes.length && this.#state !== 'end') {
      if (this.#state !== 'data') {
        this.#state = this.#nextState(bytes[at] ?? 0);
        at += 1;
        continue;
      }
      const next = Math.min(bytes.length, at + this.#remaining);
      this.#remaining -= next - at;
      if (this.#remaining === 0) this.#state = 'data-cr';
      if (start < 0) {
        start = at;
        end = at;
      } else bytes.copyWithin(end, at, next);
      end += next - at;
      at = next;
    }
    this.end = at;
    return start < 0 ? undefined : bytes.subarray(start, end);
  }

  #nextState(byte: number): State {
    switch (this.#state) {
      case 'size':
        return this.#readSizeByte(byte);
      case 'extension':
        return byte === CR ? this.#endExtensions() : this.#append(byte, 'extension');
      case 'size-lf':
        this.#digits = 0;
        return expectByte(LF, byte, this.#remaining > 0 ? 'data' : 'trailer');
      case 'data-cr':
        return expectByte(CR, byte, 'data-lf');
      case 'data-lf':
        return expectByte(LF, byte, 'size');
      case 'trailer':
        if (byte === CR) return 'last-lf';
        this.#extra += '\r\n';
        return this.#append(byte, 'trailer-text');
      case 'trailer-text':
        return byte === CR ? 'trailer-lf' : this.#append(byte, 'trailer-text');
      case 'trailer-lf':
        return expectByte(LF, byte, 'trailer');
      default:
        if (this.#extra !== '') checkTrailers(this.#extra);
        return expectByte(LF, byte, 'end');
    }
  }

  #readSizeByte(byte: number): State {
    const digit = DIGITS[byte] ?? NO_DIGIT;
    if (digit === NO_DIGIT) {
      if (this.#digits === 0) throw invalidChunk();
      return byte === SEMICOLON ? this.#append(byte, 'extension') : expectByte(CR, byte, 'size-lf');
    }
    this.#digits += 1;
    if (this.#digits > CHUNK_BOUNDS.sizeDigits.limit) throw invalidChunk();
    this.#remaining = this.#remaining * 16 + digit;
    return 'size';
  }

  #append(byte: number, next: State): State {
    this.#extraBytes += 1;
    if (byte === LF || this.#extraBytes > CHUNK_BOUNDS.extraBytes.limit) throw invalidChunk();
    this.#extra += String.fromCharCode(byte);
    return next;
  }

  #endExtensions(): State {
    if (!EXTENSIONS.test(this.#extra)) throw invalidChunk();
    this.#extra = '';
    return 'size-lf';
  }
}

/** Trailers are discarded but must be syntactically valid header fields. */
function checkTrailers(text: string): void {
  const { headers } = readHead(`0${text}`, CHUNK_BOUNDS.trailers.limit);
  if (FORBIDDEN_TRAILERS.some((name) => headers[name] !== undefined)) throw invalidChunk();
}

function expectByte(expected: number, byte: number, next: State): State {
  if (byte !== expected) throw invalidChunk();
  return next;
}

const invalidChunk = (): HttpParseError => new HttpParseError('invalid chunk');
