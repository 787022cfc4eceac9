/** Usage and balance reports for callers and operators. Reads roll-ups and wallets only, never single records. */
import { type RawBuilder, sql } from 'kysely';
import * as core from '../../core/index.ts';
import * as database from '../../platform/db/index.ts';
import type * as schemas from '../../schemas/index.ts';
import { hasSpendLimit, lifeSpending, readSpent, type SpentRow } from '../admission/spend-limits.ts';
import { unknownWallet } from '../wallets/wallets.ts';
import { OF_CALLS } from './usage-sums.ts';

export interface PeriodQuery {
  readonly start_date?: string | undefined;
  readonly end_date?: string | undefined;
  readonly timezone?: string | undefined;
}

const MAX_DAYS = 92;
const DEFAULT_DAYS = 30;

export function periodOf(query: PeriodQuery, now: number, maxDays = MAX_DAYS): schemas.UsagePeriod {
  const timezone = query.timezone ?? 'UTC';
  const dateIn = dateReader(timezone);
  const end = query.end_date === undefined ? undefined : dayOf('end_date', query.end_date);
  const start = query.start_date === undefined ? undefined : dayOf('start_date', query.start_date);
  const today = dayOf('today', dateIn(now));
  const last =
    end ?? (start === undefined ? today : Math.max(start, Math.min(today, start + (maxDays - 1) * core.DAY_MS)));
  const first = start ?? last - (DEFAULT_DAYS - 1) * core.DAY_MS;
  if (first > last) throw core.failAt('invalid_request', 'start_date', 'must not be after end_date.');
  if (last - first >= maxDays * core.DAY_MS)
    throw core.failAt('invalid_request', 'start_date', `the period must have at most ${maxDays} days.`);
  return { start: core.utcDay(first), end: core.utcDay(last), timezone };
}

/**
 * A UTC day is reported under the local date at its noon.
 * Totals are exact for UTC; elsewhere the period is shifted from midnight by the offset of the zone.
 */
export async function usageReport(
  db: database.Db,
  userId: string,
  period: schemas.UsagePeriod,
): Promise<schemas.UsageReport> {
  const dateIn = dateReader(period.timezone);
  const days = new Map<string, string>();
  for (let at = dayOf('start', period.start) - core.DAY_MS; at <= dayOf('end', period.end); at += core.DAY_MS) {
    const date = dateIn(at + core.DAY_MS / 2);
    if (date >= period.start && date <= period.end) days.set(core.utcDay(at), date);
  }
  const rows = days.size === 0 ? [] : await readDaily(db, userId, [...days.keys()]);
  const dated = rows.map((row) => ({ ...row, date: days.get(row.day) ?? row.day }));
  return {
    period,
    total: countOf(dated),
    by_day: groupRows(dated, (row) => row.date).map(([date, group]) => ({ date, ...countOf(group) })),
    by_model: groupRows(dated, (row) => row.model).map(([model, group]) => ({ model, ...countOf(group) })),
  };
}

/**
 * `held` is without leases of replicas, because the user can spend them.
 * A charge in a journal shows up within a second.
 */
export async function balanceReport(db: database.Db, userId: string): Promise<schemas.BalanceReport> {
  const wallet = await database.firstRow(db)<{ owned: core.Nanos; held: core.Nanos }>`
    select credits - debits as owned,
      held - coalesce((select sum(nanos) from leases l where l.user_id = w.user_id), 0)::bigint as held
    from wallets w where user_id = ${userId}`;
  if (!wallet) throw unknownWallet(userId);
  return { available: core.formatNanos(wallet.owned - wallet.held), held: core.formatNanos(wallet.held) };
}

/** The limits of the key; under `user`, those that all keys of the user share. */
export async function limitsReport(
  db: database.Db,
  { id, spendId = id, userId, limits, userLimits }: core.LimitedKey,
  now: number,
): Promise<schemas.LimitsReport & { readonly user?: schemas.LimitsReport }> {
  const isLimited = [limits, userLimits].some((one) => one && hasSpendLimit(one));
  const rows = isLimited ? await readSpent(db, [userId], now) : [];
  const report = (scope: core.Limits | undefined, spent: typeof rows): schemas.LimitsReport => ({
    ...core.showLimits(scope),
    ...(scope?.spendDay !== undefined && { spent_day: core.formatNanos(sumOf(spent, 'day')) }),
    ...(scope?.spendMonth !== undefined && { spent_month: core.formatNanos(sumOf(spent, 'month')) }),
  });
  const own = rows.filter((row) => row.spendId === spendId);
  const total = limits?.spendTotal !== undefined && {
    spent_total: core.formatNanos(await lifeSpending(db, { id: spendId, userId }, now)),
  };
  return { ...report(limits, own), ...total, ...(userLimits && { user: report(userLimits, rows) }) };
}

