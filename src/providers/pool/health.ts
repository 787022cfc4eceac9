/**
 * Health of one account: requests in flight, park, and circuits and cooldowns of the account or one use of it.
 * Faults of a request itself count for nothing.
 */
import type { Clock } from '../../core/index.ts';
import { type FaultKind, type FaultRow, faultRow, MAX_COOLDOWN_MS } from '../../rules/index.ts';
import { Circuit } from './circuit.ts';
import {
  type AccountEvent,
  type AccountUse,
  type AttemptFault,
  type Cooldown,
  keyOf,
  type Park,
  type Standing,
  WHOLE,
} from './cooldown.ts';
import { LearnedLimit } from './learned-limit.ts';

export interface HealthHost {
  readonly clock: Clock;
  readonly random: () => number;
  readonly onEvent: (event: AccountEvent) => void;
  /** Whether one more account of the group may be ejected for the use; undefined for all uses. */
  readonly mayEject: (key: string) => boolean;
  /** The cooldown of a key changed here, so that other replicas have to learn of it. `endedUntil`: it ended. */
  readonly onChange: (key: string, endedUntil: number | undefined) => void;
}

interface AttemptStart {
  readonly isProbe: boolean;
  readonly faultCount: number;
}

export interface BegunAttempt {
  /** The provider responds with success, although its response is not complete. */
  answered(): void;
  end(fault?: AttemptFault): void;
}

const AVOIDING: ReadonlySet<FaultRow['effect']> = new Set(['avoid', 'park']);

/** Callers choose model names where the catalog has patterns, so the number of uses is bounded. */
const MAX_SCOPES = 100;
interface Scope {
  readonly use: AccountUse | undefined;
  readonly circuit: Circuit;
  cooldown?: Cooldown | undefined;
  fault: number;
  probe?: BegunAttempt | undefined;
}

export class AccountHealth {
  readonly faults = new Map<FaultKind, number>();
  inFlight = 0;
  identity: string | undefined;
  park: Park | undefined;
  readonly limit: LearnedLimit;
  readonly #host: HealthHost;
  readonly #scopes = new Map<string, Scope>();
  #faultCount = 0;
  /** Raised when the account changes, so that attempts on the account as it was count for nothing. */
  #generation = 0;

  constructor(host: HealthHost) {
    this.#host = host;
    this.limit = new LearnedLimit(host.clock);
  }

