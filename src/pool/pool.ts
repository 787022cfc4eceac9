/**
 * Which account takes a call: weighted chance among those of the best priority that are neither full nor resting. Knows counts
 * and times, not sockets; one per replica, in memory. What a failure means for the account stands in rules/faults.ts.
 */
import type { Clock } from '../core/index.ts';
import { type FaultKind, faultRow } from '../rules/index.ts';

/** What the pool needs to know of an account; the catalog brings it. */
export interface PooledAccount {
  readonly id: string;
  readonly weight: number;
  readonly priority: number;
  readonly maxConcurrency: number;
}

export interface AccountLease<A extends PooledAccount> {
  readonly account: A;
  /** Gives the place back, once; a fault may send the account to rest. */
  release(fault?: { readonly kind: FaultKind; readonly restMs?: number | undefined }): void;
}

/** Where a call would rather go: to the account that holds what it refers to, or where its session went before. */
export interface Affinity {
  readonly accountId?: string | undefined;
  /** From 0 to below 1, the same for every call of a session; stands in for chance. */
  readonly hash?: number | undefined;
}

/** Nobody can take the call: when it is worth asking again, and why the first to be free is resting. */
export interface NoAccount {
  readonly retryMs: number;
  readonly reason: FaultKind | 'full';
}

interface State {
  inFlight: number;
  restUntil: number;
  restKind: FaultKind | undefined;
}

/** A provider that asks for longer than this is asked again anyway: its clock may be wrong, and ours is cheap. */
const MAX_COOLDOWN_MS = 3_600_000;
const FULL_RETRY_MS = 1_000;

/** Resting for these says little about the next call: better a try than a certain refusal when nobody else is there. */
const WORTH_A_TRY: ReadonlySet<FaultKind> = new Set(['failed', 'timeout', 'unreachable', 'overloaded']);

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
    const rested = open.filter((account) => this.#state(account.id).restUntil <= now);
    const wanted = rested.find((account) => account.id === affinity.accountId);
    const chosen = wanted ?? this.#choose(rested, affinity.hash ?? this.#random()) ?? this.#leastBad(open);
    return chosen ? this.#grant(chosen) : this.#refusal(open, now);
  }

  /** Calls in flight per account, for people who look. */
  inFlight(id: string): number {
    return this.#states.get(id)?.inFlight ?? 0;
  }

  #isFull(account: PooledAccount): boolean {
    return this.#state(account.id).inFlight >= account.maxConcurrency;
  }

  #choose<A extends PooledAccount>(accounts: readonly A[], chance: number): A | undefined {
    const [first] = accounts;
    if (accounts.length <= 1) return first;
    const best = Math.min(...accounts.map((account) => account.priority));
    const among = accounts.filter((account) => account.priority === best);
    let dice = chance * among.reduce((sum, account) => sum + account.weight, 0);
    for (const account of among) {
      dice -= account.weight;
      if (dice < 0) return account;
    }
    return among.at(-1);
  }

  #leastBad<A extends PooledAccount>(accounts: readonly A[]): A | undefined {
    return accounts
      .filter((account) => WORTH_A_TRY.has(this.#state(account.id).restKind ?? 'request'))
      .sort((a, b) => this.#state(a.id).restUntil - this.#state(b.id).restUntil)[0];
  }

  #grant<A extends PooledAccount>(account: A): AccountLease<A> {
    const state = this.#state(account.id);
    state.inFlight += 1;
    const { restUntil } = state;
    let held = true;
    return {
      account,
      release: (fault) => {
        if (!held) return;
        held = false;
        state.inFlight -= 1;
        if (fault) this.#judge(state, fault);
        // A success says nothing about a rest that began while it was under way.
        else if (state.restUntil === restUntil) this.#wake(state);
      },
    };
  }

  #wake(state: State): void {
    state.restUntil = 0;
    state.restKind = undefined;
  }

  #judge(state: State, fault: NonNullable<Parameters<AccountLease<PooledAccount>['release']>[0]>): void {
    const restMs = Math.min(MAX_COOLDOWN_MS, fault.restMs ?? faultRow(fault.kind).cooldownMs);
    if (restMs === 0) return;
    state.restUntil = this.#clock.now() + restMs;
    state.restKind = fault.kind;
  }

  #refusal(open: readonly PooledAccount[], now: number): NoAccount {
    const [first] = open.map((account) => this.#state(account.id)).sort((a, b) => a.restUntil - b.restUntil);
    return first
      ? { retryMs: first.restUntil - now, reason: first.restKind ?? 'full' }
      : { retryMs: FULL_RETRY_MS, reason: 'full' };
  }

  #state(id: string): State {
    let state = this.#states.get(id);
    if (!state) {
      state = { inFlight: 0, restUntil: 0, restKind: undefined };
      this.#states.set(id, state);
    }
    return state;
  }
}
