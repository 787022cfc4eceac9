/**
 * The head of an HTTP/1.1 message, either way: strict, because two readers in a row that understand a message differently is how
 * requests are smuggled. What is not exactly as RFC 9112 writes it is no head at all; nothing is repaired.
 */

/** Names in lower case; a header that came several times is one value, with commas. */
export type HttpHeaders = Readonly<Record<string, string | undefined>>;

export interface HttpHead {
  /** The request line or the status line. */
  readonly line: string;
  readonly headers: HttpHeaders;
  /** Name, value, name, value as they came, names in lower case. */
  readonly fields: readonly string[];
}

/** Bytes that are no HTTP, or of a kind that is not spoken here. */
export class HttpParseError extends Error {
  override readonly name = 'HttpFault';
  readonly code = 'BAD_HTTP';
}

const BLANK_LINE = Buffer.from('\r\n\r\n');
const TAB = 0x09;
const SPACE = 0x20;

/** Lines of printable characters with CR LF between them, none empty, none that goes on from the one before. */
const LINES = /^[!-~\x80-\xff][\t -~\x80-\xff]*(?:\r\n[!-~\x80-\xff][\t -~\x80-\xff]*)*$/;
/** What names are made of, as part of an expression. */
export const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const NAME = new RegExp(`^${TOKEN}$`);
/** What would end a header and begin another one, or is no byte at all. */
const UNSAFE = /[^\t -~\x80-\xff]/;

/** One past the blank line that ends a head; -1 while it has not come. */
export function headEnd(bytes: Buffer, from = 0): number {
  const at = bytes.indexOf(BLANK_LINE, from);
  return at < 0 ? -1 : at + BLANK_LINE.length;
}

/** `text` is the head, byte for character, without its blank line. */
export function readHead(text: string): HttpHead {
  if (!LINES.test(text)) throw new HttpParseError('a head that is not made of lines');
  let lineEnd = endOfLine(text, 0);
  const line = text.slice(0, lineEnd);
  const headers: Record<string, string> = Object.create(null);
  const fields: string[] = [];
  while (lineEnd < text.length) {
    const start = lineEnd + 2;
    lineEnd = endOfLine(text, start);
    const colon = text.indexOf(':', start);
    if (colon < 0 || colon >= lineEnd) throw new HttpParseError('a header without a colon');
    const name = nameOf(text.slice(start, colon));
    const value = trimmed(text, colon + 1, lineEnd);
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
    fields.push(name, value);
  }
  return { line, headers, fields };
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\r\n', from);
  return at < 0 ? text.length : at;
}

/** Most names are a few dozen, seen over and over: one look instead of a check and a copy. */
const KNOWN = new Map<string, string>();
const MAX_KNOWN = 512;

function nameOf(written: string): string {
  const known = KNOWN.get(written);
  if (known !== undefined) return known;
  if (!NAME.test(written)) throw new HttpParseError('a header without a proper name');
  const name = written.toLowerCase();
  // Whoever invents names fills no memory; copied, since a part of a text keeps all of it alive.
  if (KNOWN.size < MAX_KNOWN && written.length <= 64) KNOWN.set(copyOf(written), copyOf(name));
  return name;
}

const copyOf = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/** Spaces and tabs only: `trim` knows more kinds, which belong to the value. */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const isBlank = (char: number): boolean => char === SPACE || char === TAB;

/** Reads the same in UTF-8 and byte for character. */
export const isAscii = (text: string): boolean => !/[\x80-\xff]/.test(text);

/** One header as it is written, with its line break. */
export function headerLine(name: string, value: string): string {
  // For its refusal: a name is written as it was given.
  nameOf(name);
  if (UNSAFE.test(value)) throw new HttpParseError(`${name} holds a character that no header may hold`);
  return `${name}: ${value}\r\n`;
}

/** What ends a body: so many bytes, the last chunk, or the connection. */
export type Framing = number | 'chunked' | 'close';

/** As the headers of a message say; undefined when they say nothing. */
export function framingOf(headers: HttpHeaders): number | 'chunked' | undefined {
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined) {
    if (length !== undefined) throw new HttpParseError('a length and a transfer coding');
    if (coding.toLowerCase() !== 'chunked') throw new HttpParseError('a transfer coding that is not chunked');
    return 'chunked';
  }
  if (length === undefined) return undefined;
  if (!/^\d{1,15}$/.test(length)) throw new HttpParseError('a length that is no number');
  return Number(length);
}
