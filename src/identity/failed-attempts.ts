/** Rate limit for failed authentication, per address and minute. Each attempt costs a database query, so guessing must be slow. */
import { type Clock, fail } from '../core/index.ts';

export class FailedAttempts {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #secret: string;
  #minute = 0;
  readonly #counts = new Map<string, number>();

  /** `secret` is its name in the error message, such as "API key". */
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
      throw fail(
        'rate_limit_exceeded',
        `Too many requests without a valid ${this.#secret} from this address; retry in the next minute.`,
        {
          retryAfter: 60 - Math.floor((now / 1000) % 60),
        },
      );
    }
  }

  count(address: string): void {
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
  }
}
