/** The check of signed requests: HMAC-SHA256 over the canonical request, as the asset library requires it. */
import { createHash, createHmac } from 'node:crypto';
import { VideoFailure } from '../errors.ts';

const ALGORITHM = 'HMAC-SHA256';
const SERVICE = 'ark';
const REQUIRED_HEADERS = ['host', 'x-content-sha256', 'x-date'];
const LARGEST_SKEW_MS = 15 * 60_000;
const AUTHORIZATION =
  /^HMAC-SHA256 Credential=([^/,\s]+)\/([^/,\s]+)\/([^/,\s]+)\/([^/,\s]+)\/request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

export interface SignedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface Credential {
  accessKey: string;
  date: string;
  region: string;
  service: string;
  signedHeaders: string;
  signature: string;
}

export function readCredential({ headers }: SignedRequest): Credential {
  const match = AUTHORIZATION.exec(headers.authorization ?? '');
  if (!match) throw mismatch('the Authorization header is missing or malformed');
  const [, accessKey = '', date = '', region = '', service = '', signedHeaders = '', signature = ''] = match;
  return { accessKey, date, region, service, signedHeaders, signature };
}

/** Throws if the request was not signed with this secret, for this region, at about the time `now`. */
export function verifySignature(
  request: SignedRequest,
  credential: Credential,
  { secret, region, now }: { secret: string; region: string; now: number },
): void {
  if (credential.region !== region) throw mismatch(`the region is not ${region}`);
  if (credential.service !== SERVICE) throw mismatch(`the service is not ${SERVICE}`);
  checkTime(request.headers['x-date'] ?? '', credential.date, now);
  const names = credential.signedHeaders.split(';');
  const unsigned = REQUIRED_HEADERS.find((name) => !names.includes(name));
  if (unsigned !== undefined) throw mismatch(`the header ${unsigned} is not signed`);
  if (names.join() !== names.toSorted().join()) throw mismatch('the signed headers are not sorted');
  const bodyHash = sha256(request.body);
  if (request.headers['x-content-sha256'] !== bodyHash) throw mismatch('X-Content-Sha256 is not that of the body');
  const signature = signatureOf(request, credential, secret, bodyHash);
  if (signature !== credential.signature) throw mismatch('check the secret key and the signing method');
}

function checkTime(time: string, date: string, now: number): void {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time) ?? [];
  const signedAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(signedAt)) throw mismatch('X-Date is missing or malformed');
  if (!time.startsWith(date)) throw mismatch('the date of the credential is not that of X-Date');
  if (Math.abs(signedAt - now) > LARGEST_SKEW_MS)
    throw mismatch('the request was signed too long ago or in the future');
}

function signatureOf(request: SignedRequest, credential: Credential, secret: string, bodyHash: string): string {
  const { date, region, service, signedHeaders } = credential;
  const headers = signedHeaders.split(';').map((name) => `${name}:${(request.headers[name] ?? '').trim()}\n`);
  const canonical = [
    request.method,
    request.path,
    canonicalQuery(request.query),
    headers.join(''),
    signedHeaders,
    bodyHash,
  ].join('\n');
  const scope = [date, region, service, 'request'];
  const text = [ALGORITHM, request.headers['x-date'], scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>((parent, part) => hmac(parent, part), secret);
  return hmac(key, text).toString('hex');
}

function canonicalQuery(query: URLSearchParams): string {
  const pairs = [...query].map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.sort().join('&');
}

/** Percent-encoding of RFC 3986, which is stricter than that of JavaScript. */
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const mismatch = (why: string): VideoFailure =>
  new VideoFailure('SignatureDoesNotMatch', `The signature of the request does not match: ${why}.`);
