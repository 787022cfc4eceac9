/** Keeps count in the memory of this replica: every replica grants the whole limit. */
import type { Clock, LimitedKey } from '../core/index.ts';
import {
  drained,
  fits,
  type Limiter,
  type LimitScope,
  limitHeaders,
  limitRejection,
  MINUTE_MS,
  type Slot,
  scopesOf,
} from './limiter.ts';

interface State {
  requests: number;
  tokens: number;
  open: number;
  at: number;
  side: LimitScope;
}

export class LocalLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #states = new Map<string, State>();
  #sweptAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  acquire(who: LimitedKey): Slot | undefined {
    if (!who.limits && !who.userLimits) return undefined;
    const sides = scopesOf(who);
    if (sides.length === 0) return undefined;
    const states = this.#statesOf(sides);
    if (!states.every((state) => fits(state.side.limits, state))) throw limitRejection(sides, states);
    return this.#take(sides, states);
  }

  /** Counts a call in without asking: another has. */
  take(sides: readonly LimitScope[]): Slot {
    return this.#take(sides, this.#statesOf(sides));
  }

  count(who: LimitedKey, tokens: number): void {
    if (!who.limits && !who.userLimits) return;
    for (const state of this.#statesOf(scopesOf(who))) if (state.side.limits.tpm !== undefined) state.tokens += tokens;
  }

  #take(sides: readonly LimitScope[], states: readonly State[]): Slot {
    for (const state of states) {
      if (state.side.limits.rpm !== undefined) state.requests += 1;
      state.open += 1;
    }
    let isHere = true;
    return {
      headers: limitHeaders(sides, states),
      release: () => {
        if (isHere) for (const state of states) state.open -= 1;
        isHere = false;
      },
    };
  }

  #statesOf(sides: readonly LimitScope[]): State[] {
    const now = this.#clock.now();
    if (now - this.#sweptAt >= MINUTE_MS) this.#sweep(now);
    return sides.map((side) => {
      const name = nameOf(side);
      let state = this.#states.get(name);
      if (!state) {
        state = { requests: 0, tokens: 0, open: 0, at: now, side };
        this.#states.set(name, state);
      }
      state.side = side;
      settle(state, now);
      return state;
    });
  }

  /** Who has nothing open and nothing used up is as good as never seen. */
  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [name, state] of this.#states) {
      settle(state, now);
      if (state.open === 0 && state.requests === 0 && state.tokens === 0) this.#states.delete(name);
    }
  }
}

const nameOf = ({ owner, id }: LimitScope): string => `${owner}:${id}`;

function settle(state: State, now: number): void {
  const { rpm, tpm } = state.side.limits;
  state.requests = drained(state.requests, rpm, now - state.at);
  state.tokens = drained(state.tokens, tpm, now - state.at);
  state.at = now;
}
