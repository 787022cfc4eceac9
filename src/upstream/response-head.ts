/** The head of an answer, understood: which status, what ends its body, and how long its connection may be kept. Pure. */
import { type Framing, framingOf, type HttpHead, type HttpHeaders, HttpParseError, readHead } from '../core/index.ts';

export interface UpstreamResponseHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly framing: Framing;
  /** For how long the connection may wait for its next request; 0 when there is none. */
  readonly keepMs: number;
}

/** Providers close idle connections after 5 s and more; we let go first, so that no request meets a closing door. */
const KEEP_ALIVE_MS = 4_000;
/** A server that names its time begins to count before we do. */
const HINT_MARGIN_MS = 1_000;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;

/** `text` is the head, byte for character, without its blank line. */
export function readResponseHead(text: string): UpstreamResponseHead {
  const head = readHead(text);
  const [, minor, digits] = STATUS_LINE.exec(head.line) ?? [];
  if (digits === undefined) throw new HttpParseError('a status line that is none');
  const status = Number(digits);
  if (status === 101) throw new HttpParseError('another protocol, which nobody asked for');
  // A length beside chunks is refused, as nginx and Node do: who believes which would decide where the answer ends.
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
