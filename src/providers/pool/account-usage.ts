/**
 * What accounts have used of limits of operators: requests and tokens a minute, costs a day and month.
 * In memory; replicas tell theirs (shared-health.ts).
 */
import { type Clock, entryOf, type Nanos, OPEN_RETRY_MS, RateWindow } from '../../core/index.ts';
import { burstOf } from './limiter.ts';

export interface AccountLimits {
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  readonly costDay?: Nanos | undefined;
  readonly costMonth?: Nanos | undefined;
}

export interface LimitedAccount {
  readonly id: string;
  readonly limits?: AccountLimits | undefined;
  /** What this worker may use of the rates; absent for all of them. */
  readonly parts?: (() => { readonly rpm: number; readonly tpm: number }) | undefined;
}

/** A limit that is reached. `until`: milliseconds since 1970. */
export interface ReachedLimit {
  readonly limit: 'rpm' | 'tpm' | 'cost_day' | 'cost_month';
  readonly until: number;
}

/** Of the last 60 s; tokens with those that requests in flight are expected to use. */
export interface UsedRates {
  readonly requests: number;
  readonly tokens: number;
}

/** The cost of an account, with that of so many requests in flight, and when the periods end. */
type CostsOf = (
  accountId: string,
  open: number,
) => { readonly day: Nanos; readonly month: Nanos; readonly dayEnds: number; readonly monthEnds: number } | undefined;

const NOTHING: UsedRates = { requests: 0, tokens: 0 };

export class AccountUsage {
  readonly #clock: Clock;
  readonly #burstPercent: number;
  readonly #states = new Map<string, { requests: RateWindow; tokens: RateWindow; elsewhere: UsedRates }>();
  costsOf: CostsOf = () => undefined;
  /** Called with every request and with the tokens of every reply. */
  onUsed: (id: string, rate: keyof UsedRates, units: number) => void = () => {};

  constructor(clock: Clock, burstPercent: number) {
    this.#clock = clock;
    this.#burstPercent = burstPercent;
  }

  begin({ id, limits }: LimitedAccount): void {
    if (limits) this.#add(id, 'requests', 1);
  }

  count(id: string, tokens: number): void {
    if (this.#states.has(id)) this.#add(id, 'tokens', tokens);
  }

  /** The limit that keeps a further request away for the longest. `open`: requests in flight. */
  reached({ id, limits }: LimitedAccount, open: number): ReachedLimit | undefined {
    if (!limits) return undefined;
    const { rpm, tpm, costDay, costMonth } = limits;
    const { requests, tokens, elsewhere } = this.#stateOf(id);
    const [now, elapsed] = [this.#clock.now(), this.#clock.elapsed()];
    const reached: ReachedLimit[] = [];
    const add = (limit: ReachedLimit['limit'], waitMs: number): void => {
      if (waitMs > 0) reached.push({ limit, until: Math.ceil(now + waitMs) });
    };
    if (rpm !== undefined) {
      const left = rpm - elsewhere.requests;
      const burst = burstOf(rpm, this.#burstPercent);
      add('rpm', left < 1 ? OPEN_RETRY_MS : requests.requestUse(left, burst, elapsed).waitMs);
    }
    if (tpm !== undefined) {
      const left = tpm - elsewhere.tokens;
      add('tpm', left < 1 ? OPEN_RETRY_MS : tokens.tokenUse(left, open, elapsed).waitMs);
    }
    const costs = costDay === undefined && costMonth === undefined ? undefined : this.costsOf(id, open);
    if (costs && costDay !== undefined && costs.day >= costDay) add('cost_day', costs.dayEnds - now);
    if (costs && costMonth !== undefined && costs.month >= costMonth) add('cost_month', costs.monthEnds - now);
    return reached.sort((a, b) => b.until - a.until)[0];
  }

  /**
   * Whether a further request fits the limits, and this worker holds enough of the rates;
   * others may have some to spare.
   */
  hasRoom(account: LimitedAccount, open: number): boolean {
    const { limits, parts } = account;
    if (!limits) return true;
    if (this.reached(account, open)) return false;
    if (!parts) return true;
    const { rpm, tpm } = parts();
    const { requests, tokens } = this.used(account, open + 1);
    return (limits.rpm === undefined || requests < rpm) && (limits.tpm === undefined || tokens <= tpm);
  }

  used({ id, limits }: LimitedAccount, open: number): UsedRates {
    const state = this.#states.get(id);
    if (!state || !limits) return NOTHING;
    const now = this.#clock.elapsed();
    const expected = limits.tpm === undefined ? 0 : Math.ceil(open * state.tokens.expected(limits.tpm));
    return { requests: state.requests.used(now), tokens: state.tokens.used(now) + expected };
  }

  /** What other replicas have used; what is absent has been used by none. */
  adopt(elsewhere: ReadonlyMap<string, UsedRates>): void {
    for (const [id, state] of this.#states) state.elsewhere = elsewhere.get(id) ?? NOTHING;
  }

  /** The sum of all replicas at this moment. */
  learn(id: string, rate: keyof UsedRates, total: number): void {
    const state = this.#states.get(id);
    if (!state) return;
    const others = Math.max(0, total - state[rate].used(this.#clock.elapsed()));
    state.elsewhere = { ...state.elsewhere, [rate]: others };
  }

  retain(accounts: readonly LimitedAccount[]): void {
    const limited = new Set(accounts.flatMap(({ id, limits }) => (limits ? [id] : [])));
    for (const id of this.#states.keys()) if (!limited.has(id)) this.#states.delete(id);
  }

  #add(id: string, rate: keyof UsedRates, units: number): void {
    this.#stateOf(id)[rate].add(units, this.#clock.elapsed());
    this.onUsed(id, rate, units);
  }

  #stateOf(id: string) {
    const none = () => ({ requests: new RateWindow(), tokens: new RateWindow(), elsewhere: NOTHING });
    return entryOf(this.#states, id, none);
  }
}
