/**
 * Spend limits of keys and users: spent = roll-ups + settled here + maximum costs in flight.
 * Exact for a replica, the workers of a machine, and with Redis.
 */
import { sql } from 'kysely';
import * as core from '../../core/index.ts';
import { allRows, type Db } from '../../platform/db/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import * as spend from './spend-counts.ts';
import { rejectOverLimit } from './spend-rejection.ts';

export interface SpendLimitsOptions {
  readonly db: Db;
  readonly clock: core.Clock;
  /** Runs the task while no flush is running: each record is then either in the database or in `pending`. */
  readonly betweenFlushes: (task: () => Promise<void>) => Promise<void>;
  readonly pending: () => readonly UsageRecord[];
  readonly counts: spend.SpendCounts;
}

/** How long the spending of other replicas may stay unseen. */
export const SPEND_REFRESH_MS = 2_000;
/** Earlier days change only when the journal of a dead process is recovered, so they are read this rarely. */
const MONTH_REFRESH_MS = 60_000;
/** What was spent before the month changes as rarely, and many days are read for it. */
const EARLIER_REFRESH_MS = 600_000;
const MAX_WAIT_MS = 5_000;
/** The counter of a key that is unused for this long is dropped, and read again at its next use. */
const IDLE_MS = 60_000;

export class SpendLimits {
  readonly #options: SpendLimitsOptions;
  readonly #counters = new Map<string, spend.SpendCounter>();
  readonly #spendIds = new Map<string, string>();
  readonly #toRead = new Set<spend.SpendCounter>();
  #reading: Promise<void> | undefined;

  constructor(options: SpendLimitsOptions) {
    this.#options = options;
  }

