/**
 * Health of one account on this replica: requests in flight, and cooldowns of the whole account or of one use of it (a model and a
 * kind of operation). A fault that a request caused by itself changes nothing here.
 */
import type { Clock } from '../core/index.ts';
import { type FaultKind, faultRow, type TimeoutClass } from '../rules/index.ts';

/** What an account is used for. A fault of one use says nothing about the others, unless the whole account is at fault. */
export interface AccountUse {
  /** The model as the provider names it. */
  readonly model?: string | undefined;
  readonly operation?: TimeoutClass | undefined;
}

export interface AttemptFault {
  readonly kind: FaultKind;
  /** The provider's own retry-after; the default of the kind when undefined. */
  readonly cooldownMs?: number | undefined;
  /** The provider's code of the error, for operators. */
  readonly providerCode?: string | undefined;
}

export interface Cooldown {
  /** Undefined for a cooldown of the whole account. */
  readonly use: AccountUse | undefined;
  readonly kind: FaultKind;
  readonly providerCode: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  /** Faults since its start. */
  readonly faults: number;
}

export interface HealthEvent {
  readonly type: 'cooling' | 'recovered';
  readonly account: string;
  readonly cooldown: Cooldown;
  /** Why a cooldown ended: an attempt succeeded, or the operator changed the account. */
  readonly because?: 'success' | 'changed';
}

/** Caps a provider's retry-after, which may be wrong; one failed attempt per hour is cheap. */
const MAX_COOLDOWN_MS = 3_600_000;
/** Callers choose model names where the catalog has patterns, so the number of uses is bounded. */
const MAX_COOLDOWNS = 100;
/** The key of the cooldown of the whole account; keys of uses contain a line break. */
const WHOLE = '';

interface StoredCooldown extends Cooldown {
  /** Number of the last fault. */
  readonly fault: number;
}

export class AccountHealth {
  readonly faults = new Map<FaultKind, number>();
  readonly #clock: Clock;
  readonly #onEvent: (event: Omit<HealthEvent, 'account'>) => void;
  readonly #cooldowns = new Map<string, StoredCooldown>();
  #inFlight = 0;
  #faultCount = 0;
  #identity: string | undefined;
  /** Raised when the account changes, so that attempts on the account as it was count for nothing. */
  #generation = 0;

  constructor(clock: Clock, onEvent: (event: Omit<HealthEvent, 'account'>) => void) {
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The cooldown that ends last among those that concern the use. */
  longest(use: AccountUse): Cooldown | undefined {
    const now = this.#clock.now();
    const [first, second] = [this.#cooldowns.get(WHOLE), this.#cooldowns.get(keyOf(use))];
    const longest = first && second && second.until > first.until ? second : (first ?? second);
    return longest && longest.until > now ? longest : undefined;
  }

  /** Why the account does not take the use now. */
  reasons(use: AccountUse): FaultKind[] {
    const now = this.#clock.now();
    return [this.#cooldowns.get(WHOLE), this.#cooldowns.get(keyOf(use))].flatMap((cooldown) =>
      cooldown && cooldown.until > now ? [cooldown.kind] : [],
    );
  }

  cooling(): Cooldown[] {
    const now = this.#clock.now();
    return [...this.#cooldowns.values()].filter(({ until }) => until > now);
  }

  /** An attempt begins. The returned function ends it. */
  begin(use: AccountUse): (fault?: AttemptFault) => void {
    this.#inFlight += 1;
    const generation = this.#generation;
    const faultCount = this.#faultCount;
    return (fault) => {
      this.#inFlight -= 1;
      if (generation !== this.#generation) return;
      if (fault) this.#applyFault(use, fault);
      else for (const key of [WHOLE, keyOf(use)]) this.#recover(key, faultCount);
    };
  }

  identify(identity: string | undefined): void {
    if (this.#identity !== undefined && this.#identity !== identity) {
      this.#generation += 1;
      for (const cooldown of this.#cooldowns.values())
        this.#onEvent({ type: 'recovered', cooldown, because: 'changed' });
      this.#cooldowns.clear();
    }
    this.#identity = identity;
  }

  /** A success does not end a cooldown that began while the request was in flight. */
  #recover(key: string, faultCount: number): void {
    const cooldown = this.#cooldowns.get(key);
    if (!cooldown || cooldown.fault > faultCount) return;
    this.#cooldowns.delete(key);
    this.#onEvent({ type: 'recovered', cooldown, because: 'success' });
  }

  #applyFault(use: AccountUse, { kind, providerCode, cooldownMs }: AttemptFault): void {
    const row = faultRow(kind);
    if (row.failover) this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
    if (row.cools === 'nothing') return;
    this.#faultCount += 1;
    const now = this.#clock.now();
    const key = row.cools === 'account' ? WHOLE : keyOf(use);
    const stored = this.#cooldowns.get(key);
    const running = stored && stored.until > now ? stored : undefined;
    const until = now + Math.min(MAX_COOLDOWN_MS, cooldownMs ?? row.cooldownMs);
    const news = { kind, providerCode: plainCode(providerCode), until };
    // A later fault never shortens a cooldown: a rate limit of a second says nothing about an exhausted quota.
    const cooldown: StoredCooldown = {
      use: key === WHOLE ? undefined : use,
      since: now,
      ...news,
      ...(running && { ...running, ...(until > running.until && news) }),
      faults: (running?.faults ?? 0) + 1,
      fault: this.#faultCount,
    };
    if (!running) this.#makeRoom(key);
    this.#cooldowns.set(key, cooldown);
    if (running?.kind !== cooldown.kind) this.#onEvent({ type: 'cooling', cooldown });
  }

  /** Removes the cooldown that ends first, which is usually over. */
  #makeRoom(key: string): void {
    if (this.#cooldowns.size < MAX_COOLDOWNS || this.#cooldowns.has(key)) return;
    const uses = [...this.#cooldowns].filter(([name]) => name !== WHOLE);
    const [first] = uses.sort(([, a], [, b]) => a.until - b.until);
    if (first) this.#cooldowns.delete(first[0]);
  }
}

/** Other text could hold something of the request or of the account. */
const plainCode = (code: string | undefined): string | undefined =>
  code !== undefined && /^[\w.-]{1,64}$/.test(code) ? code : undefined;

const keyOf = ({ operation = 'none', model = '' }: AccountUse): string => `${operation}\n${model}`;
