/** Counts of rate limits in the memory of one process. With several servers, each one grants the full limit. */
import { type Clock, entryOf, RateWindow, WINDOW_MS } from '../../core/index.ts';
import { type LimitCounts, type LimitScope, type LimitUsage, NO_USE, type Take } from './limiter.ts';

class State {
  readonly requests = new RateWindow();
  readonly tokens = new RateWindow();
  open = 0;
  usedAt = 0;
}

/** A scope that is idle for longer is forgotten, with the mean of its tokens. */
export const IDLE_MS = 10 * WINDOW_MS;

export class LocalLimits implements LimitCounts {
  readonly #clock: Clock;
  readonly #states = new Map<string, State>();
  #sweptAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(scopes: readonly LimitScope[]): Take {
    const now = this.#clock.elapsed();
    const used = scopes.map((scope): LimitUsage => {
      const { requests, tokens, open } = this.#stateOf(scope, now);
      const { rpm, tpm } = scope.limits;
      return {
        requests: rpm === undefined ? NO_USE : requests.requestUse(rpm, scope.burst, now),
        tokens: tpm === undefined ? NO_USE : tokens.tokenUse(tpm, open, now),
        open,
      };
    });
    const isFull = used.some(({ requests, tokens, open }, n) => {
      const concurrency = scopes[n]?.limits.concurrency ?? Number.POSITIVE_INFINITY;
      return requests.waitMs > 0 || tokens.waitMs > 0 || open >= concurrency;
    });
    if (isFull) return { used, release: undefined };
    const release = this.add(scopes);
    const withOne = used.map((usage, n) => {
      if (scopes[n]?.limits.rpm === undefined) return usage;
      return { ...usage, requests: { used: usage.requests.used + 1, waitMs: 0, resetMs: WINDOW_MS } };
    });
    return { used: withOne, release };
  }

  /** Counts a request without a check. Returns its end. */
  add(scopes: readonly LimitScope[]): () => void {
    const now = this.#clock.elapsed();
    const states = scopes.map((scope) => {
      const state = this.#stateOf(scope, now);
      if (scope.limits.rpm !== undefined) state.requests.add(1, now);
      state.open += 1;
      return state;
    });
    return () => {
      for (const state of states) state.open -= 1;
    };
  }

  count(scopes: readonly LimitScope[], tokens: number): void {
    const now = this.#clock.elapsed();
    for (const scope of scopes) this.#stateOf(scope, now).tokens.add(tokens, now);
  }

  #stateOf({ owner, id }: LimitScope, now: number): State {
    if (now - this.#sweptAt >= WINDOW_MS) this.#sweep(now);
    const state = entryOf(this.#states, `${owner}:${id}`, () => new State());
    state.usedAt = now;
    return state;
  }

  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [name, { open, usedAt }] of this.#states)
      if (open === 0 && now - usedAt >= IDLE_MS) this.#states.delete(name);
  }
}
