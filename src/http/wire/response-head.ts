/** Parser of response heads: status, framing of the body, and keep-alive time of the connection. Pure. */
import { CLIENT_BOUNDS } from '../bounds.ts';
import { type Framing, framingOf } from '../framing.ts';
import { type HttpHeaders, HttpParseError } from '../headers.ts';
import { type HttpHead, readHead } from './head.ts';

export interface ParsedResponseHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly framing: Framing;
  /** How long the idle connection may be reused; 0 when it must be closed. */
  readonly keepMs: number;
}

const KEEP_ALIVE_MS = CLIENT_BOUNDS.keepAliveMs.limit;
const HINT_MARGIN_MS = CLIENT_BOUNDS.keepAliveMarginMs.limit;
const MAX_HEADERS = CLIENT_BOUNDS.headers.limit;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;

/** Parses a head. `text` holds one character per byte (Latin-1), without the blank line. */
export function readResponseHead(text: string): ParsedResponseHead {
  const head = readHead(text, MAX_HEADERS);
  const [, minor, digits] = STATUS_LINE.exec(head.line) ?? [];
  if (digits === undefined) throw new HttpParseError('invalid status line');
  const status = Number(digits);
  if (status === 101) throw new HttpParseError('unexpected protocol switch');
  // Rejects content-length together with chunked, as nginx and Node do: readers disagree on which one counts.
  const framing = hasNoBody(status) ? 0 : (framingOf(head.headers) ?? 'close');
  return { status, headers: head.headers, framing, keepMs: framing === 'close' || minor === '0' ? 0 : keepMsOf(head) };
}

const hasNoBody = (status: number): boolean => status < 200 || status === 204 || status === 304;

function keepMsOf({ headers }: HttpHead): number {
  const { connection, 'keep-alive': hint } = headers;
  if (connection !== undefined && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection)) return 0;
  const seconds = hint && /(?:^|[,; \t])timeout[ \t]*=[ \t]*"?(\d{1,6})/i.exec(hint)?.[1];
  return seconds ? Math.min(KEEP_ALIVE_MS, Math.max(0, Number(seconds) * 1_000 - HINT_MARGIN_MS)) : KEEP_ALIVE_MS;
}
