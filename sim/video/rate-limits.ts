/** Limits on calls per second and account. They count in real time, because a manual clock can stand still. */
import { VideoFailure } from './errors.ts';
import type { Operation } from './triggers.ts';

const PER_SECOND: Partial<Record<Operation, number>> = { get: 20, list: 1, delete: 20 };
const WINDOW_MS = 1000;

export class RateLimits {
  readonly #calls = new Map<string, number[]>();

  check(account: string, operation: Operation): void {
    const limit = PER_SECOND[operation];
    if (limit === undefined) return;
    const key = `${account} ${operation}`;
    const now = performance.now();
    const recent = (this.#calls.get(key) ?? []).filter((at) => at > now - WINDOW_MS);
    this.#calls.set(key, recent);
    if (recent.length >= limit) throw new VideoFailure('AccountRateLimitExceeded');
    recent.push(now);
  }
}
