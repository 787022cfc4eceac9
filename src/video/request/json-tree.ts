/**
 * JSON values of a task body. Long strings stay where they are in the bytes, because inline media makes a body up to
 * 64 MB large. Rejects what two parsers could read differently: members that occur twice, and `__proto__`.
 * A member with null counts as absent, because the SDKs of the provider send every unset option that way.
 */
import { failAt, JsonScanError, scanMembers } from '../../core/index.ts';
import { TASK_JSON_LIMITS } from '../../rules/index.ts';

export type JsonNode = null | boolean | number | JsonText | readonly JsonNode[] | JsonMembers;
export type JsonText = string | LongText;
export type JsonMembers = ReadonlyMap<string, JsonNode>;

/**
 * Strings with at least this many bytes are not decoded.
 * Shorter than the longest URL, so that all inline media is long.
 */
const LONG_BYTES = 1_024;

export class LongText {
  /** Between the quotes, with the escapes of the client. */
  readonly raw: Uint8Array<ArrayBuffer>;
  /** Only when the text has escapes: PHP writes every slash as `\/`. */
  readonly #decoded: string | undefined;

  constructor(raw: Uint8Array<ArrayBuffer>, decoded: string | undefined) {
    this.raw = raw;
    this.#decoded = decoded;
  }

  /** The text in UTF-8, copied only when it has escapes. */
  bytes(): Buffer {
    return this.#decoded === undefined
      ? Buffer.from(this.raw.buffer, this.raw.byteOffset, this.raw.byteLength)
      : Buffer.from(this.#decoded);
  }

  toString(): string {
    return this.#decoded ?? this.bytes().toString();
  }

  /** The same bytes for every spelling of the text, in quotes. */
  canonical(): Iterable<string | Uint8Array> {
    return this.#decoded === undefined ? ['"', this.raw, '"'] : [JSON.stringify(this.#decoded)];
  }
}

export const isText = (node: JsonNode | undefined): node is JsonText =>
  typeof node === 'string' || node instanceof LongText;

/** Throws a `JsonScanError` or an `ApiError` for a body that is malformed. */
export function parseTaskBody(bytes: Buffer<ArrayBuffer>): JsonMembers {
  if (bytes.length === 0) throw new JsonScanError('The body is empty; send a JSON object.', 0);
  scanMembers(bytes, NONE, TASK_JSON_LIMITS);
  return new TreeReader(bytes).body();
}
const NONE: ReadonlySet<string> = new Set();

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const BYTE_ORDER_MARK = 0xef;

/**
 * Reads bytes that have passed the scan, which has checked the grammar,
 * the depth and UTF-8, but not the inside of strings.
 */
class TreeReader {
  readonly #bytes: Buffer<ArrayBuffer>;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(bytes: Buffer<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  body(): JsonMembers {
    if (this.#bytes[0] === BYTE_ORDER_MARK) this.#at = 3;
    this.#skipTo();
    return this.#object();
  }

  #value(): JsonNode {
    switch (this.#skipTo()) {
      case OPEN_OBJECT:
        return this.#object();
      case OPEN_ARRAY:
        return this.#array();
      case QUOTE:
        return this.#text();
      default:
        return this.#scalar();
    }
  }

  #object(): JsonMembers {
    const members = new Map<string, JsonNode>();
    const nulls: string[] = [];
    this.#at += 1;
    while (this.#skipTo() !== CLOSE_OBJECT) {
      const name = String(this.#text());
      this.#path.push(name);
      if (name === '__proto__') throw this.#reject('is not allowed as a name');
      if (members.has(name)) throw this.#reject('occurs twice');
      const value = this.#value();
      if (value === null) nulls.push(name);
      members.set(name, value);
      this.#path.pop();
    }
    for (const name of nulls) members.delete(name);
    this.#at += 1;
    return members;
  }

