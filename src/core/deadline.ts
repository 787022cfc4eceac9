/** A limit on the time that a caller waits for a promise. The work behind the promise continues. */
import type { Clock } from './clock.ts';

/** Settles like `promise`, or with the outcome of `late` when that takes longer than `ms`. */
export function within<T>(promise: Promise<T>, { clock, ms, late }: Deadline<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    });
    promise.then(resolve, reject).finally(cancel);
  });
}

export interface Deadline<T> {
  readonly clock: Clock;
  readonly ms: number;
  /** Returns a substitute or throws. */
  readonly late: () => T;
}
