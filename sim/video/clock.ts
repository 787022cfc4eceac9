/** The clock of the video provider. It follows real time, or moves only when a test advances it. */

interface Timer {
  at: number;
  order: number;
  run: (at: number) => void;
}

// setTimeout fires at once for longer delays.
const LONGEST_TIMEOUT_MS = 0x7fffffff;

export class SimClock {
  /** In manual mode the whole time, in real mode what was added to the time of day. */
  #offset: number;
  readonly #isManual: boolean;
  readonly #timers = new Set<Timer>();
  #count = 0;
  #wake: NodeJS.Timeout | undefined;
  /** Resolves when the work that timers started is done; `advance` waits for it. */
  whenIdle: () => Promise<void> = async () => {};

  /** `startAt` is the first time of a manual clock, in milliseconds since 1970. */
  constructor(mode: 'real' | 'manual', startAt = Date.now()) {
    this.#isManual = mode === 'manual';
    this.#offset = this.#isManual ? startAt : 0;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#isManual ? this.#offset : Date.now() + this.#offset;
  }

  /** Calls `run` with the time it was due, which may be in the past after a jump. Returns a function that cancels. */
  at(time: number, run: (at: number) => void): () => void {
    this.#count += 1;
    const timer = { at: time, order: this.#count, run };
    this.#timers.add(timer);
    this.#schedule();
    return () => void this.#timers.delete(timer);
  }

  /** Moves the clock forwards, runs what became due in order, and waits for the callbacks that this caused. */
  async advance(ms: number): Promise<void> {
    this.#offset += ms;
    this.#runDue();
    await this.whenIdle();
  }

  close(): void {
    this.#timers.clear();
    clearTimeout(this.#wake);
  }

  #runDue(): void {
    for (let next = this.#next(); next && next.at <= this.now(); next = this.#next()) {
      this.#timers.delete(next);
      next.run(next.at);
    }
    this.#schedule();
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      const isEarlier = !first || timer.at < first.at || (timer.at === first.at && timer.order < first.order);
      if (isEarlier) first = timer;
    }
    return first;
  }

  #schedule(): void {
    clearTimeout(this.#wake);
    const next = this.#isManual ? undefined : this.#next();
    if (!next) return;
    const delay = Math.min(Math.max(next.at - this.now(), 0), LONGEST_TIMEOUT_MS);
    // A waiting clock must not keep the process alive.
    this.#wake = setTimeout(() => this.#runDue(), delay).unref();
  }
}
