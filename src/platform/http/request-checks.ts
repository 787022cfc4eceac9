/** Checks on well-formed requests that two servers in a row could still interpret differently. */
import type { HttpHeaders } from './headers.ts';
import type { IncomingRequest } from './server.ts';

/** The message of the rejection; undefined when the request is acceptable. */
export function rejectionFor({ method, url, headers, version, rawHeaders }: IncomingRequest): string | undefined {
  if (url.charCodeAt(0) !== 0x2f && !(url === '*' && method === 'OPTIONS'))
    return 'The request target must be a path that starts with a slash.';
  // PostgreSQL cannot store NUL, and no valid id or model name contains it.
  if (url.includes('%00')) return 'The request target contains a NUL byte.';
  const { host } = headers;
  if (host === undefined) return version === '1.0' ? undefined : 'The request has no Host header.';
  // Repeated headers are joined with a comma, so only a value with a comma needs the count.
  if (host.includes(',') && rawHeaders.filter((name, n) => n % 2 === 0 && name === 'host').length > 1)
    return 'The request has more than one Host header.';
  return headers['transfer-encoding'] !== undefined && version === '1.0'
    ? 'Transfer-Encoding is not allowed in HTTP/1.0.'
    : undefined;
}

/**
 * Ignores upgrades to other protocols than WebSocket,
 * as RFC 9110 permits: some clients offer HTTP/2 with every request.
 */
export const isUpgrade = ({ upgrade, connection }: HttpHeaders): boolean =>
  upgrade !== undefined && /websocket/i.test(upgrade) && /\bupgrade\b/i.test(connection ?? '');

const KEEP_ALIVE_OPTION = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

/** Whether the client lets the connection serve another request. */
export function wantsKeepAlive({ headers, version }: Pick<IncomingRequest, 'headers' | 'version'>): boolean {
  const preference = headers.connection;
  if (preference === undefined) return version === '1.1';
  return !/\bclose\b/i.test(preference) && (version === '1.1' || KEEP_ALIVE_OPTION.test(preference));
}
