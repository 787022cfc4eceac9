/** AWS Signature Version 4, for requests whose body is at hand. */
import { hash } from 'node:crypto';
import { encodeStrictly, hmac } from '../../../core/index.ts';
import type { HttpRequest } from '../../../platform/http/index.ts';

export interface AwsCredentials {
  readonly id: string;
  readonly secret: string;
  readonly token?: string | undefined;
}

export interface SigningScope {
  readonly region: string;
  readonly service: string;
  readonly now: number;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
/** Headers that are signed where a request has them; proxies may change others. */
const SIGNED: ReadonlySet<string> = new Set(['content-type']);

export function signV4(request: HttpRequest, { id, secret, token }: AwsCredentials, scope: SigningScope): HttpRequest {
  const date = new Date(scope.now).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
  const day = date.slice(0, 8);
  const added = ['x-amz-date', date, ...(token === undefined ? [] : ['x-amz-security-token', token])];
  const headers = [...request.headers, ...added];
  const signed = signedHeaders(['host', new URL(request.origin).host, ...headers]);
  const names = signed.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    ...canonicalTarget(request.path),
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    hash('sha256', bodyOf(request.body)),
  ].join('\n');
  const place = `${day}/${scope.region}/${scope.service}/aws4_request`;
  const keys = [day, scope.region, scope.service, 'aws4_request'];
  const key = keys.reduce((last: string | Buffer, text) => hmac(last, text), `AWS4${secret}`);
  const signature = hmac(key, [ALGORITHM, date, place, hash('sha256', canonical)].join('\n')).toString('hex');
  const authorization = `${ALGORITHM} Credential=${id}/${place}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...request, headers: [...headers, 'authorization', authorization] };
}

function bodyOf(body: HttpRequest['body']): string | Buffer {
  if (body === null) return '';
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body;
  throw new TypeError('A streamed body cannot be signed.');
}

/** Sorted, with values whose spaces are collapsed. */
function signedHeaders(flat: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let n = 0; n < flat.length; n += 2) {
    const name = (flat[n] ?? '').toLowerCase();
    if (name === 'host' || name.startsWith('x-amz') || SIGNED.has(name))
      pairs.push([name, (flat[n + 1] ?? '').trim().replaceAll(/ +/g, ' ')]);
  }
  return pairs.sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The path is encoded a second time, and the query sorted. */
function canonicalTarget(target: string): [path: string, query: string] {
  const [path = '/', query = ''] = target.split(/\?(.*)/s, 2);
  const entries = query === '' ? [] : query.split('&').map((entry) => (entry.includes('=') ? entry : `${entry}=`));
  return [path.split('/').map(encodeStrictly).join('/'), entries.sort().join('&')];
}