  /**
   * Undefined when no limit applies. Throws or rejects with `spend_limit_reached`,
   * or `rate_limit_exceeded` when calls in flight may free enough.
   */
  reserve(key: core.LimitedKey, maxCost: core.Nanos): spend.SpendHold | undefined | Promise<spend.SpendHold> {
    if ((!key.limits && !key.userLimits) || maxCost === 0n) return undefined;
    const scopes = this.#scopesOf(key);
    if (scopes.length === 0) return undefined;
    const missing = scopes.filter(({ counter }) => !counter.isLoaded || counter.earlierReadAt === NEVER);
    if (missing.length === 0) return this.#decide(scopes, maxCost);
    const loaded = Promise.all(missing.map(({ counter }) => this.#load(counter)));
    // A read waits for the running flush, which may wait for a silent database.
    const late = (): never =>
      rejectUnavailable(new Error(`The spend totals were not read core.within ${MAX_WAIT_MS} ms.`));
    return core
      .within<unknown>(loaded, { clock: this.#options.clock, ms: MAX_WAIT_MS, late })
      .then(() => this.#decide(scopes, maxCost), rejectUnavailable);
  }

  /** The record is settled and in the journal. Returns whether it counts against a limit. */
  onSettled(record: UsageRecord): boolean {
    if (this.#counters.size === 0) return false;
    const counters = this.#countersOf(record);
    for (const counter of counters) spend.addSpent(counter, 'unrecorded', record, record.charge);
    return counters.length > 0;
  }

  onFlushed(records: readonly UsageRecord[]): void {
    if (this.#counters.size === 0) return;
    for (const record of records) {
      for (const counter of this.#countersOf(record)) {
        spend.addSpent(counter, 'unrecorded', record, -record.charge);
        spend.addSpent(counter, 'recorded', record, record.charge);
      }
    }
  }

  async refresh(): Promise<void> {
    const { clock } = this.#options;
    const now = clock.elapsed();
    for (const [name, counter] of this.#counters) {
      spend.startPeriod(counter, clock.now());
      const isBusy = counter.reserved > 0n || counter.unrecorded.month > 0n || !counter.isLoaded;
      if (!isBusy && now - counter.usedAt >= IDLE_MS) this.#drop(name, counter);
      else this.#toRead.add(counter);
    }
    if (this.#toRead.size > 0) await this.#read();
  }

  #drop(name: string, counter: spend.SpendCounter): void {
    this.#counters.delete(name);
    for (const [keyId, spendId] of this.#spendIds) if (spendId === counter.id) this.#spendIds.delete(keyId);
  }

  #scopesOf({ id, spendId = id, userId, limits, userLimits }: core.LimitedKey): spend.SpendScope[] {
    const scopes: spend.SpendScope[] = [];
    if (limits && hasSpendLimit(limits)) {
      if (spendId !== id) this.#spendIds.set(id, spendId);
      const counter = this.#counterOf('key', spendId, userId);
      // The limit may be newer than the counter.
      if (limits.spendTotal !== undefined) counter.earlierReadAt ??= NEVER;
      scopes.push({ counter, limits });
    }
    if (userLimits && hasSpendLimit(userLimits))
      scopes.push({ counter: this.#counterOf('user', userId, userId), limits: userLimits });
    return scopes;
  }

  #counterOf(owner: spend.SpendCounter['owner'], id: string, userId: string): spend.SpendCounter {
    const name = spend.counterName(owner, id);
    const now = this.#options.clock.now();
    let counter = this.#counters.get(name);
    if (!counter) {
      counter = new spend.SpendCounter(owner, { id, userId, now });
      this.#counters.set(name, counter);
    }
    counter.usedAt = this.#options.clock.elapsed();
    spend.startPeriod(counter, now);
    return counter;
  }

  #countersOf({ keyId, userId }: UsageRecord): spend.SpendCounter[] {
    const spendId = this.#spendIds.get(keyId) ?? keyId;
    const found = [
      this.#counters.get(spend.counterName('key', spendId)),
      this.#counters.get(spend.counterName('user', userId)),
    ];
    return found.filter((counter) => counter?.isLoaded === true) as spend.SpendCounter[];
  }

  #decide(scopes: readonly spend.SpendScope[], maxCost: core.Nanos): core.MaybePromise<spend.SpendHold> {
    const result = this.#options.counts.reserve(scopes, maxCost);
    return result instanceof Promise
      ? result.then((resolved) => this.#holdOrReject(scopes, resolved, maxCost))
      : this.#holdOrReject(scopes, result, maxCost);
  }

  #holdOrReject(scopes: readonly spend.SpendScope[], result: spend.Reserved, maxCost: core.Nanos): spend.SpendHold {
    if ('end' in result) return result;
    const now = this.#options.clock.now();
    for (const { counter } of scopes) spend.startPeriod(counter, now);
    rejectOverLimit(scopes, result, maxCost, now);
    // Redis rejected by its own clock, and by the clock of this replica the call fits:
    // a period has just begun or is about to.
    throw core.fail('rate_limit_exceeded', undefined, { retryAfter: 1 });
  }

  #load(counter: spend.SpendCounter): Promise<void> {
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

  async #readAll(counters: readonly spend.SpendCounter[]): Promise<void> {
    const at = this.#options.clock.now();
    const elapsed = this.#options.clock.elapsed();
    const isMonthDue = ({ monthReadAt }: spend.SpendCounter): boolean => elapsed - monthReadAt >= MONTH_REFRESH_MS;
    const monthDue = counters.filter(isMonthDue);
    const dayDue = counters.filter((counter) => !isMonthDue(counter));
    const months = await this.#sums(monthDue, at, 'month');
    const days = await this.#sums(dayDue, at, 'day');
    const earlierDue = counters.filter(
      ({ earlierReadAt }) => elapsed - (earlierReadAt ?? elapsed) >= EARLIER_REFRESH_MS,
    );
    const earlier = await this.#earlier(earlierDue, at);
    // Midnight passed during the queries, so their sums are of the wrong day.
    if (spend.periodAt(at).day !== spend.periodAt(this.#options.clock.now()).day) return this.#readAll(counters);
    for (const counter of dayDue) {
      spend.startPeriod(counter, at);
      const { day } = sumOf(days, counter);
      counter.recorded = { day, month: counter.recorded.month + day - counter.recorded.day };
    }
    for (const counter of monthDue) {
      spend.startPeriod(counter, at);
      counter.monthReadAt = elapsed;
      counter.recorded = { ...sumOf(months, counter) };
    }
    for (const counter of earlierDue) {
      counter.earlierReadAt = elapsed;
      counter.earlier = (earlier.get(counter.id) ?? 0n) + (counter.isLoaded ? this.#pendingBefore(counter) : 0n);
    }
    this.#countPending(counters.filter(({ isLoaded }) => !isLoaded));
  }

  async #earlier(counters: readonly spend.SpendCounter[], at: number): Promise<ReadonlyMap<string, core.Nanos>> {
    if (counters.length === 0) return new Map();
    const rows = await readEarlier(this.#options.db, counters, at);
    return new Map(rows.map(({ spendId, nanos }) => [spendId, nanos]));
  }

  /** Of months that have ended, and not in the database yet. */
  #pendingBefore(counter: spend.SpendCounter): core.Nanos {
    return this.#options
      .pending()
      .filter((record) => spend.periodAt(record.at).month < counter.period.month)
      .filter((record) => this.#countersOf(record).includes(counter))
      .reduce((sum, { charge }) => sum + charge, 0n);
  }

  async #sums(counters: readonly spend.SpendCounter[], at: number, since: 'day' | 'month') {
    const users = [...new Set(counters.map(({ userId }) => userId))];
    const sums = new Map<string, spend.Amounts>();
    if (users.length === 0) return sums;
    for (const { spendId, userId, day, month } of await readSpent(this.#options.db, users, at, since)) {
      for (const name of [spend.counterName('key', spendId), spend.counterName('user', userId)]) {
        const sum = sums.get(name) ?? ZERO;
        sums.set(name, { day: sum.day + day, month: sum.month + month });
      }
    }
    return sums;
  }

  /**
   * Adds what is in the journal when a counter is first loaded.
   * Later records are counted by `onSettled` and `onFlushed`.
   */
  #countPending(counters: readonly spend.SpendCounter[]): void {
    if (counters.length === 0) return;
    for (const counter of counters) counter.isLoaded = true;
    for (const record of this.#options.pending())
      for (const counter of this.#countersOf(record).filter((one) => counters.includes(one)))
        spend.addSpent(counter, 'unrecorded', record, record.charge);
  }
}

const NEVER = Number.NEGATIVE_INFINITY;
const ZERO: Readonly<spend.Amounts> = { day: 0n, month: 0n };

const sumOf = (sums: ReadonlyMap<string, spend.Amounts>, { owner, id }: spend.SpendCounter): Readonly<spend.Amounts> =>
  sums.get(spend.counterName(owner, id)) ?? ZERO;

export const hasSpendLimit = (limits: core.Limits): boolean =>
  spend.PERIODS.some((period) => spend.limitIn(limits, period) !== undefined);

function rejectUnavailable(cause: unknown): never {
  if (cause instanceof core.ApiError) throw cause;
  const message = 'Spend totals are temporarily unavailable; retry shortly.';
  throw core.overloaded(message, 1, cause);
}

export interface SpentRow {
  readonly userId: string;
  /** A key, or the first of the keys that replaced one another. */
  readonly spendId: string;
  readonly day: core.Nanos;
  readonly month: core.Nanos;
}

/**
 * Recorded spending of each key of these users in the day and month of `at`.
 * `since` = 'day': `month` holds the amount of the day.
 */
export async function readSpent(
  db: Db,
  userIds: readonly string[],
  at: number,
  since: 'day' | 'month' = 'month',
): Promise<readonly SpentRow[]> {
  const today = core.utcDay(at);
  return allRows(db)<SpentRow>`
    select d.user_id as "userId", coalesce(k.spend_id, d.key_id) as "spendId", sum(d.nanos)::bigint as month,
      coalesce(sum(d.nanos) filter (where d.day = ${today}::date), 0)::bigint as day
    from usage_daily d left join keys k on k.id = d.key_id
    where d.user_id = any(${userIds}) and d.day between date_trunc(${since}, ${today}::date)::date and ${today}::date
    group by 1, 2`;
}

/** Recorded spending of a key in its life, with those that it replaces. */
export async function lifeSpending(db: Db, key: { id: string; userId: string }, at: number): Promise<core.Nanos> {
  const [earlier] = await readEarlier(db, [key], at);
  const ofMonth = (await readSpent(db, [key.userId], at)).filter(({ spendId }) => spendId === key.id);
  return ofMonth.reduce((sum, { month }) => sum + month, earlier?.nanos ?? 0n);
}

/** Recorded spending of keys, with those that they replace, before the month of `at`. */
export async function readEarlier(
  db: Db,
  keys: readonly { readonly id: string; readonly userId: string }[],
  at: number,
): Promise<readonly { readonly spendId: string; readonly nanos: core.Nanos }[]> {
  const today = core.utcDay(at);
  const ids = keys.map(({ id }) => id);
  const { rows } = await sql<{ spendId: string; nanos: core.Nanos }>`
    select coalesce(k.spend_id, d.key_id) as "spendId", sum(d.nanos)::bigint as nanos
    from usage_daily d left join keys k on k.id = d.key_id
    where d.key_id in (select unnest(${ids}::text[]) union all select id from keys where spend_id = any(${ids}))
      and d.user_id = any(${keys.map(({ userId }) => userId)}) and d.day < date_trunc('month', ${today}::date)::date
    group by 1`.execute(db);
  return rows;
}
