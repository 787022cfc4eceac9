/** Waiting for a condition instead of a fixed time. */
import { setTimeout as pause } from 'node:timers/promises';

/** Calls `probe` until it returns a truthy value, and returns that value. Throws after `ms`, which is long: machines that test may be slow. */
export async function until<T>(what: string, probe: () => T | Promise<T>, ms = 20_000): Promise<NonNullable<T>> {
  const begun = performance.now();
  for (;;) {
    const value = await probe();
    if (value) return value as NonNullable<T>;
    if (performance.now() - begun > ms) throw new Error(`not within ${ms} ms: ${what}`);
    await pause(20);
  }
}
