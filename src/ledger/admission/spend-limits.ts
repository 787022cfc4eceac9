/**
 * Spend limits of keys and users per UTC day and calendar month.
 * spent = roll-ups + settled here but not recorded + maximum costs of calls in flight. Roll-ups are read at the first use and every
 * few seconds, never on the path of a call. One replica never exceeds a limit. The workers of one machine are as exact, because their
 * primary counts, and so are several servers with Redis. Without it, each server sees what the others spent within seconds.
 */
import { sql } from 'kysely';
import {
  ApiError,
  type Clock,
  fail,
  type LimitedKey,
  type Limits,
  type MaybePromise,
  type Nanos,
  within,
} from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import {
  type Amounts,
  addSpent,
  counterName,
  createCounter,
  periodAt,
  type SpendCounter,
  type SpentAmounts,
  startPeriod,
} from './spend-counter.ts';
import type { SpendCounts, SpendHold, SpendScope } from './spend-counts.ts';
import { rejectOverLimit } from './spend-rejection.ts';

export interface SpendLimitsOptions {
  readonly db: Db;
  readonly clock: Clock;
  /** Runs the task while no flush is running: each record is then either in the database or in `pending`. */
  readonly betweenFlushes: (task: () => Promise<void>) => Promise<void>;
  /** Settled records that are not in the database yet. */
  readonly pending: () => readonly UsageRecord[];
  readonly counts: SpendCounts;
}

/** How long the spending of other replicas may stay unseen. */
export const SPEND_REFRESH_MS = 2_000;
/** Earlier days change only when the journal of a dead process is recovered, so they are read this rarely. */
const MONTH_REFRESH_MS = 60_000;
/** How long a call waits for the totals of its key. */
const MAX_WAIT_MS = 5_000;
/** The counter of a key that is unused for this long is dropped, and read again at its next use. */
const IDLE_MS = 60_000;

export class SpendLimits {
  readonly #options: SpendLimitsOptions;
  readonly #counters = new Map<string, SpendCounter>();
  /** The counters of keys that replace others, by key. */
  readonly #spendIds = new Map<string, string>();
  readonly #toRead = new Set<SpendCounter>();
  #reading: Promise<void> | undefined;

  constructor(options: SpendLimitsOptions) {
    this.#options = options;
  }

