/** What Node's parser lets through and we do not: messages that two servers in a row might read differently. */
import type { IncomingMessage } from 'node:http';

/** A sentence about what is wrong, or undefined. Looks at every header once; nothing is allocated for an honest request. */
export function refusalOf(request: IncomingMessage): string | undefined {
  const { url = '', rawHeaders } = request;
  if (url.charCodeAt(0) !== 0x2f) return 'The request target must be a path that starts with a slash.';
  // PostgreSQL stores no zero byte, and no honest name holds one.
  if (url.includes('%00')) return 'The request target holds a zero byte.';
  let hosts = 0;
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts === 0 && request.httpVersion !== '1.0') return 'The request has no Host header.';
  if (hosts > 1) return 'The request has more than one Host header.';
  const coding = request.headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (request.httpVersion === '1.0') return 'Transfer-Encoding has no meaning in HTTP/1.0.';
  return coding.toLowerCase() === 'chunked' ? undefined : 'The only Transfer-Encoding accepted is chunked.';
}
