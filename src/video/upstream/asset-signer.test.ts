import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalQuery, type SignedRequest, signRequest } from './asset-signer.ts';

const REQUEST: SignedRequest = {
  method: 'POST',
  host: 'assets.example.com',
  path: '/',
  query: { Version: '2024-01-01', Action: 'ListAssetGroups' },
  body: '{"Filter":{"GroupType":"AIGC","Name":"a b"}}',
};
const KEY = { accessKey: 'AK-example', secretKey: 'SK-example', region: 'cn-beijing' };
const NOW = Date.UTC(2026, 0, 31, 23, 59, 59, 999);

test('signRequest gives the headers that openssl computes for the same request', () => {
  assert.deepEqual(signRequest(REQUEST, KEY, NOW), {
    'x-date': '20260131T235959Z',
    'x-content-sha256': '8429928df1249a48c5a3a87896ce96d7b3409a9e57e725ea500483950b500720',
    authorization:
      'HMAC-SHA256 Credential=AK-example/20260131/cn-beijing/ark/request, ' +
      'SignedHeaders=host;x-content-sha256;x-date, ' +
      'Signature=6e58801e6a3f162b411158ca0c7759d9ff59478e7307c6eb8afac4bb90bd84e7',
  });
});

test('every signed part changes the signature, and the order of the query does not', () => {
  const original = signRequest(REQUEST, KEY, NOW).authorization;
  const reordered = { ...REQUEST, query: { Action: 'ListAssetGroups', Version: '2024-01-01' } };
  assert.equal(signRequest(reordered, KEY, NOW).authorization, original);
  const changed = [
    signRequest({ ...REQUEST, host: 'other.example.com' }, KEY, NOW),
    signRequest({ ...REQUEST, path: '/v2' }, KEY, NOW),
    signRequest({ ...REQUEST, query: { ...REQUEST.query, Action: 'ListAssets' } }, KEY, NOW),
    signRequest({ ...REQUEST, body: '{}' }, KEY, NOW),
    signRequest(REQUEST, { ...KEY, secretKey: 'SK-other' }, NOW),
    signRequest(REQUEST, { ...KEY, region: 'ap-southeast-1' }, NOW),
    signRequest(REQUEST, KEY, NOW + 1),
  ].map(({ authorization }) => authorization?.split('Signature=')[1]);
  assert.equal(new Set([...changed, original?.split('Signature=')[1]]).size, changed.length + 1);
});

test('canonicalQuery sorts by name and encodes all that RFC 3986 reserves', () => {
  assert.equal(canonicalQuery({ b: "a b!'()*~", A: 'ü/' }), 'A=%C3%BC%2F&b=a%20b%21%27%28%29%2A~');
});
