/**
 * Parser and writer of HTTP/1.1 message heads, for requests and responses. Rejects every deviation from RFC 9112
 * instead of repairing it: two parsers in a row that read a message differently allow request smuggling.
 */
import { checkFramingValue, isFraming } from '../framing.ts';
import { HeadTooLargeError, type HttpHeaders, HttpParseError, headerName } from '../headers.ts';

export interface HttpHead {
  /** The request line or the status line. */
  readonly line: string;
  readonly headers: HttpHeaders;
  /** Flat name, value, name, value in the order received; names in lower case. */
  readonly rawHeaders: readonly string[];
}

const BLANK_LINE = Buffer.from('\r\n\r\n');
const TAB = 0x09;
const CR = 0x0d;
const LF = 0x0a;
const DEL = 0x7f;
const SPACE = 0x20;

/** Non-empty lines of printable characters, separated by CR LF, without obsolete line folding. */
const HEADER_BLOCK = /^[!-~\x80-\xff][\t -~\x80-\xff]*(?:\r\n[!-~\x80-\xff][\t -~\x80-\xff]*)*$/;

/** Offset after the blank line that ends the head; -1 when `bytes` does not contain it yet. */
export function headEnd(bytes: Buffer, from = 0): number {
  const at = bytes.indexOf(BLANK_LINE, from);
  return at < 0 ? -1 : at + BLANK_LINE.length;
}

/**
 * Checks an incomplete head: no control characters, CR LF only.
 * The head of a peer that sends anything else would never end.
 */
export function checkHeadBytes(bytes: Buffer, from: number): void {
  let previous = from > 0 ? bytes[from - 1] : undefined;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const isText = byte >= SPACE ? byte !== DEL : byte === TAB || byte === CR || byte === LF;
    if (!isText || (previous === CR) !== (byte === LF)) throw new HttpParseError('malformed header block');
    previous = byte;
  }
}

/**
 * Parses a head of at most `maxHeaders` header lines.
 * `text` holds one character per byte (Latin-1), without the blank line.
 */
export function readHead(text: string, maxHeaders: number): HttpHead {
  if (!HEADER_BLOCK.test(text)) throw new HttpParseError('malformed header block');
  let lineEnd = endOfLine(text, 0);
  const line = text.slice(0, lineEnd);
  const headers: Record<string, string> = Object.create(null);
  const fields: string[] = [];
  while (lineEnd < text.length) {
    const start = lineEnd + 2;
    lineEnd = endOfLine(text, start);
    const colon = text.indexOf(':', start);
    if (colon < 0 || colon >= lineEnd) throw new HttpParseError('header line without a colon');
    const name = headerName(text.slice(start, colon));
    const value = trimBlanks(text, colon + 1, lineEnd);
    if (isFraming(name)) checkFramingValue(text.slice(colon + 1, lineEnd));
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
    if (fields.push(name, value) > 2 * maxHeaders) throw new HeadTooLargeError('too many headers');
  }
  return { line, headers, rawHeaders: fields };
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\r\n', from);
  return at < 0 ? text.length : at;
}

/** Removes surrounding spaces and tabs. `trim` also removes bytes such as 0xA0, which belong to the value. */
function trimBlanks(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const isBlank = (char: number): boolean => char === SPACE || char === TAB;