export interface WalletQuery {
  readonly user?: string | undefined;
  readonly below?: core.Nanos | undefined;
  /** Only users who have used at least this share of a spend limit. */
  readonly used?: number | undefined;
  readonly order?: database.RowOrder | undefined;
  /** The value and the user of the last wallet of the previous page. */
  readonly after?: readonly string[] | undefined;
  readonly limit: number;
  /** Whose day and month count as spent. */
  readonly now: number;
}

interface WalletPage {
  readonly rows: database.SortedRow<{ report: schemas.WalletReport }>[];
  readonly count: number | null;
}

/**
 * For operators: `available` and `held` are the values that users see.
 * What was spent is read for the wallets of the page only.
 */
export async function walletReports(db: database.Db, query: WalletQuery): Promise<WalletPage> {
  const { user, below, used, order, after, limit } = query;
  const today = sql`${core.utcDay(query.now)}::date`;
  const spent = sql`lateral (
    select coalesce(sum(d.nanos), 0)::bigint as month,
      coalesce(sum(d.nanos) filter (where d.day = ${today}), 0)::bigint as day
    from usage_daily d
    where d.user_id = w.user_id and d.day between date_trunc('month', ${today})::date and ${today}) s`;
  const filters: RawBuilder<unknown>[] = [];
  if (user?.includes('*')) {
    const pattern = database.likePattern(user);
    filters.push(sql`and (w.user_id ilike ${pattern} or u.email ilike ${pattern})`);
  } else if (user !== undefined) filters.push(sql`and w.user_id = ${user}`);
  // The first condition is implied by the second, and skips the lateral query for most wallets.
  if (below !== undefined)
    filters.push(sql`
      and w.credits - w.debits - w.held < ${below}
      and w.credits - w.debits - w.held + coalesce(l.nanos, 0) < ${below}`);
  // As above: most users have no limit.
  if (used !== undefined)
    filters.push(sql`
      and u.limits ?| array['spend_day', 'spend_month'] and (
        s.day >= ${used} * 1e9 * (u.limits ->> 'spend_day')::numeric
        or s.month >= ${used} * 1e9 * (u.limits ->> 'spend_month')::numeric)`);
  const readsAll = order !== undefined && !order.hasIndex;
  const from = sql`
    select w.user_id, w.created_at, w.credits, w.debits, w.held,
      coalesce(l.nanos, 0) as leased, coalesce(l.open, 0) as leases,
      w.credits - w.debits - w.held + coalesce(l.nanos, 0) as available, u.limits
    from wallets w join users u on u.id = w.user_id left join ${readsAll ? ALL_LEASES : OWN_LEASES}
    ${used === undefined ? sql`` : sql`cross join ${spent}`} where true ${sql.join(filters, sql` `)}`;
  const { rows } = await sql<database.SortedRow<WalletRow>>`
    select w.*, s.day as spent_day, s.month as spent_month,
      (select count(*) from holds h where h.user_id = w.user_id and h.state in ('held', 'review')) as holds
    from (${database.sortedQuery({ from, id: 'user_id', order, after, limit })}) w cross join ${spent}
    ${database.orderBy(order, 'user_id')}`.execute(db);
  return {
    rows: rows.map((row) => ({ sorted_by: row.sorted_by, report: reportOf(row) })),
    count: await database.countRows(db, from),
  };
}

const SUM_OF_LEASES = sql`
  coalesce(sum(nanos), 0)::bigint as nanos, count(*) filter (where nanos > 0) as open from leases`;
/** Of one wallet after the other, for a page; of all at once where every wallet is read. */
const OWN_LEASES = sql`lateral (select ${SUM_OF_LEASES} where user_id = w.user_id) l on true`;
const ALL_LEASES = sql`(select user_id, ${SUM_OF_LEASES} group by user_id) l on l.user_id = w.user_id`;

const reportOf = (row: WalletRow): schemas.WalletReport => ({
  user: row.user_id,
  credits: core.formatNanos(row.credits),
  debits: core.formatNanos(row.debits),
  held: core.formatNanos(row.held - row.leased),
  available: core.formatNanos(row.available),
  leased: core.formatNanos(row.leased),
  open_holds: Number(row.holds),
  open_leases: Number(row.leases),
  spent_day: core.formatNanos(row.spent_day),
  spent_month: core.formatNanos(row.spent_month),
  spend_day: row.limits.spend_day ?? null,
  spend_month: row.limits.spend_month ?? null,
  created_at: row.created_at.toISOString(),
});

