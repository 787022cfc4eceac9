/** Secrets cannot be guessed, but trying costs us look-ups: an address that fails too often waits for the next minute. */
import { type Clock, fail } from '../core/index.ts';

export class FailedAttempts {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #secret: string;
  #minute = 0;
  readonly #counts = new Map<string, number>();

  /** `secret` is what the refusal calls it: "API key". */
  constructor(clock: Clock, limit: number, secret: string) {
    this.#clock = clock;
    this.#limit = limit;
    this.#secret = secret;
  }

  check(address: string): void {
    const now = this.#clock.now();
    const minute = Math.floor(now / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts.clear();
    }
    if ((this.#counts.get(address) ?? 0) >= this.#limit) {
      throw fail('rate_limit_exceeded', `Too many requests without a valid ${this.#secret} came from your address.`, {
        retryAfter: 60 - Math.floor((now / 1000) % 60),
      });
    }
  }

  count(address: string): void {
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
  }
}
