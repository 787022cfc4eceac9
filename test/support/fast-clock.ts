/** A clock on which time passes faster, so that a test reaches a time limit of minutes or seconds soon. */
import { type Clock, systemClock } from '../../src/core/index.ts';

export class FastClock implements Clock {
  readonly #speed: number;
  readonly #startedAt = systemClock.elapsed();

  constructor(speed: number) {
    this.#speed = speed;
  }

  /** The time of day is that of the system, because the database compares it with its own. */
  now(): number {
    return systemClock.now();
  }

  elapsed(): number {
    return this.#startedAt + (systemClock.elapsed() - this.#startedAt) * this.#speed;
  }

  after(ms: number, task: () => void): () => void {
    return systemClock.after(ms / this.#speed, task);
  }
}
