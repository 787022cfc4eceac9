import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { Refusals } from './refusals.ts';

test('ten calls without a key of one address are kept in a minute, and sixty of all', () => {
  const clock = new FakeClock();
  const refusals = new Refusals(clock);
  const kept = (address: string): number =>
    Array.from({ length: 50 }, () => refusals.take(address)).filter(Boolean).length;
  assert.deepEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(kept), [10, 10, 10, 10, 10, 10, 0]);
  clock.advance(60_000);
  assert.equal(kept('g'), 10);
});
