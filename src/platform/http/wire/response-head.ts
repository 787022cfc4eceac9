/** Parser of response heads: status, framing of the body, and keep-alive time of the connection. Pure. */
import { CLIENT_BOUNDS } from '../bounds.ts';
import { type Framing, framingOf } from '../framing.ts';
import { type HttpHeaders, HttpParseError, keepAliveMs } from '../headers.ts';
import { readHead } from './head.ts';

export interface ParsedResponseHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly framing: Framing;
  /** How long the idle connection may be reused; 0 when it must be closed. */
  readonly keepMs: number;
}

const MAX_HEADERS = CLIENT_BOUNDS.headers.limit;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;

/** Parses a head. `text` holds one character per byte (Latin-1), without the blank line. */
export function readResponseHead(text: string): ParsedResponseHead {
  const head = readHead(text, MAX_HEADERS);
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