  #array(): readonly JsonNode[] {
    const elements: JsonNode[] = [];
    this.#at += 1;
    while (this.#skipTo() !== CLOSE_ARRAY) {
      this.#path.push(elements.length);
      elements.push(this.#value());
      this.#path.pop();
    }
    this.#at += 1;
    return elements;
  }

  /** A number or a literal: everything up to the next separator. */
  #scalar(): null | boolean | number {
    const start = this.#at;
    while (isScalar(this.#bytes[this.#at])) this.#at += 1;
    const text = this.#bytes.toString('latin1', start, this.#at);
    if (text === 'null') return null;
    return text === 'true' || (text === 'false' ? false : Number(text));
  }

  #text(): JsonText {
    const start = this.#at + 1;
    let isPlain = true;
    for (let at = start; at < start + LONG_BYTES; at += 1) {
      const byte = this.#bytes[at] ?? QUOTE;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return isPlain ? this.#bytes.toString('utf8', start, at) : this.#decode(start, at);
      }
      if (byte === BACKSLASH) at += 1;
      if (byte === BACKSLASH || byte < 0x20) isPlain = false;
    }
    return this.#longText(start);
  }

  #longText(start: number): LongText {
    const end = this.#closingQuote(start);
    this.#at = end + 1;
    const raw = this.#bytes.subarray(start, end);
    const isPlain = !raw.includes(BACKSLASH) && !hasControl(raw);
    return new LongText(raw, isPlain ? undefined : this.#decode(start, end));
  }

  /** Every run of backslashes is counted once, so the cost is linear. */
  #closingQuote(start: number): number {
    for (let from = start; ; ) {
      const quote = this.#bytes.indexOf(QUOTE, from);
      let backslashes = 0;
      while (quote - backslashes > from && this.#bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
      if (backslashes % 2 === 0) return quote;
      from = quote + 1;
    }
  }

  #decode(start: number, end: number): string {
    try {
      return JSON.parse(this.#bytes.toString('utf8', start - 1, end + 1));
    } catch {
      throw new JsonScanError(
        'The body is not valid JSON: a string contains an unescaped control character or a bad escape.',
        start,
      );
    }
  }

  /** Skips white space, commas and colons, and returns the byte there. */
  #skipTo(): number | undefined {
    while (isSeparator(this.#bytes[this.#at])) this.#at += 1;
    return this.#bytes[this.#at];
  }

  #reject(problem: string): Error {
    const param = pathText(this.#path);
    return failAt('invalid_request', param, `${problem}; send each member once, under its documented name.`);
  }
}

/** White space, comma and colon. */
const isSeparator = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x2c || byte === 0x3a || byte === 0x0a || byte === 0x0d || byte === 0x09;

const isScalar = (byte: number | undefined): boolean =>
  byte !== undefined && !isSeparator(byte) && byte !== CLOSE_OBJECT && byte !== CLOSE_ARRAY;

/** Reads four bytes at a time, because a body of 64 MB is one string. */
function hasControl(bytes: Uint8Array<ArrayBuffer>): boolean {
  const { buffer, byteOffset, length } = bytes;
  const head = Math.min(length, -byteOffset & 3);
  const words = new Uint32Array(buffer, byteOffset + head, (length - head) >>> 2);
  // The classic test for a byte below 0x20 in a word; exact, because a borrow needs such a byte.
  for (const word of words) if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return true;
  for (let n = 0; n < head; n += 1) if ((bytes[n] ?? 0) < 0x20) return true;
  for (let n = head + words.length * 4; n < length; n += 1) if ((bytes[n] ?? 0) < 0x20) return true;
  return false;
}

/** `content[2].image_url`. Names of the client are shortened. */
function pathText(path: readonly (string | number)[]): string {
  const text = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${shortName(step)}`)).join('');
  return text.startsWith('.') ? text.slice(1) : text;
}

/** The start of a name that the client chose; safe to repeat in a message. */
export const shortName = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}...` : name).toWellFormed();
