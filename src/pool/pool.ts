/**
 * Pool of upstream accounts. Chooses by weight among the accounts of the best priority that have a free slot and no cooldown.
 * Each replica has its own, in memory. rules/faults.ts defines the cooldown of each kind of fault.
 */
import type { Clock } from '../core/index.ts';
import type { FaultKind } from '../rules/index.ts';
import { AccountHealth, type AccountUse, type AttemptFault, type Cooldown, type HealthEvent } from './health.ts';

/** The part of an account that the pool uses; the catalog provides it. */
export interface PooledAccount {
  readonly id: string;
  readonly weight: number;
  readonly priority: number;
  readonly maxConcurrency: number;
}

/** The part of an account that decides whether its cooldowns still hold. */
export interface AccountIdentity {
  readonly id: string;
  readonly baseUrl: string;
  readonly credential: string;
  readonly proxy?: string | undefined;
}

export interface AccountLease<A extends PooledAccount> {
  readonly account: A;
  /** Frees the slot, once. A fault may start a cooldown; without one, the attempt was a success. */
  release(fault?: AttemptFault): void;
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

/** A cooldown of this moment, as operators see it. */
export interface CoolingAccount extends Cooldown {
  readonly account: string;
}

export interface PoolOptions {
  readonly random?: () => number;
  readonly onHealthEvent?: (event: HealthEvent) => void;
}

const FULL_RETRY_MS = 1_000;

/** Faults that say little about the next request. Without another account, an attempt is better than a certain rejection. */
const USABLE_WHILE_COOLING: ReadonlySet<FaultKind> = new Set(['failed', 'timeout', 'unreachable', 'overloaded']);

export class Pool {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onHealthEvent: (event: HealthEvent) => void;
  readonly #accounts = new Map<string, AccountHealth>();

  constructor(clock: Clock, { random = Math.random, onHealthEvent = () => {} }: PoolOptions = {}) {
    this.#clock = clock;
    this.#random = random;
    this.#onHealthEvent = onHealthEvent;
  }

  lease<A extends PooledAccount>(
    accounts: readonly A[],
    affinity: Affinity = {},
    use: AccountUse = {},
  ): AccountLease<A> | NoAccount {
    const now = this.#clock.now();
    const open = accounts.filter((account) => this.#health(account.id).inFlight < account.maxConcurrency);
    const ready = open.filter((account) => this.#until(account, use) <= now);
    const preferred = ready.find((account) => account.id === affinity.accountId);
    const chosen = preferred ?? this.#choose(ready, affinity.hash ?? this.#random()) ?? this.#leastBad(open, use);
    return chosen ? this.#grant(chosen, use) : this.#noAccount(open, use);
  }

  /** Time until the first of the accounts is out of its cooldown; 0 when one is. */
  cooldownMs(accounts: readonly PooledAccount[], use: AccountUse = {}): number {
    const until = Math.min(...accounts.map((account) => this.#until(account, use)));
    return Math.max(0, until - this.#clock.now());
  }

  /**
   * Forgets the cooldowns of accounts whose credential or address changed, and of removed accounts: they say nothing about the
   * account as it is now. Called with the accounts of every new catalog.
   */
  reload(accounts: readonly AccountIdentity[]): void {
    const identities = new Map(
      accounts.map(({ id, baseUrl, credential, proxy = '' }) => [id, `${baseUrl}\n${credential}\n${proxy}`]),
    );
    for (const [id, health] of this.#accounts) {
      health.identify(identities.get(id));
      if (!identities.has(id) && health.inFlight === 0) this.#accounts.delete(id);
    }
    for (const [id, identity] of identities) if (!this.#accounts.has(id)) this.#health(id).identify(identity);
  }

  /** Cooldowns that have not ended. */
  cooling(): CoolingAccount[] {
    return [...this.#accounts].flatMap(([account, health]) =>
      health.cooling().map((cooldown) => ({ account, ...cooldown })),
    );
  }

  /** Faults since the start of the process, by account and kind. */
  faults(): { readonly account: string; readonly kind: FaultKind; readonly count: number }[] {
    return [...this.#accounts].flatMap(([account, { faults }]) =>
      [...faults].map(([kind, count]) => ({ account, kind, count })),
    );
  }

  /** Requests in flight of an account, for diagnostics. */
  inFlight(id: string): number {
    return this.#accounts.get(id)?.inFlight ?? 0;
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

  #leastBad<A extends PooledAccount>(accounts: readonly A[], use: AccountUse): A | undefined {
    return accounts
      .filter(({ id }) =>
        this.#health(id)
          .reasons(use)
          .every((kind) => USABLE_WHILE_COOLING.has(kind)),
      )
      .sort((a, b) => this.#until(a, use) - this.#until(b, use))[0];
  }

  #grant<A extends PooledAccount>(account: A, use: AccountUse): AccountLease<A> {
    const health = this.#health(account.id);
    const end = health.begin(use);
    let isHeld = true;
    return {
      account,
      release(fault) {
        if (!isHeld) return;
        isHeld = false;
        end(fault);
      },
    };
  }

  #noAccount(open: readonly PooledAccount[], use: AccountUse): NoAccount {
    const [first] = [...open].sort((a, b) => this.#until(a, use) - this.#until(b, use));
    if (!first) return { retryMs: FULL_RETRY_MS, reason: 'full' };
    const { until, kind } = this.#health(first.id).longest(use) ?? { until: this.#clock.now(), kind: 'full' as const };
    return { retryMs: until - this.#clock.now(), reason: kind };
  }

  #until({ id }: PooledAccount, use: AccountUse): number {
    return this.#health(id).longest(use)?.until ?? 0;
  }

  #health(id: string): AccountHealth {
    let health = this.#accounts.get(id);
    if (!health) {
      health = new AccountHealth(this.#clock, (event) => this.#onHealthEvent({ ...event, account: id }));
      this.#accounts.set(id, health);
    }
    return health;
  }
}
