/** Limits on calls per time and account. */
import { VideoFailure } from './errors.ts';

interface RateLimitOptions {
  /** The code of a rejection. */
  code: string;
  windowMs?: number;
  /** Without it, real time: a manual clock can stand still. */
  now?: () => number;
}

export class RateLimits {
  readonly #options: Required<RateLimitOptions>;
  readonly #calls = new Map<string, number[]>();

  constructor({ code, windowMs = 1000, now = () => performance.now() }: RateLimitOptions) {
    this.#options = { code, windowMs, now };
  }

  /** Counts one call of `caller`; throws if it is more than `limit` in the window. */
  check(caller: string, limit: number | undefined): void {
    if (limit === undefined) return;
    const { code, windowMs } = this.#options;
    const now = this.#options.now();
    const recent = (this.#calls.get(caller) ?? []).filter((at) => at > now - windowMs);
    this.#calls.set(caller, recent);
    if (recent.length >= limit) throw new VideoFailure(code);
    recent.push(now);
  }
}
