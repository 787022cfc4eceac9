import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompletionRate } from './completion-rate.ts';

test('the rate is that of the last seconds, and ends of one moment are not more than a second has', () => {
  const rate = new CompletionRate();
  assert.equal(rate.msUntil(1, 0), undefined);
  for (let n = 0; n < 5; n += 1) rate.count(100);
  assert.equal(rate.msUntil(10, 100), 2_000);
  // Five a second from then on.
  for (let now = 200; now <= 30_000; now += 200) rate.count(now);
  const ms = rate.msUntil(50, 30_000) ?? assert.fail('no rate');
  assert.ok(Math.abs(ms - 10_000) < 500, String(ms));
  assert.equal(rate.msUntil(1, 60_000), undefined, 'what ended long ago says nothing');
});
