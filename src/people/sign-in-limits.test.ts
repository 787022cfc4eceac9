import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, FakeClock } from '../core/index.ts';
import { SIGN_IN_FAILURES } from '../rules/index.ts';
import { type SignInAttempt, SignInLimits } from './sign-in-limits.ts';

const attempt = (more: Partial<SignInAttempt> = {}): SignInAttempt => ({
  email: 'ana@example.test',
  address: '192.0.2.1',
  browser: undefined,
  ...more,
});

const isLimited = (limits: SignInLimits, one: SignInAttempt): boolean => {
  try {
    limits.begin(one);
    return false;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === 'rate_limit_exceeded');
    return true;
  }
};

test('SignInLimits counts an address over all e-mail addresses, and IPv6 by network', () => {
  const limits = new SignInLimits(new FakeClock());
  const from = (address: string, n: number) => attempt({ address, email: `${n}@example.test` });
  for (let n = 0; n < SIGN_IN_FAILURES.address; n += 1) assert.ok(!isLimited(limits, from('2001:db8::1', n)));
  assert.ok(isLimited(limits, from('2001:db8::2', 99)));
  assert.ok(!isLimited(limits, from('2001:db8:0:1::1', 99)));
});

test('SignInLimits forgets failures after the window, and successes at once', () => {
  const clock = new FakeClock();
  const limits = new SignInLimits(clock);
  for (let n = 0; n < 100; n += 1) {
    limits.begin(attempt());
    limits.succeed(attempt());
  }
  for (let n = 0; n < SIGN_IN_FAILURES.email; n += 1) assert.ok(!isLimited(limits, attempt()));
  assert.ok(isLimited(limits, attempt({ address: '192.0.2.2' })));
  assert.ok(!isLimited(limits, attempt({ browser: 'known' })), 'a known browser is counted alone');
  clock.advance(SIGN_IN_FAILURES.windowMs);
  assert.ok(!isLimited(limits, attempt()));
});

test('SignInLimits counts attempts that run at the same time', () => {
  const limits = new SignInLimits(new FakeClock());
  const begun = Array.from({ length: 50 }, () => isLimited(limits, attempt()));
  assert.equal(begun.filter((limited) => !limited).length, SIGN_IN_FAILURES.email);
});
