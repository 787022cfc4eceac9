/** Whether the server has calls. What samples the event loop several times a second rests without them. */
import type { Clock } from '../../core/index.ts';

export interface Sampler {
  pause(): void;
  resume(): void;
}

export interface WakefulnessOptions {
  readonly clock: Clock;
  readonly openCalls: () => number;
  readonly samplers: readonly Sampler[];
}

const CHECK_MS = 1_000;

export class Wakefulness {
  readonly #options: WakefulnessOptions;
  #isAwake = true;
  #isUsed = false;

  /** Begins awake. */
  constructor(options: WakefulnessOptions) {
    this.#options = options;
    this.#checkLater();
  }

  /** Of every request, so it costs next to nothing. */
  onRequest(): void {
    this.#isUsed = true;
    if (!this.#isAwake) this.#wake();
  }

  #wake(): void {
    this.#isAwake = true;
    for (const sampler of this.#options.samplers) sampler.resume();
    this.#checkLater();
  }

  #checkLater(): void {
    const { clock, openCalls, samplers } = this.#options;
    clock.after(CHECK_MS, () => {
      if (this.#isUsed || openCalls() > 0) {
        this.#isUsed = false;
        return this.#checkLater();
      }
      this.#isAwake = false;
      for (const sampler of samplers) sampler.pause();
    });
  }
}
