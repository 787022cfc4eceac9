/** What a wallet spent in the last minute, by slots of ten seconds: the current one and six before it. */
import type { Nanos } from '../../core/index.ts';

const SLOT_MS = 10_000;
const SLOTS = 7;

export class RecentSpending {
  readonly #slots: Nanos[] = Array.from({ length: SLOTS }, () => 0n);
  #current = 0;
  #sum: Nanos = 0n;

  /** `now` is that of `clock.elapsed()`. */
  add(nanos: Nanos, now: number): void {
    this.#advance(now);
    const at = this.#current % SLOTS;
    this.#slots[at] = (this.#slots[at] ?? 0n) + nanos;
    this.#sum += nanos;
  }

  /** At least the last minute, at most ten seconds more. */
  lastMinute(now: number): Nanos {
    this.#advance(now);
    return this.#sum;
  }

  /** Forgets slots that are older than the window. */
  #advance(now: number): void {
    const slot = Math.floor(now / SLOT_MS);
    for (let left = Math.min(slot - this.#current, SLOTS); left > 0; left -= 1) {
      const at = (slot - left + 1) % SLOTS;
      this.#sum -= this.#slots[at] ?? 0n;
      this.#slots[at] = 0n;
    }
    this.#current = Math.max(slot, this.#current);
  }
}
