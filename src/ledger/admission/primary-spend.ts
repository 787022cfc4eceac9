/**
 * Spend counters of all workers of a machine, in the primary.
 * Each question carries the totals of the database, and no counter is lower than these.
 */
import { type Clock, entryOf, type Nanos } from '../../core/index.ts';
import type { Link } from '../../platform/cluster/index.ts';
import * as spend from './spend-counts.ts';

export const SPEND_SERVICES = { reserve: 'spend.reserve', end: 'spend.end' } as const;

export interface SpendReply {
  readonly isAdmitted: boolean;
  readonly amounts: readonly Readonly<Record<spend.SpendPeriod | 'reserved', string>>[];
}

export interface SpendEndNotice {
  readonly id: string;
  readonly cost: string;
}

/** The side of a worker. */
export class PrimarySpend implements spend.SpendCounts {
  readonly #primary: Link;
  readonly #local: spend.LocalSpend;

  constructor(primary: Link, local: spend.LocalSpend) {
    this.#primary = primary;
    this.#local = local;
  }

  async reserve(scopes: readonly spend.SpendScope[], maxCost: Nanos): Promise<spend.Reserved> {
    const question = this.#local.question(scopes, maxCost);
    const end = (cost: Nanos): void => {
      const notice: SpendEndNotice = { id: question.id, cost: String(cost) };
      this.#primary.post(SPEND_SERVICES.end, notice);
    };
    let reply: SpendReply;
    try {
      reply = (await this.#primary.ask(SPEND_SERVICES.reserve, question)) as SpendReply;
    } catch (error) {
      // The primary may still read the question, and would keep the hold.
      end(0n);
      throw error;
    }
    if (reply.isAdmitted) return spend.bothHolds(this.#local.add(scopes, maxCost), { end });
    return reply.amounts.map((amounts) => ({
      ...spend.inEachPeriod((period) => BigInt(amounts[period])),
      reserved: BigInt(amounts.reserved),
    }));
  }
}

/** What is recorded here is at least what each worker knows. */
class Counter extends spend.PeriodAmounts {
  reserved: Nanos = 0n;
  /** By `clock.elapsed()`. */
  usedAt = 0;
}
interface Hold {
  readonly maxCost: Nanos;
  readonly counters: readonly Counter[];
}

/**
 * A killed worker may have charged calls: its holds stay until another has recovered its journal,
 * and every worker has read the new totals.
 */
const HOLDS_AFTER_END_MS = 60_000;
/** By then the workers know from the database everything that a counter knows. */
const IDLE_MS = 120_000;

/** The side of the primary. */
export class SpendBook {
  readonly #clock: Clock;
  readonly #counters = new Map<string, Counter>();
  #sweptAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  openPage() {
    const holds = new Map<string, Hold>();
    const end = (id: string, cost: Nanos): void => {
      const hold = holds.get(id);
      if (!hold) return;
      holds.delete(id);
      for (const counter of hold.counters) this.#spend(counter, hold.maxCost, cost);
    };
    return {
      reserve: (question: spend.SpendQuestion): SpendReply => {
        const { hold, reply } = this.#reserve(question);
        if (hold) holds.set(question.id, hold);
        return reply;
      },
      end: ({ id, cost }: SpendEndNotice): void => end(id, BigInt(cost)),
      close: (): void => {
        this.#clock.after(HOLDS_AFTER_END_MS, () => {
          for (const id of [...holds.keys()]) end(id, 0n);
        });
      },
    };
  }

  #reserve(question: spend.SpendQuestion): { readonly hold: Hold | undefined; readonly reply: SpendReply } {
    this.#sweep();
    const maxCost = BigInt(question.maxCost);
    const counters = question.scopes.map((scope) => this.#raised(scope, question));
    const spent = counters.map((counter, n) => amountsOf(counter, question, n));
    const isAdmitted = question.scopes.every(({ limits }, n) =>
      spend.fitsLimits((period) => readLimit(limits[period]), spent[n] ?? NOTHING, maxCost),
    );
    const amounts = spent.map((own) => ({
      ...spend.inEachPeriod((period) => String(own[period])),
      reserved: String(own.reserved),
    }));
    if (!isAdmitted) return { hold: undefined, reply: { isAdmitted, amounts } };
    for (const counter of counters) counter.reserved += maxCost;
    return { hold: { maxCost, counters }, reply: { isAdmitted, amounts } };
  }

  #raised({ name, amounts }: spend.SpendQuestion['scopes'][number], { day, month }: spend.SpendQuestion): Counter {
    const counter = entryOf(this.#counters, name, () => new Counter(this.#clock.now()));
    this.#use(counter);
    const { period, recorded } = counter;
    if (day === period.day) recorded.day = larger(recorded.day, BigInt(amounts.day));
    if (month === period.month) recorded.month = larger(recorded.month, BigInt(amounts.month));
    return counter;
  }

  #spend(counter: Counter, reserved: Nanos, cost: Nanos): void {
    this.#use(counter);
    counter.reserved -= reserved;
    counter.recorded.day += cost;
    counter.recorded.month += cost;
  }

  #use(counter: Counter): void {
    counter.usedAt = this.#clock.elapsed();
    spend.startPeriod(counter, this.#clock.now());
  }

  #sweep(): void {
    const now = this.#clock.elapsed();
    if (now - this.#sweptAt < IDLE_MS) return;
    this.#sweptAt = now;
    for (const [name, { reserved, usedAt }] of this.#counters)
      if (reserved === 0n && now - usedAt >= IDLE_MS) this.#counters.delete(name);
  }
}

/** In its life: what the worker knows, and what others have spent in the same month beyond that. */
function amountsOf({ recorded, period, reserved }: Counter, { month: asked, scopes }: spend.SpendQuestion, n: number) {
  const known = scopes[n]?.amounts;
  const beyond = asked === period.month ? recorded.month - BigInt(known?.month ?? 0) : 0n;
  return { ...recorded, total: BigInt(known?.total ?? 0) + beyond, reserved };
}
const NOTHING: spend.SpentAmounts = { day: 0n, month: 0n, total: 0n, reserved: 0n };

const readLimit = (limit: string | undefined): Nanos | undefined => (limit === undefined ? undefined : BigInt(limit));

const larger = (a: Nanos, b: Nanos): Nanos => (a > b ? a : b);