  load(use: AccountUse): number {
    if (this.#scopes.size === 0) return this.inFlight;
    const now = this.#now();
    return this.#scopesFor(use).reduce((sum, { circuit }) => sum + circuit.penalty(now), this.inFlight);
  }

  standing(use: AccountUse): Standing {
    if (this.#scopes.size === 0) return 'ready';
    const standings = this.#scopesFor(use).map((scope) => this.#standingOf(scope));
    return standings.find((one) => one === 'out') ?? standings.find((one) => one === 'avoided') ?? 'ready';
  }

  #standingOf({ cooldown, probe }: Scope): Standing {
    if (!cooldown) return 'ready';
    const isRunning = cooldown.until > this.#now();
    if (AVOIDING.has(faultRow(cooldown.kind).effect)) return isRunning ? 'avoided' : 'ready';
    if (cooldown.isKept) return 'ready';
    // After an ejection, one attempt at a time finds out whether the account works again.
    return isRunning || (cooldown.ejections > 0 && probe) ? 'out' : 'ready';
  }

  /** Of those that give the account this standing. */
  longest(use: AccountUse, standing: Standing = 'out'): Cooldown | undefined {
    const [first, second] = this.#scopesFor(use)
      .filter((scope) => this.#standingOf(scope) === standing)
      .flatMap(({ cooldown }) => cooldown ?? []);
    return first && second && second.until > first.until ? second : first;
  }

  reasons(use: AccountUse): FaultKind[] {
    return this.#scopesFor(use)
      .filter((scope) => this.#standingOf(scope) === 'out')
      .flatMap(({ cooldown }) => cooldown?.kind ?? []);
  }

  /** Keys for which the circuit ejects the account, until a probe has succeeded. */
  ejectedKeys(): string[] {
    return [...this.#scopes].flatMap(([key, { cooldown }]) =>
      cooldown && cooldown.ejections > 0 && !cooldown.isKept ? [key] : [],
    );
  }

  cooling(): Cooldown[] {
    const now = this.#now();
    return [...this.#scopes.values()].flatMap(({ cooldown }) => (cooldown && cooldown.until > now ? [cooldown] : []));
  }

  cooldownOf(key: string): Cooldown | undefined {
    return this.#scopes.get(key)?.cooldown;
  }

  /** An attempt begins; it is the probe of every circuit that waits for one. */
  begin(use: AccountUse): BegunAttempt {
    this.inFlight += 1;
    const learn = this.limit.begin();
    const generation = this.#generation;
    const faultCount = this.#faultCount;
    const isCurrent = (): boolean => generation === this.#generation;
    const attempt: BegunAttempt = {
      answered: () => {
        if (isCurrent()) this.#onAnswered(use, attempt);
      },
      end: (fault) => {
        const { inFlight } = this;
        this.inFlight -= 1;
        if (!isCurrent()) return;
        learn(fault?.kind, inFlight);
        const isProbe = this.#endProbe(use, attempt);
        if (fault) this.#applyFault(use, fault, { isProbe, faultCount });
        else this.#succeed(use, faultCount);
      },
    };
    for (const scope of this.#scopesFor(use)) if (isHalfOpen(scope, this.#now())) scope.probe ??= attempt;
    return attempt;
  }

  /** A changed credential, address or proxy makes the faults of the account void. An operator's park stays. */
  identify(identity: string | undefined): void {
    if (this.identity !== undefined && this.identity !== identity) {
      this.#generation += 1;
      for (const key of [...this.#scopes.keys()]) this.#recover(key, 'changed');
      this.#scopes.clear();
      this.limit.forget();
      if (this.park?.cause === 'credential') this.setPark(undefined, 'changed');
    }
    this.identity = identity;
  }

  setPark(park: Park | undefined, because: 'changed' | 'elsewhere'): void {
    const before = this.park;
    this.park = park;
    if (before && !park) this.#host.onEvent({ type: 'resumed', park: before, because });
    if (park && (park.state !== before?.state || park.cause !== before.cause))
      this.#host.onEvent({ type: 'parked', park });
  }

  /** Takes over what another replica knows about a key. The longer cooldown wins. */
  adopt(key: string, cooldown: Cooldown): void {
    const stored = this.#scopes.get(key);
    if (stored?.cooldown && stored.cooldown.until >= cooldown.until) return;
    // A cooldown that has ended is ignored, unless it is an ejection: its circuit still waits for a probe.
    if (cooldown.until <= this.#now() && cooldown.ejections === 0) return;
    const scope = stored ?? this.#addScope(key, cooldown.use);
    const isKept = cooldown.isKept || (cooldown.ejections > 0 && !this.#host.mayEject(key));
    if (cooldown.ejections > 0) scope.circuit.openAs(cooldown.ejections);
    scope.cooldown = { ...cooldown, isKept };
    // Newer than every attempt in flight, whose success must not end it.
    this.#faultCount += 1;
    scope.fault = this.#faultCount;
    if (!stored?.cooldown) this.#host.onEvent({ type: 'cooling', cooldown: scope.cooldown });
  }

  /** The cooldowns of keys that no replica has any more are over. */
  retain(isKnown: (key: string) => boolean): void {
    for (const [key, { cooldown }] of this.#scopes) if (cooldown && !isKnown(key)) this.#end(key, 'elsewhere');
  }

  reset(): void {
    for (const key of [...this.#scopes.keys()]) this.#recover(key, 'success');
    this.limit.forget();
  }

  #onAnswered(use: AccountUse, attempt: BegunAttempt): void {
    for (const key of this.#keysFor(use)) {
      const scope = this.#scopes.get(key);
      if (scope?.probe !== attempt) continue;
      scope.probe = undefined;
      this.#recover(key, 'success');
      scope.circuit.closeOnTrial(this.#now());
    }
  }

  #endProbe(use: AccountUse, attempt: BegunAttempt): boolean {
    const probed = this.#scopesFor(use).filter(({ probe }) => probe === attempt);
    for (const scope of probed) scope.probe = undefined;
    return probed.length > 0;
  }

  /** A success does not end a cooldown that began while the request was in flight. */
  #succeed(use: AccountUse, faultCount: number): void {
    for (const key of this.#keysFor(use)) {
      const scope = this.#scopes.get(key);
      if (!scope) continue;
      scope.circuit.succeed(this.#now());
      if (scope.fault <= faultCount) this.#recover(key, 'success');
      if (!scope.cooldown && scope.circuit.isIdle(this.#now())) this.#scopes.delete(key);
    }
  }

  #recover(key: string, because: 'success' | 'changed'): void {
    const until = this.#end(key, because);
    if (until !== undefined) this.#host.onChange(key, until);
  }

  #end(key: string, because: 'success' | 'changed' | 'elsewhere'): number | undefined {
    const scope = this.#scopes.get(key);
    const cooldown = scope?.cooldown;
    if (!scope || !cooldown) return undefined;
    scope.cooldown = undefined;
    scope.circuit.close(this.#now());
    this.#host.onEvent({ type: 'recovered', cooldown, because });
    return cooldown.until;
  }

  #applyFault(use: AccountUse, fault: AttemptFault, { isProbe, faultCount }: AttemptStart): void {
    const row = faultRow(fault.kind);
    if (row.failover) this.faults.set(fault.kind, (this.faults.get(fault.kind) ?? 0) + 1);
    if (row.effect === 'none') return;
    this.#faultCount += 1;
    if (row.effect === 'park') return this.#onCredentialRejected(fault, faultCount);
    const key = row.cools === 'account' ? WHOLE : keyOf(use);
    const scope = this.#scopes.get(key) ?? this.#addScope(key, use);
    if (row.effect === 'count') {
      const isOpen = scope.circuit.fail(this.#now()) || (isProbe && scope.cooldown !== undefined);
      if (fault.cooldownMs === undefined) return isOpen ? this.#eject(key, scope, fault) : countFault(scope);
    }
    this.#cool(key, scope, fault, { ms: fault.cooldownMs ?? row.cooldownMs, ejections: 0, isKept: false });
  }

  /**
   * A provider whose checks fail rejects valid credentials too.
   * A second rejection is believed, if its attempt began after the first was known.
   */
  #onCredentialRejected(fault: AttemptFault, faultCount: number): void {
    const scope = this.#scopes.get(WHOLE) ?? this.#addScope(WHOLE, undefined);
    const isKnown = scope.cooldown?.kind === fault.kind;
    if (isKnown) return scope.fault <= faultCount ? this.#parkFor(fault) : countFault(scope);
    this.#cool(WHOLE, scope, fault, { ms: faultRow(fault.kind).cooldownMs, ejections: 0, isKept: true });
  }

  #parkFor({ providerCode, message }: AttemptFault): void {
    if (this.park) return;
    const since = this.#now();
    const park = { state: 'parked', cause: 'credential', providerCode: plainCode(providerCode), message } as const;
    this.setPark({ ...park, since }, 'changed');
    this.#host.onChange(WHOLE, undefined);
  }

  #eject(key: string, scope: Scope, fault: AttemptFault): void {
    const isKept = fault.hasFallback !== true && !this.#host.mayEject(key);
    const { cooldown } = scope;
    // Attempts that began earlier, or that had no other account to use, carry no new information.
    const isOut = cooldown && cooldown.ejections > 0 && cooldown.until > this.#now();
    if (isOut && (!cooldown.isKept || isKept)) return countFault(scope);
    const ms = scope.circuit.open(this.#now(), this.#host.random());
    this.#cool(key, scope, fault, { ms, ejections: scope.circuit.ejections, isKept });
  }

  #cool(
    key: string,
    scope: Scope,
    { kind, providerCode, message }: AttemptFault,
    { ms, ejections, isKept }: { readonly ms: number; readonly ejections: number; readonly isKept: boolean },
  ): void {
    const now = this.#now();
    const running = scope.cooldown && scope.cooldown.until > now ? scope.cooldown : undefined;
    const until = now + Math.min(MAX_COOLDOWN_MS, ms);
    const news = { kind, providerCode: plainCode(providerCode), message, until, ejections, isKept };
    // A later fault never shortens a cooldown: a rate limit of a second says nothing about an exhausted quota.
    const isLonger = !running || until > running.until || (running.isKept && !isKept);
    scope.cooldown = {
      ...(running ?? { use: key === WHOLE ? undefined : scope.use, since: now, ...news }),
      ...(isLonger && news),
      faults: (running?.faults ?? 0) + 1,
    };
    scope.fault = this.#faultCount;
    if (running?.kind !== scope.cooldown.kind) this.#host.onEvent({ type: 'cooling', cooldown: scope.cooldown });
    this.#host.onChange(key, undefined);
  }

  #scopesFor(use: AccountUse): readonly Scope[] {
    return this.#keysFor(use).flatMap((key) => this.#scopes.get(key) ?? []);
  }

  /** None for an account without faults, which is the usual case: a call asks four times. */
  #keysFor(use: AccountUse): readonly string[] {
    return this.#scopes.size === 0 ? NO_KEYS : [WHOLE, keyOf(use)];
  }

  /** Makes room by removing the use whose cooldown ends first, which is usually over. */
  #addScope(key: string, use: AccountUse | undefined): Scope {
    if (this.#scopes.size >= MAX_SCOPES) {
      const uses = [...this.#scopes].filter(([name]) => name !== WHOLE);
      const [first] = uses.sort(([, a], [, b]) => (a.cooldown?.until ?? 0) - (b.cooldown?.until ?? 0));
      if (first) this.#scopes.delete(first[0]);
    }
    const scope: Scope = { use: key === WHOLE ? undefined : use, circuit: new Circuit(), fault: 0 };
    this.#scopes.set(key, scope);
    return scope;
  }

  #now(): number {
    return this.#host.clock.now();
  }
}

const NO_KEYS: readonly string[] = [];

const isHalfOpen = ({ cooldown }: Scope, now: number): boolean =>
  cooldown !== undefined && cooldown.ejections > 0 && cooldown.until <= now;

function countFault(scope: Scope): void {
  if (scope.cooldown) scope.cooldown = { ...scope.cooldown, faults: scope.cooldown.faults + 1 };
}

/** Other text could hold something of the request or of the account. */
const plainCode = (code: string | undefined): string | undefined =>
  code !== undefined && /^[\w.-]{1,64}$/.test(code) ? code : undefined;
