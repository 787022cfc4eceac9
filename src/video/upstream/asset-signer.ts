/**
 * Signature of a request to the provider's asset library:
 * HMAC-SHA256 over the canonical request, with a key for day and region.
 */
import { hash } from 'node:crypto';
import { encodeStrictly, hmac } from '../../core/index.ts';

export interface SignedRequest {
  readonly method: 'POST';
  readonly host: string;
  readonly path: string;
  /** Parameters of the query, in any order. */
  readonly query: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SigningKey {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
}

const ALGORITHM = 'HMAC-SHA256';
const SERVICE = 'ark';
const SCOPE_END = 'request';
const SIGNED_HEADERS = 'host;x-content-sha256;x-date';

/**
 * The headers that authenticate the request, in lower case. `host` is signed, too, and is sent by the client itself.
 */
export function signRequest(request: SignedRequest, key: SigningKey, now: number): Record<string, string> {
  const date = compactTime(now);
  const bodyHash = hash('sha256', request.body);
  const scope = [date.slice(0, 8), key.region, SERVICE, SCOPE_END];
  const canonical = [
    request.method,
    request.path,
    canonicalQuery(request.query),
    `host:${request.host}\nx-content-sha256:${bodyHash}\nx-date:${date}\n`,
    SIGNED_HEADERS,
    bodyHash,
  ].join('\n');
  const text = [ALGORITHM, date, scope.join('/'), hash('sha256', canonical)].join('\n');
  const signingKey = scope.reduce<string | Buffer>(hmac, key.secretKey);
  const signature = hmac(signingKey, text).toString('hex');
  const credential = `${key.accessKey}/${scope.join('/')}`;
  return {
    'x-date': date,
    'x-content-sha256': bodyHash,
    authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${SIGNED_HEADERS}, Signature=${signature}`,
  };
}

/** Sorted by name and encoded by RFC 3986. The request must be sent with exactly this query. */
export const canonicalQuery = (query: Readonly<Record<string, string>>): string =>
  Object.keys(query)
    .sort()
    .map((name) => `${encodeStrictly(name)}=${encodeStrictly(query[name] ?? '')}`)
    .join('&');

/** `20260131T235959Z`. */
const compactTime = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
