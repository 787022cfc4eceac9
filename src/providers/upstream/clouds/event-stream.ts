/**
 * The binary event stream of AWS: frames with a prelude, headers,
 * a payload and two checksums, from chunks that end anywhere.
 */
import { crc32 } from 'node:zlib';

export interface EventFrame {
  /** Only headers with text values; no others are needed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
}

export class FrameError extends Error {
  readonly code: 'FRAME_LENGTH' | 'FRAME_CHECKSUM' | 'FRAME_HEADERS';

  constructor(code: FrameError['code']) {
    super(code);
    this.code = code;
  }
}

const PRELUDE_BYTES = 12;
const MIN_BYTES = 16;
/** The limit that AWS documents for a message, with its headers. */
const MAX_BYTES = 24 * 2 ** 20;
const TEXT = 7;
/** Bytes of the values of other types; those of types 6 and 7 have their length before them. */
const VALUE_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };

export class EventStreamReader {
  #rest: Buffer = Buffer.alloc(0);

  get isInside(): boolean {
    return this.#rest.length > 0;
  }

  /** The frames that are complete now. Throws a `FrameError` for a damaged one. */
  *push(chunk: Buffer): Generator<EventFrame> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= PRELUDE_BYTES) {
      const length = checkedLength(bytes);
      if (bytes.length < length) break;
      yield frameOf(bytes.subarray(0, length));
      bytes = bytes.subarray(length);
    }
    this.#rest = Buffer.from(bytes);
  }
}

/** The prelude has a checksum of its own, so that a damaged length is found before the reader waits for it. */
function checkedLength(bytes: Buffer): number {
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) throw new FrameError('FRAME_CHECKSUM');
  const length = bytes.readUInt32BE(0);
  const headers = bytes.readUInt32BE(4);
  if (length > MAX_BYTES || length < MIN_BYTES + headers) throw new FrameError('FRAME_LENGTH');
  return length;
}

function frameOf(frame: Buffer): EventFrame {
  const end = frame.length - 4;
  if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) throw new FrameError('FRAME_CHECKSUM');
  const payloadAt = PRELUDE_BYTES + frame.readUInt32BE(4);
  return { headers: headersOf(frame.subarray(PRELUDE_BYTES, payloadAt)), payload: frame.subarray(payloadAt, end) };
}

function headersOf(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {};
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new FrameError('FRAME_HEADERS');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const name = take(take(1).readUInt8()).toString('latin1');
    const type = take(1).readUInt8();
    const length = VALUE_BYTES[type] ?? (type === 6 || type === TEXT ? take(2).readUInt16BE() : -1);
    if (length < 0) throw new FrameError('FRAME_HEADERS');
    const value = take(length);
    if (type === TEXT) headers[name] = value.toString('utf8');
  }
  return headers;
}
