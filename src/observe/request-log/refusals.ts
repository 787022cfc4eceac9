/** Which calls without a known key are in the request log. Anyone can send them, so that only so many are kept. */
import type { Clock } from '../../core/index.ts';

const MINUTE_MS = 60_000;
/** Of a process: at most 86,400 a day. */
const PER_MINUTE = 60;
/** Leaves room for the calls of others while one address tries many keys. */
const PER_ADDRESS = 10;

export class Refusals {
  readonly #clock: Clock;
  #minute = 0;
  #kept = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(address: string): boolean {
    const minute = Math.floor(this.#clock.now() / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#kept = 0;
      this.#byAddress.clear();
    }
    const own = this.#byAddress.get(address) ?? 0;
    if (this.#kept >= PER_MINUTE || own >= PER_ADDRESS) return false;
    this.#kept += 1;
    this.#byAddress.set(address, own + 1);
    return true;
  }
}
