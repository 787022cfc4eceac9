/**
 * Limits failed sign-ins by browser, e-mail address and network. With several workers their primary counts for all of
 * them.
 */
import { type ApiError, type Clock, entryOf, fail, type MaybePromise, networkOf, RecentMap } from '../../core/index.ts';
import type { Link } from '../../platform/cluster/index.ts';
import { SIGN_IN_FAILURES } from '../../rules/index.ts';
import { FailedAttempts } from '../keys/index.ts';

/** Counters at a time; beyond it the oldest is forgotten. */
const MAX_COUNTERS = 100_000;

interface Counter {
  count: number;
  readonly endsAt: number;
}

export interface SignInAttempt {
  readonly email: string;
  readonly address: string;
  /** The browser that has signed in as this person before; it alone is counted then. */
  readonly browser?: string | undefined;
}

export interface SignInCounts {
  /**
   * Counts the attempt before its result is known, because many may run at once. Returns the seconds to wait at a
   * limit, else null.
   */
  begin(attempt: SignInAttempt): MaybePromise<number | null>;
  succeed(attempt: SignInAttempt): void;
}

export async function beginSignIn(counts: SignInCounts, attempt: SignInAttempt): Promise<void> {
  const retryAfter = await counts.begin(attempt);
  if (retryAfter !== null)
    throw fail('rate_limit_exceeded', 'Too many failed sign-ins; wait, or ask an operator for a new link.', {
      retryAfter,
    });
}

export const SIGN_IN_SERVICES = { begin: 'sign_in.begin', succeed: 'sign_in.succeed' } as const;

/** Of a worker: asks the primary. While it does not respond, a sign-in with a password gets 503. */
export const primarySignInCounts = (primary: Link): SignInCounts => ({
  begin: (attempt) => primary.ask(SIGN_IN_SERVICES.begin, attempt) as Promise<number | null>,
  succeed: (attempt) => primary.post(SIGN_IN_SERVICES.succeed, attempt),
});

export class LocalSignInCounts implements SignInCounts {
  readonly #clock: Clock;
  readonly #counters: RecentMap<string, Counter>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#counters = new RecentMap({ entries: MAX_COUNTERS, lifetime: { clock, ms: SIGN_IN_FAILURES.windowMs } });
  }

  begin(attempt: SignInAttempt): number | null {
    const scopes = scopesOf(attempt);
    const full = scopes
      .map(([key, limit]) => ({ limit, counter: this.#counterOf(key) }))
      .filter(({ limit, counter }) => counter.count >= limit);
    const endsAt = Math.max(...full.map(({ counter }) => counter.endsAt));
    if (full.length > 0) return Math.ceil((endsAt - this.#clock.elapsed()) / 1_000);
    for (const [key] of scopes) this.#counterOf(key).count += 1;
    return null;
  }

  succeed(attempt: SignInAttempt): void {
    for (const counter of scopesOf(attempt).map(([key]) => this.#counterOf(key)))
      counter.count = Math.max(0, counter.count - 1);
  }

  #counterOf(key: string): Counter {
    const endsAt = this.#clock.elapsed() + SIGN_IN_FAILURES.windowMs;
    return entryOf(this.#counters, key, () => ({ count: 0, endsAt }));
  }
}

const scopesOf = ({ email, address, browser }: SignInAttempt): [key: string, limit: number][] =>
  browser === undefined
    ? [
        [`email ${email}`, SIGN_IN_FAILURES.email],
        [`address ${networkOf(address)}`, SIGN_IN_FAILURES.address],
      ]
    : [[`browser ${browser}`, SIGN_IN_FAILURES.browser]];

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
