/**
 * A chunked body, read off the bytes of a connection as they come. What one read brought is handed on in one piece: servers send
 * every event as a chunk of its own, and one by one they would cost several times as much.
 */
import { HttpParseError, readHead, TOKEN } from './head.ts';

/** What the next byte belongs to. */
type Place =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  /** The beginning of a line after the last chunk. */
  | 'trailer'
  | 'trailer-text'
  | 'trailer-lf'
  | 'last-lf'
  | 'end';

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
/** 4 GiB in one chunk is no chunk. */
const MAX_DIGITS = 8;
/** Extensions and trailers of a whole body. Hardly anybody sends any; endless ones would cost time and bring nothing. */
const MAX_EXTRA_BYTES = 16 * 1024;
const QUOTED = '"(?:[\\t !#-[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';
/** As RFC 9112 writes them, without the blanks that it forgives: a reader before us need not forgive them. */
const EXTENSIONS = new RegExp(`^(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)+$`);
/** They say how a message is read, which is too late after its body: one reader would believe them and another would not. */
const NO_TRAILERS = ['content-length', 'transfer-encoding', 'connection'];
const NO_DIGIT = 255;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const char of '0123456789abcdefABCDEF') DIGITS[char.charCodeAt(0)] = Number.parseInt(char, 16);

export class ChunkedBody {
  #place: Place = 'size';
  #digits = 0;
  #missing = 0;
  /** The extensions of this chunk or the trailers so far. */
  #text = '';
  #extraBytes = 0;
  /** One past what belonged to the body in the bytes of the last `take`. */
  end = 0;

  get isDone(): boolean {
    return this.#place === 'end';
  }

  /**
   * The payload in `bytes` from `from` on; undefined when there is none. It is moved together where it is, so the bytes must belong
   * to nobody else.
   */
  take(bytes: Buffer, from: number): Buffer | undefined {
    let at = from;
    let start = -1;
    let end = -1;
    while (at < bytes.length && this.#place !== 'end') {
      if (this.#place !== 'data') {
        this.#place = this.#after(bytes[at] ?? 0);
        at += 1;
        continue;
      }
      const next = Math.min(bytes.length, at + this.#missing);
      this.#missing -= next - at;
      if (this.#missing === 0) this.#place = 'data-cr';
      if (start < 0) start = end = at;
      else bytes.copyWithin(end, at, next);
      end += next - at;
      at = next;
    }
    this.end = at;
    return start < 0 ? undefined : bytes.subarray(start, end);
  }

  /** Where one byte of what stands around the payload leads. */
  #after(byte: number): Place {
    switch (this.#place) {
      case 'size':
        return this.#sized(byte);
      case 'extension':
        return byte === CR ? this.#extended() : this.#gathered(byte, 'extension');
      case 'size-lf':
        this.#digits = 0;
        return only(LF, byte, this.#missing > 0 ? 'data' : 'trailer');
      case 'data-cr':
        return only(CR, byte, 'data-lf');
      case 'data-lf':
        return only(LF, byte, 'size');
      case 'trailer':
        if (byte === CR) return 'last-lf';
        this.#text += '\r\n';
        return this.#gathered(byte, 'trailer-text');
      case 'trailer-text':
        return byte === CR ? 'trailer-lf' : this.#gathered(byte, 'trailer-text');
      case 'trailer-lf':
        return only(LF, byte, 'trailer');
      default:
        if (this.#text !== '') checkTrailers(this.#text);
        return only(LF, byte, 'end');
    }
  }

  #sized(byte: number): Place {
    const digit = DIGITS[byte] ?? NO_DIGIT;
    if (digit === NO_DIGIT) {
      if (this.#digits === 0) throw noChunk();
      return byte === SEMICOLON ? this.#gathered(byte, 'extension') : only(CR, byte, 'size-lf');
    }
    this.#digits += 1;
    if (this.#digits > MAX_DIGITS) throw noChunk();
    this.#missing = this.#missing * 16 + digit;
    return 'size';
  }

  #gathered(byte: number, place: Place): Place {
    this.#extraBytes += 1;
    if (byte === LF || this.#extraBytes > MAX_EXTRA_BYTES) throw noChunk();
    this.#text += String.fromCharCode(byte);
    return place;
  }

  #extended(): Place {
    if (!EXTENSIONS.test(this.#text)) throw noChunk();
    this.#text = '';
    return 'size-lf';
  }
}

/** Headers like those of a head, whose first line is the last chunk. Nobody asks for them, but they must be some. */
function checkTrailers(text: string): void {
  const { headers } = readHead(`0${text}`);
  if (NO_TRAILERS.some((name) => headers[name] !== undefined)) throw noChunk();
}

function only(wanted: number, byte: number, place: Place): Place {
  if (byte !== wanted) throw noChunk();
  return place;
}

const noChunk = (): HttpParseError => new HttpParseError('a chunk that is none');
