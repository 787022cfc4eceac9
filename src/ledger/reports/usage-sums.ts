/** Which sums a report reads: the smallest table that has its dimensions. Never single records. */
import { type RawBuilder, sql } from 'kysely';
import { DIMENSIONS, type Dimension } from '../../schemas/index.ts';
import { DAILY_SUMS } from '../usage-record.ts';

export const DIMENSION_COLUMNS = {
  user: 'user_id',
  key: 'key_id',
  model: 'model',
  group: 'group_id',
  account: 'account_id',
  operation: 'operation',
  day: 'day',
} as const satisfies Record<Dimension, string>;

/** UTC days, both included. */
export interface Days {
  readonly start: string;
  readonly end: string;
}

/** Rows that have calls. The others have only what failed attempts cost the operator, which users never see. */
export const OF_CALLS = sql<boolean>`requests > 0`;

const isByUser = (used: readonly Dimension[]): boolean => used.includes('user') || used.includes('key');

/** Only the daily sums have these dimensions. */
export const isDaily = (used: readonly Dimension[]): boolean => used.includes('day') && isByUser(used);

export function sumsOf(days: Days, used: readonly Dimension[]): RawBuilder<unknown> {
  if (!isByUser(used)) return totals(days);
  if (!isDaily(used)) return months(days);
  return sql`(select * from usage_daily where day between ${days.start}::date and ${days.end}::date)`;
}

/**
 * Days that have been summed over all users, which are a hundredth of the rows or less,
 * and the daily sums of the other days.
 */
function totals({ start, end }: Days): RawBuilder<unknown> {
  const columns = columnsExcept('user', 'key');
  return sql`(
    select ${columns} from usage_totals where day between ${start}::date and ${end}::date
      and day in (select day from usage_totals_days)
    union all
    select ${columns} from usage_daily where day = any(array(
      select d::date from generate_series(${start}::date, ${end}::date, interval '1 day') d
      where not exists (select from usage_totals_days t where t.day = d::date))))`;
}

/** Whole months that have been summed, and the daily sums of the days outside them. */
function months({ start, end }: Days): RawBuilder<unknown> {
  const columns = columnsExcept('day');
  const whole = sql`
    select month from usage_monthly_months where is_complete and month >= ${start}::date
      and (month + interval '1 month')::date - 1 <= ${end}::date`;
  return sql`(
    select ${columns} from usage_monthly where month = any(array(${whole}))
    union all
    select ${columns} from usage_daily where day = any(array(
      select d::date from generate_series(${start}::date, ${end}::date, interval '1 day') d
      where date_trunc('month', d)::date not in (${whole}))))`;
}

function columnsExcept(...names: readonly Dimension[]): RawBuilder<unknown> {
  const dimensions = DIMENSIONS.filter((name) => !names.includes(name)).map((name) => DIMENSION_COLUMNS[name]);
  return sql.join([...dimensions, ...DAILY_SUMS].map((name) => sql.ref(name)));
}
