import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { RETRY_BUDGET } from '../../rules/index.ts';
import { RetryBudget } from './retry-budget.ts';

const takeAll = (budget: RetryBudget): number => {
  for (let n = 0; ; n++) if (!budget.take()) return n;
};

test('the retry budget is a share of the recent calls and a floor', () => {
  const clock = new FakeClock();
  const budget = new RetryBudget(clock);
  for (let n = 0; n < 1_000; n++) budget.countCall();
  assert.equal(takeAll(budget), RETRY_BUDGET.floor + 1_000 * RETRY_BUDGET.share);
  assert.equal(budget.refused, 1);
  clock.advance(RETRY_BUDGET.windowMs);
  assert.equal(takeAll(budget), RETRY_BUDGET.floor, 'what is older than the window does not count');
});
