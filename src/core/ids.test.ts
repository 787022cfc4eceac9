import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base62, ID_PREFIXES, newId, newRequestId } from './ids.ts';

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

test('newRequestId returns unique ids of one length', () => {
  const ids = Array.from({ length: 10_000 }, newRequestId);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(new Set(ids.map((id) => id.length)).size, 1);
  assert.match(ids[0] ?? '', /^req_[0-9a-f]{24}$/);
  const sorted = [...ids].sort();
  assert.notDeepEqual(ids, sorted, 'ids do not count up');
  const firstHalf = ids.filter((id) => id < `req_8${'0'.repeat(23)}`).length;
  assert.ok(firstHalf > 4_500 && firstHalf < 5_500, 'ids are spread evenly');
});
