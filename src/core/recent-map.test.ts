import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { RecentMap } from './recent-map.ts';

test('a recent map drops what was not used for longest', () => {
  const map = new RecentMap<string, number>({ entries: 3, size: 100, sizeOf: (value) => value });
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ] as const)
    map.set(key, value);
  assert.equal(map.use('a'), 1);
  map.set('d', 4);
  assert.deepEqual(map.values(), [3, 1, 4], 'one entry too many');
  assert.equal(map.get('c'), 3);
  map.set('e', 96);
  assert.deepEqual(map.values(), [4, 96], 'the others are too large together, and reading one moves it nowhere');
  map.set('e', 5);
  map.delete('d');
  assert.deepEqual(map.values(), [5]);
});

test('a recent map forgets what is too old, unless it is renewed', () => {
  const clock = new FakeClock();
  const map = new RecentMap<string, number>({ entries: 9, lifetime: { clock, ms: 1_000 } });
  for (const [n, key] of ['idle', 'used', 'renewed'].entries()) map.set(key, n);
  clock.advance(900);
  assert.deepEqual([map.use('used'), map.renew('renewed')], [1, 2]);
  clock.advance(100);
  assert.deepEqual([map.get('idle'), map.use('used'), map.renew('renewed')], [undefined, undefined, 2]);
  assert.deepEqual(map.values(), [0, 2]);
  map.set('new', 3);
  assert.deepEqual(map.values(), [2, 3]);
  map.delete('renewed');
  map.delete('new');
  assert.ok(map.isEmpty);
});
