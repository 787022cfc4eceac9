/** The clock: the only module that reads the time. Tests pass a `FakeClock`, so timeouts and expiries need no waiting. */

export interface Clock {
  /** Milliseconds since the Unix epoch. An operator or a time server may set this clock forward and back. */
  now(): number;
  /** Milliseconds on a clock that only moves forward, from an arbitrary start: for durations and expiries. */
  elapsed(): number;
  /** Runs `task` once after `ms` and returns a cancel function. A pending timer never keeps the process alive. */
  after(ms: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

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
