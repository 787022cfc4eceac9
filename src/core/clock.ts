/** The clock: the only module that reads the time. Tests pass a `FakeClock`, so timeouts and expiries need no waiting. */

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Runs `task` once after `ms` and returns a cancel function. A pending timer never keeps the process alive. */
  after(ms: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

export class FakeClock implements Clock {
  #now: number;
  #timers = new Set<{ due: number; task: () => void }>();

  constructor(now = 1_794_700_800_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { due: this.#now + ms, task };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances the time and runs due tasks in order, including tasks that they schedule. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].filter((t) => t.due <= until).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.due;
      next.task();
    }
    this.#now = until;
  }
}
