import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { watchCalls } from './wakefulness.ts';

test('samplers pause after a second without calls and resume with the next request', () => {
  const clock = new FakeClock();
  const events: string[] = [];
  let openCalls = 1;
  const onRequest = watchCalls({
    clock,
    openCalls: () => openCalls,
    samplers: [{ pause: () => events.push('pause'), resume: () => events.push('resume') }],
  });
  clock.advance(10_000);
  assert.deepEqual(events, [], 'a long call keeps the server awake');
  openCalls = 0;
  onRequest();
  clock.advance(1_000);
  assert.deepEqual(events, [], 'a request of the last second too');
  clock.advance(1_000);
  assert.deepEqual(events, ['pause']);
  clock.advance(60_000);
  onRequest();
  onRequest();
  assert.deepEqual(events, ['pause', 'resume']);
  clock.advance(2_000);
  assert.deepEqual(events, ['pause', 'resume', 'pause']);
});
