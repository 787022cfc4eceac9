/**
 * Provider costs of accounts with a cost limit, by day and month:
 * the daily sums, read every few seconds, and what this process has recorded since.
 */
import { sql } from 'kysely';
import { type Clock, type Nanos, utcDay } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { ProviderCosts } from '../pricing/provider-cost.ts';
import type { UsageRecord } from '../usage-record.ts';
import { addSpent, PeriodAmounts, startPeriod } from './spend-counts.ts';

export interface AccountCostsOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly accounts: () => readonly CostedAccount[];
  /** Processes of this machine: each may spend an equal part of what was left at its last reading. */
  readonly workers: number;
  /** Runs the task while no flush is running: each record is then either in the database or not recorded. */
  readonly betweenFlushes: (task: () => Promise<void>) => Promise<void>;
}

interface CostedAccount {
  readonly id: string;
  readonly limits?: { readonly costDay?: Nanos | undefined; readonly costMonth?: Nanos | undefined } | undefined;
}

class AccountCounter extends PeriodAmounts {
  pending = 0;
  /** Of the latest calls; recent ones count more. */
  mean: Nanos = 0n;
}

/** How long the costs of other replicas may stay unseen. */
export const COST_REFRESH_MS = 5_000;
/** Part of the newest call in the mean. */
const NEWEST = 8n;

export class AccountCosts {
  readonly #options: AccountCostsOptions;
  readonly #counters = new Map<string, AccountCounter>();

  constructor(options: AccountCostsOptions) {
    this.#options = options;
  }

  /** Undefined without a cost limit, or before its first reading. `open`: calls in flight. */
  costsOf(accountId: string, open: number) {
    const counter = this.#counters.get(accountId);
    if (!counter) return undefined;
    startPeriod(counter, this.#options.clock.now());
    const { period, recorded, unrecorded, pending, mean } = counter;
    const workers = BigInt(this.#options.workers);
    const expected = BigInt(open + pending) * mean;
    return {
      day: recorded.day + workers * (unrecorded.day + expected),
      month: recorded.month + workers * (unrecorded.month + expected),
      dayEnds: period.dayEnds,
      monthEnds: period.monthEnds,
    };
  }

  /** Returns whether the record counts against a limit. */
  onSettled({ accountId }: UsageRecord): boolean {
    const counter = this.#counters.get(accountId);
    if (counter) counter.pending += 1;
    return counter !== undefined;
  }

  /** The records are in the daily sums. An unknown cost counts as none. */
  onRecorded(records: readonly UsageRecord[], costs: ProviderCosts): void {
    if (this.#counters.size === 0) return;
    for (const record of records) {
      const counter = this.#counters.get(record.accountId);
      if (!counter) continue;
      const cost = costs.get(record) ?? 0n;
      counter.pending = Math.max(0, counter.pending - 1);
      counter.mean = counter.mean === 0n ? cost : counter.mean + (cost - counter.mean) / NEWEST;
      addSpent(counter, 'unrecorded', record, cost);
    }
  }

  async refresh(): Promise<void> {
    const isLimited = ({ limits }: CostedAccount): boolean => (limits?.costDay ?? limits?.costMonth) !== undefined;
    const ids = this.#options.accounts().flatMap((account) => (isLimited(account) ? [account.id] : []));
    for (const id of this.#counters.keys()) if (!ids.includes(id)) this.#counters.delete(id);
    if (ids.length > 0) await this.#options.betweenFlushes(() => this.#read(ids));
  }

  async #read(ids: readonly string[]): Promise<void> {
    const now = this.#options.clock.now();
    const sums = await readAccountCosts(this.#options.db, ids, now);
    for (const id of ids) {
      const { day = 0n, month = 0n } = sums.get(id) ?? {};
      // Nothing is unrecorded: what waits in the journal is recorded within moments.
      const counter = new AccountCounter(now);
      counter.recorded = { day, month };
      counter.mean = this.#counters.get(id)?.mean ?? 0n;
      this.#counters.set(id, counter);
    }
  }
}

type CostRow = Readonly<{ id: string } & Record<'day' | 'month', Nanos>>;

/** Days that have been summed over all users, and the daily sums of the others: today, and yesterday for a while. */
async function readAccountCosts(db: Db, ids: readonly string[], at: number): Promise<ReadonlyMap<string, CostRow>> {
  const today = sql`${utcDay(at)}::date`;
  const month = sql`date_trunc('month', ${today})::date`;
  const { rows } = await sql<CostRow>`
    select account_id as id, sum(cost_nanos)::bigint as month,
      coalesce(sum(cost_nanos) filter (where day = ${today}), 0)::bigint as day
    from (
      select account_id, day, cost_nanos from usage_totals
      where day >= ${month} and day < ${today} and day in (select day from usage_totals_days)
      union all
      select account_id, day, cost_nanos from usage_daily where day = any(array(
        select d::date from generate_series(${month}, ${today}, interval '1 day') d
        where not exists (select from usage_totals_days t where t.day = d::date)))) sums
    where account_id = any(${ids}) group by 1`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
