/**
 * Limits of a key: requests and tokens per minute, calls at once. Buckets that fill evenly, in memory of this replica. Tokens are
 * counted when they are known, so a burst may overdraw its bucket; the next calls wait until it is filled again.
 */
import { type Clock, fail } from '../core/index.ts';

/** What a key may do; absent means without limit. */
export interface RateLimits {
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  readonly concurrency?: number | undefined;
}

export interface Visit {
  /** For the answer: what is left. */
  readonly headers: Readonly<Record<string, string>>;
  leave(): void;
}

interface Bucket {
  level: number;
  at: number;
}

interface State {
  readonly requests: Bucket;
  readonly tokens: Bucket;
  open: number;
  usedAt: number;
}

const MINUTE_MS = 60_000;
/** Keys that have not been seen for so long start with full buckets anyway. */
const FORGET_MS = 2 * MINUTE_MS;
const MAX_STATES = 50_000;
const FREE: Visit = { headers: {}, leave: () => {} };

export class Limiter {
  readonly #clock: Clock;
  readonly #states = new Map<string, State>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws `rate_limit_exceeded` with the time to wait. */
  enter(keyId: string, limits: RateLimits): Visit {
    const { rpm, tpm, concurrency } = limits;
    if (rpm === undefined && tpm === undefined && concurrency === undefined) return FREE;
    const now = this.#clock.now();
    const state = this.#stateOf(keyId, limits, now);
    if (concurrency !== undefined && state.open >= concurrency) {
      throw fail('rate_limit_exceeded', `This key may have ${concurrency} calls at once, and has them.`, {
        retryAfter: 1,
      });
    }
    if (tpm !== undefined) refuseEmpty(state.tokens, tpm, 'tokens');
    if (rpm !== undefined) refuseEmpty(state.requests, rpm, 'requests');
    state.requests.level -= 1;
    state.open += 1;
    let isHere = true;
    return {
      headers: { ...headersOf('requests', state.requests, rpm), ...headersOf('tokens', state.tokens, tpm) },
      leave: () => {
        if (isHere) state.open -= 1;
        isHere = false;
      },
    };
  }

  /** What a call turned out to use. */
  count(keyId: string, tokens: number): void {
    const state = this.#states.get(keyId);
    if (state) state.tokens.level -= tokens;
  }

  #stateOf(keyId: string, { rpm, tpm }: RateLimits, now: number): State {
    let state = this.#states.get(keyId);
    if (!state) {
      if (this.#states.size >= MAX_STATES) this.#forgetIdle(now);
      state = { requests: { level: rpm ?? 0, at: now }, tokens: { level: tpm ?? 0, at: now }, open: 0, usedAt: now };
      this.#states.set(keyId, state);
    }
    state.usedAt = now;
    fill(state.requests, rpm, now);
    fill(state.tokens, tpm, now);
    return state;
  }

  #forgetIdle(now: number): void {
    for (const [keyId, state] of this.#states)
      if (state.open === 0 && now - state.usedAt > FORGET_MS) this.#states.delete(keyId);
  }
}

function fill(bucket: Bucket, perMinute: number | undefined, now: number): void {
  if (perMinute !== undefined)
    bucket.level = Math.min(perMinute, bucket.level + ((now - bucket.at) / MINUTE_MS) * perMinute);
  bucket.at = now;
}

/** Less than one is empty. */
function refuseEmpty(bucket: Bucket, perMinute: number, what: string): void {
  if (bucket.level >= 1) return;
  const retryAfter = Math.max(1, Math.ceil(((1 - bucket.level) / perMinute) * 60));
  throw fail(
    'rate_limit_exceeded',
    `This key's limit of ${perMinute} ${what} per minute is reached. Please try again in ${retryAfter}s.`,
    { retryAfter },
  );
}

function headersOf(what: string, bucket: Bucket, perMinute: number | undefined): Record<string, string> {
  if (perMinute === undefined) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(perMinute),
    [`x-ratelimit-remaining-${what}`]: String(Math.max(0, Math.floor(bucket.level))),
    [`x-ratelimit-reset-${what}`]: `${Math.ceil(((perMinute - bucket.level) / perMinute) * 60)}s`,
  };
}
