/** A clock that tests move: its time can jump, and timers of one length can seem to be late, as in a busy process. */
import { type Clock, systemClock } from '../../src/core/index.ts';

export class SkewedClock implements Clock {
  #shiftMs = 0;
  #passedMs = 0;
  #late: { readonly timerMs: number; lateMs: number } | undefined;
  /** What `elapsed` returns inside the task of a late timer. */
  #elapsed: number | undefined;

  now(): number {
    return systemClock.now() + this.#shiftMs + this.#passedMs;
  }

  elapsed(): number {
    return this.#elapsed ?? systemClock.elapsed() + this.#passedMs;
  }

  after(ms: number, task: () => void): () => void {
    const startedAt = this.elapsed();
    return systemClock.after(ms, () => {
      if (ms === this.#late?.timerMs) this.#elapsed = startedAt + ms + this.#late.lateMs;
      task();
      this.#elapsed = undefined;
    });
  }

  /** Moves the time of day forward. */
  shift(ms: number): void {
    this.#shiftMs += ms;
  }

  /** Lets time pass, without running timers. */
  pass(ms: number): void {
    this.#passedMs += ms;
  }

  /** Timers of this length seem to be late by exactly so much, whatever the machine does. */
  delay(timerMs: number, lateMs: number): void {
    this.#late = { timerMs, lateMs };
  }
}