  /**
   * Returns undefined when no limit applies, and a promise only at the first use of a key or with shared counters. Throws or rejects with
   * `spend_limit_reached`, or with `rate_limit_exceeded` when calls in flight may still free enough.
   */
  reserve(key: LimitedKey, maxCost: Nanos): SpendHold | undefined | Promise<SpendHold> {
    if ((!key.limits && !key.userLimits) || maxCost === 0n) return undefined;
    const scopes = this.#scopesOf(key);
    if (scopes.length === 0) return undefined;
    const missing = scopes.filter(({ counter }) => !counter.isLoaded);
    if (missing.length === 0) return this.#decide(scopes, maxCost);
    const loaded = Promise.all(missing.map(({ counter }) => this.#load(counter)));
    // A read waits for the running flush, which may wait for a silent database.
    const late = (): never => rejectUnavailable(new Error(`The spend totals were not read within ${MAX_WAIT_MS} ms.`));
    return within<unknown>(loaded, { clock: this.#options.clock, ms: MAX_WAIT_MS, late }).then(
      () => this.#decide(scopes, maxCost),
      rejectUnavailable,
    );
  }

  /** The record is settled and in the journal. Returns whether it counts against a limit. */
  onSettled(record: UsageRecord): boolean {
    if (this.#counters.size === 0) return false;
    const counters = this.#countersOf(record);
    for (const counter of counters) addSpent(counter, 'unrecorded', record, record.charge);
    return counters.length > 0;
  }

  /** The records are in the database. */
  onFlushed(records: readonly UsageRecord[]): void {
    if (this.#counters.size === 0) return;
    for (const record of records) {
      for (const counter of this.#countersOf(record)) {
        addSpent(counter, 'unrecorded', record, -record.charge);
        addSpent(counter, 'recorded', record, record.charge);
      }
    }
  }

  /** Reads what other replicas have recorded; to be called every few seconds. */
  async refresh(): Promise<void> {
    const { clock } = this.#options;
    const now = clock.elapsed();
    for (const [name, counter] of this.#counters) {
      startPeriod(counter, clock.now());
      const isBusy = counter.reserved > 0n || counter.unrecorded.month > 0n || !counter.isLoaded;
      if (!isBusy && now - counter.usedAt >= IDLE_MS) this.#drop(name, counter);
      else this.#toRead.add(counter);
    }
    if (this.#toRead.size > 0) await this.#read();
  }

  #drop(name: string, counter: SpendCounter): void {
    this.#counters.delete(name);
    for (const [keyId, spendId] of this.#spendIds) if (spendId === counter.id) this.#spendIds.delete(keyId);
  }

  #scopesOf({ id, spendId = id, userId, limits, userLimits }: LimitedKey): SpendScope[] {
    const scopes: SpendScope[] = [];
    if (limits && hasSpendLimit(limits)) {
      if (spendId !== id) this.#spendIds.set(id, spendId);
      scopes.push({ counter: this.#counterOf('key', spendId, userId), limits });
    }
    if (userLimits && hasSpendLimit(userLimits))
      scopes.push({ counter: this.#counterOf('user', userId, userId), limits: userLimits });
    return scopes;
  }

  #counterOf(owner: SpendCounter['owner'], id: string, userId: string): SpendCounter {
    const name = counterName(owner, id);
    const now = this.#options.clock.now();
    let counter = this.#counters.get(name);
    if (!counter) {
      counter = createCounter(owner, { id, userId, now });
      this.#counters.set(name, counter);
    }
    counter.usedAt = this.#options.clock.elapsed();
    startPeriod(counter, now);
    return counter;
  }

  #countersOf({ keyId, userId }: UsageRecord): SpendCounter[] {
    const spendId = this.#spendIds.get(keyId) ?? keyId;
    const found = [this.#counters.get(counterName('key', spendId)), this.#counters.get(counterName('user', userId))];
    return found.filter((counter) => counter?.isLoaded === true) as SpendCounter[];
  }

  #decide(scopes: readonly SpendScope[], maxCost: Nanos): MaybePromise<SpendHold> {
    const result = this.#options.counts.reserve(scopes, maxCost);
    return result instanceof Promise
      ? result.then((resolved) => this.#holdOrReject(scopes, resolved, maxCost))
      : this.#holdOrReject(scopes, result, maxCost);
  }

  #holdOrReject(scopes: readonly SpendScope[], result: SpendHold | readonly SpentAmounts[], maxCost: Nanos): SpendHold {
    if ('end' in result) return result;
    const now = this.#options.clock.now();
    for (const { counter } of scopes) startPeriod(counter, now);
    rejectOverLimit(scopes, result, maxCost, now);
    // Redis rejected by its own clock, and by the clock of this replica the call fits: a period has just begun or is about to.
    throw fail('rate_limit_exceeded', undefined, { retryAfter: 1 });
  }

  #load(counter: SpendCounter): Promise<void> {
    this.#toRead.add(counter);
    return this.#read();
  }

  /** One query serves all requests that arrive before it begins. */
  #read(): Promise<void> {
    this.#reading ??= this.#options.betweenFlushes(async () => {
      this.#reading = undefined;
      const counters = [...this.#toRead];
      this.#toRead.clear();
      await this.#readAll(counters);
    });
    return this.#reading;
  }

  async #readAll(counters: readonly SpendCounter[]): Promise<void> {
    const at = this.#options.clock.now();
    const elapsed = this.#options.clock.elapsed();
    const isMonthDue = ({ monthReadAt }: SpendCounter): boolean => elapsed - monthReadAt >= MONTH_REFRESH_MS;
    const monthDue = counters.filter(isMonthDue);
    const dayDue = counters.filter((counter) => !isMonthDue(counter));
    const months = await this.#sums(monthDue, at, 'month');
    const days = await this.#sums(dayDue, at, 'day');
    // Midnight passed during the queries, so their sums are of the wrong day.
    if (periodAt(at).day !== periodAt(this.#options.clock.now()).day) return this.#readAll(counters);
    for (const counter of dayDue) {
      startPeriod(counter, at);
      const { day } = sumOf(days, counter);
      counter.recorded = { day, month: counter.recorded.month + day - counter.recorded.day };
    }
    for (const counter of monthDue) {
      startPeriod(counter, at);
      counter.monthReadAt = elapsed;
      counter.recorded = { ...sumOf(months, counter) };
    }
    this.#countPending(counters.filter(({ isLoaded }) => !isLoaded));
  }

  /** Recorded amounts by key and by user. */
  async #sums(counters: readonly SpendCounter[], at: number, since: 'day' | 'month'): Promise<Map<string, Amounts>> {
    const users = [...new Set(counters.map(({ userId }) => userId))];
    const sums = new Map<string, Amounts>();
    if (users.length === 0) return sums;
    for (const { spendId, userId, day, month } of await readSpent(this.#options.db, users, at, since)) {
      for (const name of [counterName('key', spendId), counterName('user', userId)]) {
        const sum = sums.get(name) ?? ZERO;
        sums.set(name, { day: sum.day + day, month: sum.month + month });
      }
    }
    return sums;
  }

  /** Adds what is in the journal when a counter is first loaded. Later records are counted by `onSettled` and `onFlushed`. */
  #countPending(counters: readonly SpendCounter[]): void {
    if (counters.length === 0) return;
    for (const counter of counters) counter.isLoaded = true;
    for (const record of this.#options.pending())
      for (const counter of this.#countersOf(record).filter((one) => counters.includes(one)))
        addSpent(counter, 'unrecorded', record, record.charge);
  }
}

const ZERO: Readonly<Amounts> = { day: 0n, month: 0n };

const sumOf = (sums: ReadonlyMap<string, Amounts>, { owner, id }: SpendCounter): Readonly<Amounts> =>
  sums.get(counterName(owner, id)) ?? ZERO;

const hasSpendLimit = ({ spendDay, spendMonth }: Limits): boolean => spendDay !== undefined || spendMonth !== undefined;

function rejectUnavailable(cause: unknown): never {
  if (cause instanceof ApiError) throw cause;
  const message = 'Spend totals are temporarily unavailable; retry shortly.';
  throw fail('server_is_overloaded', message, { retryAfter: 1, cause });
}

export interface SpentRow {
  readonly userId: string;
  /** A key, or the first of the keys that replaced one another. */
  readonly spendId: string;
  readonly day: Nanos;
  readonly month: Nanos;
}

/**
 * Recorded spending of each key of these users in the day and month of `at`. With `since` = 'day' it reads only that day, and `month`
 * holds the amount of the day.
 */
export async function readSpent(
  db: Db,
  userIds: readonly string[],
  at: number,
  since: 'day' | 'month' = 'month',
): Promise<readonly SpentRow[]> {
  const today = new Date(at).toISOString().slice(0, 10);
  const { rows } = await sql<SpentRow>`
    select d.user_id as "userId", coalesce(k.spend_id, d.key_id) as "spendId", sum(d.nanos)::bigint as month,
      coalesce(sum(d.nanos) filter (where d.day = ${today}::date), 0)::bigint as day
    from usage_daily d left join keys k on k.id = d.key_id
    where d.user_id = any(${userIds}) and d.day between date_trunc(${since}, ${today}::date)::date and ${today}::date
    group by 1, 2`.execute(db);
  return rows;
}
