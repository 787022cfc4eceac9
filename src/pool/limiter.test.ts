import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, FakeClock } from '../core/index.ts';
import { Limiter } from './limiter.ts';

const refused = (retryAfter: number) => (error: unknown) =>
  error instanceof ApiError && error.code === 'rate_limit_exceeded' && error.details.retryAfter === retryAfter;

test('a minute holds as many requests as the limit says, and the bucket fills evenly', () => {
  const clock = new FakeClock();
  const limiter = new Limiter(clock);
  for (let n = 0; n < 6; n++) limiter.enter('k', { rpm: 6 }).leave();
  assert.throws(() => limiter.enter('k', { rpm: 6 }), refused(10));
  clock.advance(10_000);
  const { headers } = limiter.enter('k', { rpm: 6 });
  assert.deepEqual(headers, {
    'x-ratelimit-limit-requests': '6',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '60s',
  });
});

test('tokens are counted when they are known, and a burst is paid back', () => {
  const clock = new FakeClock();
  const limiter = new Limiter(clock);
  limiter.enter('k', { tpm: 600 }).leave();
  limiter.count('k', 1_200);
  assert.throws(() => limiter.enter('k', { tpm: 600 }), refused(61));
  clock.advance(61_000);
  limiter.enter('k', { tpm: 600 });
});

test('calls at once are counted until they leave, each once', () => {
  const limiter = new Limiter(new FakeClock());
  const visit = limiter.enter('k', { concurrency: 1 });
  assert.throws(() => limiter.enter('k', { concurrency: 1 }), refused(1));
  limiter.enter('other', { concurrency: 1 });
  visit.leave();
  visit.leave();
  limiter.enter('k', { concurrency: 1 });
  assert.throws(() => limiter.enter('k', { concurrency: 1 }), refused(1));
});

test('a key without limits is not looked at', () => {
  assert.deepEqual(new Limiter(new FakeClock()).enter('k', {}).headers, {});
});
