/** Waiting for something to become true, rather than for time to pass. */
import { setTimeout as pause } from 'node:timers/promises';

/** Asks until the answer is truthy, and gives it; fails after `ms`. */
export async function until<T>(what: string, ask: () => T | Promise<T>, ms = 5_000): Promise<NonNullable<T>> {
  const begun = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer) return answer as NonNullable<T>;
    if (performance.now() - begun > ms) throw new Error(`not within ${ms} ms: ${what}`);
    await pause(20);
  }
}
