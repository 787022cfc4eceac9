import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { CHECK_MS, collectWhenIdle } from './idle-heap.ts';

/** Checks of a process whose CPU time and memory are given, and how often it has collected after each. */
async function collections(checks: readonly (readonly [cpuMs: number, heap: number])[]): Promise<number[]> {
  const clock = new FakeClock();
  const state = { cpuMs: 0, heap: 100, live: 110, collected: 0 };
  const repetition = collectWhenIdle(clock, {
    cpuMs: () => state.cpuMs,
    bytes: () => state.heap,
    async collect() {
      state.collected += 1;
      state.heap = state.live;
    },
  });
  const counts: number[] = [];
  for (const [cpuMs, heap] of checks) {
    state.cpuMs += cpuMs;
    state.heap = heap;
    clock.advance(CHECK_MS);
    await new Promise(setImmediate);
    counts.push(state.collected);
  }
  await repetition.stop();
  return counts;
}

test('memory that a load has left is collected once, after four idle checks', async () => {
  const load = [9_000, 300] as const;
  assert.deepEqual(
    await collections([load, [20, 300], [20, 300], [20, 300], [20, 300], [20, 110]]),
    [0, 0, 0, 0, 1, 1],
  );
  assert.deepEqual(await collections([[20, 300], [20, 300], load, [20, 300], [20, 300]]), [0, 0, 0, 0, 0]);
});

test('memory that has grown little, or that is in use, is left alone', async () => {
  assert.deepEqual(await collections(Array(5).fill([20, 130])), [0, 0, 0, 0, 0]);
  assert.deepEqual(await collections(Array(5).fill([200, 400])), [0, 0, 0, 0, 0]);
  // What was left after a collection is in use.
  assert.deepEqual(await collections(Array(7).fill([20, 150])), [0, 0, 0, 1, 1, 1, 1]);
});
