/**
 * Limits the queries of addresses that failed often. A valid credential from such an address still passes, because it may be a proxy
 * with many clients behind it.
 */
import { type ApiError, type Clock, fail } from '../../core/index.ts';
import { FailedAttempts } from '../keys/index.ts';

/** Queries at a time of all these addresses together. */
const MAX_QUERIES = 4;

export class SuspectGate {
  readonly #attempts: FailedAttempts;
  #running = 0;

  /** `secret` is its name in the error message, such as "session". */
  constructor(clock: Clock, failuresPerMinute: number, secret: string) {
    this.#attempts = new FailedAttempts(clock, failuresPerMinute, secret);
  }

  /** The result of the query; undefined is counted as a failure of the address and thrown as `error`. */
  async find<T>(address: string, query: () => Promise<T | undefined>, error: () => ApiError): Promise<T> {
    const isSuspect = this.#attempts.isOverLimit(address);
    if (isSuspect && this.#running >= MAX_QUERIES)
      throw fail('rate_limit_exceeded', 'Too many failed requests from this address; retry shortly.', {
        retryAfter: 1,
      });
    if (isSuspect) this.#running += 1;
    try {
      return (await query()) ?? this.#attempts.reject(address, error());
    } finally {
      if (isSuspect) this.#running -= 1;
    }
  }
}
