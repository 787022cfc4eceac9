/** Waiting for a condition instead of a fixed time. */
import { setTimeout as pause } from 'node:timers/promises';

/**
 * After this long a test says that something hangs. It decides nothing else: it is longer than anything takes on a
 * machine that is ten times slower, and shorter than the time limit of a test, which could not say what hangs.
 */
export const HANGING_MS = 150_000;

/**
 * Between two probes. It grows with the time that has passed, because most probes ask a server and its database, and so
 * slow down the wait.
 */
const MIN_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;
const PAUSED_PART = 1 / 8;
/** Real time between two steps of a clock, for the work that each step begins. */
const STEP_PAUSE_MS = 20;

/**
 * Calls `probe` until it returns a truthy value, and returns that value. Only what takes minutes on a fast machine has
 * another `ms`.
 */
export async function until<T>(what: string, probe: () => T | Promise<T>, ms = HANGING_MS): Promise<NonNullable<T>> {
  const begun = performance.now();
  for (;;) {
    const value = await probe();
    if (value) return value as NonNullable<T>;
    const passedMs = performance.now() - begun;
    if (passedMs > ms) throw new Error(`not within ${ms} ms: ${what}`);
    await pause(Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, passedMs * PAUSED_PART)));
  }
}

/**
 * Lets time pass on a clock of the test until `work` is done: the timers that it waits for may begin one after the
 * other, or late.
 */
export async function whileTimePasses<T>(
  clock: { advance(ms: number): void },
  stepMs: number,
  work: Promise<T>,
): Promise<T> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  const begun = performance.now();
  for (; !isOver; await pause(STEP_PAUSE_MS)) {
    if (performance.now() - begun > HANGING_MS) throw new Error('what waits for time to pass does not end');
    clock.advance(stepMs);
  }
  return work;
}
