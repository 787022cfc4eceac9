import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base62, ID_PREFIXES, newId, newRequestId, requestIdTime } from './ids.ts';

test('base62 has a fixed width and keeps the order of the values', () => {
  assert.equal(base62(Uint8Array.of(0)), '00');
  assert.equal(base62(Uint8Array.of(61)), '0z');
  assert.equal(base62(Uint8Array.of(62)), '10');
  assert.equal(base62(Uint8Array.of(255)), '47');
  for (const size of [1, 9, 16, 32]) {
    const [low, high] = [base62(new Uint8Array(size)), base62(new Uint8Array(size).fill(255))];
    assert.equal(low.length, high.length);
    assert.match(low, /^0+$/);
    assert.ok(low < high);
  }
  assert.equal(base62(new Uint8Array(32)).length, 43);
});

test('base62 maps different bytes to different text', () => {
  const texts = new Set<string>();
  for (let n = 0; n < 65_536; n += 1) texts.add(base62(Uint8Array.of(n >> 8, n & 255)));
  assert.equal(texts.size, 65_536);
});

test('newId returns unique ids with the prefix', () => {
  for (const prefix of ID_PREFIXES) {
    const ids = new Set(Array.from({ length: 1_000 }, () => newId(prefix)));
    assert.equal(ids.size, 1_000);
    for (const id of ids) assert.match(id, new RegExp(`^${prefix}_[0-9A-Za-z]{22}$`));
  }
});

test('newRequestId returns unique ids of one length that begin with their time and do not count up', () => {
  const now = Date.UTC(2026, 10, 17);
  const ids = Array.from({ length: 10_000 }, () => newRequestId(now));
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) {
    assert.match(id, /^req_[0-9a-f]{24}$/);
    assert.equal(requestIdTime(id), now);
  }
  assert.notDeepEqual(ids, [...ids].sort());
  assert.ok(newRequestId(now) < newRequestId(now + 1));
  for (const other of ['', 'req_', 'req_abc', 'resp_019d6b2f4c00aabbccddeeff', newId('req')])
    assert.equal(requestIdTime(other), undefined, other);
});
