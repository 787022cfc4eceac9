/**
 * The retry budget of this process: further attempts are a share of the recent calls,
 * so that failures do not multiply the load.
 */
import type { Clock } from '../../core/index.ts';
import { RETRY_BUDGET } from '../../rules/index.ts';

const SLOTS = 10;
const SLOT_MS = RETRY_BUDGET.windowMs / SLOTS;

interface Slot {
  readonly number: number;
  calls: number;
  retries: number;
}

export class RetryBudget {
  refused = 0;
  readonly #clock: Clock;
  #slots: Slot[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  countCall(): void {
    this.#slot().calls += 1;
  }

  take(): boolean {
    const slot = this.#slot();
    const calls = this.#slots.reduce((sum, one) => sum + one.calls, 0);
    const retries = this.#slots.reduce((sum, one) => sum + one.retries, 0);
    if (retries >= RETRY_BUDGET.floor + calls * RETRY_BUDGET.share) {
      this.refused += 1;
      return false;
    }
    slot.retries += 1;
    return true;
  }

  #slot(): Slot {
    const number = Math.floor(this.#clock.elapsed() / SLOT_MS);
    const last = this.#slots.at(-1);
    if (last?.number === number) return last;
    const slot = { number, calls: 0, retries: 0 };
    this.#slots = [...this.#slots.filter((one) => number - one.number < SLOTS), slot];
    return slot;
  }
}
