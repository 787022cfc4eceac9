import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealer, derive, newMasterKey, parseMasterKeys, WrongMasterKey } from './seal.ts';

const OLD = 'old-master-key-with-enough-characters';
const NEW = 'new-master-key-with-enough-characters';
const sealerOf = (text: string) => createSealer(parseMasterKeys(text) ?? []);
const LOCATION = 'accounts.credential:oa1';

test('seal is randomised, and open returns the secret', () => {
  const sealer = sealerOf(`k1:${OLD}`);
  for (const secret of ['sk-1', '', 'é🐉', 'x'.repeat(10_000)]) {
    const [one, two] = [sealer.seal(secret, LOCATION), sealer.seal(secret, LOCATION)];
    assert.deepEqual([sealer.open(one, LOCATION), sealer.open(two, LOCATION)], [secret, secret]);
    assert.notEqual(one, two);
    assert.match(one, /^v1:k1:[\w-]+$/);
  }
});

test('open rejects another location, another key and any flipped bit', () => {
  const sealer = sealerOf(`k1:${OLD}`);
  const sealed = sealer.seal('secret', LOCATION);
  assert.throws(() => sealer.open(sealed, 'accounts.credential:oa2'), WrongMasterKey);
  assert.throws(() => sealerOf(`k1:${NEW}`).open(sealed, LOCATION), WrongMasterKey);
  assert.throws(() => sealerOf(`k2:${OLD}`).open(sealed, LOCATION), /"k1", which MASTER_KEY does not contain/);
  assert.throws(() => sealerOf(`k2:${OLD},k1:${NEW}`).open(sealed.replace('k1', 'k2'), LOCATION), WrongMasterKey);
  const bytes = Buffer.from(sealed.slice(6), 'base64url');
  for (let n = 0; n < bytes.length; n += 1) {
    const turned = Buffer.from(bytes);
    turned[n] = (turned[n] ?? 0) ^ 1;
    assert.throws(() => sealer.open(`v1:k1:${turned.toString('base64url')}`, LOCATION), WrongMasterKey, `byte ${n}`);
  }
  for (const damaged of ['', 'v1', 'v1:k1:', 'v1:k1:AAAA', sealed.slice(0, -4), sealed.replace('v1', 'v2')])
    assert.throws(() => sealer.open(damaged, LOCATION), WrongMasterKey, damaged);
});

test('the first master key seals, and all master keys open', () => {
  const sealed = sealerOf(`k1:${OLD}`).seal('secret', LOCATION);
  const both = sealerOf(`k2:${NEW}, k1:${OLD}`);
  assert.equal(both.active, 'k2');
  assert.equal(both.open(sealed, LOCATION), 'secret');
  assert.equal(sealerOf(`k2:${NEW}`).open(both.seal('secret', LOCATION), LOCATION), 'secret');
});

test('parseMasterKeys requires 32 characters and unique names', () => {
  assert.deepEqual(parseMasterKeys(OLD), [['k1', OLD]]);
  for (const text of ['', 'short', `k1:${'x'.repeat(31)}`, `k1:${OLD},k1:${NEW}`, `k2:${NEW},`, `${OLD},${NEW}`])
    assert.equal(parseMasterKeys(text), undefined, text);
  const made = [newMasterKey(), newMasterKey()];
  assert.notEqual(made[0], made[1]);
  for (const text of made) assert.ok(parseMasterKeys(text));
});

test('derive is HKDF-SHA-256 without salt, 32 bytes', () => {
  // Computed with another implementation (Python, hmac and hashlib).
  assert.equal(derive('secret', 'info').toString('hex'), EXPECTED);
  assert.notDeepEqual(derive('secret', 'a'), derive('secret', 'b'));
});

const EXPECTED = '7e11a191fa879919dcf4e336e0d736091bee42c78d4ccb86214290a677884a7a';
