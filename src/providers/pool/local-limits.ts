/** Counts of rate limits in the memory of one process. With several servers, each one grants the full limit. */
import type { Clock } from '../../core/index.ts';
import { fits, type LimitCounts, type LimitScope, MINUTE_MS, type Take, usedAfter } from './limiter.ts';

interface State {
  requests: number;
  tokens: number;
  open: number;
  at: number;
  scope: LimitScope;
}

export class LocalLimits implements LimitCounts {
  readonly #clock: Clock;
  readonly #states = new Map<string, State>();
  #sweptAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(scopes: readonly LimitScope[]): Take {
    const used = this.#statesOf(scopes);
    const isFitting = used.every((state) => fits(state.scope.limits, state));
    return { used, release: isFitting ? addRequest(used) : undefined };
  }

  /** Counts a request without a check, because Redis has already admitted it. */
  add(scopes: readonly LimitScope[]): () => void {
    return addRequest(this.#statesOf(scopes));
  }

  count(scopes: readonly LimitScope[], tokens: number): void {
    for (const state of this.#statesOf(scopes)) state.tokens += tokens;
  }

  #statesOf(scopes: readonly LimitScope[]): State[] {
    const now = this.#clock.now();
    if (now - this.#sweptAt >= MINUTE_MS) this.#sweep(now);
    return scopes.map((scope) => {
      const name = scopeName(scope);
      let state = this.#states.get(name);
      if (!state) {
        state = { requests: 0, tokens: 0, open: 0, at: now, scope: scope };
        this.#states.set(name, state);
      }
      state.scope = scope;
      drainBuckets(state, now);
      return state;
    });
  }

  /** Removes scopes without open requests and usage; they equal unknown ones. */
  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [name, state] of this.#states) {
      drainBuckets(state, now);
      if (state.open === 0 && state.requests === 0 && state.tokens === 0) this.#states.delete(name);
    }
  }
}

/** Returns the end of the request. */
function addRequest(states: readonly State[]): () => void {
  for (const state of states) {
    if (state.scope.limits.rpm !== undefined) state.requests += 1;
    state.open += 1;
  }
  return () => {
    for (const state of states) state.open -= 1;
  };
}

const scopeName = ({ owner, id }: LimitScope): string => `${owner}:${id}`;

function drainBuckets(state: State, now: number): void {
  const { rpm, tpm } = state.scope.limits;
  state.requests = usedAfter(state.requests, rpm, now - state.at);
  state.tokens = usedAfter(state.tokens, tpm, now - state.at);
  state.at = now;
}
