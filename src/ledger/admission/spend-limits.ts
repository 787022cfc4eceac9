/**
 * Spend limits of keys and users, per UTC day and calendar month. What each has spent is counted in memory: what the roll-ups hold (read
 * at the first use, and again every few seconds for the share of other replicas), what this process has settled but not recorded yet,
 * and the bounds of the calls in flight. So one replica never admits beyond a limit, and asks the database outside of calls. Several
 * are as exact where they share their counts; alone, each hears of the others' spending within seconds.
 */
import { sql } from 'kysely';
import { ApiError, type Clock, fail, formatNanos, type LimitedKey, type Limits, type Nanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import { chargeOf, type UsageRecord } from '../usage-record.ts';
import {
  newHoldId,
  type RedisSpendLimits,
  type SharedSpendHold,
  type SpendRequest,
  type SpentOf,
} from './spend-limits-redis.ts';

/** Money set aside for one call; ends once, with what the call cost. */
export interface SpendHold {
  end(cost: Nanos): void;
}

export interface SpendLimitsOptions {
  readonly db: Db;
  readonly clock: Clock;
  /** Runs the task while no record is on its way to the database: each is then either there or in `pending`. */
  readonly between: (task: () => Promise<void>) => Promise<void>;
  /** Settled, not in the database yet. */
  readonly pending: () => readonly UsageRecord[];
  /** Decides while it is up. */
  readonly shared?: RedisSpendLimits | undefined;
}

/** Which day and month a moment belongs to, and when they end. */
interface Dates {
  readonly day: number;
  readonly month: number;
  readonly dayEnds: number;
  readonly monthEnds: number;
}

interface Amounts {
  day: Nanos;
  month: Nanos;
}

/** What one key or one user has spent. */
interface SpendCounter {
  readonly owner: 'key' | 'user';
  readonly id: string;
  readonly userId: string;
  dates: Dates;
  /** In the roll-ups. */
  recorded: Amounts;
  /** Settled here and in the journal. */
  unrecorded: Amounts;
  /** The bounds of calls in flight; they will be spent in whatever period they end. */
  reserved: Nanos;
  isLoaded: boolean;
  usedAt: number;
  /** When the whole month was read. */
  monthAt: number;
}

interface SpendScope {
  readonly tally: SpendCounter;
  readonly limits: Limits;
}

const DAY_MS = 86_400_000;
/** How long what other replicas have recorded may stay unseen. */
export const SPEND_REFRESH_MS = 2_000;
/** The days before today change only when the journal of a process that died is found: they are read again this rarely. */
const MONTH_MS = 60_000;
/** A key that is not used for so long is read anew when it is. */
const IDLE_MS = 60_000;

export class SpendLimits {
  readonly #options: SpendLimitsOptions;
  readonly #tallies = new Map<string, SpendCounter>();
  readonly #wanted = new Set<SpendCounter>();
  #loading: Promise<void> | undefined;

  constructor(options: SpendLimitsOptions) {
    this.#options = options;
  }

  /**
   * Undefined when no limit applies, a promise only at the first use of a key or where counts are shared. Throws or rejects with `spend_limit_reached`, or with
   * `rate_limit_exceeded` when what is left is only set aside for other calls.
   */
  reserve(who: LimitedKey, bound: Nanos): SpendHold | undefined | Promise<SpendHold> {
    if ((!who.limits && !who.userLimits) || bound === 0n) return undefined;
    const sides = this.#sidesOf(who);
    if (sides.length === 0) return undefined;
    const missing = sides.filter(({ tally }) => !tally.isLoaded);
    if (missing.length === 0) return this.#decide(sides, bound);
    return Promise.all(missing.map(({ tally }) => this.#load(tally))).then(
      () => this.#decide(sides, bound),
      unreadable,
    );
  }

  /** A call has cost this much, and its record is in the journal. */
  settled(record: UsageRecord): void {
    if (this.#tallies.size === 0) return;
    for (const tally of this.#talliesOf(record)) add(tally, tally.unrecorded, record, chargeOf(record));
  }

  /** These are in the database now. */
  moved(records: readonly UsageRecord[]): void {
    if (this.#tallies.size === 0) return;
    for (const record of records) {
      for (const tally of this.#talliesOf(record)) {
        add(tally, tally.unrecorded, record, -chargeOf(record));
        add(tally, tally.recorded, record, chargeOf(record));
      }
    }
  }

  /** Reads what others have recorded; to be called every few seconds. */
  async refresh(): Promise<void> {
    const now = this.#options.clock.now();
    for (const [name, tally] of this.#tallies) {
      roll(tally, now);
      const isBusy = tally.reserved > 0n || tally.unrecorded.month > 0n || !tally.isLoaded;
      if (!isBusy && now - tally.usedAt >= IDLE_MS) this.#tallies.delete(name);
      else this.#wanted.add(tally);
    }
    if (this.#wanted.size > 0) await this.#read();
  }

  #sidesOf({ id, userId, limits, userLimits }: LimitedKey): SpendScope[] {
    const sides: SpendScope[] = [];
    if (limits && hasSpend(limits)) sides.push({ tally: this.#tallyOf('key', id, userId), limits });
    if (userLimits && hasSpend(userLimits))
      sides.push({ tally: this.#tallyOf('user', userId, userId), limits: userLimits });
    return sides;
  }

  #tallyOf(owner: SpendCounter['owner'], id: string, userId: string): SpendCounter {
    const name = `${owner}:${id}`;
    const now = this.#options.clock.now();
    let tally = this.#tallies.get(name);
    if (!tally) {
      tally = {
        owner,
        id,
        userId,
        dates: datesOf(now),
        recorded: { day: 0n, month: 0n },
        unrecorded: { day: 0n, month: 0n },
        reserved: 0n,
        isLoaded: false,
        usedAt: now,
        monthAt: Number.NEGATIVE_INFINITY,
      };
      this.#tallies.set(name, tally);
    }
    tally.usedAt = now;
    roll(tally, now);
    return tally;
  }

  #talliesOf({ keyId, userId }: UsageRecord): SpendCounter[] {
    const found = [this.#tallies.get(`key:${keyId}`), this.#tallies.get(`user:${userId}`)];
    return found.filter((tally) => tally?.isLoaded === true) as SpendCounter[];
  }

  #decide(sides: readonly SpendScope[], bound: Nanos): SpendHold | Promise<SpendHold> {
    const { shared } = this.#options;
    if (!shared) return this.#admit(sides, bound);
    const wish = this.#wishOf(sides, bound);
    const id = newHoldId();
    return shared.isUp
      ? this.#ask(shared, sides, wish, id)
      : this.#admit(sides, bound, () => shared.kept(wish, id, false));
  }

  #admit(sides: readonly SpendScope[], bound: Nanos, share?: () => SharedSpendHold): SpendHold {
    const now = this.#options.clock.now();
    for (const { tally } of sides) roll(tally, now);
    refuse(
      sides,
      sides.map(({ tally }) => spentOf(tally)),
      bound,
      now,
    );
    return this.#hold(sides, bound, share?.());
  }

  async #ask(
    shared: RedisSpendLimits,
    sides: readonly SpendScope[],
    wish: SpendRequest,
    id: string,
  ): Promise<SpendHold> {
    const answer = await shared.reserve(wish, id).catch(() => undefined);
    // Redis has just gone. It may hold the bound all the same; it ends there like any other.
    if (!answer) return this.#admit(sides, wish.bound, () => shared.kept(wish, id));
    if ('end' in answer) return this.#hold(sides, wish.bound, answer);
    const now = this.#options.clock.now();
    for (const { tally } of sides) roll(tally, now);
    refuse(sides, answer, wish.bound, now);
    // It decides by its own clock: here the next period has begun, or not begun yet.
    throw fail('rate_limit_exceeded', undefined, { retryAfter: 1 });
  }

  #hold(sides: readonly SpendScope[], bound: Nanos, sharedHold: SharedSpendHold | undefined): SpendHold {
    for (const { tally } of sides) tally.reserved += bound;
    return {
      end: (cost) => {
        for (const { tally } of sides) tally.reserved -= bound;
        sharedHold?.end(cost);
      },
    };
  }

  #wishOf(sides: readonly SpendScope[], bound: Nanos): SpendRequest {
    const now = this.#options.clock.now();
    for (const { tally } of sides) roll(tally, now);
    const { day, month } = datesOf(now);
    return {
      bound,
      day,
      month,
      sides: sides.map(({ tally, limits }) => ({
        owner: tally.owner,
        id: tally.id,
        userId: tally.userId,
        limitDay: limits.spendDay,
        limitMonth: limits.spendMonth,
        ...spentOf(tally),
      })),
    };
  }

  #load(tally: SpendCounter): Promise<void> {
    this.#wanted.add(tally);
    return this.#read();
  }

  /** All who ask before it begins are served by one query. */
  #read(): Promise<void> {
    this.#loading ??= this.#options.between(async () => {
      this.#loading = undefined;
      const tallies = [...this.#wanted];
      this.#wanted.clear();
      await this.#readAll(tallies);
    });
    return this.#loading;
  }

  async #readAll(tallies: readonly SpendCounter[]): Promise<void> {
    const at = this.#options.clock.now();
    const old = tallies.filter(({ monthAt }) => at - monthAt >= MONTH_MS);
    const recent = tallies.filter(({ monthAt }) => at - monthAt < MONTH_MS);
    const months = await this.#sums(old, at, 'month');
    const days = await this.#sums(recent, at, 'day');
    // Midnight came in between: what was read is of another day.
    if (datesOf(at).day !== datesOf(this.#options.clock.now()).day) return this.#readAll(tallies);
    for (const tally of recent) {
      roll(tally, at);
      const { day } = days.get(nameOf(tally)) ?? NOTHING;
      tally.recorded = { day, month: tally.recorded.month + day - tally.recorded.day };
    }
    for (const tally of old) {
      roll(tally, at);
      tally.monthAt = at;
      tally.recorded = { ...(months.get(nameOf(tally)) ?? NOTHING) };
    }
    this.#countPending(tallies.filter(({ isLoaded }) => !isLoaded));
  }

  /** By key and by user. */
  async #sums(tallies: readonly SpendCounter[], at: number, since: 'day' | 'month'): Promise<Map<string, Amounts>> {
    const users = [...new Set(tallies.map(({ userId }) => userId))];
    const sums = new Map<string, Amounts>();
    if (users.length === 0) return sums;
    for (const { keyId, userId, day, month } of await readSpent(this.#options.db, users, at, since)) {
      for (const name of [`key:${keyId}`, `user:${userId}`]) {
        const sum = sums.get(name) ?? NOTHING;
        sums.set(name, { day: sum.day + day, month: sum.month + month });
      }
    }
    return sums;
  }

  /** The first time: what is in the journal already. Later it is counted as it comes and goes. */
  #countPending(tallies: readonly SpendCounter[]): void {
    if (tallies.length === 0) return;
    for (const tally of tallies) tally.isLoaded = true;
    for (const record of this.#options.pending())
      for (const tally of this.#talliesOf(record).filter((one) => tallies.includes(one)))
        add(tally, tally.unrecorded, record, chargeOf(record));
  }
}

const NOTHING: Readonly<Amounts> = { day: 0n, month: 0n };

const nameOf = ({ owner, id }: SpendCounter): string => `${owner}:${id}`;

const hasSpend = ({ spendDay, spendMonth }: Limits): boolean => spendDay !== undefined || spendMonth !== undefined;

function unreadable(error: unknown): never {
  if (error instanceof ApiError) throw error;
  const sentence = 'What was spent so far cannot be looked up at the moment.';
  throw fail('server_is_overloaded', sentence, { retryAfter: 1, cause: error });
}

function datesOf(at: number): Dates {
  const time = new Date(at);
  const day = Math.floor(at / DAY_MS);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return { day, month: year * 12 + month, dayEnds: (day + 1) * DAY_MS, monthEnds: Date.UTC(year, month + 1) };
}

/** A new day or month begins with nothing spent. */
function roll(tally: SpendCounter, at: number): void {
  if (at < tally.dates.dayEnds) return;
  const dates = datesOf(at);
  tally.recorded.day = 0n;
  tally.unrecorded.day = 0n;
  if (dates.month !== tally.dates.month) {
    tally.recorded.month = 0n;
    tally.unrecorded.month = 0n;
  }
  tally.dates = dates;
}

/** Counts a record in the day and the month that it belongs to, if those are the present ones. */
function add(tally: SpendCounter, amounts: Amounts, { at }: UsageRecord, nanos: Nanos): void {
  roll(tally, at);
  const { day, month } = datesOf(at);
  if (day === tally.dates.day) amounts.day += nanos;
  if (month === tally.dates.month) amounts.month += nanos;
}

interface Reason {
  readonly isSpent: boolean;
  readonly retryAfter: number;
  readonly message: string;
}

const spentOf = ({ recorded, unrecorded, reserved }: SpendCounter): SpentOf => ({
  day: recorded.day + unrecorded.day,
  month: recorded.month + unrecorded.month,
  reserved,
});

/** Throws when the call does not fit; of several reasons, the one that lasts longest. */
function refuse(sides: readonly SpendScope[], spent: readonly SpentOf[], bound: Nanos, now: number): void {
  const reasons = sides.flatMap((side, n) => reasonsOf(side, spent[n] ?? spentOf(side.tally), bound, now));
  const [longest] = reasons.sort((a, b) => b.retryAfter - a.retryAfter);
  if (!longest) return;
  const { isSpent, retryAfter, message } = longest;
  throw fail(isSpent ? 'spend_limit_reached' : 'rate_limit_exceeded', message, { retryAfter });
}

function reasonsOf(
  { tally, limits }: SpendScope,
  { day, month, reserved }: SpentOf,
  bound: Nanos,
  now: number,
): Reason[] {
  const { owner, dates } = tally;
  const periods = [
    ['day', limits.spendDay, day, dates.dayEnds],
    ['month', limits.spendMonth, month, dates.monthEnds],
  ] as const;
  return periods.flatMap(([period, limit, spent, ends]): Reason[] => {
    if (limit === undefined || spent + reserved + bound <= limit) return [];
    const begin = `This ${owner} may spend ${formatNanos(limit)} USD a ${period} (UTC) and has spent ${formatNanos(spent)}`;
    if (spent + bound <= limit) {
      const message = `${begin}; what is left is set aside for its calls in flight. Please try again in 1s.`;
      return [{ isSpent: false, retryAfter: 1, message }];
    }
    const retryAfter = Math.max(1, Math.ceil((ends - now) / 1_000));
    const next = new Date(ends).toISOString().replace('.000Z', 'Z');
    const message = `${begin}; this call may cost up to ${formatNanos(bound)}. The next ${period} begins at ${next}.`;
    return [{ isSpent: true, retryAfter, message }];
  });
}

export interface SpentRow {
  readonly userId: string;
  readonly keyId: string;
  readonly day: Nanos;
  readonly month: Nanos;
}

/**
 * What each key of these users has spent in the day and the month of that time, as far as it is recorded; only of the day, which is
 * then the month too, where the rest is known.
 */
export async function readSpent(
  db: Db,
  userIds: readonly string[],
  at: number,
  since: 'day' | 'month' = 'month',
): Promise<readonly SpentRow[]> {
  const today = new Date(at).toISOString().slice(0, 10);
  const { rows } = await sql<SpentRow>`
    select user_id as "userId", key_id as "keyId", sum(nanos)::bigint as month,
      coalesce(sum(nanos) filter (where day = ${today}::date), 0)::bigint as day
    from usage_daily
    where user_id = any(${userIds}) and day between date_trunc(${since}, ${today}::date)::date and ${today}::date
    group by user_id, key_id`.execute(db);
  return rows;
}
