/** Signature of a request to the provider's asset library: HMAC-SHA256 over the canonical request, with a key for day and region. */
import { createHash, createHmac } from 'node:crypto';

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

/** The headers that authenticate the request, in lower case. `host` is signed, too, and is sent by the client itself. */
export function signRequest(request: SignedRequest, key: SigningKey, now: number): Record<string, string> {
  const date = compactTime(now);
  const bodyHash = sha256(request.body);
  const scope = [date.slice(0, 8), key.region, SERVICE, SCOPE_END];
  const canonical = [
    request.method,
    request.path,
    canonicalQuery(request.query),
    `host:${request.host}\nx-content-sha256:${bodyHash}\nx-date:${date}\n`,
    SIGNED_HEADERS,
    bodyHash,
  ].join('\n');
  const text = [ALGORITHM, date, scope.join('/'), sha256(canonical)].join('\n');
  const signingKey = scope.reduce<string | Buffer>(hmac, key.secretKey);
  const signature = hmac(signingKey, text).toString('hex');
  return {
    'x-date': date,
    'x-content-sha256': bodyHash,
    authorization: `${ALGORITHM} Credential=${key.accessKey}/${scope.join('/')}, SignedHeaders=${SIGNED_HEADERS}, Signature=${signature}`,
  };
}

/** Sorted by name and encoded by RFC 3986. The request must be sent with exactly this query. */
export const canonicalQuery = (query: Readonly<Record<string, string>>): string =>
  Object.keys(query)
    .sort()
    .map((name) => `${encode(name)}=${encode(query[name] ?? '')}`)
    .join('&');

/** `encodeURIComponent` leaves five characters that RFC 3986 reserves. */
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** `20260131T235959Z`. */
const compactTime = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
