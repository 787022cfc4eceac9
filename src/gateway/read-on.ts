/**
 * Providers that are read on for a short time although the client is gone:
 * only their usage report shows hidden reasoning.
 */
import type { Clock } from '../core/index.ts';

export class ReadOn {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #open = new Set<() => void>();

  /** `ms` of 0 waits for no report. */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  get isOff(): boolean {
    return this.#ms === 0;
  }

  begin(giveUp: () => void): () => void {
    const end = (): void => {
      cancel();
      this.#open.delete(stop);
    };
    const stop = (): void => {
      end();
      giveUp();
    };
    const cancel = this.#clock.after(this.#ms, stop);
    this.#open.add(stop);
    return end;
  }

  endAll(): void {
    for (const stop of [...this.#open]) stop();
  }
}
