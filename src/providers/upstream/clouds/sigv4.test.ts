import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpRequest } from '../../../platform/http/index.ts';
import { signV4 } from './sigv4.ts';

const CREDENTIALS = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SCOPE = { region: 'us-east-1', service: 'service', now: Date.UTC(2015, 7, 30, 12, 36) };

/** Signatures that AWS publishes for these requests in its test suite for Signature Version 4. */
const VECTORS: readonly (Partial<HttpRequest> & { readonly signature: string })[] = [
  { signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31' },
  {
    path: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  { method: 'POST', signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b' },
  {
    method: 'POST',
    headers: ['content-type', 'application/x-www-form-urlencoded'],
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
];

const request = (change: Partial<HttpRequest>): HttpRequest => ({
  method: 'GET',
  origin: 'https://example.amazonaws.com',
  path: '/',
  headers: [],
  body: null,
  timeouts: { connect: 1, firstByte: 1, idle: 1, total: 1 },
  ...change,
});

test('signatures are those of the published test suite', () => {
  for (const { signature, ...change } of VECTORS) {
    const { headers } = signV4(request(change), CREDENTIALS, SCOPE);
    assert.equal(headers.at(-1)?.split('Signature=')[1], signature, JSON.stringify(change));
  }
});

test('characters that URLs keep are encoded too where AWS reserves them', () => {
  const { headers } = signV4(request({ path: "/model/a(b)*'!/invoke" }), CREDENTIALS, SCOPE);
  // From another implementation.
  assert.match(headers.at(-1) ?? '', /Signature=921f89a919774637e63020102029b4401b024818fe47d9cea959f186233c3568$/);
});

test('a header is signed with its spaces collapsed, as AWS reads it', () => {
  const signatureOf = (type: string): string | undefined =>
    signV4(request({ headers: ['content-type', type] }), CREDENTIALS, SCOPE).headers.at(-1);
  assert.equal(signatureOf('  application/json;   charset=utf-8 '), signatureOf('application/json; charset=utf-8'));
});

test('a session token is sent and signed, and the path is encoded twice', () => {
  const target = { method: 'POST' as const, path: '/model/a%3A0/invoke', body: Buffer.from('{}') };
  const { headers } = signV4(request(target), { ...CREDENTIALS, token: 'session' }, SCOPE);
  assert.deepEqual(headers.slice(0, 4), ['x-amz-date', '20150830T123600Z', 'x-amz-security-token', 'session']);
  assert.match(headers.at(-1) ?? '', /SignedHeaders=host;x-amz-date;x-amz-security-token, /);
  const other = signV4(request({ ...target, path: '/model/a:0/invoke' }), CREDENTIALS, SCOPE);
  assert.notEqual(other.headers.at(-1), headers.at(-1));
});
