import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { ACCOUNT_RATES } from '../../rules/index.ts';
import { AccountRates } from './rates.ts';

function start() {
  const clock = new FakeClock();
  const rates = new AccountRates(clock);
  /** Seconds until the account takes requests again. */
  const pausedSeconds = (): number => {
    let seconds = 0;
    for (; rates.available('a') === 0; seconds += 1) clock.advance(1_000);
    return seconds;
  };
  return { clock, rates, pausedSeconds };
}

test('an account takes its requests per second and refills in a second', () => {
  const { clock, rates } = start();
  assert.equal(rates.available('a'), ACCOUNT_RATES.getsPerSecond);
  for (let n = 0; n < ACCOUNT_RATES.getsPerSecond; n += 1) rates.take('a');
  assert.equal(rates.available('a'), 0);
  assert.equal(rates.available('b'), ACCOUNT_RATES.getsPerSecond, 'accounts are independent');
  clock.advance(500);
  assert.equal(rates.available('a'), ACCOUNT_RATES.getsPerSecond / 2);
  clock.advance(60_000);
  assert.equal(rates.available('a'), ACCOUNT_RATES.getsPerSecond);
});

test('an account pauses after a 429, longer with every pause in a row, up to five minutes', () => {
  const { rates, pausedSeconds } = start();
  for (const expected of [30, 60, 120, 240, 300, 300]) {
    rates.pause('a');
    assert.equal(rates.available('b'), ACCOUNT_RATES.getsPerSecond);
    assert.equal(pausedSeconds(), expected);
    rates.take('a');
  }
});

test('several 429 of one moment are one pause', () => {
  const { rates, pausedSeconds } = start();
  for (let n = 0; n < 8; n += 1) rates.pause('a');
  assert.equal(pausedSeconds(), 30);
});

test('a pause lasts as long as the provider asks, at most five minutes', () => {
  const { rates, pausedSeconds } = start();
  rates.pause('a', 7);
  assert.equal(pausedSeconds(), 7);
  rates.pause('a', 86_400);
  assert.equal(pausedSeconds(), 300);
});

test('requests that pass end the row of pauses', () => {
  const { clock, rates, pausedSeconds } = start();
  rates.pause('a');
  pausedSeconds();
  clock.advance(30_000);
  rates.take('a');
  rates.pause('a');
  assert.equal(pausedSeconds(), 30);
});
