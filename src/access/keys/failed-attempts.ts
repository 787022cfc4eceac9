/**
 * Rate limit for failed authentication, per address and minute. A valid credential passes: the address may be a proxy
 * with many clients behind it.
 */
import { type Clock, fail, RecentMap } from '../../core/index.ts';

/** Addresses counted at a time; beyond it the oldest is forgotten. */
const MAX_ADDRESSES = 100_000;

export class FailedAttempts {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #secret: string;
  #minute = 0;
  readonly #counts = new RecentMap<string, number>({ entries: MAX_ADDRESSES });

  /** `secret` is its name in the error message, such as "API key". */
  constructor(clock: Clock, limit: number, secret: string) {
    this.#clock = clock;
    this.#limit = limit;
    this.#secret = secret;
  }

  isOverLimit(address: string): boolean {
    const minute = Math.floor(this.#clock.now() / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts.clear();
    }
    return (this.#counts.get(address) ?? 0) >= this.#limit;
  }

  reject(address: string, error: unknown): never {
    if (this.isOverLimit(address)) throw this.#tooMany();
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
    throw error;
  }

  #tooMany(): Error {
    return fail(
      'rate_limit_exceeded',
      `Too many requests without a valid ${this.#secret} from this address; retry in the next minute.`,
      { retryAfter: 60 - Math.floor((this.#clock.now() / 1000) % 60) },
    );
  }
}
