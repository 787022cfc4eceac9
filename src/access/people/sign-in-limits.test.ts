import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { SIGN_IN_FAILURES } from '../../rules/index.ts';
import { LocalSignInCounts, type SignInAttempt } from './sign-in-limits.ts';

const attempt = (more: Partial<SignInAttempt> = {}): SignInAttempt => ({
  email: 'ana@example.test',
  address: '192.0.2.1',
  browser: undefined,
  ...more,
});

const isLimited = (counts: LocalSignInCounts, one: SignInAttempt): boolean => counts.begin(one) !== null;

test('LocalSignInCounts counts an address over all e-mail addresses, and IPv6 by network', () => {
  const counts = new LocalSignInCounts(new FakeClock());
  const from = (address: string, n: number) => attempt({ address, email: `${n}@example.test` });
  for (let n = 0; n < SIGN_IN_FAILURES.address; n += 1) assert.ok(!isLimited(counts, from('2001:db8::1', n)));
  assert.ok(isLimited(counts, from('2001:db8::2', 99)));
  assert.ok(!isLimited(counts, from('2001:db8:0:1::1', 99)));
});

test('LocalSignInCounts forgets failures after the window, and successes at once', () => {
  const clock = new FakeClock();
  const counts = new LocalSignInCounts(clock);
  for (let n = 0; n < 100; n += 1) {
    counts.begin(attempt());
    counts.succeed(attempt());
  }
  for (let n = 0; n < SIGN_IN_FAILURES.email; n += 1) assert.ok(!isLimited(counts, attempt()));
  assert.ok(isLimited(counts, attempt({ address: '192.0.2.2' })));
  assert.ok(!isLimited(counts, attempt({ browser: 'known' })), 'a known browser is counted alone');
  clock.advance(SIGN_IN_FAILURES.windowMs);
  assert.ok(!isLimited(counts, attempt()));
});

test('LocalSignInCounts names the longest of several waits', () => {
  const clock = new FakeClock();
  const counts = new LocalSignInCounts(clock);
  const { address, email, windowMs } = SIGN_IN_FAILURES;
  for (let n = 0; n < address - email; n += 1) counts.begin(attempt({ email: `${n}@example.test` }));
  clock.advance(60_000);
  for (let n = 0; n < email; n += 1) counts.begin(attempt());
  assert.equal(counts.begin(attempt()), windowMs / 1_000);
});

test('LocalSignInCounts counts attempts that run at the same time', () => {
  const counts = new LocalSignInCounts(new FakeClock());
  const begun = Array.from({ length: 50 }, () => isLimited(counts, attempt()));
  assert.equal(begun.filter((limited) => !limited).length, SIGN_IN_FAILURES.email);
});
