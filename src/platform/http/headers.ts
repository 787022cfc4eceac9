/** Names and values of HTTP header fields: their types, and the checks before they are written. */
import { CLIENT_BOUNDS, SERVER_BOUNDS } from './bounds.ts';

/** Header values by lower-case name. Repeated headers are joined with commas. */
export type HttpHeaders = Readonly<Record<string, string | undefined>>;

/** Malformed HTTP, or a feature of HTTP that this implementation does not support. */
export class HttpParseError extends Error {
  override readonly name = 'HttpParseError';
  readonly code = 'BAD_HTTP';
}

/** The head has too many bytes or too many headers. */
export class HeadTooLargeError extends HttpParseError {}

/** RFC 9110 `token`, as part of a regular expression. */
export const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const NAME = new RegExp(`^${TOKEN}$`);
/** Characters that could end the header line, or that are not a single byte. */
const UNSAFE_VALUE = /[^\t -~\x80-\xff]/;

/** Cache of validated names. Clients send the same few dozen names, so one lookup replaces a check and a conversion. */
export const HEADER_NAME_CACHE = new Map<string, string>();

/** Returns the name in lower case. Throws when it is not a token. */
export function headerName(written: string): string {
  const known = HEADER_NAME_CACHE.get(written);
  if (known !== undefined) return known;
  if (!NAME.test(written)) throw new HttpParseError('invalid header name');
  const name = written.toLowerCase();
  // Copies, because a slice would keep the whole head in memory.
  if (HEADER_NAME_CACHE.size < SERVER_BOUNDS.cachedNames.limit && written.length <= SERVER_BOUNDS.cachedNameBytes.limit)
    HEADER_NAME_CACHE.set(flatCopy(written), flatCopy(name));
  return name;
}

const flatCopy = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/** True when UTF-8 and Latin-1 encode the text to the same bytes. */
export const isAscii = (text: string): boolean => !/[\x80-\xff]/.test(text);

/** Formats a header line with its line break. Throws when the name or value could inject another header. */
export function headerLine(name: string, value: string): string {
  // Validates only: the line keeps the case of `name`.
  headerName(name);
  if (UNSAFE_VALUE.test(value)) throw new HttpParseError(`header ${name} contains an invalid character`);
  return `${name}: ${value}\r\n`;
}

/** How long an idle connection may be reused, by the head of its latest response; 0 when the server closes it. */
export function keepAliveMs({ connection, 'keep-alive': hint }: HttpHeaders): number {
  if (connection !== undefined && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection)) return 0;
  const seconds = hint && /(?:^|[,; \t])timeout[ \t]*=[ \t]*"?(\d{1,6})/i.exec(hint)?.[1];
  return seconds
    ? Math.min(
        CLIENT_BOUNDS.keepAliveMs.limit,
        Math.max(0, Number(seconds) * 1_000 - CLIENT_BOUNDS.keepAliveMarginMs.limit),
      )
    : CLIENT_BOUNDS.keepAliveMs.limit;
}
