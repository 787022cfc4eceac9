import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { SignInError, TokenCache } from './token-cache.ts';

const HOUR = 3_600_000;

/** Tokens of one hour, numbered. While `isDown`, the service does not respond. */
function service() {
  const state = { count: 0, isDown: false };
  const fetch = async () => {
    state.count += 1;
    if (state.isDown) throw new SignInError('down', 'TOKEN_DOWN', false);
    return { value: `token ${state.count}`, lifeMs: HOUR };
  };
  return { state, fetch };
}

test('a token is fetched once for all that wait, and renewed in the background before it ends', async () => {
  const [clock, { state, fetch }] = [new FakeClock(), service()];
  const cache = new TokenCache(clock);
  const get = () => cache.get('a', 'identity', fetch);
  assert.deepEqual(await Promise.all([get(), get(), get()]), ['token 1', 'token 1', 'token 1']);
  clock.advance(0.7 * HOUR);
  assert.equal(get(), 'token 1');
  clock.advance(0.1 * HOUR);
  assert.equal(get(), 'token 1', 'nobody waits for the renewal');
  await new Promise(setImmediate);
  assert.equal(get(), 'token 2');
  assert.equal(state.count, 2);
});

test('while the service is down, the old token is used to its end, and the service is asked every few seconds', async () => {
  const [clock, { state, fetch }] = [new FakeClock(), service()];
  const cache = new TokenCache(clock);
  const get = () => cache.get('a', 'identity', fetch);
  await get();
  state.isDown = true;
  clock.advance(0.9 * HOUR);
  for (let n = 0; n < 10; n += 1) {
    assert.equal(get(), 'token 1');
    await new Promise(setImmediate);
  }
  assert.equal(state.count, 2);
  clock.advance(0.1 * HOUR);
  await assert.rejects(async () => get(), SignInError);
  await assert.rejects(async () => get(), SignInError);
  assert.equal(state.count, 3);
  state.isDown = false;
  clock.advance(5_000);
  assert.equal(await get(), 'token 4');
});

test('a changed identity has a token of its own, and a rejected token is replaced after a minute', async () => {
  const [clock, { fetch }] = [new FakeClock(), service()];
  const cache = new TokenCache(clock);
  await cache.get('a', 'one', fetch);
  assert.equal(await cache.get('a', 'two', fetch), 'token 2');
  cache.forget('a');
  assert.equal(cache.get('a', 'two', fetch), 'token 2');
  clock.advance(60_001);
  cache.forget('a');
  assert.equal(await cache.get('a', 'two', fetch), 'token 3');
});

test('a token is not used in its last minute, and renewed within twelve hours whatever life the cloud names', async () => {
  const [clock, { state, fetch }] = [new FakeClock(), service()];
  const cache = new TokenCache(clock);
  await cache.get('a', 'identity', fetch);
  clock.advance(HOUR - 60_000);
  state.isDown = true;
  await assert.rejects(async () => cache.get('a', 'identity', fetch), SignInError);
  const month = { value: 'month', lifeMs: 720 * HOUR };
  assert.equal(await cache.get('b', 'identity', async () => month), 'month');
  clock.advance(12 * HOUR);
  assert.equal(await cache.get('b', 'identity', async () => ({ ...month, value: 'next' })), 'next');
});
