import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentSpending } from './recent-spending.ts';

test('spending counts for a minute, to ten seconds', () => {
  const spending = new RecentSpending();
  spending.add(5n, 1_000);
  spending.add(7n, 12_000);
  assert.equal(spending.lastMinute(61_000), 12n);
  assert.equal(spending.lastMinute(70_001), 7n);
  spending.add(1n, 75_000);
  assert.equal(spending.lastMinute(80_000), 1n);
  assert.equal(spending.lastMinute(1_000_000), 0n);
  spending.add(3n, 1_000_001);
  assert.equal(spending.lastMinute(1_000_002), 3n);
});
