import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imagesOf } from './request.ts';

const asked = (body: Readonly<Record<string, unknown>>) => imagesOf((name) => body[name]);

test('native request rounds the number of images up', () => {
  for (const [n, count] of [
    [undefined, 1],
    [3, 3],
    ['3', 3],
    [1.5, 2],
    [0, 1],
    [-2, 1],
    ['many', 1],
    [Number.POSITIVE_INFINITY, 1_000_000_000],
    [{ valueOf: 1, toString: 1 }, 1],
  ] as const)
    assert.equal(asked({ n }).count, count, String(count));
});

test('native request removes characters from the image kind that cannot be stored', () => {
  assert.equal(asked({ size: '1024x1024', quality: 'high' }).kind, '1024x1024/high');
  assert.equal(asked({}).kind, 'auto/auto');
  assert.equal(asked({ size: 'a\0b', quality: { toString: 1 } }).kind, 'ab/auto');
  for (const size of ['\ud800', `${'x'.repeat(63)}😀`]) assert.ok(asked({ size }).kind.isWellFormed());
});
