/**
 * Credentials with an end, per account: fetched once for all waiting requests,
 * renewed early, never logged. Failures wait for seconds.
 */
import type { Clock } from '../../../core/index.ts';

export interface Expiring<T> {
  readonly value: T;
  readonly lifeMs: number;
}

/** The part of the life of a token after which it is renewed; the rest is time to try again. */
const RENEW_AFTER = 0.75;
/** Requests in flight and clocks that differ need some time. */
const RESERVE_MS = 60_000;
const FAILED_MS = 5_000;
const KEPT_MS = 60_000;
/** A cloud that names a longer life may revoke the token earlier. */
const MAX_LIFE_MS = 12 * 3_600_000;

interface Entry {
  readonly identity: string;
  value?: unknown;
  fetchedAt: number;
  renewAt: number;
  validUntil: number;
  fetching?: Promise<unknown> | undefined;
  failure?: { readonly error: SignInError; readonly until: number } | undefined;
}

export class TokenCache {
  readonly #clock: Clock;
  /** By account: a changed account replaces its entry, and no account has two. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `identity` is what the token depends on. */
  get<T>(account: string, identity: string, fetch: () => Promise<Expiring<T>>): T | Promise<T> {
    const entry = this.#entryOf(account, identity);
    const now = this.#clock.elapsed();
    if (now >= entry.renewAt) this.#renew(entry, fetch);
    if (now < entry.validUntil) return entry.value as T;
    if (entry.failure && !entry.fetching) return Promise.reject(entry.failure.error);
    return entry.fetching as Promise<T>;
  }

  /** The cloud rejects the token. A new one would be rejected as well, so it stays for a minute. */
  forget(account: string): void {
    const entry = this.#entries.get(account);
    if (entry && !entry.fetching && this.#clock.elapsed() > entry.fetchedAt + KEPT_MS) this.#entries.delete(account);
  }

  #entryOf(account: string, identity: string): Entry {
    const known = this.#entries.get(account);
    if (known?.identity === identity) return known;
    const entry = { identity, fetchedAt: 0, renewAt: 0, validUntil: 0 };
    this.#entries.set(account, entry);
    return entry;
  }

  #renew<T>(entry: Entry, fetch: () => Promise<Expiring<T>>): void {
    if (entry.fetching || (entry.failure && this.#clock.elapsed() < entry.failure.until)) return;
    entry.failure = undefined;
    entry.fetching = fetch()
      .then(({ value, lifeMs }) => {
        const life = Math.min(lifeMs, MAX_LIFE_MS);
        const now = this.#clock.elapsed();
        entry.value = value;
        entry.fetchedAt = now;
        entry.renewAt = now + life * RENEW_AFTER;
        entry.validUntil = now + Math.max(life - RESERVE_MS, life * RENEW_AFTER);
        return value;
      })
      .catch((error: unknown) => {
        const failure =
          error instanceof SignInError ? error : new SignInError('The sign-in failed.', 'SIGN_IN_FAILED', false);
        entry.failure = { error: failure, until: this.#clock.elapsed() + FAILED_MS };
        throw failure;
      })
      .finally(() => {
        entry.fetching = undefined;
      });
    // Requests that wait get the error; a renewal in the background has no one to tell.
    entry.fetching.catch(() => {});
  }
}

export class SignInError extends Error {
  /** False when a later try may succeed. */
  readonly isRefused: boolean;
  readonly code: string;

  constructor(message: string, code: string, isRefused: boolean) {
    super(message);
    this.code = code;
    this.isRefused = isRefused;
  }
}
