import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whenReady } from './maybe-promise.ts';

test('whenReady calls the next step synchronously for a ready value', () => {
  assert.equal(
    whenReady(1, (n) => n + 1),
    2,
  );
  assert.throws(() =>
    whenReady(1, () => {
      throw new Error('next failed');
    }),
  );
});

test('whenReady calls the next step after a promise resolves, and passes its rejection on', async () => {
  assert.equal(await whenReady(Promise.resolve(1), (n) => n + 1), 2);
  await assert.rejects(async () => whenReady(Promise.reject(new Error('first failed')), () => 0), /first failed/);
});
