/**
 * Providers that are read on although the client is gone, because only their usage report shows hidden reasoning. Each has a short time for
 * it and may send little more content (`READ_ON_BYTES`), and a server that stops waits for none.
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

  /** Calls `giveUp` when the time is over. Returns a function that ends the wait. */
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

  /** The server stops. */
  endAll(): void {
    for (const stop of [...this.#open]) stop();
  }
}
