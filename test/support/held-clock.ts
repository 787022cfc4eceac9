/**
 * The clock of the system, except that timers of some lengths wait for the test: a time limit is reached when the test
 * says so.
 */
import { type Clock, systemClock } from '../../src/core/index.ts';

export class HeldClock implements Clock {
  readonly #held: ReadonlyMap<number, Set<() => void>>;

  /** The lengths in milliseconds. */
  constructor(...lengths: readonly number[]) {
    this.#held = new Map(lengths.map((ms) => [ms, new Set()]));
  }

  now(): number {
    return systemClock.now();
  }

  elapsed(): number {
    return systemClock.elapsed();
  }

  after(ms: number, task: () => void): () => void {
    const held = this.#held.get(ms);
    if (!held) return systemClock.after(ms, task);
    const timer = (): void => {
      held.delete(timer);
      task();
    };
    held.add(timer);
    return () => held.delete(timer);
  }

  /** How many timers of this length are set. */
  waiting(ms: number): number {
    return this.#held.get(ms)?.size ?? 0;
  }

  /** Runs the timers of this length that are set. */
  fire(ms: number): void {
    for (const timer of [...(this.#held.get(ms) ?? [])]) timer();
  }
}
