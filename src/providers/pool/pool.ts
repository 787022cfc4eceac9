/**
 * Pool of upstream accounts: which one gets the next attempt.
 * Sessions keep theirs, others get the least loaded. Reasons: docs/adr/0015-account-pool.md
 */
import { type Clock, entryOf } from '../../core/index.ts';
import { CIRCUIT, type FaultKind, faultRow, PARKED_RETRY_MS, SESSION_LOAD } from '../../rules/index.ts';
import type { ReachedAccount } from '../upstream/index.ts';
import { AccountUsage, type LimitedAccount, type ReachedLimit } from './account-usage.ts';
import {
  type AccountEvent,
  type AccountUse,
  type AttemptFault,
  type Cooldown,
  keyOf,
  type Park,
  WHOLE,
} from './cooldown.ts';
import { AccountHealth } from './health.ts';
import { sessionScore } from './rendezvous.ts';

/** An account of several groups has one health and one concurrency limit in all of them. */
interface GroupedAccount {
  readonly groupId: string;
  readonly groups?: readonly string[] | undefined;
}

export interface PooledAccount extends LimitedAccount, GroupedAccount {
  readonly weight: number;
  readonly priority: number;
  /** Undefined: as many as the provider takes (learned-limit.ts). */
  readonly maxConcurrency?: number | undefined;
}

export interface AccountLease<A extends PooledAccount> {
  readonly account: A;
  answered(): void;
  /** Frees the slot, once. A fault may start a cooldown; without one, the attempt was a success. */
  release(fault?: AttemptFault): void;
}

/** Preference of a request: the account that holds what it refers to, or the account of its session. */
export interface Affinity {
  readonly accountId?: string | undefined;
  /** In [0, 1), the same for every request of a session. */
  readonly hash?: number | undefined;
}

/** No account is available: time until the first one is, and the reason of its cooldown. */
export interface NoAccount {
  readonly retryMs: number;
  readonly reason: FaultKind | 'full' | 'parked' | 'limit';
}

/** Why an account gets no call of a use now, or gets it after all others (`avoided`). */
export interface Obstacle {
  readonly state: 'avoided' | 'cooling' | 'full' | 'limited' | 'parked' | 'draining' | 'refused_credential';
  readonly reason?: FaultKind | ReachedLimit['limit'];
  readonly until?: number;
}

export interface CoolingAccount extends Cooldown {
  readonly account: string;
}

export type HealthEvent = AccountEvent & { readonly account: string };

/** A change of this replica that the others have to learn of. */
export interface HealthChange {
  readonly account: string;
  readonly identity: string | undefined;
  readonly key: string;
  /** Undefined when it ended. */
  readonly cooldown: Cooldown | undefined;
  readonly endedUntil: number | undefined;
  readonly park: Park | undefined;
}

/** What all replicas know. A cooldown or a credential's park holds for the account as it was identified then. */
export interface SharedState {
  readonly cooldowns: readonly (CoolingAccount & { readonly identity: string | null })[];
  readonly parks: readonly (Park & { readonly account: string; readonly identity: string | null })[];
}

export interface PoolOptions {
  readonly random?: () => number;
  readonly onHealthEvent?: (event: HealthEvent) => void;
  /** Turns the secret identity of an account into a text that may be stored. */
  readonly fingerprint?: (identity: string) => string;
  readonly burstPercent?: number;
}

const DEFAULTS: Required<PoolOptions> = {
  random: Math.random,
  onHealthEvent: () => {},
  fingerprint: (identity) => identity,
  burstPercent: 100,
};

const FULL_RETRY_MS = 1_000;

/**
 * Faults that say little about the next request.
 * Without another account, an attempt is better than a certain rejection.
 */
const isUsableWhileCooling = (kind: FaultKind): boolean => faultRow(kind).effect === 'count';

interface Entry {
  groups: readonly string[];
  readonly health: AccountHealth;
}

