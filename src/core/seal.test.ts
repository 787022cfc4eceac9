import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealer, derive, newMasterKey, parseMasterKeys, WrongMasterKey } from './seal.ts';

const OLD = 'old-master-key-with-enough-characters';
const NEW = 'new-master-key-with-enough-characters';
const sealerOf = (text: string) => createSealer(parseMasterKeys(text) ?? []);
const PLACE = 'accounts.credential:oa1';

test('what is sealed opens in its place, and twice looks different', () => {
  const sealer = sealerOf(`k1:${OLD}`);
  for (const secret of ['sk-1', '', 'é🐉', 'x'.repeat(10_000)]) {
    const [one, two] = [sealer.seal(secret, PLACE), sealer.seal(secret, PLACE)];
    assert.deepEqual([sealer.open(one, PLACE), sealer.open(two, PLACE)], [secret, secret]);
    assert.notEqual(one, two);
    assert.match(one, /^v1:k1:[\w-]+$/);
  }
});

test('it opens nowhere else, with no other key, and not when a bit is turned', () => {
  const sealer = sealerOf(`k1:${OLD}`);
  const sealed = sealer.seal('secret', PLACE);
  assert.throws(() => sealer.open(sealed, 'accounts.credential:oa2'), WrongMasterKey);
  assert.throws(() => sealerOf(`k1:${NEW}`).open(sealed, PLACE), WrongMasterKey);
  assert.throws(() => sealerOf(`k2:${OLD}`).open(sealed, PLACE), /"k1", which MASTER_KEY does not contain/);
  assert.throws(() => sealerOf(`k2:${OLD},k1:${NEW}`).open(sealed.replace('k1', 'k2'), PLACE), WrongMasterKey);
  const bytes = Buffer.from(sealed.slice(6), 'base64url');
  for (let n = 0; n < bytes.length; n += 1) {
    const turned = Buffer.from(bytes);
    turned[n] = (turned[n] ?? 0) ^ 1;
    assert.throws(() => sealer.open(`v1:k1:${turned.toString('base64url')}`, PLACE), WrongMasterKey, `byte ${n}`);
  }
  for (const damaged of ['', 'v1', 'v1:k1:', 'v1:k1:AAAA', sealed.slice(0, -4), sealed.replace('v1', 'v2')])
    assert.throws(() => sealer.open(damaged, PLACE), WrongMasterKey, damaged);
});

test('of several master keys the first seals and all open', () => {
  const sealed = sealerOf(`k1:${OLD}`).seal('secret', PLACE);
  const both = sealerOf(`k2:${NEW}, k1:${OLD}`);
  assert.equal(both.active, 'k2');
  assert.equal(both.open(sealed, PLACE), 'secret');
  assert.equal(sealerOf(`k2:${NEW}`).open(both.seal('secret', PLACE), PLACE), 'secret');
});

test('a master key needs 32 characters and a name of its own', () => {
  assert.deepEqual(parseMasterKeys(OLD), [['k1', OLD]]);
  for (const text of ['', 'short', `k1:${'x'.repeat(31)}`, `k1:${OLD},k1:${NEW}`, `k2:${NEW},`, `${OLD},${NEW}`])
    assert.equal(parseMasterKeys(text), undefined, text);
  const made = [newMasterKey(), newMasterKey()];
  assert.notEqual(made[0], made[1]);
  for (const text of made) assert.ok(parseMasterKeys(text));
});

test('derived keys are HKDF-SHA-256 without salt, 32 bytes', () => {
  // Computed with another implementation (Python, hmac and hashlib).
  assert.equal(derive('secret', 'info').toString('hex'), EXPECTED);
  assert.notDeepEqual(derive('secret', 'a'), derive('secret', 'b'));
});

const EXPECTED = '7e11a191fa879919dcf4e336e0d736091bee42c78d4ccb86214290a677884a7a';
