/**
 * Pool of upstream accounts. Chooses by weight among the accounts of the best priority that have a free slot and no cooldown.
 * Each replica has its own, in memory. rules/faults.ts defines the cooldown of each kind of fault.
 */
import type { Clock } from '../core/index.ts';
import { type FaultKind, faultRow } from '../rules/index.ts';

/** The part of an account that the pool uses; the catalog provides it. */
export interface PooledAccount {
  readonly id: string;
  readonly weight: number;
  readonly priority: number;
  readonly maxConcurrency: number;
}

export interface AccountLease<A extends PooledAccount> {
  readonly account: A;
  /** Frees the slot, once. A fault may start a cooldown of the account. */
  release(fault?: AttemptFault): void;
}

export interface AttemptFault {
  readonly kind: FaultKind;
  /** The provider's own retry-after; the default of the kind when undefined. */
  readonly cooldownMs?: number | undefined;
}

/** Preference of a request: the account that stores what it refers to, or the account of its session. */
export interface Affinity {
  readonly accountId?: string | undefined;
  /** In [0, 1), the same for every request of a session; replaces the random number. */
  readonly hash?: number | undefined;
}

/** No account is available: time until the first one is, and the reason of its cooldown. */
export interface NoAccount {
  readonly retryMs: number;
  readonly reason: FaultKind | 'full';
}

interface State {
  inFlight: number;
  cooldownUntil: number;
  cooldownKind: FaultKind | undefined;
}

/** Caps a provider's retry-after, which may be wrong; one failed attempt per hour is cheap. */
const MAX_COOLDOWN_MS = 3_600_000;
const FULL_RETRY_MS = 1_000;

/** Faults that say little about the next request. Without another account, an attempt is better than a certain rejection. */
const USABLE_WHILE_COOLING: ReadonlySet<FaultKind> = new Set(['failed', 'timeout', 'unreachable', 'overloaded']);

export class Pool {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #states = new Map<string, State>();

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  lease<A extends PooledAccount>(accounts: readonly A[], affinity: Affinity = {}): AccountLease<A> | NoAccount {
    const now = this.#clock.now();
    const open = accounts.filter((account) => !this.#isFull(account));
    const ready = open.filter((account) => this.#state(account.id).cooldownUntil <= now);
    const preferred = ready.find((account) => account.id === affinity.accountId);
    const chosen = preferred ?? this.#choose(ready, affinity.hash ?? this.#random()) ?? this.#leastBad(open);
    return chosen ? this.#grant(chosen) : this.#noAccount(open, now);
  }

  /** Requests in flight of an account, for diagnostics. */
  inFlight(id: string): number {
    return this.#states.get(id)?.inFlight ?? 0;
  }

  #isFull(account: PooledAccount): boolean {
    return this.#state(account.id).inFlight >= account.maxConcurrency;
  }

  #choose<A extends PooledAccount>(accounts: readonly A[], random: number): A | undefined {
    const [first] = accounts;
    if (accounts.length <= 1) return first;
    const best = Math.min(...accounts.map((account) => account.priority));
    const candidates = accounts.filter((account) => account.priority === best);
    let remaining = random * candidates.reduce((sum, account) => sum + account.weight, 0);
    for (const account of candidates) {
      remaining -= account.weight;
      if (remaining < 0) return account;
    }
    return candidates.at(-1);
  }

  #leastBad<A extends PooledAccount>(accounts: readonly A[]): A | undefined {
    return accounts
      .filter((account) => USABLE_WHILE_COOLING.has(this.#state(account.id).cooldownKind ?? 'request'))
      .sort((a, b) => this.#state(a.id).cooldownUntil - this.#state(b.id).cooldownUntil)[0];
  }

  #grant<A extends PooledAccount>(account: A): AccountLease<A> {
    const state = this.#state(account.id);
    state.inFlight += 1;
    const { cooldownUntil } = state;
    let isHeld = true;
    return {
      account,
      release: (fault) => {
        if (!isHeld) return;
        isHeld = false;
        state.inFlight -= 1;
        if (fault) this.#applyFault(state, fault);
        // A success does not end a cooldown that began while the request was in flight.
        else if (state.cooldownUntil === cooldownUntil) this.#endCooldown(state);
      },
    };
  }

  #endCooldown(state: State): void {
    state.cooldownUntil = 0;
    state.cooldownKind = undefined;
  }

  #applyFault(state: State, fault: AttemptFault): void {
    const cooldownMs = Math.min(MAX_COOLDOWN_MS, fault.cooldownMs ?? faultRow(fault.kind).cooldownMs);
    if (cooldownMs === 0) return;
    state.cooldownUntil = this.#clock.now() + cooldownMs;
    state.cooldownKind = fault.kind;
  }

  #noAccount(open: readonly PooledAccount[], now: number): NoAccount {
    const [first] = open.map((account) => this.#state(account.id)).sort((a, b) => a.cooldownUntil - b.cooldownUntil);
    return first
      ? { retryMs: first.cooldownUntil - now, reason: first.cooldownKind ?? 'full' }
      : { retryMs: FULL_RETRY_MS, reason: 'full' };
  }

  #state(id: string): State {
    let state = this.#states.get(id);
    if (!state) {
      state = { inFlight: 0, cooldownUntil: 0, cooldownKind: undefined };
      this.#states.set(id, state);
    }
    return state;
  }
}
