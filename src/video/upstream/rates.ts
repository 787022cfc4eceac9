/** Request rates towards upstream accounts: a bucket of one second each, and a pause after the provider's own 429. */
import type { Clock } from '../../core/index.ts';
import { ACCOUNT_RATES } from '../../rules/index.ts';

interface Bucket {
  tokens: number;
  at: number;
  pausedUntil: number;
  pauseMs: number;
}

const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 300_000;

export class AccountRates {
  readonly #clock: Clock;
  readonly #perSecond: (accountId: string) => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, perSecond: (accountId: string) => number = () => ACCOUNT_RATES.getsPerSecond) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** Requests that the account takes now. */
  available(accountId: string): number {
    const bucket = this.#bucketOf(accountId);
    return this.#clock.elapsed() < bucket.pausedUntil ? 0 : Math.floor(bucket.tokens);
  }

  take(accountId: string): void {
    const bucket = this.#bucketOf(accountId);
    bucket.tokens -= 1;
    // A request that was allowed ends a series of pauses once the next one passes as well.
    if (this.#clock.elapsed() >= bucket.pausedUntil + bucket.pauseMs) bucket.pauseMs = 0;
  }

  /**
   * The provider rejected a request for its rate, possibly with a number of seconds to wait.
   * Longer with every pause in a row; requests that were under way when the pause began count as one.
   */
  pause(accountId: string, retryAfter?: number): void {
    const bucket = this.#bucketOf(accountId);
    if (this.#clock.elapsed() < bucket.pausedUntil) return;
    bucket.pauseMs = Math.min(MAX_PAUSE_MS, bucket.pauseMs === 0 ? FIRST_PAUSE_MS : bucket.pauseMs * 2);
    const named = retryAfter === undefined ? undefined : Math.min(MAX_PAUSE_MS, retryAfter * 1_000);
    bucket.pausedUntil = this.#clock.elapsed() + (named ?? bucket.pauseMs);
  }

  #bucketOf(accountId: string): Bucket {
    const now = this.#clock.elapsed();
    const perSecond = this.#perSecond(accountId);
    let bucket = this.#buckets.get(accountId);
    if (!bucket) {
      bucket = { tokens: perSecond, at: now, pausedUntil: 0, pauseMs: 0 };
      this.#buckets.set(accountId, bucket);
    }
    const refill = (Math.max(0, now - bucket.at) / 1_000) * perSecond;
    bucket.tokens = Math.min(perSecond, bucket.tokens + refill);
    bucket.at = now;
    return bucket;
  }
}
