import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../core/index.ts';
import { BodyBudget } from './body-budget.ts';

const isOverloaded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'server_is_overloaded' && error.details.retryAfter === 1;

test('the budget admits bytes up to its size and rejects the next one', () => {
  const budget = new BodyBudget(100);
  const [one, two] = [budget.open(), budget.open()];
  one.add(60);
  two.add(40);
  assert.throws(() => two.add(1), isOverloaded);
  assert.equal(budget.reservedBytes, 100, 'a rejected byte is not counted');
});

test('a reservation gives all its bytes back, once', () => {
  const budget = new BodyBudget(100);
  const [one, two] = [budget.open(), budget.open()];
  one.add(50);
  one.add(20);
  two.add(30);
  one.release();
  one.release();
  assert.equal(budget.reservedBytes, 30);
});

test('a released reservation takes no further bytes, because nothing would give them back', () => {
  const budget = new BodyBudget(100);
  const reservation = budget.open();
  reservation.release();
  assert.throws(() => reservation.add(1), isOverloaded);
  assert.equal(budget.reservedBytes, 0);
});
