import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ASSET_GROUP_MOVES,
  ASSET_GROUP_STATUSES,
  ASSET_MOVES,
  ASSET_STATUSES,
  assetGroupSourcesOf,
  assetSourcesOf,
  assetStatusAfter,
} from './assets.ts';

test('V 2: assets have nine statuses and groups the same without processing', () => {
  assert.equal(ASSET_STATUSES.length, 9);
  assert.deepEqual([...ASSET_GROUP_STATUSES].sort(), ASSET_STATUSES.filter((status) => status !== 'processing').sort());
});

for (const [about, moves] of [
  ['asset', ASSET_MOVES],
  ['group', ASSET_GROUP_MOVES],
] as const)
  test(`V 3: every status of an ${about} ends in deleted, and none is left after it`, () => {
    const next = moves as Readonly<Record<string, readonly string[]>>;
    for (const start of Object.keys(next)) {
      const reached = new Set([start]);
      for (const status of reached) for (const to of next[status] ?? []) reached.add(to);
      assert.ok(reached.has('deleted'), start);
    }
    assert.deepEqual(next.deleted, []);
    for (const ended of ['failed', 'invalid']) assert.deepEqual(next[ended], ['deleting'], `${ended} never recovers`);
  });

test('V 3: the sources of a status are the statuses that move to it', () => {
  assert.deepEqual(assetSourcesOf('invalid'), ['active']);
  assert.deepEqual(assetSourcesOf('processing'), ['creating', 'create_unknown']);
  assert.deepEqual(assetSourcesOf('deleted'), ['deleting']);
  assert.deepEqual(assetGroupSourcesOf('active'), ['creating', 'create_unknown']);
});

test('V 3: a report makes only legal moves, and none of an asset that has ended or is being deleted', () => {
  for (const from of ASSET_STATUSES)
    for (const reported of ['processing', 'active', 'failed', 'missing'] as const) {
      const to = assetStatusAfter(from, reported);
      if (to === undefined) continue;
      assert.ok(ASSET_MOVES[from].includes(to), `${from} to ${to}`);
      assert.ok(from === 'processing' || from === 'active');
    }
  assert.equal(assetStatusAfter('processing', 'active'), 'active');
  assert.equal(assetStatusAfter('processing', 'failed'), 'failed');
  assert.equal(assetStatusAfter('processing', 'processing'), undefined);
  assert.equal(assetStatusAfter('active', 'missing'), 'invalid');
  assert.equal(assetStatusAfter('active', 'failed'), 'invalid');
  assert.equal(assetStatusAfter('active', 'processing'), undefined, 'a step back is ignored');
  assert.equal(assetStatusAfter('invalid', 'active'), undefined);
});
