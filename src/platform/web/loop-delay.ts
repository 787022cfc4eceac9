/** The delay of the event loop since it was last read. Can pause: a pause is no delay. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Sampler } from './wakefulness.ts';

/** How often the delay is sampled. */
const SAMPLE_MS = 20;

const QUANTILES = [0.5, 0.99] as const;

export class LoopDelay implements Sampler {
  readonly #samples = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  /** Of the periods that a pause has ended: the worst counts. */
  #before = QUANTILES.map(() => 0);

  constructor() {
    this.#samples.enable();
  }

  pause(): void {
    this.#before = this.#current();
    this.#samples.disable();
  }

  resume(): void {
    // Otherwise the pause would be the first sample.
    this.#samples.reset();
    this.#samples.enable();
  }

  /** In seconds, in the order of `QUANTILES`. */
  read(): readonly number[] {
    const values = this.#current();
    this.#samples.reset();
    this.#before = QUANTILES.map(() => 0);
    return values;
  }

  #current(): number[] {
    return QUANTILES.map((quantile, n) => {
      // The samples include their interval.
      const seconds = this.#samples.percentile(quantile * 100) / 1e9 - SAMPLE_MS / 1_000;
      return Math.max(this.#before[n] ?? 0, seconds);
    });
  }
}
