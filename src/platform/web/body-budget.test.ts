import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../core/index.ts';
import { BodyBudget, type BodyReservation } from './body-budget.ts';

const MIB = 2 ** 20;

const isOverloaded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'server_is_overloaded' && error.details.retryAfter === 1;

const isShareTaken = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'rate_limit_exceeded' && error.details.retryAfter === 1;

test('the budget admits bytes up to its size and rejects the next one', () => {
  const budget = new BodyBudget(96 * MIB);
  const owners = 'abcdefgh'.split('').map((owner) => budget.open(owner));
  for (const owner of owners) owner.add(12 * MIB);
  assert.throws(() => budget.open('i').add(MIB), isOverloaded);
  assert.equal(budget.reservedBytes, 96 * MIB, 'a rejected byte is not counted');
});

test('one owner alone takes three quarters of the budget, two three sevenths each, and each gets its share', () => {
  const budget = new BodyBudget(96 * MIB);
  const [one, again, other, third] = ['a', 'a', 'b', 'c'].map((owner) => budget.open(owner)) as [
    BodyReservation,
    BodyReservation,
    BodyReservation,
    BodyReservation,
  ];
  one.add(64 * MIB);
  again.add(8 * MIB);
  assert.throws(() => again.add(MIB), isShareTaken);
  other.add(18 * MIB);
  assert.throws(() => other.add(MIB), isShareTaken);
  third.add(4 * MIB);
  one.release();
  other.add(20 * MIB);
  assert.equal(budget.reservedBytes, 50 * MIB);
});

test('the budget counts the bytes of all reservations of an owner', () => {
  const budget = new BodyBudget(100 * MIB);
  const [one, two] = [budget.open('a'), budget.open('b')];
  one.add(50 * MIB);
  assert.throws(() => two.add(51 * MIB), isOverloaded);
  two.add(12 * MIB);
  one.release();
  two.add(38 * MIB);
  assert.equal(budget.reservedBytes, 50 * MIB);
});

test('a reservation gives all its bytes back, once', () => {
  const budget = new BodyBudget(100 * MIB);
  const [one, two] = [budget.open('a'), budget.open('b')];
  one.add(30 * MIB);
  one.add(10 * MIB);
  two.add(10 * MIB);
  one.release();
  one.release();
  assert.equal(budget.reservedBytes, 10 * MIB);
});

test('a released reservation takes no further bytes, because nothing would give them back', () => {
  const budget = new BodyBudget(100 * MIB);
  const reservation = budget.open('a');
  reservation.release();
  assert.throws(() => reservation.add(MIB), isOverloaded);
  assert.equal(budget.reservedBytes, 0);
});

test('a small body passes while there is room, whatever its owner holds', () => {
  const budget = new BodyBudget(8 * MIB);
  budget.open('a').add(6 * MIB);
  const small = budget.open('a');
  small.add(256 * 1024);
  assert.throws(() => small.add(1), isShareTaken);
});
