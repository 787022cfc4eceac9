/** Rate limiter in the memory of one process. With several servers, each one grants the full limit. */
import type { Clock, LimitedKey } from '../core/index.ts';
import {
  fits,
  type Limiter,
  type LimitScope,
  type LimitUsage,
  limitHeaders,
  limitRejection,
  MINUTE_MS,
  type OperationLimit,
  type Slot,
  scopesOf,
  usedAfter,
} from './limiter.ts';

interface State {
  requests: number;
  tokens: number;
  open: number;
  at: number;
  scope: LimitScope;
}

export class LocalLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #states = new Map<string, State>();
  #sweptAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  acquire(key: LimitedKey, operation?: OperationLimit): Slot | undefined {
    if (!key.limits && !key.userLimits && !operation) return undefined;
    const scopes = scopesOf(key, operation);
    if (scopes.length === 0) return undefined;
    const { slot, used } = this.tryTake(scopes);
    if (!slot) throw limitRejection(scopes, used);
    return slot;
  }

  /** Counts a request that fits. `used` is what counts afterwards; without a slot the request does not fit. */
  tryTake(scopes: readonly LimitScope[]): { readonly slot: Slot | undefined; readonly used: readonly LimitUsage[] } {
    const used = this.#statesOf(scopes);
    const isFitting = used.every((state) => fits(state.scope.limits, state));
    return { slot: isFitting ? this.#take(scopes, used) : undefined, used };
  }

  /** Counts a request without a check, because Redis has already admitted it. */
  take(scopes: readonly LimitScope[]): Slot {
    return this.#take(scopes, this.#statesOf(scopes));
  }

  count(key: LimitedKey, tokens: number): void {
    if (!key.limits && !key.userLimits) return;
    this.countTokens(scopesOf(key), tokens);
  }

  countTokens(scopes: readonly LimitScope[], tokens: number): void {
    for (const state of this.#statesOf(scopes)) if (state.scope.limits.tpm !== undefined) state.tokens += tokens;
  }

  #take(scopes: readonly LimitScope[], states: readonly State[]): Slot {
    for (const state of states) {
      if (state.scope.limits.rpm !== undefined) state.requests += 1;
      state.open += 1;
    }
    let isHeld = true;
    return {
      headers: limitHeaders(scopes, states),
      release: () => {
        if (isHeld) for (const state of states) state.open -= 1;
        isHeld = false;
      },
    };
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

const scopeName = ({ owner, id }: LimitScope): string => `${owner}:${id}`;

function drainBuckets(state: State, now: number): void {
  const { rpm, tpm } = state.scope.limits;
  state.requests = usedAfter(state.requests, rpm, now - state.at);
  state.tokens = usedAfter(state.tokens, tpm, now - state.at);
  state.at = now;
}
