/** Waiting for a condition instead of a fixed time. */
import { setTimeout as pause } from 'node:timers/promises';

/**
 * After this long a test says that something hangs. It decides nothing else: it is longer than anything takes on a
 * machine that is ten times slower, and shorter than the time limit of a test, which could not say what hangs.
 */
export const HANGING_MS = 150_000;

/**
 * Calls `probe` until it returns a truthy value, and returns that value. Only what takes minutes on a fast machine has
 * another `ms`.
 */
export async function until<T>(what: string, probe: () => T | Promise<T>, ms = HANGING_MS): Promise<NonNullable<T>> {
  const begun = performance.now();
  for (;;) {
    const value = await probe();
    if (value) return value as NonNullable<T>;
    if (performance.now() - begun > ms) throw new Error(`not within ${ms} ms: ${what}`);
    await pause(20);
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
  await until('the end of what waits for time to pass', () => {
    clock.advance(stepMs);
    return isOver;
  });
  return work;
}