interface WalletRow {
  readonly user_id: string;
  readonly created_at: Date;
  readonly credits: bigint;
  readonly debits: bigint;
  readonly held: bigint;
  readonly available: bigint;
  readonly leased: bigint;
  readonly leases: bigint;
  readonly spent_day: bigint;
  readonly spent_month: bigint;
  readonly holds: bigint;
  readonly limits: core.StoredLimits;
}

const TOKENS = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
] as const;
const SUMS = ['requests', ...TOKENS, 'images', 'nanos'] as const;
const COUNTS = ['requests', ...TOKENS, 'images', 'video_tasks'] as const;
type Count = (typeof COUNTS)[number];

interface DailyRow extends Readonly<Record<Count | 'nanos', bigint>> {
  readonly day: string;
  readonly model: string;
}

/** One statement for the whole report: at most 92 days times the number of models in use. */
export const dailyQuery = (userId: string, days: readonly string[]) => sql<DailyRow>`
  select day::text as day, model,
    ${sql.join(SUMS.map((name) => sql`sum(${sql.ref(name)})::bigint as ${sql.ref(name)}`))},
    coalesce(sum(requests) filter (where operation in ('tasks.create', 'videos.create')), 0)::bigint as video_tasks
  from usage_daily
  where user_id = ${userId} and day between ${days[0]}::date and ${days.at(-1)}::date and ${OF_CALLS}
  group by day, model order by day, model`;

const readDaily = async (db: database.Db, userId: string, days: readonly string[]): Promise<readonly DailyRow[]> =>
  (await dailyQuery(userId, days).execute(db)).rows;

function countOf(rows: readonly DailyRow[]): schemas.UsageCount {
  const sum = (name: Count | 'nanos'): bigint => rows.reduce((total, row) => total + row[name], 0n);
  const counts = Object.fromEntries(COUNTS.map((name) => [name, Number(sum(name))])) as Record<Count, number>;
  return { ...counts, cost: core.formatNanos(sum('nanos')) };
}

const groupRows = <T>(rows: readonly T[], keyOf: (row: T) => string): [string, T[]][] =>
  [...Map.groupBy(rows, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));

/** PostgreSQL has no year 0. */
const DATE = /^[1-9]\d{3}-\d{2}-\d{2}$/;

function dayOf(param: string, text: string): number {
  const at = DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(at) || core.utcDay(at) !== text)
    throw core.failAt('invalid_request', param, 'expected a date such as 2030-01-31.');
  return at;
}

function dateReader(timeZone: string): (at: number) => string {
  try {
    // The Swedish date format is that of ISO 8601.
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
    return (at) => format.format(at);
  } catch {
    throw core.failAt('invalid_request', 'timezone', 'expected an IANA name such as Europe/Berlin.');
  }
}

/**
 * `left` is bounded by the wallet and by every spend limit of the key and its user; `spent` is that of the UTC month.
 */
export async function keyAllowance(db: database.Db, key: core.LimitedKey, now: number) {
  const { id, spendId = id, userId, limits, userLimits } = key;
  const { available } = await balanceReport(db, userId);
  const all = await readSpent(db, [userId], now);
  const own = all.filter((row) => row.spendId === spendId);
  const total = limits?.spendTotal;
  const ofLife = total === undefined ? [] : [total - (await lifeSpending(db, { id: spendId, userId }, now))];
  const left = [core.parseNanos(available) ?? 0n, ...ofLife, ...leftOf(limits, own), ...leftOf(userLimits, all)];
  const least = left.reduce((least, nanos) => (nanos < least ? nanos : least));
  return { spent: sumOf(own, 'month'), left: least < 0n ? 0n : least };
}

const leftOf = (limits: core.Limits | undefined, spent: readonly SpentRow[]): core.Nanos[] => [
  ...(limits?.spendDay === undefined ? [] : [limits.spendDay - sumOf(spent, 'day')]),
  ...(limits?.spendMonth === undefined ? [] : [limits.spendMonth - sumOf(spent, 'month')]),
];

const sumOf = (rows: readonly SpentRow[], period: 'day' | 'month'): core.Nanos =>
  rows.reduce((sum, row) => sum + row[period], 0n);

/** By UTC day; a day without calls is absent. */
export async function keySpending(db: database.Db, key: core.LimitedKey, { start, end }: schemas.UsagePeriod) {
  const { id, spendId = id, userId } = key;
  const { rows } = await sql<{ day: string; nanos: core.Nanos }>`
    select day::text as day, sum(nanos)::bigint as nanos from usage_daily
    where user_id = ${userId} and day between ${start}::date and ${end}::date and ${OF_CALLS}
      and key_id in (select k.id from keys k where k.user_id = ${userId} and coalesce(k.spend_id, k.id) = ${spendId})
    group by day order by day`.execute(db);
  return rows;
}
