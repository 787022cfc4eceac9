/** What a key has spent and may still spend, together with the keys that it replaces. Reads roll-ups and the wallet only. */
import { sql } from 'kysely';
import { type LimitedKey, type Limits, type Nanos, parseNanos } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { UsagePeriod } from '../../schemas/index.ts';
import { readSpent, type SpentRow } from '../admission/spend-limits.ts';
import { balanceReport } from './usage-report.ts';

/** `left` is bounded by the wallet and by every spend limit of the key and its user; `spent` is that of the UTC month. */
export async function keyAllowance(
  db: Db,
  { id, spendId = id, userId, limits, userLimits }: LimitedKey,
  now: number,
): Promise<{ readonly spent: Nanos; readonly left: Nanos }> {
  const { available } = await balanceReport(db, userId);
  const all = await readSpent(db, [userId], now);
  const own = all.filter((row) => row.spendId === spendId);
  const left = [parseNanos(available) ?? 0n, ...leftOf(limits, own), ...leftOf(userLimits, all)];
  const least = left.reduce((least, nanos) => (nanos < least ? nanos : least));
  return { spent: sumOf(own, 'month'), left: least < 0n ? 0n : least };
}

const leftOf = (limits: Limits | undefined, spent: readonly SpentRow[]): Nanos[] => [
  ...(limits?.spendDay === undefined ? [] : [limits.spendDay - sumOf(spent, 'day')]),
  ...(limits?.spendMonth === undefined ? [] : [limits.spendMonth - sumOf(spent, 'month')]),
];

const sumOf = (rows: readonly SpentRow[], period: 'day' | 'month'): Nanos =>
  rows.reduce((sum, row) => sum + row[period], 0n);

/** By UTC day; a day without calls is absent. */
export async function keySpending(
  db: Db,
  { id, spendId = id, userId }: LimitedKey,
  { start, end }: UsagePeriod,
): Promise<readonly { readonly day: string; readonly nanos: Nanos }[]> {
  const { rows } = await sql<{ day: string; nanos: Nanos }>`
    select day::text as day, sum(nanos)::bigint as nanos from usage_daily
    where user_id = ${userId} and day between ${start}::date and ${end}::date
      and key_id in (select k.id from keys k where k.user_id = ${userId} and coalesce(k.spend_id, k.id) = ${spendId})
    group by day order by day`.execute(db);
  return rows;
}
