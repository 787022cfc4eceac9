/** Counts of rate limits in the memory of one process. With several servers, each one grants the full limit. */
import type { Clock } from '../../core/index.ts';
import { type LimitCounts, type LimitScope, type LimitUsage, NO_USE, type Take } from './limiter.ts';
import { RateWindow, WINDOW_MS } from './rate-window.ts';

interface State {
  readonly requests: RateWindow;
  readonly tokens: RateWindow;
  open: number;
  usedAt: number;
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
    const states = this.#statesOf(scopes, now);
    const used = states.map((state, n) => usageOf(state, scopes[n] as LimitScope, now));
    if (!used.every((usage, n) => isRoom(usage, scopes[n] as LimitScope))) return { used, release: undefined };
    const release = addRequest(states, scopes, now);
    return { used: used.map((usage, n) => withOne(usage, scopes[n] as LimitScope)), release };
  }

  /** Counts a request without a check, because Redis has already admitted it. */
  add(scopes: readonly LimitScope[]): () => void {
    const now = this.#clock.elapsed();
    return addRequest(this.#statesOf(scopes, now), scopes, now);
  }

  count(scopes: readonly LimitScope[], tokens: number): void {
    const now = this.#clock.elapsed();
    for (const state of this.#statesOf(scopes, now)) state.tokens.add(tokens, now);
  }

  #statesOf(scopes: readonly LimitScope[], now: number): State[] {
    if (now - this.#sweptAt >= WINDOW_MS) this.#sweep(now);
    return scopes.map(({ owner, id }) => {
      const name = `${owner}:${id}`;
      let state = this.#states.get(name);
      if (!state) {
        state = { requests: new RateWindow(), tokens: new RateWindow(), open: 0, usedAt: now };
        this.#states.set(name, state);
      }
      state.usedAt = now;
      return state;
    });
  }

  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [name, { open, usedAt }] of this.#states)
      if (open === 0 && now - usedAt >= IDLE_MS) this.#states.delete(name);
  }
}

const usageOf = ({ requests, tokens, open }: State, { limits, burst }: LimitScope, now: number): LimitUsage => ({
  requests: limits.rpm === undefined ? NO_USE : requests.requestUse(limits.rpm, burst, now),
  tokens: limits.tpm === undefined ? NO_USE : tokens.tokenUse(limits.tpm, open, now),
  open,
});

const isRoom = ({ requests, tokens, open }: LimitUsage, { limits: { concurrency } }: LimitScope): boolean =>
  requests.waitMs === 0 && tokens.waitMs === 0 && (concurrency === undefined || open < concurrency);

/** With the request that was admitted. */
const withOne = ({ requests, tokens, open }: LimitUsage, { limits: { rpm } }: LimitScope): LimitUsage => ({
  requests: rpm === undefined ? NO_USE : { used: requests.used + 1, waitMs: 0, resetMs: WINDOW_MS },
  tokens,
  open: open + 1,
});

/** Returns the end of the request. */
function addRequest(states: readonly State[], scopes: readonly LimitScope[], now: number): () => void {
  states.forEach((state, n) => {
    if (scopes[n]?.limits.rpm !== undefined) state.requests.add(1, now);
    state.open += 1;
  });
  return () => {
    for (const state of states) state.open -= 1;
  };
}
