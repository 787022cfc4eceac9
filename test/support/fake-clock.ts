/** A clock that stands still until the test advances it, which runs the timers that are due. */
import type { Clock } from '../../src/core/index.ts';

export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;
  #timers = new Set<{ due: number; task: () => void }>();

  constructor(now = 1_794_700_800_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  /** Sets the time of day; timers and durations are not affected. */
  set(now: number): void {
    this.#now = now;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { due: this.#elapsed + ms, task };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances the time and runs due tasks in order, including tasks that they schedule. */
  advance(ms: number): void {
    const until = this.#elapsed + ms;
    for (;;) {
      const next = [...this.#timers].filter((t) => t.due <= until).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.#timers.delete(next);
      this.#moveTo(next.due);
      next.task();
    }
    this.#moveTo(until);
  }

  #moveTo(elapsed: number): void {
    this.#now += elapsed - this.#elapsed;
    this.#elapsed = elapsed;
  }
}
