/** What is proper HTTP and still not taken: messages that two servers in a row might read differently. */
import type { IncomingRequest } from './request.ts';

/** A sentence about what is wrong, or undefined. */
export function rejectionFor({ url, headers, version, rawHeaders: fields }: IncomingRequest): string | undefined {
  if (url.charCodeAt(0) !== 0x2f) return 'The request target must be a path that starts with a slash.';
  // PostgreSQL stores no zero byte, and no honest name holds one.
  if (url.includes('%00')) return 'The request target holds a zero byte.';
  const { host } = headers;
  if (host === undefined) return version === '1.0' ? undefined : 'The request has no Host header.';
  // Headers that came twice are one value with a comma, which a host may hold in no honest request.
  if (host.includes(',') && fields.filter((name, n) => n % 2 === 0 && name === 'host').length > 1)
    return 'The request has more than one Host header.';
  return headers['transfer-encoding'] !== undefined && version === '1.0'
    ? 'Transfer-Encoding has no meaning in HTTP/1.0.'
    : undefined;
}
