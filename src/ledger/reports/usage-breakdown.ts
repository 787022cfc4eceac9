/** Usage, revenue, cost and margin for operators, by any combination of dimensions. Reads roll-ups only. */
import { type RawBuilder, sql } from 'kysely';
import { formatNanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import { DAILY_SUMS } from '../usage-record.ts';

/** Dimension -> column of the roll-ups. */
const COLUMNS = {
  user: sql`sums.user_id`,
  key: sql`sums.key_id`,
  model: sql`sums.model`,
  group: sql`sums.group_id`,
  account: sql`sums.account_id`,
  operation: sql`sums.operation`,
  day: sql`sums.day`,
} as const;
export type Dimension = keyof typeof COLUMNS;
export const DIMENSIONS = Object.keys(COLUMNS) as Dimension[];

export interface BreakdownQuery {
  /** UTC days, both included. */
  readonly start: string;
  readonly end: string;
  readonly by: readonly Dimension[];
  readonly only: Partial<Record<Dimension, string>>;
  /** The values of `by` in the last row of the previous page. */
  readonly after?: readonly string[] | undefined;
  readonly limit?: number | undefined;
}

export type BreakdownRow = Readonly<Record<(typeof DAILY_SUMS)[number], bigint>> &
  Readonly<Partial<Record<Dimension, string>>>;

/**
 * Rows ordered by their dimensions, so that a cursor stays valid while rows are added. Groups and order name plain columns: PostgreSQL
 * then reads the first rows of a page from an index, instead of sorting the whole period.
 */
export function breakdownQuery(query: BreakdownQuery): RawBuilder<BreakdownRow> {
  const { by, only, after, limit } = query;
  const columns = by.map((name) => COLUMNS[name]);
  const filters = Object.entries(only).map(([name, value]) => sql`and ${COLUMNS[name as Dimension]} = ${value}`);
  const list = sql.join([
    ...by.map((name) => sql`${name === 'day' ? sql`sums.day::text` : COLUMNS[name]} as ${sql.ref(name)}`),
    ...DAILY_SUMS.map((name) => sql`coalesce(sum(${sql.ref(name)}), 0)::bigint as ${sql.ref(name)}`),
  ]);
  return sql<BreakdownRow>`
    select ${list} from ${sourceOf(query)}
    where sums.day between ${query.start}::date and ${query.end}::date ${sql.join(filters, sql` `)} ${after ? laterThan(by, after) : sql``}
    ${columns.length > 0 ? sql`group by ${sql.join(columns)} order by ${sql.join(columns)}` : sql``}
    ${limit === undefined ? sql`` : sql`limit ${limit}`}`;
}

/** Also repeats the condition for the first column alone, which an index supports for any order of the others. */
function laterThan(by: readonly Dimension[], after: readonly string[]): RawBuilder<unknown> {
  const values = by.map((name, n) => (name === 'day' ? sql`${after[n]}::date` : sql`${after[n]}::text`));
  const columns = by.map((name) => COLUMNS[name]);
  return sql`and ${columns[0]} >= ${values[0]} and (${sql.join(columns)}) > (${sql.join(values)})`;
}

/** Sums over all users are read by day where days have been summed, which is a hundredth of the rows or less. */
function sourceOf({ start, end, by, only }: BreakdownQuery): RawBuilder<unknown> {
  const isByUser = [...by, ...Object.keys(only)].some((name) => name === 'user' || name === 'key');
  if (isByUser) return sql`usage_daily sums`;
  const columns = sql.join(
    ['day', 'group_id', 'model', 'account_id', 'operation', ...DAILY_SUMS].map((name) => sql.ref(name)),
  );
  return sql`(
    select ${columns} from usage_totals where day between ${start}::date and ${end}::date
      and day in (select day from usage_totals_days)
    union all
    select ${columns} from usage_daily where day = any(array(
      select d::date from generate_series(${start}::date, ${end}::date, interval '1 day') d
      where not exists (select from usage_totals_days t where t.day = d::date)))
  ) sums`;
}

export const readBreakdown = async (db: Db, query: BreakdownQuery): Promise<readonly BreakdownRow[]> =>
  (await breakdownQuery(query).execute(db)).rows;

/** The reported measures, in this order. */
const MEASURES = {
  requests: (row) => Number(row.requests),
  input_tokens: (row) => Number(row.input_tokens),
  cached_input_tokens: (row) => Number(row.cached_input_tokens),
  cache_write_tokens: (row) => Number(row.cache_write_tokens),
  output_tokens: (row) => Number(row.output_tokens),
  reasoning_tokens: (row) => Number(row.reasoning_tokens),
  audio_tokens: (row) => Number(row.audio_tokens),
  image_tokens: (row) => Number(row.image_tokens),
  searches: (row) => Number(row.searches),
  images: (row) => Number(row.images),
  estimated_requests: (row) => Number(row.estimated),
  /** Charged to users. */
  revenue: (row) => formatNanos(row.nanos),
  /** Charged by providers; null when the cost of any request is unknown. */
  cost: (row) => (row.cost_unknown > 0n ? null : formatNanos(row.cost_nanos)),
  margin: (row) => (row.cost_unknown > 0n ? null : formatNanos(row.nanos - row.cost_nanos)),
  known_cost: (row) => formatNanos(row.cost_nanos),
  unknown_cost_requests: (row) => Number(row.cost_unknown),
} as const satisfies Record<string, (row: BreakdownRow) => string | number | null>;

export const usageColumns = (by: readonly Dimension[]): string[] => [...by, ...Object.keys(MEASURES)];

/** The values of `usageLine` alone, for exports of many rows. */
export const usageCells = (row: BreakdownRow, by: readonly Dimension[]): (string | number | null)[] => {
  const cells: (string | number | null)[] = [];
  for (const name of by) cells.push(row[name] ?? null);
  for (const read of READERS) cells.push(read(row));
  return cells;
};
const READERS = Object.values(MEASURES);

/** Members are in the order of `usageColumns`. */
export const usageLine = (row: BreakdownRow, by: readonly Dimension[]): Record<string, string | number | null> =>
  Object.fromEntries([
    ...by.map((name) => [name, row[name] ?? null]),
    ...Object.entries(MEASURES).map(([name, read]) => [name, read(row)]),
  ]);