export class Pool {
  readonly usage: AccountUsage;
  readonly #options: Required<PoolOptions> & { readonly clock: Clock };
  readonly #accounts = new Map<string, Entry>();
  /** By account and key: what other replicas have to learn. The value is the end of a cooldown that is over. */
  #changes = new Map<string, Map<string, number | undefined>>();
  #onFree: ((groupId: string) => void)[] = [];
  #onEnded: ((groupId: string) => void)[] = [];
  #onParked: () => void = () => {};

  constructor(clock: Clock, options: PoolOptions = {}) {
    this.#options = { clock, ...DEFAULTS, ...options };
    this.usage = new AccountUsage(clock, this.#options.burstPercent);
  }

  /**
   * `onlyReady`: others can serve, so that an account that is cooling down gets nothing but the probe of its circuit.
   */
  lease<A extends PooledAccount>(
    accounts: readonly A[],
    affinity: Affinity = {},
    use: AccountUse = {},
    onlyReady = false,
  ): AccountLease<A> | NoAccount {
    const found = this.find(accounts, affinity, use, onlyReady);
    return 'reason' in found ? found : this.#grant(found, use);
  }

  /** The account that a lease would use now. Changes nothing. */
  find<A extends PooledAccount>(
    accounts: readonly A[],
    affinity: Affinity,
    use: AccountUse,
    onlyReady: boolean,
  ): A | NoAccount {
    const usable = accounts.filter((account) => this.#isUsable(account, affinity.accountId));
    const open = usable.filter((account) => this.#hasRoom(account));
    const ready = open.filter((account) => this.#health(account).standing(use) !== 'out');
    const bound = ready.find(({ id }) => id === affinity.accountId);
    const chosen =
      bound ?? this.#choose(ready, affinity.hash, use) ?? (onlyReady ? undefined : this.#leastBad(open, use));
    return chosen ?? this.#noAccount(accounts, usable, use);
  }

  /** What keeps calls of this use away from the account; undefined when nothing does. */
  obstacle(account: PooledAccount, use: AccountUse): Obstacle | undefined {
    const health = this.#health(account);
    const { park } = health;
    if (park) return { state: park.cause === 'credential' ? 'refused_credential' : park.state };
    const standing = health.standing(use);
    const cooldown = standing === 'ready' ? undefined : health.longest(use, standing);
    if (cooldown)
      return { state: standing === 'out' ? 'cooling' : 'avoided', reason: cooldown.kind, until: cooldown.until };
    const reached = this.reachedLimit(account);
    if (reached) return { state: 'limited', reason: reached.limit, until: reached.until };
    return this.#hasRoom(account) ? undefined : { state: 'full' };
  }

  /** A lease in spite of parks and cooldowns, for a test by the operator. */
  leaseForTest<A extends PooledAccount>(account: A, use: AccountUse): AccountLease<A> {
    const lease = this.#grant(account, use);
    return {
      ...lease,
      release: (fault) => {
        lease.release(fault);
        if (!fault) this.#health(account).reset();
      },
    };
  }

  /** True when the account takes no calls at all; a draining one still takes those that only it can serve. */
  isParked(id: string): boolean {
    return this.#accounts.get(id)?.health.park?.state === 'parked';
  }

  /** True while a cooldown keeps calls of this use away from the account. After it, the account is on probe. */
  isOut(account: PooledAccount, use?: AccountUse): boolean {
    return this.#until(account, use ?? {}) > this.#options.clock.now();
  }

  /** Time until the first of the accounts is out of its cooldown and below its limits; 0 when one is. */
  cooldownMs(accounts: readonly PooledAccount[], use: AccountUse = {}): number {
    const now = this.#options.clock.now();
    const waits = accounts.map((account) => {
      const health = this.#health(account);
      return health.park ? PARKED_RETRY_MS : Math.max(0, (this.#waitOf(account, use)?.until ?? 0) - now);
    });
    return Math.min(...waits);
  }

  /**
   * Forgets the cooldowns of accounts that were removed or have another credential, address or proxy.
   * Called with the accounts of every new catalog.
   */
  reload(accounts: readonly (LimitedAccount & GroupedAccount & ReachedAccount)[]): void {
    this.usage.retain(accounts);
    const ids = new Set(accounts.map(({ id }) => id));
    for (const [id, { health }] of this.#accounts) {
      if (ids.has(id)) continue;
      health.identify(undefined);
      if (health.inFlight === 0) this.#accounts.delete(id);
    }
    for (const account of accounts) {
      const { baseUrl, credential, proxy = '', cloud } = account;
      const settings = cloud === undefined ? '' : `\n${JSON.stringify(cloud)}`;
      this.#health(account).identify(this.#options.fingerprint(`${baseUrl}\n${credential}\n${proxy}${settings}`));
    }
  }

  cooling(): CoolingAccount[] {
    return [...this.#accounts].flatMap(([account, { health }]) =>
      health.cooling().map((cooldown) => ({ account, ...cooldown })),
    );
  }

  parked(): (Park & { readonly account: string })[] {
    return [...this.#accounts].flatMap(([account, { health }]) => (health.park ? [{ account, ...health.park }] : []));
  }

  faults(): { readonly account: string; readonly kind: FaultKind; readonly count: number }[] {
    return [...this.#accounts].flatMap(([account, { health }]) =>
      [...health.faults].map(([kind, count]) => ({ account, kind, count })),
    );
  }

  reachedLimit(account: LimitedAccount): ReachedLimit | undefined {
    return this.usage.reached(account, this.inFlight(account.id));
  }

  /** A lease is used for a further request, if the account's limits admit one. */
  mayUseAgain(account: PooledAccount): boolean {
    const hasRoom = this.usage.hasRoom(account, this.inFlight(account.id));
    if (hasRoom) this.usage.begin(account);
    return hasRoom;
  }

  inFlight(id: string): number {
    return this.#accounts.get(id)?.health.inFlight ?? 0;
  }

  /** What the provider's refusals have taught; undefined without any. Holds where the operator names no number. */
  learnedLimit(id: string): number | undefined {
    return this.#accounts.get(id)?.health.limit.calls;
  }

  /** The account may take further calls, because its limit was raised. */
  announceRoom(accountId: string): void {
    this.#announceFree(this.#groupsOf(accountId));
  }

  /** Calls back when an account of a group may take a further call. */
  onFree(listener: (groupId: string) => void): void {
    this.#onFree.push(listener);
  }

  /** Calls back when a call of a group has ended, before its slot is given to another. */
  onEnded(listener: (groupId: string) => void): void {
    this.#onEnded.push(listener);
  }

  /** Calls back when a credential was rejected, so that other replicas learn of it at once. */
  onParked(listener: () => void): void {
    this.#onParked = listener;
  }

  takeChanges(): HealthChange[] {
    const changes = [...this.#changes].flatMap(([account, keys]) => {
      const health = this.#accounts.get(account)?.health;
      return [...keys].map(([key, endedUntil]) => ({
        account,
        identity: health?.identity,
        key,
        cooldown: health?.cooldownOf(key),
        endedUntil,
        // The end of a cooldown says nothing about the park, which an operator may be ending at this moment.
        park:
          key === WHOLE && endedUntil === undefined && health?.park?.cause === 'credential' ? health.park : undefined,
      }));
    });
    this.#changes = new Map();
    return changes;
  }

  /** The changes could not be shared; a later change of the same key replaces one. */
  restoreChanges(changes: readonly HealthChange[]): void {
    for (const { account, key, endedUntil } of changes) {
      const keys = this.#changesOf(account);
      if (!keys.has(key)) keys.set(key, endedUntil);
    }
  }

  /** Takes over what all replicas know. Changes of this replica that are not shared yet stay. */
  adopt({ cooldowns, parks }: SharedState): void {
    const isCurrent = (account: string, identity: string | null): boolean =>
      identity === (this.#accounts.get(account)?.health.identity ?? null);
    const known = Map.groupBy(
      cooldowns.filter(({ account, identity }) => isCurrent(account, identity)),
      ({ account }) => account,
    );
    const parkOf = new Map(
      parks
        .filter(({ account, cause, identity }) => cause === 'operator' || isCurrent(account, identity))
        .map((park) => [park.account, park]),
    );
    for (const [id, { health, groups }] of this.#accounts) {
      const own = this.#changes.get(id);
      const rows = new Map(known.get(id)?.map((row) => [row.use ? keyOf(row.use) : WHOLE, row]));
      health.retain((key) => rows.has(key) || own?.has(key) === true);
      for (const [key, row] of rows) if (!own?.has(key)) health.adopt(key, row);
      const park = parkOf.get(id);
      if (park || !own?.has(WHOLE)) health.setPark(park, 'elsewhere');
      if (!park) this.#announceFree(groups);
    }
  }

  /** Rows about accounts as they were before their credential, address or proxy changed. */
  outdated({ cooldowns, parks }: SharedState): { readonly account: string; readonly identity: string | null }[] {
    return [...cooldowns, ...parks.filter(({ cause }) => cause === 'credential')].filter(({ account, identity }) => {
      const known = this.#accounts.get(account)?.health.identity;
      return known !== undefined && known !== identity;
    });
  }

  #isUsable({ id }: PooledAccount, boundTo: string | undefined): boolean {
    const park = this.#accounts.get(id)?.health.park;
    return !park || (park.state === 'draining' && id === boundTo);
  }

  #hasRoom(account: PooledAccount): boolean {
    const { inFlight } = this.#health(account);
    const most = account.maxConcurrency ?? this.learnedLimit(account.id) ?? Number.POSITIVE_INFINITY;
    return inFlight < most && this.usage.hasRoom(account, inFlight);
  }

  #choose<A extends PooledAccount>(ready: readonly A[], hash: number | undefined, use: AccountUse): A | undefined {
    if (ready.length <= 1) return ready[0];
    const wanted = ready.filter((account) => this.#health(account).standing(use) === 'ready');
    const accounts = wanted.length > 0 ? wanted : ready;
    const best = Math.min(...accounts.map(({ priority }) => priority));
    const candidates = accounts.filter(({ priority }) => priority === best);
    return hash === undefined ? this.#leastLoaded(candidates, use) : this.#ofSession(candidates, hash, use);
  }

  /**
   * The minimum of load by weight, which is exact: the list is read anyway.
   * Equal accounts at random, so that replicas do not all choose the same one.
   */
  #leastLoaded<A extends PooledAccount>(candidates: readonly A[], use: AccountUse): A | undefined {
    // An account of weight 0 is used when there is no other.
    const loads = candidates.map((account) =>
      account.weight === 0 ? Number.POSITIVE_INFINITY : this.#health(account).load(use) / account.weight,
    );
    const min = Math.min(...loads);
    const equals = candidates.filter((_, n) => loads[n] === min);
    let remaining = this.#options.random() * equals.reduce((sum, { weight }) => sum + weight, 0);
    for (const account of equals) {
      remaining -= account.weight;
      if (remaining < 0) return account;
    }
    return equals.at(-1);
  }

  /**
   * Rendezvous hashing: a new account takes over its share of the sessions, and no session moves between the others.
   */
  #ofSession<A extends PooledAccount>(candidates: readonly A[], hash: number, use: AccountUse): A | undefined {
    const totals = { load: 0, weight: 0 };
    for (const account of candidates) {
      totals.load += this.#health(account).load(use);
      totals.weight += account.weight;
    }
    // One name for all requests of an application must not keep the other accounts idle.
    const light = candidates.filter((account) => {
      const fairShare = (totals.load * account.weight) / totals.weight;
      return this.#health(account).load(use) < Math.max(SESSION_LOAD.min, SESSION_LOAD.fairShares * fairShare);
    });
    let chosen: A | undefined;
    let highest = Number.NEGATIVE_INFINITY;
    for (const account of light) {
      const score = sessionScore(hash, account);
      if (score <= highest) continue;
      highest = score;
      chosen = account;
    }
    return chosen ?? this.#leastLoaded(candidates, use);
  }

  #leastBad<A extends PooledAccount>(open: readonly A[], use: AccountUse): A | undefined {
    return open
      .filter((account) => this.#health(account).reasons(use).every(isUsableWhileCooling))
      .sort((a, b) => this.#until(a, use) - this.#until(b, use))[0];
  }

  #grant<A extends PooledAccount>(account: A, use: AccountUse): AccountLease<A> {
    const attempt = this.#health(account).begin(use);
    this.usage.begin(account);
    let isHeld = true;
    return {
      account,
      answered: () => {
        if (isHeld) attempt.answered();
      },
      release: (fault) => {
        if (!isHeld) return;
        isHeld = false;
        attempt.end(fault);
        const groups = this.#groupsOf(account.id);
        for (const listener of this.#onEnded) for (const groupId of groups) listener(groupId);
        this.#announceFree(groups);
      },
    };
  }

  #noAccount(accounts: readonly PooledAccount[], usable: readonly PooledAccount[], use: AccountUse): NoAccount {
    if (usable.length === 0 && accounts.length > 0) {
      const isRefused = accounts.some(({ id }) => this.#accounts.get(id)?.health.park?.cause === 'credential');
      return { retryMs: PARKED_RETRY_MS, reason: isRefused ? 'credential' : 'parked' };
    }
    const waits = usable.flatMap((account) => this.#waitOf(account, use) ?? []);
    const [first] = waits.sort((a, b) => a.until - b.until);
    // An account without room that is healthy otherwise frees a slot sooner than a cooldown ends.
    if (waits.length < usable.length || !first) return { retryMs: FULL_RETRY_MS, reason: 'full' };
    return { retryMs: Math.max(0, first.until - this.#options.clock.now()), reason: first.reason };
  }

  /** What keeps calls of the use away from the account for the longest, apart from calls in flight. */
  #waitOf(
    account: PooledAccount,
    use: AccountUse,
  ): { readonly until: number; reason: NoAccount['reason'] } | undefined {
    const cooldown = this.#health(account).longest(use);
    const limit = this.reachedLimit(account);
    if (limit && limit.until > (cooldown?.until ?? 0)) return { until: limit.until, reason: 'limit' };
    return cooldown && { until: cooldown.until, reason: cooldown.kind };
  }

  #until(account: PooledAccount, use: AccountUse): number {
    return this.#health(account).longest(use)?.until ?? 0;
  }

  #health({ id, groupId, groups = [groupId] }: GroupedAccount & { readonly id: string }): AccountHealth {
    const entry = entryOf(this.#accounts, id, () => ({ groups, health: this.#newHealth(id) }));
    entry.groups = groups;
    return entry.health;
  }

  #newHealth(id: string): AccountHealth {
    const { clock, random, onHealthEvent } = this.#options;
    return new AccountHealth({
      clock,
      random,
      onEvent: (event) => onHealthEvent({ ...event, account: id }),
      mayEject: (key) => this.#mayEject(id, key),
      onChange: (key, endedUntil) => {
        this.#changesOf(id).set(key, endedUntil);
        if (this.#accounts.get(id)?.health.park && endedUntil === undefined) this.#onParked();
      },
    });
  }

  /**
   * A group keeps half of its usable accounts, for every use.
   * An ejection of the whole account counts for all of its uses.
   */
  #mayEject(id: string, key: string): boolean {
    return this.#groupsOf(id).every((groupId) => this.#mayEjectFrom(groupId, id, key));
  }

  #mayEjectFrom(groupId: string, id: string, key: string): boolean {
    const members = [...this.#accounts].filter(([, { groups, health }]) => groups.includes(groupId) && !health.park);
    const ejected = members.filter(([other]) => other !== id).map(([, { health }]) => new Set(health.ejectedKeys()));
    const keys = key === WHOLE ? new Set([WHOLE, ...ejected.flatMap((own) => [...own])]) : [key];
    const limit = Math.floor(members.length * CIRCUIT.ejectedShare);
    return [...keys].every((one) => ejected.filter((own) => own.has(WHOLE) || own.has(one)).length < limit);
  }

  #changesOf(account: string): Map<string, number | undefined> {
    return entryOf(this.#changes, account, () => new Map());
  }

  #groupsOf(id: string): readonly string[] {
    return this.#accounts.get(id)?.groups ?? [];
  }

  #announceFree(groups: readonly string[]): void {
    for (const listener of this.#onFree) for (const groupId of groups) listener(groupId);
  }
}
